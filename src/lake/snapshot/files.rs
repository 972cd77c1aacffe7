//! The files of a table: data files, and delete files with the positions of their deleted rows.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

/// A Parquet file of rows, sorted by (owner, id).
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// The id of the file: `data_file_id` in the catalog. The id is never used again for another file.
    pub id: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// The number of rows in the file, including deleted ones.
    pub rows: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The size of the Parquet footer in bytes, without its length and magic number.
    pub footer_size: u64,
    /// The row id of the first row. Later rows have the following ids.
    pub row_id_start: u64,
    /// The id of the snapshot that added the file.
    pub begin_snapshot: u64,
    /// The lowest and highest `owner`.
    pub owners: RangeInclusive<i64>,
    /// The lowest and highest `version`.
    pub versions: RangeInclusive<i64>,
    /// The lowest and highest `last_updated`, in microseconds since 1970.
    pub last_updated: RangeInclusive<i64>,
    /// The delete file with the positions of the deleted rows. `None` if no row is deleted.
    pub deletes: Option<Arc<DeleteFile>>,
}

impl DataFile {
    /// Returns the number of rows that are not deleted.
    pub fn live_rows(&self) -> u64 {
        self.rows
            .saturating_sub(self.deletes.as_ref().map_or(0, |deletes| deletes.count))
    }
}

/// A Parquet file with the positions of the deleted rows of one data file. `lake::deletes` reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteFile {
    /// The id of the file: `delete_file_id` in the catalog.
    pub id: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// The number of deleted rows.
    pub count: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The id of the snapshot that added the file.
    pub begin_snapshot: u64,
}
