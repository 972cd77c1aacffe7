//! How routes outside `/fhir` say no: `{"message": ...}`, and after a missing or bad bearer token the challenge of RFC
//! 6750. Token endpoints have OAuth's own errors, in `oauth`.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::error::{Error, bearer_challenge};
use super::oauth::OAuthError;
use crate::consent;

/// Why a request outside `/fhir` is not answered as asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// Errors of any route.
    #[error("{0}")]
    Common(#[from] Error),
    /// An application token where a patient's is needed.
    #[error("A Consent access token is required for this endpoint.")]
    ConsentToken,
    /// A patient token where an application's is needed.
    #[error("An Application access token is required for this endpoint.")]
    ApplicationToken,
    /// The secret key is none of the token's application and mode.
    #[error("the secret_key is not one of the application and mode that the access token is for")]
    SecretKey,
}

impl Refused {
    /// An internal error, which is not the client's fault.
    pub(super) fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Refused {
        Refused::Common(Error::internal(error))
    }
}

/// For a body whose fields are those of token endpoints.
impl From<OAuthError> for Refused {
    fn from(error: OAuthError) -> Refused {
        match error {
            OAuthError::Common(error) => Refused::Common(error),
            other => Refused::Common(Error::Invalid(other.to_string())),
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
        let body = json!({"message": self.to_string()}).to_string();
        let (mut response, challenge) = match self {
            Refused::Common(error) => (error.into_response(), None),
            other => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::UNAUTHORIZED;
                (response, Some(challenge(&other)))
            }
        };
        *response.body_mut() = Body::from(body);
        let head = response.headers_mut();
        head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(challenge) = challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            head.insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// A 401 carries a challenge (RFC 9110, section 15.5.2). A token that is of the wrong kind for the route is at fault;
/// where the secret key is wrong, the token is not.
fn challenge(refused: &Refused) -> String {
    match refused {
        Refused::SecretKey => bearer_challenge(None),
        other => bearer_challenge(Some(&other.to_string())),
    }
}
