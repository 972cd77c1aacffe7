//! The one place where errors become answers. The surface that a route belongs to decides their form: FHIR, token
//! endpoints, and all others.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use serde_json::json;

use crate::http::error::{Error, Raised};
use crate::http::fhir::negotiate::FHIR_JSON;
use crate::http::oauth;

/// The format of an error's body. It depends on the path, so that it is known before the handler is, and for unknown
/// paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Refusals {
    /// An OperationOutcome.
    Outcome,
    /// `{"error": ..., "error_description": ...}`, the form of RFC 6749 section 5.2 and RFC 7591.
    OAuth,
    /// `{"message": ...}`.
    Message,
}

/// Paths on which OAuth clients expect OAuth's own errors.
const OAUTH: [&str; 4] = ["/oauth/token", "/oauth/register", "/link/token", "/link/exchange"];

impl Refusals {
    /// The form of errors at this path.
    pub(in crate::http) fn at(path: &str) -> Refusals {
        if path == "/fhir" || path.starts_with("/fhir/") {
            Refusals::Outcome
        } else if OAUTH.contains(&path) {
            Refusals::OAuth
        } else {
            Refusals::Message
        }
    }

    /// Renders the error that an answer carries. Headers that were added to the answer stay. An answer without an error
    /// is unchanged.
    pub(in crate::http) fn rendered(self, mut response: Response) -> Response {
        let Some(Raised(error)) = response.extensions_mut().remove() else {
            return response;
        };
        let (mut head, _) = response.into_parts();
        // This is the length of the body that is replaced.
        head.headers.remove(CONTENT_LENGTH);
        let mut rendered = self.answer(&error);
        rendered.headers_mut().extend(head.headers);
        rendered.extensions_mut().extend(head.extensions);
        rendered
    }

    /// The answer with the text of an error.
    pub(in crate::http) fn answer(self, error: &Error) -> Response {
        let (media, body) = match self {
            Refusals::OAuth => return oauth::rendered(error),
            Refusals::Outcome => (FHIR_JSON, error.outcome_json()),
            Refusals::Message => (
                HeaderValue::from_static("application/json"),
                json!({"message": error.to_string()}).to_string(),
            ),
        };
        let mut response = error.head();
        *response.body_mut() = Body::from(body);
        response.headers_mut().insert(CONTENT_TYPE, media);
        response
    }

    /// Its name among the OpenAPI document's responses.
    pub(super) fn component(self) -> &'static str {
        match self {
            Refusals::Outcome => "outcome",
            Refusals::OAuth => "oauth",
            Refusals::Message => "message",
        }
    }
}
