//! Why a plan cannot be encoded or decoded.

use datafusion::error::DataFusionError;

use crate::lake::LakeError;
use crate::lake::scan::ScanError;
use crate::search::written::WrittenError;
use crate::views::ViewError;

/// Why a plan cannot be encoded or decoded.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The bytes have no valid signature of this lake.
    #[error("this is no plan of this lake, or it was altered")]
    Altered,
    /// This program does not read the bytes' version of the format. The first number is the version of the bytes, the
    /// second is the version that this program reads.
    #[error("the plan has format {0}; this program reads format {1}")]
    Version(u8, u8),
    /// The plan has an operator or a function that cannot be encoded, or that the decoder does not know. The text names
    /// it.
    #[error("{0} cannot be written as a part of a plan")]
    Operator(String),
    /// The plan is nested so deeply that the decoder would refuse it. So the plan is not encoded.
    #[error("the plan is nested too deeply to be written")]
    Deep,
    /// A part of the plan has a form that this program does not know. The text says which part.
    #[error("{0} of the plan is of another form")]
    Form(&'static str),
    /// A part of a search cannot be encoded or decoded.
    #[error(transparent)]
    Search(#[from] WrittenError),
    /// This process cannot read a view of the plan.
    #[error("a view of the plan cannot be read here: {0}")]
    View(#[from] ViewError),
    /// The lake, or the snapshot that the plan reads, cannot be opened.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A table cannot be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// DataFusion reported an error for an expression or operator.
    #[error("the plan cannot be taken over: {}", .0.strip_backtrace())]
    Plan(#[source] DataFusionError),
}

impl CodecError {
    /// Whether the plan is the cause of this error, for example because its snapshot is gone. `false` if the machine or
    /// the state of the lake is the cause.
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
