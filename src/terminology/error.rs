//! Why terminology is refused.

use std::path::PathBuf;

use crate::published::PublishedError;

/// Why terminology is refused.
#[derive(Debug, thiserror::Error)]
pub enum TerminologyError {
    /// A file, or a table beside the lake, cannot be found or read.
    #[error(transparent)]
    Published(#[from] PublishedError),
    /// A file is not JSON, or a resource does not have the shape of a CodeSystem or ValueSet.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault, with line and column.
        source: serde_json::Error,
    },
    /// The file has neither a CodeSystem nor a ValueSet.
    #[error("{}: holds neither a CodeSystem nor a ValueSet with a url", path.display())]
    Empty {
        /// The folder or file.
        path: PathBuf,
    },
    /// A publisher's file without a code. It does not replace a table.
    #[error("{name}: holds no codes; is it cut off?")]
    NoCodes {
        /// The file.
        name: String,
    },
    /// A code system has more text than the limit.
    #[error("{system}: has more than 4 GiB of codes or displays")]
    TooLarge {
        /// The system's URL.
        system: String,
    },
    /// Two files of one command have the same content.
    #[error("{one} and {other} both hold {what}; load one of them")]
    Twice {
        /// A file.
        one: String,
        /// The other file.
        other: String,
        /// The content.
        what: &'static str,
    },
    /// A file is useful only together with another one.
    #[error("{name}: {what} needs {missing}; give both in one command")]
    Alone {
        /// The file.
        name: String,
        /// The content.
        what: &'static str,
        /// The missing file.
        missing: &'static str,
    },
    /// One version was given for several code systems.
    #[error("a version can be given for one publisher's code system only; the files hold {0}")]
    SeveralVersions(usize),
}

impl TerminologyError {
    /// Whether the input is wrong. Otherwise the machine or the stored data is.
    pub fn is_of_input(&self) -> bool {
        match self {
            TerminologyError::Published(error) => error.is_of_input(),
            _ => true,
        }
    }
}
