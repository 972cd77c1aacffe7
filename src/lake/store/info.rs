//! The contents of a lake in numbers, for `tabularium info` and for operators. Reads only the catalog.

use serde::Serialize;

use super::super::catalog;
use super::super::catalog::SnapshotSize;
use super::super::error::LakeError;
use super::open::Lake;
use crate::fhir::facts;

/// The lake's size at its newest snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LakeInfo {
    /// The id of the newest snapshot.
    pub snapshot: u64,
    /// The time of its commit (RFC 3339).
    pub committed: String,
    /// The number of snapshots that can still be read.
    pub snapshots: u64,
    /// The number of live rows.
    pub rows: u64,
    /// The number of data files in the newest snapshot.
    pub files: u64,
    /// Bytes of data and delete files of the newest snapshot.
    pub bytes: u64,
    /// Bytes of the catalog's SQLite file and its log.
    pub catalog_bytes: u64,
    /// Bytes of data and delete files that only older snapshots reach.
    pub replaced_bytes: u64,
    /// The tables by mode and name: first those of mode live, then those of mode test.
    pub tables: Vec<TableInfo>,
}

/// The size of one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// `live` or `test`.
    pub mode: &'static str,
    /// The resource type.
    pub table: &'static str,
    /// The number of live rows.
    pub rows: u64,
    /// The number of deleted rows that compaction has not dropped yet.
    pub deleted: u64,
    /// The number of data files.
    pub files: u64,
    /// Bytes of data and delete files.
    pub bytes: u64,
    /// The number of columns, including nested ones.
    pub columns: u64,
}

impl Lake {
    /// Returns the sizes of the newest `limit` snapshots that can still be read, newest first.
    pub fn growth(&self, limit: u32) -> Result<Vec<SnapshotSize>, LakeError> {
        self.with_reader(|reader| catalog::growth(reader, limit))
    }

    /// Loads the newest snapshot and counts its contents.
    pub fn info(&self) -> Result<LakeInfo, LakeError> {
        let snapshot = self.refresh()?;
        let mut tables: Vec<TableInfo> = snapshot
            .tables
            .values()
            .map(|table| TableInfo {
                mode: table.mode.schema(),
                table: facts().get(table.type_id).name,
                rows: table.rows,
                deleted: table.files.iter().map(|file| file.rows - file.live_rows()).sum(),
                files: table.files.len() as u64,
                bytes: table.bytes,
                columns: table.layout.len() as u64,
            })
            .collect();
        tables.sort_by_key(|table| (table.mode, table.table));
        let (snapshots, replaced_bytes) = self.with_reader(catalog::history)?;
        let path = self.folder().catalog();
        let log = std::fs::metadata(path.with_extension("sqlite-wal")).map_or(0, |log| log.len());
        let catalog_bytes = std::fs::metadata(&path).map_err(LakeError::io("read", &path))?.len() + log;
        let committed = chrono::DateTime::from_timestamp_micros(snapshot.time).unwrap_or_default();
        Ok(LakeInfo {
            snapshot: snapshot.id,
            committed: committed.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            snapshots,
            rows: tables.iter().map(|table| table.rows).sum(),
            files: tables.iter().map(|table| table.files).sum(),
            bytes: tables.iter().map(|table| table.bytes).sum(),
            catalog_bytes,
            replaced_bytes,
            tables,
        })
    }
}
