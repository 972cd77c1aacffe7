//! Errors of reads. A retry can help only if the operating system failed to read a file. All other errors mean that a
//! file differs from the catalog, or that the caller passed wrong arguments.

use std::path::PathBuf;

use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use parquet::errors::ParquetError;

use crate::lake::error::LakeError;

/// A failed read.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// A data file cannot be opened or read, its key is missing, or it is not sealed although the lake is.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A data file cannot be decoded: it is not valid Parquet, differs from its checksums or cannot be decrypted.
    #[error("{path} is damaged")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ParquetError,
    },
    /// A data file lacks a part that every data file has, such as a system column of the expected type.
    #[error("{path} has no {what}")]
    Missing {
        /// The file.
        path: PathBuf,
        /// The missing part, in words.
        what: &'static str,
    },
    /// Columns cannot be converted to the table's types, or a predicate returned a result of the wrong length.
    #[error("columns do not fit the table's layout")]
    Columns(#[from] ArrowError),
    /// A delete file cannot be read.
    #[error(transparent)]
    Deletes(#[from] LakeError),
    /// A predicate or the expression of a sort key failed.
    #[error("a row filter failed")]
    Filter(#[from] DataFusionError),
    /// A locator names a file or a row that is not in this snapshot, or a row that the scope does not show.
    #[error("row {row} of file {file} is not in this snapshot")]
    Locator {
        /// The data file's id.
        file: u64,
        /// The position of the row in the file.
        row: u32,
    },
    /// The answer needs more work than its budget has.
    #[error("the answer needs more work than one answer may do")]
    TooCostly,
    /// The answer was asked to stop, because nobody waits for it any more.
    #[error("nobody waits for the answer any more")]
    Stopped,
}

impl From<ScanError> for DataFusionError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Filter(inner) => inner,
            other => DataFusionError::External(Box::new(other)),
        }
    }
}
