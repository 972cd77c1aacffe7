//! Errors of the store, and the reasons for refusing a token.

use std::path::{Path, PathBuf};

/// The store reported an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite refused.
    #[error("the service store failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// SQLite reported an error, and the file is known.
    #[error("the service store {path} failed: {source}")]
    Failed {
        /// The store's file.
        path: PathBuf,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
    /// The file could not be made or opened.
    #[error("cannot open the service store {path}: {source}")]
    Open {
        /// The store's file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The store could not be copied.
    #[error("the service store was not copied: {0}")]
    Copy(String),
    /// A file of archived audit lines could not be read or written.
    #[error("cannot read or write the archived audit log {path}: {source}")]
    Archive {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A later release wrote the store.
    #[error("the service store is of version {found}, and this program knows versions up to {known}")]
    TooNew {
        /// The store's version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// A signing key could not be made, or the stored text is no key.
    #[error("the signing key is unusable: {0}")]
    Key(&'static str),
    /// No such application is registered.
    #[error("no application is called {0:?}")]
    UnknownApplication(String),
    /// The id belongs to another application.
    #[error("an application is called {0:?} already")]
    ApplicationExists(String),
    /// A redirect URI that may not be registered.
    #[error("the redirect URI {uri:?} {problem}")]
    RedirectUri {
        /// The URI.
        uri: String,
        /// The end of a sentence about it.
        problem: &'static str,
    },
    /// Another value that may not be stored.
    #[error("{what} {problem}")]
    Invalid {
        /// The fault.
        what: String,
        /// The end of a sentence about it.
        problem: &'static str,
    },
    /// The initial access token is unknown, used or expired.
    #[error("the initial access token is unknown, used or expired")]
    InitialAccessToken,
    /// No such organization is in the directory.
    #[error("no organization has the id {0:?}")]
    UnknownOrganization(String),
    /// Another endpoint has the same name or address.
    #[error("another endpoint {0}")]
    EndpointExists(String),
    /// The current state does not allow this transition.
    #[error(transparent)]
    Illegal(#[from] super::states::IllegalMove),
    /// The row was deleted, or another request has changed it.
    #[error("the {0} is not there any more as it was read")]
    Lost(&'static str),
    /// Signing failed.
    #[error("the token could not be signed")]
    Sign,
}

impl Error {
    /// Adds the store's file, which SQLite's message alone does not name.
    pub(super) fn at(self, path: &Path) -> Error {
        match self {
            Error::Sqlite(source) => Error::Failed {
                path: path.to_owned(),
                source,
            },
            other => other,
        }
    }
}

/// Why a bearer token is refused. The bearer sees the texts. They reveal nothing about other tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not a JWT with the claims of an access token.
    #[error("the access token is malformed")]
    Malformed,
    /// Signed with an algorithm other than RS256, or of a JOSE type other than `at+jwt`.
    #[error("the token is not an access token of this service")]
    Foreign,
    /// No key of this service made the signature.
    #[error("the access token's signature does not verify")]
    Signature,
    /// Issued by or for another service.
    #[error("the access token was issued by or for another service")]
    Issuer,
    /// It has expired.
    #[error("the access token has expired")]
    Expired,
    /// It was revoked, or its consent or application no longer exists.
    #[error("the access token is no longer valid")]
    Revoked,
    /// The store could not be read. A retry may help.
    #[error("the access token could not be checked")]
    Unavailable,
}
