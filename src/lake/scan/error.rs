//! Errors of reading the lake. A retry helps only with a failing disk. All other errors are files that differ from the
//! catalog, or mistakes of the caller.

use std::path::PathBuf;

use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use parquet::errors::ParquetError;

use crate::lake::error::LakeError;

/// A failed read.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The operating system refused to open or read a data file.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A data file is not the Parquet file that the catalog describes.
    #[error("{path} is damaged")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The reader's error.
        source: ParquetError,
    },
    /// A data file lacks a system column or its page index.
    #[error("{path} has no {what}")]
    Missing {
        /// The file.
        path: PathBuf,
        /// A column or an index.
        what: &'static str,
    },
    /// Columns could not be converted to the table's types.
    #[error("columns do not fit the table's layout")]
    Columns(#[from] ArrowError),
    /// A delete file could not be read.
    #[error(transparent)]
    Deletes(#[from] LakeError),
    /// A row predicate failed.
    #[error("a row filter failed")]
    Filter(#[from] DataFusionError),
    /// A locator names a file or row that is not in this snapshot, or that its scope does not show.
    #[error("row {row} of file {file} is not in this snapshot")]
    Locator {
        /// The data file's id.
        file: u64,
        /// The row in the file.
        row: u32,
    },
}

impl From<ScanError> for DataFusionError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Filter(inner) => inner,
            other => DataFusionError::External(Box::new(other)),
        }
    }
}
