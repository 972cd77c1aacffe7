//! The error type of handlers outside `/fhir` whose error responses must not be cached. `routes::refusals` renders it
//! like all errors.

use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};

use super::error::Error;
use super::oauth::OAuthError;
use crate::consent;

/// An error of a request outside `/fhir`. Its response has `Cache-Control: no-store`.
#[derive(Debug)]
pub(super) struct Refused(Error);

impl Refused {
    /// Returns an internal error, which the client did not cause.
    pub(super) fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Refused {
        Refused(Error::internal(error))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused(error)
    }
}

/// Some routes read a body with the code of the token endpoints (`Fields`), which returns `OAuthError`s. But the errors
/// of these routes do not have OAuth's format, so this converts them.
impl From<OAuthError> for Refused {
    fn from(error: OAuthError) -> Refused {
        match error {
            OAuthError::Common(error) => Refused(error),
            other => Refused(Error::Invalid(other.to_string())),
        }
    }
}

impl From<consent::Error> for Refused {
    fn from(error: consent::Error) -> Refused {
        Refused::internal(error)
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        refused.0
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        response
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
