//! Locators are the positions of rows. A scan yields a locator for each row instead of its resource. So the resources
//! are read last, and only for the rows of a page.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// The name of the locator column that holds the data file's id (`Int64`).
pub const FILE: &str = "__file";
/// The name of the locator column that holds the row's position in its file (`UInt32`).
pub const ROW: &str = "__row";

/// The position of a row in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Locator {
    /// The id of the data file.
    pub file: u64,
    /// The position of the row in the file, counted from 0. Deleted rows have positions, too.
    pub row: u32,
}

impl Locator {
    /// Returns the locators of a batch. Returns an empty list if the batch lacks one of the locator columns.
    pub fn of(batch: &RecordBatch) -> Vec<Locator> {
        let files = batch
            .column_by_name(FILE)
            .and_then(|column| column.as_any().downcast_ref::<Int64Array>());
        let rows = batch
            .column_by_name(ROW)
            .and_then(|column| column.as_any().downcast_ref::<UInt32Array>());
        match (files, rows) {
            (Some(files), Some(rows)) => files
                .values()
                .iter()
                .zip(rows.values())
                .map(|(file, row)| Locator {
                    file: *file as u64,
                    row: *row,
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the schema of the two locator columns.
    pub fn schema() -> SchemaRef {
        Arc::new(Schema::new(fields().to_vec()))
    }

    /// Returns the two locator columns.
    pub fn columns(locators: &[Locator]) -> [ArrayRef; 2] {
        let files = locators.iter().map(|locator| locator.file as i64);
        let rows = locators.iter().map(|locator| locator.row);
        [
            Arc::new(Int64Array::from_iter_values(files)),
            Arc::new(UInt32Array::from_iter_values(rows)),
        ]
    }
}

/// Returns the fields of the two locator columns.
pub(in crate::lake::scan) fn fields() -> [Arc<Field>; 2] {
    [
        Arc::new(Field::new(FILE, DataType::Int64, false)),
        Arc::new(Field::new(ROW, DataType::UInt32, false)),
    ]
}
