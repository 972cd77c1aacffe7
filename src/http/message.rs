//! The errors of handlers outside `/fhir` whose answers no cache may keep. What they look like is decided where all
//! errors are rendered (`routes::refusals`).

use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};

use super::error::Error;
use super::oauth::OAuthError;
use crate::consent;

/// Why a request outside `/fhir` is not answered as asked.
#[derive(Debug)]
pub(super) struct Refused(Error);

impl Refused {
    /// An internal error, which is not the client's fault.
    pub(super) fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Refused {
        Refused(Error::internal(error))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused(error)
    }
}

/// For a body whose fields are those of token endpoints.
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
