//! Turns the catalog's rows into a `Snapshot`: all rows, or only those that changed since an earlier snapshot.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::FxHashMap;

use super::super::pending::erasures;
use super::super::stamp;
use crate::columns::layout::{ColumnRow, Layout};
use crate::columns::shape::ColumnType;
use crate::fhir::{TypeId, facts};
use crate::lake::erase::Erasures;
use crate::lake::error::LakeError;
use crate::lake::owners::scope::Mode;
use crate::lake::snapshot::{DataFile, DeleteFile, Snapshot, TableSnapshot};
use crate::lake::store::folder::Folder;

/// A row of `ducklake_snapshot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake) struct Head {
    pub(in crate::lake) snapshot: u64,
    pub(in crate::lake) time: i64,
    pub(in crate::lake) schema_version: u64,
    pub(in crate::lake) next_catalog_id: u64,
    pub(in crate::lake) next_file_id: u64,
}

/// Returns the row of the newest snapshot.
pub(in crate::lake) fn head(connection: &Connection) -> Result<Head, LakeError> {
    snapshot(
        connection,
        "snapshot_id = (SELECT max(snapshot_id) FROM ducklake_snapshot)",
        0,
    )?
    .ok_or_else(|| LakeError::Damaged("it has no snapshot".to_owned()))
}

fn snapshot(connection: &Connection, condition: &str, id: u64) -> Result<Option<Head>, LakeError> {
    let sql = format!(
        "SELECT snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id
         FROM ducklake_snapshot WHERE {condition} AND ?1 >= 0"
    );
    let row = connection.prepare_cached(&sql)?.query_row([id], |row| {
        let time: String = row.get(1)?;
        Ok((
            time,
            Head {
                snapshot: row.get(0)?,
                time: 0,
                schema_version: row.get(2)?,
                next_catalog_id: row.get(3)?,
                next_file_id: row.get(4)?,
            },
        ))
    });
    let Some((time, head)) = row.optional()? else {
        return Ok(None);
    };
    let time = stamp::parse(&time).ok_or_else(|| LakeError::Damaged(format!("{time} is no snapshot time")))?;
    Ok(Some(Head { time, ..head }))
}

/// Loads the newest snapshot. If `base`, an earlier snapshot, is given, reads only the changes since then if possible.
/// The result then shares unchanged tables and files with `base`.
pub(in crate::lake) fn load(
    connection: &Connection,
    folder: &Folder,
    base: Option<&Arc<Snapshot>>,
) -> Result<Arc<Snapshot>, LakeError> {
    // Use one read transaction, so that all queries see the same state of the catalog.
    let reading = connection.unchecked_transaction()?;
    let head = head(&reading)?;
    let erasures = erasures(&reading)?;
    // An erasure changes the files of existing snapshots, so a base of another epoch cannot be used.
    let base = base.filter(|base| base.erasures.epoch == erasures.epoch);
    let base = match base {
        Some(base) if base.id == head.snapshot => return Ok(Arc::clone(base)),
        // If `base` has expired, load everything: the rows of files that ended since then may be gone, so the catalog
        // does not tell which files ended.
        Some(base) => snapshot(&reading, "snapshot_id = ?1", base.id)?.map(|from| (base, from)),
        None => None,
    };
    match base {
        Some((base, from)) if from.snapshot < head.snapshot => advance(&reading, folder, base, from, head, erasures),
        _ => whole(&reading, folder, head, erasures),
    }
}

/// Whether a snapshot can still be read. Another process may have expired it.
pub(in crate::lake) fn is_kept(connection: &Connection, id: u64) -> Result<bool, LakeError> {
    Ok(snapshot(connection, "snapshot_id = ?1", id)?.is_some())
}

/// Loads an older snapshot. Takes the layouts from `newest`, because columns are only ever added. A column that no file
/// of the older snapshot has is null in all its rows.
pub(in crate::lake) fn load_at(
    connection: &Connection,
    folder: &Folder,
    id: u64,
    newest: &Snapshot,
) -> Result<Arc<Snapshot>, LakeError> {
    let reading = connection.unchecked_transaction()?;
    let head = snapshot(&reading, "snapshot_id = ?1", id)?.ok_or(LakeError::SnapshotGone(id))?;
    let erasures = erasures(&reading)?;
    let tables = tables(&reading, folder, head.snapshot)?;
    let layout = |table: &TableRow| match newest.table(table.mode, table.type_id) {
        Some(newest) => Ok(Arc::clone(&newest.layout)),
        None => layout(&reading, table, head.snapshot),
    };
    assemble(&reading, head, tables, erasures, layout)
}

fn whole(reading: &Connection, folder: &Folder, head: Head, erasures: Erasures) -> Result<Arc<Snapshot>, LakeError> {
    let tables = tables(reading, folder, head.snapshot)?;
    assemble(reading, head, tables, erasures, |table| {
        layout(reading, table, head.snapshot)
    })
}

fn assemble(
    reading: &Connection,
    head: Head,
    tables: Vec<TableRow>,
    erasures: Erasures,
    layout: impl Fn(&TableRow) -> Result<Arc<Layout>, LakeError>,
) -> Result<Arc<Snapshot>, LakeError> {
    let mut deletes = delete_files(reading, &tables, 0, head.snapshot)?;
    let mut files = data_files(reading, &tables, 0, head.snapshot)?;
    let mut snapshots = BTreeMap::new();
    for table in &tables {
        let mut of_table = files.remove(&table.id).unwrap_or_default();
        for file in &mut of_table {
            file.deletes = deletes.remove(&file.id);
        }
        let of_table = of_table.into_iter().map(Arc::new).collect();
        let snapshot = TableSnapshot::new(table.id, table.mode, table.type_id, layout(table)?, of_table);
        snapshots.insert((table.mode, table.type_id), Arc::new(snapshot));
    }
    Ok(Arc::new(Snapshot {
        id: head.snapshot,
        time: head.time,
        tables: snapshots,
        erasures,
    }))
}

/// Returns `base` with the changes of the snapshots after it. `from` is the row of `base`, `head` that of the newest
/// snapshot.
fn advance(
    reading: &Connection,
    folder: &Folder,
    base: &Snapshot,
    from: Head,
    head: Head,
    erasures: Erasures,
) -> Result<Arc<Snapshot>, LakeError> {
    let tables = tables(reading, folder, head.snapshot)?;
    let mut ended: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
    let mut statement = reading.prepare_cached(
        "SELECT table_id, data_file_id FROM ducklake_data_file WHERE end_snapshot > ? AND data_file_id < ?",
    )?;
    let mut rows = statement.query([from.snapshot, from.next_file_id])?;
    while let Some(row) = rows.next()? {
        ended.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    let mut deletes = delete_files(reading, &tables, from.next_file_id, head.snapshot)?;
    let mut files = data_files(reading, &tables, from.next_file_id, head.snapshot)?;
    let altered = altered_tables(reading, from, head)?;

    let mut snapshots = BTreeMap::new();
    for table in &tables {
        let old = base.table(table.mode, table.type_id);
        let added = files.remove(&table.id).unwrap_or_default();
        let gone = ended.remove(&table.id).unwrap_or_default();
        let layout = match old {
            Some(old) if !altered.contains(&table.id) => Arc::clone(&old.layout),
            _ => layout(reading, table, head.snapshot)?,
        };
        let deleted = !deletes.is_empty() && old.is_some_and(|old| deletes.keys().any(|id| old.file(*id).is_some()));
        let snapshot = match old {
            Some(old) if added.is_empty() && gone.is_empty() && !deleted && Arc::ptr_eq(&layout, &old.layout) => {
                Arc::clone(old)
            }
            _ => {
                let kept = old
                    .into_iter()
                    .flat_map(|old| &old.files)
                    .filter(|file| !gone.contains(&file.id));
                let mut all: Vec<Arc<DataFile>> = kept
                    .map(|file| match deletes.remove(&file.id) {
                        Some(deletes) => Arc::new(DataFile {
                            deletes: Some(deletes),
                            ..DataFile::clone(file)
                        }),
                        None => Arc::clone(file),
                    })
                    .collect();
                all.extend(added.into_iter().map(|mut file| {
                    file.deletes = deletes.remove(&file.id);
                    Arc::new(file)
                }));
                Arc::new(TableSnapshot::new(table.id, table.mode, table.type_id, layout, all))
            }
        };
        snapshots.insert((table.mode, table.type_id), snapshot);
    }
    Ok(Arc::new(Snapshot {
        id: head.snapshot,
        time: head.time,
        tables: snapshots,
        erasures,
    }))
}

fn altered_tables(reading: &Connection, from: Head, head: Head) -> Result<Vec<u64>, LakeError> {
    if from.schema_version == head.schema_version {
        return Ok(Vec::new());
    }
    let mut statement =
        reading.prepare_cached("SELECT table_id FROM ducklake_schema_versions WHERE schema_version > ?")?;
    let ids = statement.query_map([from.schema_version], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// A row of `ducklake_table` that this program can use.
struct TableRow {
    id: u64,
    mode: Mode,
    type_id: TypeId,
    folder: PathBuf,
}

fn tables(reading: &Connection, folder: &Folder, snapshot: u64) -> Result<Vec<TableRow>, LakeError> {
    let mut statement = reading.prepare_cached(
        "SELECT t.table_id, s.schema_name, t.table_name, s.path || t.path
         FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
         WHERE t.begin_snapshot <= ?1 AND (t.end_snapshot IS NULL OR t.end_snapshot > ?1)",
    )?;
    let mut rows = statement.query([snapshot])?;
    let mut tables = Vec::new();
    while let Some(row) = rows.next()? {
        let (schema, name): (String, String) = (row.get(1)?, row.get(2)?);
        let mode = [Mode::Live, Mode::Test]
            .into_iter()
            .find(|mode| mode.schema() == schema);
        let (Some(mode), Some(type_id)) = (mode, facts().lookup(&name)) else {
            return Err(LakeError::Damaged(format!(
                "{schema}.{name} is no table of a resource type"
            )));
        };
        tables.push(TableRow {
            id: row.get(0)?,
            mode,
            type_id,
            folder: folder.data().join(row.get::<_, String>(3)?),
        });
    }
    Ok(tables)
}

fn layout(reading: &Connection, table: &TableRow, snapshot: u64) -> Result<Arc<Layout>, LakeError> {
    let mut statement = reading.prepare_cached(
        "SELECT column_id, parent_column, column_order, column_name, column_type, nulls_allowed
         FROM ducklake_column
         WHERE table_id = ?1 AND begin_snapshot <= ?2 AND (end_snapshot IS NULL OR end_snapshot > ?2)
         ORDER BY column_id",
    )?;
    let mut rows = statement.query(params![table.id, snapshot])?;
    let mut columns = Vec::new();
    while let Some(row) = rows.next()? {
        let column_type: String = row.get(4)?;
        columns.push(ColumnRow {
            id: row.get(0)?,
            parent: row.get(1)?,
            order: row.get(2)?,
            name: row.get(3)?,
            column_type: ColumnType::parse(&column_type)
                .ok_or_else(|| LakeError::Damaged(format!("{column_type} is no column type")))?,
            nullable: row.get(5)?,
        });
    }
    let layout = Layout::from_rows(table.type_id, columns)
        .map_err(|error| LakeError::Damaged(format!("columns of table {}: {error}", table.id)))?;
    Ok(Arc::new(layout))
}

/// Returns the data files of `snapshot` with an id of at least `from`, by table, without their delete files.
fn data_files(
    reading: &Connection,
    tables: &[TableRow],
    from: u64,
    snapshot: u64,
) -> Result<FxHashMap<u64, Vec<DataFile>>, LakeError> {
    let mut statement = reading.prepare_cached(
        "SELECT f.table_id, f.data_file_id, f.path, f.record_count, f.file_size_bytes, f.footer_size, f.row_id_start,
                f.begin_snapshot, b.owner_min, b.owner_max, b.version_min, b.version_max,
                b.last_updated_min, b.last_updated_max
         FROM ducklake_data_file f LEFT JOIN tabularium_file_bounds b ON b.data_file_id = f.data_file_id
         WHERE f.data_file_id >= ?1 AND f.begin_snapshot <= ?2 AND (f.end_snapshot IS NULL OR f.end_snapshot > ?2)",
    )?;
    let folders = folders(tables);
    let mut found: FxHashMap<u64, Vec<DataFile>> = FxHashMap::default();
    let mut rows = statement.query([from, snapshot])?;
    while let Some(row) = rows.next()? {
        let table: u64 = row.get(0)?;
        let file = DataFile {
            id: row.get(1)?,
            path: path(&folders, table, row, 2)?,
            rows: row.get(3)?,
            bytes: row.get(4)?,
            footer_size: row.get(5)?,
            row_id_start: row.get(6)?,
            begin_snapshot: row.get(7)?,
            owners: range(row, 8)?,
            versions: range(row, 10)?,
            last_updated: range(row, 12)?,
            deletes: None,
        };
        found.entry(table).or_default().push(file);
    }
    Ok(found)
}

/// Reads a range from two columns. If a bound is not recorded, the range has no limit there, because the file may have
/// any value.
fn range(row: &Row<'_>, at: usize) -> Result<std::ops::RangeInclusive<i64>, rusqlite::Error> {
    Ok(row.get::<_, Option<i64>>(at)?.unwrap_or(i64::MIN)..=row.get::<_, Option<i64>>(at + 1)?.unwrap_or(i64::MAX))
}

/// Returns the delete files of `snapshot` with an id of at least `from`, by the id of the data file.
fn delete_files(
    reading: &Connection,
    tables: &[TableRow],
    from: u64,
    snapshot: u64,
) -> Result<FxHashMap<u64, Arc<DeleteFile>>, LakeError> {
    let mut statement = reading.prepare_cached(
        "SELECT table_id, data_file_id, path, delete_file_id, delete_count, file_size_bytes, begin_snapshot
         FROM ducklake_delete_file
         WHERE delete_file_id >= ?1 AND begin_snapshot <= ?2 AND (end_snapshot IS NULL OR end_snapshot > ?2)",
    )?;
    let folders = folders(tables);
    let mut found = FxHashMap::default();
    let mut rows = statement.query([from, snapshot])?;
    while let Some(row) = rows.next()? {
        let file = DeleteFile {
            path: path(&folders, row.get(0)?, row, 2)?,
            id: row.get(3)?,
            count: row.get(4)?,
            bytes: row.get(5)?,
            begin_snapshot: row.get(6)?,
        };
        found.insert(row.get(1)?, Arc::new(file));
    }
    Ok(found)
}

fn folders(tables: &[TableRow]) -> FxHashMap<u64, &PathBuf> {
    tables.iter().map(|table| (table.id, &table.folder)).collect()
}

fn path(folders: &FxHashMap<u64, &PathBuf>, table: u64, row: &Row<'_>, at: usize) -> Result<PathBuf, LakeError> {
    let folder = folders
        .get(&table)
        .ok_or_else(|| LakeError::Damaged(format!("files of an unknown table {table}")))?;
    Ok(folder.join(row.get_ref(at)?.as_str().map_err(rusqlite::Error::from)?))
}

/// Returns the number of snapshots that can be read, and the number of bytes of the data files and delete files that
/// the newest snapshot no longer has.
pub(in crate::lake) fn history(connection: &Connection) -> Result<(u64, u64), LakeError> {
    Ok(connection.query_row(
        "SELECT (SELECT count(*) FROM ducklake_snapshot),
                (SELECT coalesce(sum(file_size_bytes), 0) FROM ducklake_data_file WHERE end_snapshot IS NOT NULL)
              + (SELECT coalesce(sum(file_size_bytes), 0) FROM ducklake_delete_file WHERE end_snapshot IS NOT NULL)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?)
}
