//! Letting go of old snapshots and of the files that only they reach, as DuckLake's expiry does: the rows go in one
//! transaction that also schedules the files for deletion; then the files go; then the schedule.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior, params};

use super::stamp;
use crate::lake::error::LakeError;
use crate::lake::folder::Folder;

/// What an expiry let go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Snapshots that can no longer be read.
    pub snapshots: u64,
    /// Data and delete files scheduled for deletion.
    pub files: u64,
}

/// Drops the snapshots that ended at or before `until` (microseconds since 1970) and are older than `keep_from`, never the
/// newest, and what only they reach.
///
/// A snapshot ends when its successor begins: until then readers may have started on it.
pub(in crate::lake) fn expire(
    connection: &mut Connection,
    until: i64,
    keep_from: u64,
    now: i64,
) -> Result<Expired, LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let oldest: Option<u64> = transaction.query_row(
        "SELECT max(snapshot_id) FROM ducklake_snapshot WHERE snapshot_time <= ?",
        [stamp::text(until)],
        |row| row.get(0),
    )?;
    let newest: u64 = transaction.query_row("SELECT max(snapshot_id) FROM ducklake_snapshot", [], |row| row.get(0))?;
    let oldest = oldest.unwrap_or(0).min(keep_from).min(newest);
    let snapshots = transaction.execute("DELETE FROM ducklake_snapshot WHERE snapshot_id < ?", [oldest])? as u64;
    if snapshots == 0 {
        return Ok(Expired::default());
    }
    transaction.execute("DELETE FROM ducklake_snapshot_changes WHERE snapshot_id < ?", [oldest])?;
    let now = stamp::text(now);
    let mut files = 0;
    for (table, id) in [
        ("ducklake_data_file", "data_file_id"),
        ("ducklake_delete_file", "delete_file_id"),
    ] {
        files += transaction.execute(
            &format!(
                "INSERT INTO ducklake_files_scheduled_for_deletion
                 SELECT f.{id}, s.path || t.path || f.path, 1, ?2
                 FROM {table} f
                 JOIN ducklake_table t ON t.table_id = f.table_id
                 JOIN ducklake_schema s ON s.schema_id = t.schema_id
                 WHERE f.end_snapshot <= ?1"
            ),
            params![oldest, now],
        )? as u64;
    }
    if files > 0 {
        for table in ["ducklake_file_column_stats", "tabularium_file_bounds"] {
            transaction.execute(
                &format!(
                    "DELETE FROM {table} WHERE data_file_id IN
                     (SELECT data_file_id FROM ducklake_data_file WHERE end_snapshot <= ?)"
                ),
                [oldest],
            )?;
        }
        transaction.execute("DELETE FROM ducklake_data_file WHERE end_snapshot <= ?", [oldest])?;
        transaction.execute("DELETE FROM ducklake_delete_file WHERE end_snapshot <= ?", [oldest])?;
    }
    transaction.commit()?;
    Ok(Expired { snapshots, files })
}

/// Files scheduled for deletion.
pub(in crate::lake) fn scheduled(connection: &Connection, folder: &Folder) -> Result<Vec<PathBuf>, LakeError> {
    let mut statement =
        connection.prepare("SELECT path, path_is_relative FROM ducklake_files_scheduled_for_deletion")?;
    let paths = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
    paths
        .map(|row| {
            let (path, relative) = row?;
            Ok(if relative {
                folder.data().join(path)
            } else {
                PathBuf::from(path)
            })
        })
        .collect()
}

/// Clears the schedule once its files are gone.
pub(in crate::lake) fn forget_scheduled(connection: &Connection) -> Result<(), LakeError> {
    connection.execute("DELETE FROM ducklake_files_scheduled_for_deletion", [])?;
    Ok(())
}

/// Every file that a row of the catalog names, of whatever snapshot, below `data`.
pub(in crate::lake) fn referenced_paths(
    connection: &Connection,
    data: &Path,
) -> Result<rustc_hash::FxHashSet<PathBuf>, LakeError> {
    let mut found = rustc_hash::FxHashSet::default();
    for table in ["ducklake_data_file", "ducklake_delete_file"] {
        let mut statement = connection.prepare(&format!(
            "SELECT s.path || t.path || f.path FROM {table} f
             JOIN ducklake_table t ON t.table_id = f.table_id
             JOIN ducklake_schema s ON s.schema_id = t.schema_id"
        ))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.insert(data.join(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?));
        }
    }
    Ok(found)
}
