//! Expires snapshots as DuckLake does: removes old snapshots and the files that only they need. One transaction removes
//! the rows and schedules the files for deletion. After that, the files are unlinked, and then the schedule is cleared.

use std::path::{Component, PathBuf};

use rusqlite::{Connection, TransactionBehavior, params};
use rustc_hash::FxHashSet;

use super::super::attachment::expire_attachments;
use super::super::sealing::keys::expire_keys;
use super::super::stamp;
use crate::lake::error::LakeError;
use crate::lake::store::folder::Folder;
use crate::lake::store::survey::has_our_ending;

/// The result of an expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// The number of snapshots that can no longer be read.
    pub snapshots: u64,
    /// The number of data files, delete files and attachments that are scheduled for deletion.
    pub files: u64,
}

/// Which snapshots have ended long enough ago.
#[derive(Clone, Copy, Debug)]
pub(in crate::lake) struct Ended {
    /// Those that ended at or before this time, in microseconds since 1970. `None` if the clock may not decide.
    pub(in crate::lake) until: Option<i64>,
    /// Those before this snapshot, because this process has waited long enough since it saw this one. So snapshots
    /// with a time in the future expire, too.
    pub(in crate::lake) before: u64,
}

/// Removes the snapshots that have ended long enough ago and whose ids are below `keep_from`. Schedules for deletion
/// the files that only these snapshots have. The newest snapshot stays.
///
/// A snapshot ends when its successor begins, because readers may start on it until then.
pub(in crate::lake) fn expire(
    connection: &mut Connection,
    ended: Ended,
    keep_from: u64,
    now: i64,
) -> Result<Expired, LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let oldest: Option<u64> = match ended.until {
        None => None,
        Some(until) => transaction.query_row(
            "SELECT max(snapshot_id) FROM ducklake_snapshot WHERE snapshot_time <= ?",
            [stamp::text(until)],
            |row| row.get(0),
        )?,
    };
    let newest: u64 = transaction.query_row("SELECT max(snapshot_id) FROM ducklake_snapshot", [], |row| row.get(0))?;
    let oldest = oldest.unwrap_or(0).max(ended.before).min(keep_from).min(newest);
    let snapshots = transaction.execute("DELETE FROM ducklake_snapshot WHERE snapshot_id < ?", [oldest])? as u64;
    if snapshots == 0 {
        return Ok(Expired::default());
    }
    transaction.execute("DELETE FROM ducklake_snapshot_changes WHERE snapshot_id < ?", [oldest])?;
    let mut files = 0;
    for (table, id) in [
        ("ducklake_data_file", "data_file_id"),
        ("ducklake_delete_file", "delete_file_id"),
    ] {
        files += schedule(&transaction, (table, id), "f.end_snapshot <= ?1", oldest, now)?;
    }
    expire_keys(&transaction, oldest)?;
    files += expire_attachments(&transaction, oldest, now)?;
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

/// Schedules each file for deletion whose row in `table` meets `condition`. In the condition, `f` is the row and `?1`
/// is `number`. Returns the number of files.
pub(in crate::lake::catalog) fn schedule(
    transaction: &Connection,
    (table, id): (&str, &str),
    condition: &str,
    number: u64,
    now: i64,
) -> Result<u64, LakeError> {
    let scheduled = transaction.execute(
        &format!(
            "INSERT INTO ducklake_files_scheduled_for_deletion
             SELECT f.{id}, s.path || t.path || f.path, 1, ?2
             FROM {table} f
             JOIN ducklake_table t ON t.table_id = f.table_id
             JOIN ducklake_schema s ON s.schema_id = t.schema_id
             WHERE {condition}"
        ),
        params![number, stamp::text(now)],
    )?;
    Ok(scheduled as u64)
}

/// Returns the files that are scheduled for deletion. Fails if a path leads out of the data folder.
pub(in crate::lake) fn scheduled(connection: &Connection, folder: &Folder) -> Result<FxHashSet<PathBuf>, LakeError> {
    let mut statement =
        connection.prepare("SELECT path, path_is_relative FROM ducklake_files_scheduled_for_deletion")?;
    let paths = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
    paths
        .map(|row| {
            let (path, relative) = row?;
            let path = PathBuf::from(path);
            let inside = relative && path.components().all(|part| matches!(part, Component::Normal(_)));
            if inside && has_our_ending(&path) {
                Ok(folder.data().join(path))
            } else {
                Err(LakeError::Damaged(
                    "it has given up a file that is no data file in data/".to_owned(),
                ))
            }
        })
        .collect()
}

/// Whether files are scheduled for deletion.
pub(in crate::lake) fn has_scheduled(connection: &Connection) -> Result<bool, LakeError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM ducklake_files_scheduled_for_deletion)";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// Clears the schedule. Callers do this when the files are gone.
pub(in crate::lake) fn forget_scheduled(connection: &Connection) -> Result<(), LakeError> {
    connection.execute("DELETE FROM ducklake_files_scheduled_for_deletion", [])?;
    Ok(())
}
