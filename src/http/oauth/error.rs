//! Errors of token endpoints (RFC 6749, section 5.2) and of client registration (RFC 7591, section 3.2.2).

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, PRAGMA, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::consent::{self, GrantError};
use crate::http::error::Error;

const INVALID_REQUEST: &str = "invalid_request";
const INVALID_CLIENT: &str = "invalid_client";
const INVALID_TOKEN: &str = "invalid_token";

/// An error of a token endpoint or of client registration.
#[derive(Debug, thiserror::Error)]
pub(in crate::http) enum OAuthError {
    /// `invalid_request`.
    #[error("{0}")]
    Request(Cow<'static, str>),
    /// `invalid_client`: the client is not named, is unknown, or failed to authenticate.
    #[error("{0}")]
    Client(&'static str),
    /// `invalid_grant`: the code or token is invalid, or belongs to another client.
    #[error("{0}")]
    Grant(Cow<'static, str>),
    /// `invalid_grant` with status 422: no source delivered records for the consent, and none can be queried again.
    #[error("{0}")]
    Unprocessable(String),
    /// `unsupported_grant_type`.
    #[error("grant_type must be authorization_code, refresh_token or client_credentials")]
    GrantType,
    /// `invalid_redirect_uri`, for a registration.
    #[error("{0}")]
    RedirectUri(String),
    /// `invalid_client_metadata`, for a registration.
    #[error("{0}")]
    Metadata(String),
    /// `invalid_token`: the initial access token of a registration is invalid (RFC 6750).
    #[error("the initial access token is unknown, used or expired")]
    InitialAccessToken,
    /// `invalid_token`: the registration access token is missing, or not valid for the client (RFC 7592).
    #[error("the registration access token is missing, or not valid for this client")]
    RegistrationAccess,
    /// An error that any route may have: the request could not be read, a rate limit applies, or the service failed.
    #[error("{0}")]
    Common(#[from] Error),
}

impl OAuthError {
    /// Returns the error `invalid_request` with this description.
    pub(in crate::http) fn request(problem: impl Into<Cow<'static, str>>) -> OAuthError {
        OAuthError::Request(problem.into())
    }

    /// Returns the error for a request that names no client.
    pub(super) fn unnamed() -> OAuthError {
        OAuthError::Client(
            "the client is not named: send its key pair by Authorization: Basic or client_id in the body",
        )
    }

    /// Returns the error for a body that is neither a form nor JSON.
    pub(super) fn media_type() -> OAuthError {
        OAuthError::Common(Error::MediaType(
            "application/x-www-form-urlencoded or application/json",
        ))
    }

    /// Returns OAuth's code of the error, and the HTTP status.
    fn kind(&self) -> (&'static str, StatusCode) {
        match self {
            OAuthError::Request(_) => (INVALID_REQUEST, StatusCode::BAD_REQUEST),
            OAuthError::Client(_) => (INVALID_CLIENT, StatusCode::UNAUTHORIZED),
            OAuthError::Grant(_) => ("invalid_grant", StatusCode::BAD_REQUEST),
            OAuthError::Unprocessable(_) => ("invalid_grant", StatusCode::UNPROCESSABLE_ENTITY),
            OAuthError::GrantType => ("unsupported_grant_type", StatusCode::BAD_REQUEST),
            OAuthError::RedirectUri(_) => ("invalid_redirect_uri", StatusCode::BAD_REQUEST),
            OAuthError::Metadata(_) => ("invalid_client_metadata", StatusCode::BAD_REQUEST),
            OAuthError::InitialAccessToken | OAuthError::RegistrationAccess => {
                (INVALID_TOKEN, StatusCode::UNAUTHORIZED)
            }
            OAuthError::Common(error) => (code(error.status()), error.status()),
        }
    }
}

impl From<GrantError> for OAuthError {
    fn from(error: GrantError) -> OAuthError {
        match error {
            GrantError::Client => OAuthError::Client("the client is not known, or the secret key is not its own"),
            GrantError::NeedsSecret => OAuthError::Client(
                "this grant takes the client's key pair: by Authorization: Basic, or as client_id and client_secret",
            ),
            GrantError::Unnamed => OAuthError::unnamed(),
            GrantError::AccessEnded => OAuthError::Unprocessable(error.to_string()),
            GrantError::Store(error) => OAuthError::Common(Error::internal(error)),
            other => OAuthError::Grant(other.to_string().into()),
        }
    }
}

impl From<consent::Error> for OAuthError {
    fn from(error: consent::Error) -> OAuthError {
        OAuthError::Common(Error::internal(error))
    }
}

/// Unwraps [`OAuthError::Common`]. Turns any other error into [`Error::OAuth`].
impl From<OAuthError> for Error {
    fn from(error: OAuthError) -> Error {
        match error {
            OAuthError::Common(error) => error,
            other => {
                let (code, status) = other.kind();
                let description = other.to_string();
                Error::OAuth {
                    code,
                    status,
                    description,
                }
            }
        }
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        Error::from(self).into_response()
    }
}

/// Renders an error as a JSON object with `error` and `error_description` (RFC 6749, section 5.2).
pub(in crate::http) fn rendered(error: &Error) -> Response {
    let code = match error {
        Error::OAuth { code, .. } => *code,
        other => code(other.status()),
    };
    let mut response = error.head();
    // RFC 6749 has no code for a rate limit, so the description names FHIR's code.
    let description = if response.status() == StatusCode::TOO_MANY_REQUESTS {
        format!("throttled: {error}")
    } else {
        error.to_string()
    };
    let body = json!({"error": code, "error_description": described(&description)});
    *response.body_mut() = Body::from(body.to_string());
    let head = response.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    let challenge = match code {
        INVALID_CLIENT => Some(r#"Basic realm="tokens", charset="UTF-8""#),
        INVALID_TOKEN => Some(r#"Bearer error="invalid_token""#),
        _ => None,
    };
    if let Some(challenge) = challenge {
        head.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}

/// Returns OAuth's code for an error that has only an HTTP status.
fn code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => "temporarily_unavailable",
        status if status.is_server_error() => "server_error",
        _ => INVALID_REQUEST,
    }
}

/// Replaces characters that RFC 6749 does not allow in `error_description`.
fn described(text: &str) -> String {
    let allowed = |letter: char| match letter {
        '"' | '\\' => '\'',
        ' '..='~' => letter,
        _ => '?',
    };
    text.chars().map(allowed).collect()
}
