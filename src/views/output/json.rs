//! Writes rows as JSON objects.

use arrow::array::RecordBatch;

use super::cell::Cells;
use crate::views::definition::column::Column;
use crate::views::error::RunError;

/// Appends the rows of a batch as objects with `between` between them. Every object has all columns. A missing value
/// is null.
pub(super) fn push_objects(
    columns: &[Column],
    batch: &RecordBatch,
    between: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), RunError> {
    let mut cells = Vec::with_capacity(columns.len());
    for (place, (column, array)) in columns.iter().zip(batch.columns()).enumerate() {
        let mut key = Vec::with_capacity(column.name.len() + 4);
        key.push(if place == 0 { b'{' } else { b',' });
        crate::columns::json::push_quoted(&mut key, &column.name);
        key.push(b':');
        cells.push((key, Cells::new(column.kind, array)?));
    }
    for row in 0..batch.num_rows() {
        if row > 0 {
            out.extend_from_slice(between);
        }
        for (key, cells) in &cells {
            out.extend_from_slice(key);
            cells.push_json(row, out);
        }
        out.push(b'}');
    }
    Ok(())
}
