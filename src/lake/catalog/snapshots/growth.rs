//! Reads how large the lake was at each snapshot that can still be read.

use rusqlite::Connection;

use super::super::super::error::LakeError;
use super::super::stamp;

/// The size of the lake at a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotSize {
    /// The snapshot's id.
    pub snapshot: u64,
    /// The time of the commit, in microseconds since 1970.
    pub committed: i64,
    /// The number of rows that are not deleted.
    pub rows: u64,
    /// The number of data files.
    pub files: u64,
    /// The size of the data files and delete files, in bytes.
    pub bytes: u64,
}

/// Returns the size of the lake at the newest snapshots, newest first. `limit` is the maximum number of snapshots.
pub(in crate::lake) fn growth(connection: &Connection, limit: u32) -> Result<Vec<SnapshotSize>, LakeError> {
    const STANDS: &str = "begin_snapshot <= s.snapshot_id AND (end_snapshot IS NULL OR end_snapshot > s.snapshot_id)";
    let sql = format!(
        "SELECT s.snapshot_id, s.snapshot_time,
                (SELECT count(*) FROM ducklake_data_file WHERE {STANDS}),
                (SELECT coalesce(sum(record_count), 0) FROM ducklake_data_file WHERE {STANDS}),
                (SELECT coalesce(sum(delete_count), 0) FROM ducklake_delete_file WHERE {STANDS}),
                (SELECT coalesce(sum(file_size_bytes), 0) FROM ducklake_data_file WHERE {STANDS})
              + (SELECT coalesce(sum(file_size_bytes), 0) FROM ducklake_delete_file WHERE {STANDS})
         FROM ducklake_snapshot s ORDER BY s.snapshot_id DESC LIMIT ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([limit], |row| {
        let (all, deleted): (u64, u64) = (row.get(3)?, row.get(4)?);
        Ok(SnapshotSize {
            snapshot: row.get(0)?,
            committed: stamp::parse(&row.get::<_, String>(1)?).unwrap_or_default(),
            files: row.get(2)?,
            rows: all.saturating_sub(deleted),
            bytes: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
