//! Writes one snapshot into the catalog: all rows that it adds or ends, of all tables, in one SQLite transaction.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::super::attachment::insert_attachments;
use super::super::stamp;
use super::commit::{Commit, NewDeleteFile, TableCommit};
use super::load::{Head, head};
use super::statistics::{file_bounds, recompute, widen};
use crate::columns::layout::{ColumnRow, Layout};
use crate::lake::commit::written::WrittenFile;
use crate::lake::error::LakeError;
use crate::lake::seal::FileKey;

/// Writes the snapshot. Returns its id. Fails with [`LakeError::Conflict`] if its base is not the newest snapshot.
pub(in crate::lake) fn insert(connection: &mut Connection, commit: &Commit<'_>) -> Result<u64, LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let before = head(&transaction)?;
    if before.snapshot != commit.base {
        return Err(LakeError::Conflict {
            expected: commit.base,
            found: before.snapshot,
        });
    }
    let mut after = Head {
        snapshot: before.snapshot + 1,
        ..before
    };
    if commit.tables.iter().any(|table| !table.new_columns.is_empty()) {
        after.schema_version += 1;
    }
    let mut changes = Vec::new();
    for table in &commit.tables {
        insert_table(&transaction, &mut after, table, &mut changes)?;
    }
    insert_attachments(&transaction, &mut after, &commit.attachments, commit.keys)?;
    transaction
        .prepare_cached("INSERT INTO ducklake_snapshot VALUES (?, ?, ?, ?, ?)")?
        .execute(params![
            after.snapshot,
            stamp::text(commit.time),
            after.schema_version,
            after.next_catalog_id,
            after.next_file_id
        ])?;
    transaction
        .prepare_cached("INSERT INTO ducklake_snapshot_changes VALUES (?, ?, ?, ?, NULL)")?
        .execute(params![
            after.snapshot,
            changes.join(","),
            commit.author,
            commit.message
        ])?;
    transaction.commit()?;
    Ok(after.snapshot)
}

fn insert_table(
    transaction: &Connection,
    after: &mut Head,
    table: &TableCommit<'_>,
    changes: &mut Vec<String>,
) -> Result<(), LakeError> {
    let id = match table.id {
        Some(id) => id,
        None => {
            changes.push(format!("created_table:\"{}\".\"{}\"", table.mode.schema(), table.name));
            create_table(transaction, after, table)?
        }
    };
    if !table.new_columns.is_empty() {
        if table.id.is_some() {
            changes.push(format!("altered_table:{id}"));
        }
        insert_columns(transaction, after, id, table.new_columns)?;
    }
    let next_row_id = insert_files(transaction, after, id, table)?;
    end_files(transaction, after, table)?;
    insert_deletes(transaction, after, id, &table.deletes)?;
    let added: u64 = table.files.iter().map(|file| file.written.rows).sum();
    transaction
        .prepare_cached(
            "UPDATE ducklake_table_stats SET record_count = record_count + ? - ?, next_row_id = ?, file_size_bytes = ?
             WHERE table_id = ?",
        )?
        .execute(params![added, table.ended_rows, next_row_id, table.bytes, id])?;
    if table.compaction {
        changes.push(format!("compacted_table:{id}"));
    } else {
        if !table.files.is_empty() {
            changes.push(format!("inserted_into_table:{id}"));
            widen(transaction, id, table)?;
        }
        if !table.deletes.is_empty() || !table.ended_files.is_empty() {
            changes.push(format!("deleted_from_table:{id}"));
        }
    }
    if !table.ended_files.is_empty() {
        recompute(transaction, Some(id))?;
    }
    Ok(())
}

fn create_table(transaction: &Connection, after: &mut Head, table: &TableCommit<'_>) -> Result<u64, LakeError> {
    let id = after.next_catalog_id;
    after.next_catalog_id += 1;
    let schema: Option<u64> = transaction
        .query_row(
            "SELECT schema_id FROM ducklake_schema WHERE schema_name = ? AND end_snapshot IS NULL",
            [table.mode.schema()],
            |row| row.get(0),
        )
        .optional()?;
    let schema = schema.ok_or_else(|| LakeError::Damaged(format!("it has no schema {}", table.mode.schema())))?;
    transaction.execute(
        "INSERT INTO ducklake_table VALUES (?, ?, ?, NULL, ?, ?, ?, 1)",
        params![
            id,
            uuid::Uuid::new_v4().to_string(),
            after.snapshot,
            schema,
            table.name,
            format!("{}/", table.name)
        ],
    )?;
    transaction.execute("INSERT INTO ducklake_table_stats VALUES (?, 0, 0, 0)", [id])?;
    Ok(id)
}

fn insert_columns(transaction: &Connection, after: &Head, table: u64, columns: &[ColumnRow]) -> Result<(), LakeError> {
    let mut statement = transaction
        .prepare_cached("INSERT INTO ducklake_column VALUES (?, ?, NULL, ?, ?, ?, ?, NULL, NULL, ?, ?, NULL, NULL)")?;
    for column in columns {
        statement.execute(params![
            column.id,
            after.snapshot,
            table,
            column.order,
            column.name,
            column.column_type.name(),
            column.nullable,
            column.parent
        ])?;
    }
    transaction
        .prepare_cached("INSERT INTO ducklake_schema_versions VALUES (?, ?, ?)")?
        .execute(params![after.snapshot, after.schema_version, table])?;
    Ok(())
}

/// Adds the data files with their statistics. Returns the next free row id of the table.
fn insert_files(
    transaction: &Connection,
    after: &mut Head,
    table: u64,
    commit: &TableCommit<'_>,
) -> Result<u64, LakeError> {
    let mut next_row_id: u64 = transaction
        .prepare_cached("SELECT next_row_id FROM ducklake_table_stats WHERE table_id = ?")?
        .query_row([table], |row| row.get(0))?;
    let mut file_row = transaction.prepare_cached(
        "INSERT INTO ducklake_data_file VALUES (?1, ?2, ?3, NULL, ?1, ?4, 1, 'parquet', ?5, ?6, ?7, ?8, NULL, ?9, NULL, NULL)",
    )?;
    for file in &commit.files {
        let id = after.next_file_id;
        after.next_file_id += 1;
        let written = file.written;
        file_row.execute(params![
            id,
            table,
            after.snapshot,
            file.name,
            written.rows,
            written.bytes,
            written.footer_size,
            next_row_id,
            key_id(written.key.as_ref())
        ])?;
        next_row_id += written.rows;
        write_statistics(transaction, table, id, commit.layout, written)?;
    }
    Ok(next_row_id)
}

/// Returns the value of DuckLake's column `encryption_key`, which is the id of the key and never the key.
pub(in crate::lake::catalog) fn key_id(key: Option<&FileKey>) -> Option<String> {
    key.map(|key| key.id().to_string())
}

/// Writes the catalog's statistics of a data file. For a sealed file, writes only the bounds that this program needs,
/// and nothing that reveals records.
pub(in crate::lake::catalog) fn write_statistics(
    transaction: &Connection,
    table: u64,
    id: u64,
    layout: &Layout,
    written: &WrittenFile,
) -> Result<(), LakeError> {
    transaction
        .prepare_cached("INSERT INTO tabularium_file_bounds VALUES (?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            id,
            written.owners.start(),
            written.owners.end(),
            written.versions.start(),
            written.versions.end(),
            written.last_updated.start(),
            written.last_updated.end()
        ])?;
    let mut statistics_row = transaction
        .prepare_cached("INSERT INTO ducklake_file_column_stats VALUES (?, ?, ?, NULL, ?, ?, ?, ?, NULL, NULL)")?;
    let bounded = file_bounds(layout, written);
    let is_told = |id: &i32| written.key.is_none() || bounded.contains_key(id);
    for column in written.columns.iter().filter(|column| is_told(&column.id)) {
        let (min, max) = bounded.get(&column.id).map(|bounds| bounds.texts()).unzip();
        statistics_row.execute(params![id, table, column.id, written.rows, column.nulls, min, max])?;
    }
    Ok(())
}

fn end_files(transaction: &Connection, after: &Head, table: &TableCommit<'_>) -> Result<(), LakeError> {
    let mut file = transaction.prepare_cached(
        "UPDATE ducklake_data_file SET end_snapshot = ? WHERE data_file_id = ? AND end_snapshot IS NULL",
    )?;
    for id in &table.ended_files {
        if file.execute([after.snapshot, *id])? != 1 {
            return Err(LakeError::Damaged(format!("data file {id} has already ended")));
        }
    }
    let mut deletes = transaction.prepare_cached(
        "UPDATE ducklake_delete_file SET end_snapshot = ? WHERE delete_file_id = ? AND end_snapshot IS NULL",
    )?;
    for id in &table.ended_deletes {
        if deletes.execute([after.snapshot, *id])? != 1 {
            return Err(LakeError::Damaged(format!("delete file {id} has already ended")));
        }
    }
    Ok(())
}

fn insert_deletes(
    transaction: &Connection,
    after: &mut Head,
    table: u64,
    deletes: &[NewDeleteFile],
) -> Result<(), LakeError> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO ducklake_delete_file VALUES (?, ?, ?, NULL, ?, ?, 1, 'parquet', ?, ?, ?, ?, NULL)",
    )?;
    for file in deletes {
        let id = after.next_file_id;
        after.next_file_id += 1;
        statement.execute(params![
            id,
            table,
            after.snapshot,
            file.data_file,
            file.name,
            file.count,
            file.bytes,
            file.footer_size,
            key_id(file.key.as_ref())
        ])?;
    }
    Ok(())
}
