//! Errors that end an import, and refusals of a single resource, after which the import goes on.
//!
//! Neither kind of error contains a resource's content: it has only the place and the fault.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fhir::TypeId;

/// An error that ends an import. Nothing is stored.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// A path from the caller, or a file below it, does not exist or cannot be opened.
    #[error("{}: {error}", path.display())]
    Input {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// An input file could not be read, or decompressed, to its end. The missing part is unknown.
    #[error("{} could not be read to its end: {error}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The error of the system or the decompression.
        error: io::Error,
    },
    /// A temporary file could not be written or read back.
    #[error("a temporary file of the import: {0}")]
    Spill(#[from] io::Error),
    /// The lake could not store the records.
    #[error(transparent)]
    Lake(#[from] crate::lake::LakeError),
    /// Existing rows of the lake could not be read.
    #[error(transparent)]
    Scan(#[from] crate::lake::scan::ScanError),
    /// The columns of the input and of the table contradict each other.
    #[error(transparent)]
    Layout(crate::columns::layout::LayoutError),
    /// A thread of the import panicked.
    #[error("a worker of the import stopped unexpectedly")]
    Worker,
}

/// A resource or a file that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file. Empty for a document that the program passes in memory, and for a resource that a rule changed or
    /// generated.
    pub file: Arc<Path>,
    /// The line, from 1, at which the refused part begins. For invalid JSON, the line of the error.
    pub line: u64,
    /// The resource's index among the entries of its Bundle, from 0. `None` outside a Bundle.
    pub entry: Option<usize>,
    /// The resource's type, if it is known.
    pub type_id: Option<TypeId>,
    /// The fault.
    pub reason: Reason,
}

impl Refusal {
    pub(super) fn of_file(file: Arc<Path>, line: u64, reason: Reason) -> Self {
        Self {
            file,
            line,
            entry: None,
            type_id: None,
            reason,
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: ", self.file.display(), self.line)?;
        if let Some(entry) = self.entry {
            write!(f, "entry {entry}: ")?;
        }
        write!(f, "{}", self.reason)
    }
}

/// The reason why a resource or a document was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The text is not JSON.
    #[error("not JSON: {reason} at column {column}")]
    NotJson {
        /// The parser's error.
        reason: crate::columns::json::Reason,
        /// The column of the error, in bytes from 1.
        column: u64,
    },
    /// The text is no JSON object.
    #[error("not a JSON object")]
    NotAnObject,
    /// A line or document exceeds [`super::LARGEST_DOCUMENT`].
    #[error("larger than {} MiB; split it, or write it as NDJSON", super::LARGEST_DOCUMENT >> 20)]
    TooLarge,
    /// There is no `resourceType`, or it is no string.
    #[error("has no resourceType")]
    NoResourceType,
    /// `resourceType` is no R4 resource type.
    #[error("its resourceType is no R4 resource type")]
    UnknownResourceType,
    /// `id` breaks R4's rule for ids.
    #[error("its id is not of the form [A-Za-z0-9.-]{{1,64}}")]
    InvalidId,
    /// `resourceType`, `id` or `meta` occurs twice.
    #[error("resourceType, id or meta stands twice")]
    Repeated,
    /// A source returned a record that belongs to another person than the one who authorized the sync.
    #[error("it is filed under another person than the one who authorized")]
    OtherPerson,
    /// The resource does not fit into a table: an object has a duplicate property, or the table would need too many
    /// columns.
    #[error("{0}")]
    Shape(String),
    /// `Bundle.entry` is not a list of objects.
    #[error("Bundle.entry is not a list of objects")]
    InvalidEntry,
    /// `request.url` of a PUT has another id than the entry's resource.
    #[error("request.url names another resource than the entry holds")]
    OtherResource,
    /// Several resources match the entry's `ifNoneExist` or conditional `request.url`.
    #[error("several resources match its condition")]
    SeveralMatch,
    /// The entry's `ifNoneExist` or conditional `request.url` has no search parameter, one other than `identifier` and
    /// `_id`, or an identifier without a value.
    #[error("its condition is not made of identifier and _id, each with a value")]
    UnsupportedCondition,
}
