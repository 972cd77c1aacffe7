//! The tables of plans beside a lake, and the message of a command if they fail.

use std::path::Path;
use std::sync::Arc;

use crate::cli::terminal::failure::Failure;
use crate::plans::{PlanTables, PlansError};

/// The tables beside the lake in `data`.
pub(in crate::cli) fn open(data: &Path) -> Result<Arc<PlanTables>, Failure> {
    PlanTables::open(data).map(Arc::new).map_err(failure)
}

/// An error in a given file is the input's fault. One in a stored table is not.
pub(in crate::cli) fn failure(error: PlansError) -> Failure {
    if error.is_of_input() {
        Failure::input(error.to_string())
    } else {
        Failure::other(error)
    }
}
