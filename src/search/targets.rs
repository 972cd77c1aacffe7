//! Where references point to: the relative references that a parameter yields over a batch of rows.

use arrow::array::RecordBatch;

use super::SearchError;
use super::matcher::only_text;
use super::parameter::Compiled;
use crate::fhir::storage::{REFERENCE_ID, REFERENCE_TYPE};

/// Tells type and id of each, row by row within one kind of value.
pub(super) fn each(
    compiled: &Compiled,
    batch: &RecordBatch,
    mut found: impl FnMut(&str, &str),
) -> Result<(), SearchError> {
    each_by_row(compiled, batch, |_, ty, id| found(ty, id))
}

/// Tells the row, too.
pub(super) fn each_by_row(
    compiled: &Compiled,
    batch: &RecordBatch,
    mut found: impl FnMut(usize, &str, &str),
) -> Result<(), SearchError> {
    let evaluation = compiled.program.evaluate(batch);
    let values = evaluation.map_err(|source| compiled.failed(source))?.lenient();
    for part in values.typed() {
        let (types, ids) = (part.items.child(REFERENCE_TYPE), part.items.child(REFERENCE_ID));
        for row in 0..values.rows() {
            for item in part.offsets.range(row) {
                if let (Some(ty), Some(id)) = (only_text(&types, item), only_text(&ids, item)) {
                    found(row, ty, id);
                }
            }
        }
    }
    Ok(())
}
