//! Errors of the store, and the reasons for refusing a token.

use std::path::{Path, PathBuf};

/// An error of the store, or the refusal of a value that must not be stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite reported an error. [`Error::Failed`] says in which file.
    #[error("the service store failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// SQLite reported an error in this file.
    #[error("the service store {path} failed: {source}")]
    Failed {
        /// The store's file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// The file could not be created or opened.
    #[error("cannot open the service store {path}: {source}")]
    Open {
        /// The store's file.
        path: PathBuf,
        /// The system's error.
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
        /// The system's error.
        source: std::io::Error,
    },
    /// A later release of this program wrote the store.
    #[error("the service store is of version {found}, and this program knows versions up to {known}")]
    TooNew {
        /// The store's version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// A signing key, or the key that seals secrets, could not be made, read or used.
    #[error("the signing key is unusable: {0}")]
    Key(&'static str),
    /// No such application is registered.
    #[error("no application is called {0:?}")]
    UnknownApplication(String),
    /// An application with this id already exists.
    #[error("an application is called {0:?} already")]
    ApplicationExists(String),
    /// This redirect URI must not be registered.
    #[error("the redirect URI {uri:?} {problem}")]
    RedirectUri {
        /// The URI.
        uri: String,
        /// The end of this error's message, after the URI.
        problem: &'static str,
    },
    /// A value must not be stored. Refused redirect URIs have an error of their own.
    #[error("{what} {problem}")]
    Invalid {
        /// The name of the value, and for some values the value itself.
        what: String,
        /// The end of this error's message, after `what`.
        problem: &'static str,
    },
    /// The initial access token is unknown, used or expired.
    #[error("the initial access token is unknown, used or expired")]
    InitialAccessToken,
    /// The registration access token is unknown, or is not for this client.
    #[error("the registration access token is not valid for this client")]
    RegistrationAccess,
    /// A change of a registration names keys that are not the present ones.
    #[error("{0}")]
    Registration(&'static str),
    /// No such organization is in the directory.
    #[error("no organization has the id {0:?}")]
    UnknownOrganization(String),
    /// Another endpoint has the same name or FHIR base. The text is the end of this error's message: what the other
    /// endpoint has.
    #[error("another endpoint {0}")]
    EndpointExists(String),
    /// The current state does not allow this transition.
    #[error(transparent)]
    Illegal(#[from] super::states::IllegalMove),
    /// The row does not exist, or another transaction has changed or deleted it since it was read.
    #[error("the {0} is not there any more as it was read")]
    Lost(&'static str),
    /// Signing failed.
    #[error("the token could not be signed")]
    Sign,
}

impl Error {
    /// Adds the store's file to an SQLite error, because SQLite's message does not name it.
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

/// Why a bearer token is refused. The bearer sees these messages. They reveal nothing about other tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The token is not a JWT with the claims of an access token.
    #[error("the access token is malformed")]
    Malformed,
    /// The token has an algorithm other than RS256, or a JOSE type other than `at+jwt`.
    #[error("the token is not an access token of this service")]
    Foreign,
    /// The signature does not verify with a key that this service accepts for the token.
    #[error("the access token's signature does not verify")]
    Signature,
    /// The issuer or the audience is another service.
    #[error("the access token was issued by or for another service")]
    Issuer,
    /// The token has expired.
    #[error("the access token has expired")]
    Expired,
    /// The token was revoked, its consent or client was deleted, or its consent is not EXCHANGED.
    #[error("the access token is no longer valid")]
    Revoked,
    /// The store could not be read. A retry may help.
    #[error("the access token could not be checked")]
    Unavailable,
}
