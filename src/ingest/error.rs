//! Errors that end an import, and refusals of a single resource while the rest continues.
//!
//! Neither contains a resource's content: only its place and the fault.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fhir::TypeId;

/// Why an import ended without storing anything.
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

/// A resource, or a whole file, that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file. Empty for resources that the program itself passes.
    pub file: Arc<Path>,
    /// The line, from 1, at which the refused part begins, or at which it stops being JSON.
    pub line: u64,
    /// Its place among the entries of a Bundle, from 0.
    pub entry: Option<usize>,
    /// Its type, if known.
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

/// The fault of a refused text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The text is not JSON.
    #[error("not JSON: {reason} at column {column}")]
    NotJson {
        /// The parser's error.
        reason: crate::columns::json::Reason,
        /// Column of the line, in bytes from 1.
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
    /// A source returned a record that is filed under another person.
    #[error("it is filed under another person than the one who authorized")]
    OtherPerson,
    /// It does not fit into a table: an object has a duplicate property, or it would need too many columns.
    #[error("{0}")]
    Shape(String),
    /// `Bundle.entry` is not a list of objects.
    #[error("Bundle.entry is not a list of objects")]
    InvalidEntry,
    /// `request.url` of a PUT names another resource than the entry has.
    #[error("request.url names another resource than the entry holds")]
    OtherResource,
    /// Several resources match the entry's `ifNoneExist` or conditional `request.url`.
    #[error("several resources match its condition")]
    SeveralMatch,
    /// The entry's condition uses a parameter that conditional references cannot use.
    #[error("its condition uses search parameters other than identifier and _id")]
    UnsupportedCondition,
}
