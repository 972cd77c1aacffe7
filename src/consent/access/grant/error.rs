//! Why nothing is granted.

use crate::consent::error::Error;

/// Why a grant is refused. The texts are shown to the client and say nothing about others' secrets.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// No such client, or the secret key is not its own.
    #[error("the client is not known, or the secret key is not its own")]
    Client,
    /// No client is named, and the grant is no public client's own.
    #[error("the client is not named")]
    Unnamed,
    /// The grant requires client authentication.
    #[error("this grant takes the client's key pair")]
    NeedsSecret,
    /// The authorization code is not known, was used, is over, or its consent came to nothing.
    #[error("the authorization code is not known, was used already or has expired")]
    Code,
    /// The same of a public token.
    #[error("the public token is not known, was used already or has expired")]
    PublicToken,
    /// It belongs to another client.
    #[error("it was issued to another client")]
    OtherClient,
    /// Not the redirect URI that the code was sent to.
    #[error("redirect_uri is not the one that the authorization request named")]
    RedirectUri,
    /// The verifier does not match the challenge.
    #[error("code_verifier does not match the code_challenge of the authorization request")]
    Verifier,
    /// The refresh token is not known, was used, is over or was revoked.
    #[error("the refresh token is not known, was used already, has expired or was revoked")]
    RefreshToken,
    /// No source gave its first records, and none can be asked again.
    #[error("no source gave records, and access to them has ended; the patient has to authorize again")]
    AccessEnded,
    /// The store did not do its work.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<rusqlite::Error> for GrantError {
    fn from(error: rusqlite::Error) -> GrantError {
        GrantError::Store(error.into())
    }
}
