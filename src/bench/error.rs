//! Errors that prevent a bench from running.

use std::path::PathBuf;

use crate::consent;
use crate::lake::LakeError;
use crate::views::RunError;

/// Why a bench made no report.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A mix file is invalid.
    #[error("the mix {name}: {reason}")]
    Mix {
        /// The name or path of the mix.
        name: String,
        /// What is wrong, and in which family.
        reason: String,
    },
    /// A file to compare with is not a report.
    #[error("{path} is no report of tabularium bench: {reason}")]
    Report {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        reason: String,
    },
    /// An address is not a valid FHIR base URL.
    #[error("{0:?} is no address of a FHIR server; one looks like http://127.0.0.1:8080/fhir")]
    Url(String),
    /// No family of the mix can run, mostly because the lake has no values for its queries.
    #[error("nothing to ask of the {mode} records of the application {application}: {reason}")]
    Nothing {
        /// The reason why the first family was left out.
        reason: String,
        /// The application whose records the bench has searched for values.
        application: String,
        /// `live` or `test`.
        mode: &'static str,
    },
    /// The server that the bench started did not begin to listen, or it has ended.
    #[error("the server did not start: {0}")]
    Server(String),
    /// The measured server does not answer.
    #[error("{url} does not answer: {reason}")]
    Unreachable {
        /// The server's address.
        url: String,
        /// Why the request failed.
        reason: String,
    },
    /// The measured server refuses a request, or has nothing at the address.
    #[error("{url} answered {status}{message}; is it the FHIR base, and is the token one of its own?")]
    Refused {
        /// The address.
        url: String,
        /// The HTTP status.
        status: String,
        /// The server's message after a colon, or an empty text.
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
    /// The tokens for the bench's own server could not be made.
    #[error(transparent)]
    Tokens(#[from] consent::Error),
    /// The operating system returned an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The HTML page could not be made.
    #[error(transparent)]
    Page(#[from] askama::Error),
}

impl BenchError {
    /// Whether the user's input caused the error.
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
