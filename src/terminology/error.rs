//! Errors of loading terminology.

use std::path::PathBuf;

use crate::published::PublishedError;

/// Why terminology is refused.
#[derive(Debug, thiserror::Error)]
pub enum TerminologyError {
    /// A publisher's file, or a table beside the lake, is refused. For example, it cannot be read, or a load would
    /// remove much of a stored table.
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
    /// The folder or file has neither a CodeSystem nor a ValueSet with a URL.
    #[error("{}: holds neither a CodeSystem nor a ValueSet with a url", path.display())]
    Empty {
        /// The folder or file.
        path: PathBuf,
    },
    /// A publisher's file has no codes. Such a file must not replace a stored table.
    #[error("{name}: holds no codes; is it cut off?")]
    NoCodes {
        /// The name of the file.
        name: String,
    },
    /// A code system is too large: it has more than 4 GiB of codes, of displays or of property values, or more than
    /// 65,536 property names.
    #[error("{system}: has more than 4 GiB of codes or displays")]
    TooLarge {
        /// The system's URL.
        system: String,
    },
    /// Two files of one command have the same kind of content, such as two releases of LOINC.
    #[error("{one} and {other} both hold {what}; load one of them")]
    Twice {
        /// The name of the first file.
        one: String,
        /// The name of the second file.
        other: String,
        /// What both files contain.
        what: &'static str,
    },
    /// A file cannot be used without another file, and the command does not name that other file.
    #[error("{name}: {what} needs {missing}; give both in one command")]
    Alone {
        /// The name of the file.
        name: String,
        /// What the file contains.
        what: &'static str,
        /// The file that is missing, such as `FDA's product.txt`.
        missing: &'static str,
    },
    /// A version was given, but the publishers' files have no code system or several. Contains the number of their code
    /// systems.
    #[error("a version can be given for one publisher's code system only; the files hold {0}")]
    SeveralVersions(usize),
}

impl TerminologyError {
    /// Whether the given files are the cause. False for stored tables that are damaged or of another layout, and for a
    /// load by another process.
    pub fn is_of_input(&self) -> bool {
        match self {
            TerminologyError::Published(error) => error.is_of_input(),
            _ => true,
        }
    }
}
