//! In which shape a route says no, and giving a refusal that shape.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use serde_json::json;

use crate::http::error::Reason;
use crate::http::oauth;

/// The format of an error's body. It depends on the path, so that it is known before the handler is, and for unknown
/// paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Refusals {
    /// An OperationOutcome.
    Outcome,
    /// `{"error": ..., "error_description": ...}`, as RFC 6749 section 5.2 and RFC 7591 have it.
    OAuth,
    /// `{"message": ...}`.
    Message,
}

/// Paths on which OAuth clients expect OAuth's own errors.
const OAUTH: [&str; 4] = ["/oauth/token", "/oauth/register", "/link/token", "/link/exchange"];

impl Refusals {
    /// How the route at this path refuses.
    pub(in crate::http) fn at(path: &str) -> Refusals {
        if path == "/fhir" || path.starts_with("/fhir/") {
            Refusals::Outcome
        } else if OAUTH.contains(&path) {
            Refusals::OAuth
        } else {
            Refusals::Message
        }
    }

    /// Gives the answer of an [`Error`](crate::http::error::Error), which is an OperationOutcome, the shape of this
    /// route. Other answers stay as they are.
    pub(in crate::http) fn recast(self, mut response: Response) -> Response {
        if self == Refusals::Outcome || response.status().is_success() {
            return response;
        }
        let Some(Reason(reason)) = response.extensions_mut().remove() else {
            return response;
        };
        if self == Refusals::OAuth {
            oauth::recast(&mut response, &reason);
            return response;
        }
        response.headers_mut().remove(CONTENT_LENGTH);
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *response.body_mut() = Body::from(json!({"message": reason}).to_string());
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
