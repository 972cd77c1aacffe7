//! Opens the tables of plans beside a lake, and converts their errors.

use std::path::Path;
use std::sync::Arc;

use crate::cli::terminal::failure::Failure;
use crate::plans::{PlanTables, PlansError};

/// Opens the tables of plans beside the lake in `data`.
pub(in crate::cli) fn open(data: &Path) -> Result<Arc<PlanTables>, Failure> {
    PlanTables::open(data).map(Arc::new).map_err(failure)
}

/// Converts the error to a failure. Its exit code is 2 for an error in a given file, and 1 for one in a stored table.
pub(in crate::cli) fn failure(error: PlansError) -> Failure {
    if error.is_of_input() {
        Failure::input(error.to_string())
    } else {
        Failure::other(error)
    }
}
