//! Reads the registration access token of a request.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::http::auth::bearer;
use crate::http::oauth::error::OAuthError;

/// The bearer token of a request. Nothing is known about it yet.
pub(super) struct RegistrationToken(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for RegistrationToken {
    type Rejection = OAuthError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RegistrationToken, OAuthError> {
        let token = bearer(&parts.headers).map_err(|_| OAuthError::RegistrationAccess)?;
        Ok(RegistrationToken(token.to_owned()))
    }
}
