//! Locators: positions of rows. A scan yields one locator per row. So the bytes of `resource` are fetched last, and
//! only for the rows on a page.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType, Field};

/// Name of the locator column that holds the data file's id (`Int64`).
pub const FILE: &str = "__file";
/// Name of the locator column that holds the row's position in its file (`UInt32`).
pub const ROW: &str = "__row";

/// A row's place within a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Locator {
    /// Id of the data file.
    pub file: u64,
    /// Position in the file, counting deleted rows.
    pub row: u32,
}

impl Locator {
    /// The locators of a batch. Empty if it lacks one of the locator columns.
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
}

/// The two locator fields.
pub(in crate::lake::scan) fn fields() -> [Arc<Field>; 2] {
    [
        Arc::new(Field::new(FILE, DataType::Int64, false)),
        Arc::new(Field::new(ROW, DataType::UInt32, false)),
    ]
}
