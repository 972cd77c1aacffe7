//! Lists the files that the catalog names, and finds contradictions between its rows.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row};
use rustc_hash::FxHashMap;

use super::attachment::{all_attachments, has_attachments};
use super::snapshots::load::head;
use crate::lake::attachment::TABLE;
use crate::lake::error::LakeError;

/// Returns every file that a row of the catalog names in any snapshot, with its path below `data` and its recorded
/// size.
///
/// Fails if a path is invalid or occurs twice, because then nobody can tell which files belong to the lake.
pub(in crate::lake) fn named(connection: &Connection, data: &Path) -> Result<FxHashMap<PathBuf, u64>, LakeError> {
    let mut found = FxHashMap::default();
    for (table, id) in FILES {
        let mut statement = connection.prepare(&format!(
            "SELECT s.path, t.path, f.path, f.path_is_relative AND t.path_is_relative AND s.path_is_relative, f.file_size_bytes, f.{id}
             FROM {table} f
             LEFT JOIN ducklake_table t ON t.table_id = f.table_id
             LEFT JOIN ducklake_schema s ON s.schema_id = t.schema_id"
        ))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(5)?;
            let (path, bytes) = entry(row, data)
                .ok_or_else(|| LakeError::Damaged(format!("row {id} of {table} names no file of a table")))?;
            if found.insert(path, bytes).is_some() {
                return Err(LakeError::Damaged(format!(
                    "row {id} of {table} names the file of another row"
                )));
            }
        }
    }
    for one in all_attachments(connection)? {
        let path = data.join(one.mode.schema()).join(TABLE).join(&one.name);
        if found.insert(path, one.file_bytes).is_some() {
            return Err(LakeError::Damaged(format!(
                "row {} of tabularium_attachment names the file of another row",
                one.id
            )));
        }
    }
    Ok(found)
}

const FILES: [(&str, &str); 2] = [
    ("ducklake_data_file", "data_file_id"),
    ("ducklake_delete_file", "delete_file_id"),
];

fn entry(row: &Row<'_>, data: &Path) -> Option<(PathBuf, u64)> {
    let text = |at: usize| row.get_ref(at).ok()?.as_str().ok();
    let plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    let (schema, table, file) = (text(0)?.strip_suffix('/')?, text(1)?.strip_suffix('/')?, text(2)?);
    let relative = row.get::<_, bool>(3).ok()?;
    if !(relative && plain(schema) && plain(table) && plain(file)) {
        return None;
    }
    let mut path = data.join(schema);
    path.push(table);
    path.push(file);
    Some((path, row.get(4).ok()?))
}

/// Faults that SQL can find in the rows about files: a description of each fault, and a query that returns the number
/// of faulty rows. `?1` is the newest snapshot, `?2` the next file id.
const CONTRADICTIONS: [(&str, &str); 9] = [
    (
        "files of a table that is not there",
        "SELECT (SELECT count(*) FROM ducklake_data_file WHERE table_id NOT IN (SELECT table_id FROM ducklake_table))
              + (SELECT count(*) FROM ducklake_delete_file WHERE table_id NOT IN (SELECT table_id FROM ducklake_table))",
    ),
    (
        "delete files of a data file that is not there or is another table's",
        "SELECT count(*) FROM ducklake_delete_file d LEFT JOIN ducklake_data_file f ON f.data_file_id = d.data_file_id
         WHERE f.table_id IS NOT d.table_id",
    ),
    (
        "files that begin after the newest snapshot, or end before they begin",
        "SELECT (SELECT count(*) FROM ducklake_data_file WHERE begin_snapshot > ?1 OR end_snapshot > ?1 OR end_snapshot < begin_snapshot)
              + (SELECT count(*) FROM ducklake_delete_file WHERE begin_snapshot > ?1 OR end_snapshot > ?1 OR end_snapshot < begin_snapshot)",
    ),
    (
        "files with a number that is still to be given",
        "SELECT (SELECT count(*) FROM ducklake_data_file WHERE data_file_id >= ?2)
              + (SELECT count(*) FROM ducklake_delete_file WHERE delete_file_id >= ?2)",
    ),
    (
        "data files and delete files with the same number",
        "SELECT count(*) FROM ducklake_data_file JOIN ducklake_delete_file ON delete_file_id = ducklake_data_file.data_file_id",
    ),
    (
        "files without rows or bytes",
        "SELECT (SELECT count(*) FROM ducklake_data_file WHERE coalesce(record_count, 0) <= 0 OR coalesce(file_size_bytes, 0) <= 0
                    OR coalesce(footer_size, 0) <= 0 OR coalesce(row_id_start, -1) < 0)
              + (SELECT count(*) FROM ducklake_delete_file WHERE coalesce(delete_count, 0) <= 0 OR coalesce(file_size_bytes, 0) <= 0
                    OR coalesce(footer_size, 0) <= 0)",
    ),
    (
        "delete files that delete more rows than the data file has",
        "SELECT count(*) FROM ducklake_delete_file d JOIN ducklake_data_file f ON f.data_file_id = d.data_file_id
         WHERE d.delete_count >= f.record_count",
    ),
    (
        "data files with more than one delete file in the newest snapshot",
        "SELECT count(*) FROM (SELECT 1 FROM ducklake_delete_file WHERE end_snapshot IS NULL
                               GROUP BY data_file_id HAVING count(*) > 1)",
    ),
    (
        "tables of a schema that is not there",
        "SELECT count(*) FROM ducklake_table WHERE schema_id NOT IN (SELECT schema_id FROM ducklake_schema)",
    ),
];

/// Faults that SQL can find in the rows about attachments. These queries run only if the table of attachments exists.
const OF_ATTACHMENTS: [(&str, &str); 3] = [
    (
        "attachments that begin after the newest snapshot, or end before they begin",
        "SELECT count(*) FROM tabularium_attachment
         WHERE begin_snapshot > ?1 OR end_snapshot > ?1 OR end_snapshot < begin_snapshot",
    ),
    (
        "attachments with a number that is still to be given, or that another file has",
        "SELECT count(*) FROM tabularium_attachment
         WHERE attachment_id >= ?2 OR ?1 < 0 OR attachment_id IN (SELECT data_file_id FROM ducklake_data_file)
            OR attachment_id IN (SELECT delete_file_id FROM ducklake_delete_file)",
    ),
    (
        "more than one attachment of a Binary in the newest snapshot",
        "SELECT count(*) FROM (SELECT 1 FROM tabularium_attachment WHERE end_snapshot IS NULL
                               GROUP BY mode, application, binary_id HAVING count(*) > 1)",
    ),
];

/// Returns the contradictions between the catalog's rows about tables, files and attachments, one string each.
pub(in crate::lake) fn contradictions(connection: &Connection) -> Result<Vec<String>, LakeError> {
    let head = head(connection)?;
    let mut found = Vec::new();
    let of_attachments = has_attachments(connection)?.then_some(OF_ATTACHMENTS);
    for (what, sql) in CONTRADICTIONS.into_iter().chain(of_attachments.into_iter().flatten()) {
        let mut statement = connection.prepare(sql)?;
        let count: u64 = match statement.parameter_count() {
            0 => statement.query_row([], |row| row.get(0))?,
            1 => statement.query_row([head.snapshot], |row| row.get(0))?,
            _ => statement.query_row([head.snapshot, head.next_file_id], |row| row.get(0))?,
        };
        if count > 0 {
            found.push(format!("it has {what} ({count})"));
        }
    }
    Ok(found)
}

/// Returns the faults that SQLite finds in its file, at most five, one string each. If `quick` is true, SQLite does not
/// compare indexes with their tables.
pub(in crate::lake) fn broken_pages(connection: &Connection, quick: bool) -> Result<Vec<String>, LakeError> {
    let mut statement = connection.prepare(if quick {
        "PRAGMA quick_check(5)"
    } else {
        "PRAGMA integrity_check(5)"
    })?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?;
    let found: Vec<String> = found.collect::<Result<_, _>>()?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}
