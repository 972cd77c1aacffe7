//! Writes rows as CSV (RFC 4180, with newlines as line ends). A missing value is an empty field. A collection is
//! written as a JSON array.

use arrow::array::RecordBatch;

use super::cell::{Cells, push_integer};
use crate::views::definition::column::Column;
use crate::views::error::RunError;

/// Appends the header line.
pub(super) fn push_header(columns: &[Column], out: &mut Vec<u8>) -> Result<(), RunError> {
    let mut writer = writer(out);
    writer
        .write_record(columns.iter().map(|column| column.name.as_bytes()))
        .map_err(failed)?;
    writer.flush()?;
    Ok(())
}

/// Appends the rows of a batch.
pub(super) fn push_records(columns: &[Column], batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), RunError> {
    let cells = columns
        .iter()
        .zip(batch.columns())
        .map(|(column, array)| Cells::new(column.kind, array));
    let cells = cells.collect::<Result<Vec<_>, _>>()?;
    let mut writer = writer(out);
    let mut scratch = Vec::new();
    for row in 0..batch.num_rows() {
        for cells in &cells {
            writer.write_field(field(cells, row, &mut scratch)).map_err(failed)?;
        }
        writer.write_record(None::<&[u8]>).map_err(failed)?;
    }
    writer.flush()?;
    Ok(())
}

/// Returns the text of a field.
fn field<'a>(cells: &'a Cells<'_>, row: usize, scratch: &'a mut Vec<u8>) -> &'a [u8] {
    scratch.clear();
    if cells.is_null(row) {
        return scratch;
    }
    match cells {
        Cells::Boolean(array) => return if array.value(row) { b"true" } else { b"false" },
        Cells::Text(array) | Cells::Number(array) => return array.value(row).as_bytes(),
        Cells::Integer(array) => push_integer(array.value(row), scratch),
        Cells::List(..) => cells.push_json(row, scratch),
        Cells::Token(array) => {
            let token = array.value(row);
            match serde_json::from_str::<std::borrow::Cow<'_, str>>(token) {
                Ok(text) => scratch.extend_from_slice(text.as_bytes()),
                // The token is not a string, so it is written as it is. Numbers and booleans look the same in every
                // format.
                Err(_) => return token.as_bytes(),
            }
        }
    }
    scratch
}

fn writer(out: &mut Vec<u8>) -> ::csv::Writer<&mut Vec<u8>> {
    ::csv::WriterBuilder::new().flexible(true).from_writer(out)
}

fn failed(error: ::csv::Error) -> RunError {
    RunError::Output(error.into())
}
