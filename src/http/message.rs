//! The errors of handlers outside `/fhir` whose answers no cache may keep. `routes::refusals` renders them like all
//! errors.

use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};

use super::error::Error;
use super::oauth::OAuthError;
use crate::consent;

/// Why a request outside `/fhir` is not answered as requested.
#[derive(Debug)]
pub(super) struct Refused(Error);

impl Refused {
    /// An internal error. The client did not cause it.
    pub(super) fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Refused {
        Refused(Error::internal(error))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused(error)
    }
}

/// For a body with the fields of token endpoints.
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

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        response
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
