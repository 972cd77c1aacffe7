//! Finds the resource that causes an error of a view. Expressions run over whole batches, so their errors name no
//! resource. So the batch is halved again and again. Each time, the search continues in a half that fails, until it has
//! only one resource.

use arrow::array::{Array, AsArray, RecordBatch};

use super::super::error::RunError;
use crate::fhir::reference::is_id;
use crate::fhir::{TypeId, facts};

/// The column of the resources' ids.
pub(in crate::views) const ID: &str = "id";

/// Returns the error together with the resource that causes it. `check` evaluates a part of the batch. Returns the
/// error as it is if the batch has no ids, or if no single resource causes the error.
pub(in crate::views) fn named(
    error: RunError,
    type_id: TypeId,
    batch: &RecordBatch,
    check: impl Fn(&RecordBatch) -> Result<(), RunError>,
) -> RunError {
    if !error.is_of_view() || error.is_named() || batch.column_by_name(ID).is_none() {
        return error;
    }
    let mut batch = batch.clone();
    while batch.num_rows() > 1 {
        let half = batch.num_rows() / 2;
        let first = batch.slice(0, half);
        batch = match check(&first) {
            Err(_) => first,
            Ok(()) => batch.slice(half, batch.num_rows() - half),
        };
    }
    let ids = batch.column_by_name(ID).and_then(|ids| ids.as_string_opt::<i32>());
    let id = ids
        .filter(|ids| ids.len() == 1 && ids.is_valid(0))
        .map(|ids| ids.value(0));
    match (id.filter(|id| is_id(id)), check(&batch)) {
        (Some(id), Err(error)) => RunError::Of {
            resource: format!("{}/{id}", facts().get(type_id).name),
            error: Box::new(error),
        },
        _ => error,
    }
}
