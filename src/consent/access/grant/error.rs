//! Why a grant is refused.

use crate::consent::error::Error;

/// Why a grant is refused. The client sees these messages. They reveal nothing about the secrets of others.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// There is no such client, or the secret key is not its own.
    #[error("the client is not known, or the secret key is not its own")]
    Client,
    /// The request names no client, and the refresh token was not issued to a public client.
    #[error("the client is not named")]
    Unnamed,
    /// The grant requires client authentication.
    #[error("this grant takes the client's key pair")]
    NeedsSecret,
    /// The authorization code is unknown, used or expired, or its consent is not AUTHORIZED.
    #[error("the authorization code is not known, was used already or has expired")]
    Code,
    /// The public token is unknown, used or expired, or its consent is not AUTHORIZED.
    #[error("the public token is not known, was used already or has expired")]
    PublicToken,
    /// The code or token belongs to another client.
    #[error("it was issued to another client")]
    OtherClient,
    /// The redirect URI differs from that of the authorization request.
    #[error("redirect_uri is not the one that the authorization request named")]
    RedirectUri,
    /// The code verifier does not match the code challenge.
    #[error("code_verifier does not match the code_challenge of the authorization request")]
    Verifier,
    /// The refresh token is unknown, used, expired or revoked.
    #[error("the refresh token is not known, was used already, has expired or was revoked")]
    RefreshToken,
    /// No source delivered its first records, and the service has no access to any source that it could query again.
    #[error("no source gave records, and access to them has ended; the patient has to authorize again")]
    AccessEnded,
    /// The store reported an error.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<rusqlite::Error> for GrantError {
    fn from(error: rusqlite::Error) -> GrantError {
        GrantError::Store(error.into())
    }
}
