//! Renders errors as responses. The path decides the form of the body: FHIR, OAuth, or a message.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use serde_json::json;

use crate::http::error::{Error, Raised};
use crate::http::fhir::negotiate::FHIR_JSON;
use crate::http::oauth;

/// The format of an error's body. It depends only on the path. So it is known for unknown paths, too, and for errors
/// that occur before a handler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Refusals {
    /// An OperationOutcome.
    Outcome,
    /// `{"error": ..., "error_description": ...}`, the form of RFC 6749 section 5.2 and RFC 7591.
    OAuth,
    /// `{"message": ...}`.
    Message,
}

/// The paths on which OAuth clients expect errors in OAuth's format.
const OAUTH: [&str; 4] = ["/oauth/token", "/oauth/register", "/link/token", "/link/exchange"];

/// The beginning of the paths at which OAuth clients manage their registrations.
const MANAGED: &str = "/oauth/register/";

impl Refusals {
    /// Returns the format of errors at this path.
    pub(in crate::http) fn at(path: &str) -> Refusals {
        if path == "/fhir" || path.starts_with("/fhir/") {
            Refusals::Outcome
        } else if OAUTH.contains(&path) || path.starts_with(MANAGED) {
            Refusals::OAuth
        } else {
            Refusals::Message
        }
    }

    /// Renders the error that the response has as an extension. Headers and other extensions of the response stay. A
    /// response without an error is unchanged.
    pub(in crate::http) fn rendered(self, mut response: Response) -> Response {
        let Some(Raised(error)) = response.extensions_mut().remove() else {
            return response;
        };
        let (mut head, _) = response.into_parts();
        // This header has the length of the old body, which is replaced here.
        head.headers.remove(CONTENT_LENGTH);
        let mut rendered = self.answer(&error);
        rendered.headers_mut().extend(head.headers);
        rendered.extensions_mut().extend(head.extensions);
        rendered
    }

    /// Returns the response for an error.
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

    /// All formats.
    pub(super) const ALL: [Refusals; 3] = [Refusals::Outcome, Refusals::OAuth, Refusals::Message];

    /// Returns the name of this format among the responses of the OpenAPI document. `None` stands for all statuses that
    /// have no response of their own.
    pub(super) fn component(self, status: Option<u16>) -> String {
        let format = match self {
            Refusals::Outcome => "outcome",
            Refusals::OAuth => "oauth",
            Refusals::Message => "message",
        };
        status.map_or_else(|| format.to_owned(), |status| format!("{format}-{status}"))
    }
}
