//! Errors that prevent a bench from running.

use std::path::PathBuf;

use crate::consent;
use crate::lake::LakeError;
use crate::views::RunError;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A mix file is invalid.
    #[error("the mix {name}: {reason}")]
    Mix {
        /// The file's name.
        name: String,
        /// The fault and its place.
        reason: String,
    },
    /// A file to compare with is not a report.
    #[error("{path} is no report of tabularium bench: {reason}")]
    Report {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// An address is not that of a FHIR server.
    #[error("{0:?} is no address of a FHIR server; one looks like http://127.0.0.1:8080/fhir")]
    Url(String),
    /// The lake has no values for any family.
    #[error("nothing to ask of the {mode} records of the application {application}: {reason}")]
    Nothing {
        /// Why its first family is left out.
        reason: String,
        /// The application with the records.
        application: String,
        /// `live` or `test`.
        mode: &'static str,
    },
    /// The server that the bench started does not answer.
    #[error("the server did not start: {0}")]
    Server(String),
    /// A given server does not answer.
    #[error("{url} does not answer: {reason}")]
    Unreachable {
        /// The server's address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A given server refuses the bench, or has nothing at the address.
    #[error("{url} answered {status}{message}; is it the FHIR base, and is the token one of its own?")]
    Refused {
        /// The address.
        url: String,
        /// The status.
        status: String,
        /// The server's message, after a colon.
        message: String,
    },
    /// The certificates for https cannot be loaded.
    #[error("https cannot be used: {0}")]
    Tls(String),
    /// The user pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The lake cannot be read.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The values for the requests cannot be drawn from the lake.
    #[error("drawing from the lake: {0}")]
    Draw(#[from] RunError),
    /// Tokens cannot be made.
    #[error(transparent)]
    Tokens(#[from] consent::Error),
    /// The operating system returned an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The page cannot be made.
    #[error(transparent)]
    Page(#[from] askama::Error),
}

impl BenchError {
    /// Whether the input is wrong.
    pub fn is_input(&self) -> bool {
        match self {
            BenchError::Read { .. }
            | BenchError::Mix { .. }
            | BenchError::Report { .. }
            | BenchError::Url(_)
            | BenchError::Nothing { .. }
            | BenchError::Unreachable { .. }
            | BenchError::Refused { .. }
            | BenchError::Tokens(consent::Error::UnknownApplication(_)) => true,
            BenchError::Server(_)
            | BenchError::Tls(_)
            | BenchError::Interrupted
            | BenchError::Lake(_)
            | BenchError::Draw(_)
            | BenchError::Tokens(_)
            | BenchError::Io(_)
            | BenchError::Page(_) => false,
        }
    }
}
