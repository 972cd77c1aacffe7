//! Why a plan cannot be written or read.

use datafusion::error::DataFusionError;

use crate::lake::LakeError;
use crate::lake::scan::ScanError;
use crate::search::written::WrittenError;
use crate::views::ViewError;

/// A plan that cannot be written as bytes.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// This lake has not signed these bytes.
    #[error("this is no plan of this lake, or it was altered")]
    Altered,
    /// The bytes have another version than this program reads.
    #[error("the plan has format {0}; this program reads format {1}")]
    Version(u8, u8),
    /// The plan has an operator that cannot be written.
    #[error("{0} cannot be written as a part of a plan")]
    Operator(String),
    /// The plan is nested too deeply to be read again.
    #[error("the plan is nested too deeply to be written")]
    Deep,
    /// A part of the plan has an unknown form.
    #[error("{0} of the plan is of another form")]
    Form(&'static str),
    /// An error in a part of a search.
    #[error(transparent)]
    Search(#[from] WrittenError),
    /// A view cannot be read in this process.
    #[error("a view of the plan cannot be read here: {0}")]
    View(#[from] ViewError),
    /// The lake, or the snapshot that the plan reads, cannot be opened.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A table cannot be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// An error of DataFusion in an expression or operator.
    #[error("the plan cannot be taken over: {}", .0.strip_backtrace())]
    Plan(#[source] DataFusionError),
}

impl CodecError {
    /// Whether the given plan is wrong.
    pub fn is_input(&self) -> bool {
        match self {
            CodecError::Lake(error) => matches!(error, LakeError::SnapshotGone(_)),
            CodecError::Scan(_) => false,
            _ => true,
        }
    }
}

impl From<DataFusionError> for CodecError {
    fn from(error: DataFusionError) -> CodecError {
        CodecError::Plan(error)
    }
}
