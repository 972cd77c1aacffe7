//! A data file that is written and not committed yet: the facts that the catalog records about it.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::super::seal::FileKey;

/// A closed Parquet file and the statistics that a commit needs, so that the commit need not open the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// The path that `Transaction::new_file_path` chose.
    pub path: PathBuf,
    /// The number of rows, at least one.
    pub rows: u64,
    /// The file's size in bytes.
    pub bytes: u64,
    /// The size of the Parquet footer in bytes, without its length and magic number.
    pub footer_size: u64,
    /// The lowest and highest `owner`.
    pub owners: RangeInclusive<i64>,
    /// The lowest and highest `version`.
    pub versions: RangeInclusive<i64>,
    /// The lowest and highest `last_updated`, in microseconds since 1970.
    pub last_updated: RangeInclusive<i64>,
    /// The top-level columns in the file.
    pub columns: Vec<WrittenColumn>,
    /// The key that seals the file, if it is sealed.
    pub key: Option<FileKey>,
}

/// A top-level column of a [`WrittenFile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenColumn {
    /// The id of the column.
    pub id: i32,
    /// The number of rows that have null in this column.
    pub nulls: u64,
}
