//! The catalog's records of data files and delete files, of all snapshots.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row};

use crate::lake::error::LakeError;

/// The record of a data file.
#[derive(Debug)]
pub(super) struct StoredData {
    pub(super) path: PathBuf,
    /// The table's name.
    pub(super) table: String,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) footer_size: u64,
    /// The bounds of `owner`, `version` and `last_updated`. `None` if they are not recorded.
    pub(super) bounds: [Option<RangeInclusive<i64>>; 3],
    /// The id of each top-level column with recorded statistics, and the number of rows in which the column is null.
    /// For a clear file, these are all its top-level columns.
    pub(super) columns: Vec<(i32, u64)>,
    /// The id of the key that seals the file. `None` for a clear file.
    pub(super) key: Option<String>,
}

/// The record of a delete file.
#[derive(Debug)]
pub(super) struct StoredDeletes {
    pub(super) path: PathBuf,
    /// The path of the data file to which the deletions apply, below `data/`.
    pub(super) data_file: String,
    pub(super) data_rows: u64,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) footer_size: u64,
}

/// Reads the records of all data files, in the order of their ids.
pub(super) fn data_files(connection: &Connection, data: &Path) -> Result<Vec<StoredData>, LakeError> {
    let mut statement = connection.prepare(
        "SELECT s.path || t.path || f.path, t.table_name, f.record_count, f.file_size_bytes, f.footer_size,
                b.owner_min, b.owner_max, b.version_min, b.version_max, b.last_updated_min, b.last_updated_max, f.data_file_id, f.encryption_key
         FROM ducklake_data_file f
         JOIN ducklake_table t ON t.table_id = f.table_id
         JOIN ducklake_schema s ON s.schema_id = t.schema_id
         LEFT JOIN tabularium_file_bounds b ON b.data_file_id = f.data_file_id
         ORDER BY f.data_file_id",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    let mut ids = rustc_hash::FxHashMap::default();
    while let Some(row) = rows.next()? {
        ids.insert(row.get::<_, i64>(11)?, found.len());
        found.push(StoredData {
            path: data.join(row.get::<_, String>(0)?),
            table: row.get(1)?,
            rows: row.get(2)?,
            bytes: row.get(3)?,
            footer_size: row.get(4)?,
            bounds: [range(row, 5)?, range(row, 7)?, range(row, 9)?],
            columns: Vec::new(),
            key: row.get(12)?,
        });
    }
    let mut statement =
        connection.prepare("SELECT data_file_id, column_id, null_count FROM ducklake_file_column_stats")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(at) = ids.get(&row.get::<_, i64>(0)?) {
            found[*at].columns.push((row.get(1)?, row.get(2)?));
        }
    }
    Ok(found)
}

/// Reads the records of all delete files, in the order of their ids.
pub(super) fn delete_files(connection: &Connection, data: &Path) -> Result<Vec<StoredDeletes>, LakeError> {
    let mut statement = connection.prepare(
        "SELECT s.path || t.path || d.path, s.path || t.path || f.path, f.record_count, d.delete_count, d.file_size_bytes,
                d.footer_size
         FROM ducklake_delete_file d
         JOIN ducklake_data_file f ON f.data_file_id = d.data_file_id
         JOIN ducklake_table t ON t.table_id = d.table_id
         JOIN ducklake_schema s ON s.schema_id = t.schema_id
         ORDER BY d.delete_file_id",
    )?;
    let found = statement.query_map([], |row| {
        Ok(StoredDeletes {
            path: data.join(row.get::<_, String>(0)?),
            data_file: row.get(1)?,
            data_rows: row.get(2)?,
            count: row.get(3)?,
            bytes: row.get(4)?,
            footer_size: row.get(5)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn range(row: &Row<'_>, at: usize) -> Result<Option<RangeInclusive<i64>>, rusqlite::Error> {
    let (min, max): (Option<i64>, Option<i64>) = (row.get(at)?, row.get(at + 1)?);
    Ok(min.zip(max).map(|(min, max)| min..=max))
}
