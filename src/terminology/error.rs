//! Why terminology is not taken.

use std::path::PathBuf;

use crate::published::PublishedError;

/// Why terminology is not taken.
#[derive(Debug, thiserror::Error)]
pub enum TerminologyError {
    /// A file cannot be found or read, or a table beside the lake cannot.
    #[error(transparent)]
    Published(#[from] PublishedError),
    /// A file is not JSON, or a resource does not have the shape of a CodeSystem or ValueSet.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// There is neither a CodeSystem nor a ValueSet.
    #[error("{}: holds neither a CodeSystem nor a ValueSet with a url", path.display())]
    Empty {
        /// The folder or file.
        path: PathBuf,
    },
    /// A publisher's file without a code: it takes no table's place.
    #[error("{name}: holds no codes; is it cut off?")]
    NoCodes {
        /// The file.
        name: String,
    },
    /// A code system has more text than is held.
    #[error("{system}: has more than 4 GiB of codes or displays")]
    TooLarge {
        /// Its URL.
        system: String,
    },
    /// Two files of one command hold the same.
    #[error("{one} and {other} both hold {what}; load one of them")]
    Twice {
        /// A file.
        one: String,
        /// The other file.
        other: String,
        /// What they hold.
        what: &'static str,
    },
    /// A file is of use only together with another.
    #[error("{name}: {what} needs {missing}; give both in one command")]
    Alone {
        /// The file.
        name: String,
        /// What it holds.
        what: &'static str,
        /// What is missing.
        missing: &'static str,
    },
    /// One version was given for several code systems.
    #[error("a version can be given for one publisher's code system only; the files hold {0}")]
    SeveralVersions(usize),
}

impl TerminologyError {
    /// Whether the input is at fault, not the machine or what was stored before.
    pub fn is_of_input(&self) -> bool {
        match self {
            TerminologyError::Published(error) => error.is_of_input(),
            _ => true,
        }
    }
}
