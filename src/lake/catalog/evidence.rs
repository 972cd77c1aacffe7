//! Keeps the evidence of finished erasures in the catalog until the caller takes it, so that a killed process loses
//! none of it. This file also searches the catalog itself for erased ids.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, TransactionBehavior, params};

use super::metadata::owner_key;
use super::pending::{epoch, intents};
use crate::lake::erase::{Entry, ErasedFile, ErasedIds, LakeState, subject};
use crate::lake::error::LakeError;

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS tabularium_evidence (evidence_id INTEGER PRIMARY KEY, subject VARCHAR NOT NULL, snapshot BIGINT NOT NULL, erasures BIGINT NOT NULL, entry VARCHAR NOT NULL)";

/// The result of a search of the catalog: the number of searched texts, and for each subject the number of texts that
/// contain one of its ids.
#[derive(Debug, Default)]
pub(in crate::lake) struct FoundInTexts {
    pub(in crate::lake) values: u64,
    pub(in crate::lake) found: Vec<u64>,
}

/// Stores the evidence of erasures, each entry with the id of its erasure, in the transaction that carries out the
/// erasures. Skips entries of erasures that are not recorded.
pub(super) fn keep_entries(
    transaction: &Connection,
    snapshot: u64,
    entries: Vec<(u64, Entry)>,
) -> Result<(), LakeError> {
    if entries.is_empty() {
        return Ok(());
    }
    transaction.execute_batch(TABLE)?;
    let (key, erasures) = (owner_key(transaction)?, epoch(transaction)?);
    let mut insert = transaction
        .prepare_cached("INSERT INTO tabularium_evidence (subject, snapshot, erasures, entry) VALUES (?, ?, ?, ?)")?;
    let intents = intents(transaction)?;
    for (id, entry) in entries {
        let Some(intent) = intents.get(&id) else {
            continue;
        };
        // An entry has only strings and numbers, so it can always be written as JSON.
        let text = serde_json::to_string(&entry).unwrap_or_default();
        insert.execute(params![subject(key, intent), snapshot, erasures, text])?;
    }
    Ok(())
}

/// Stores evidence about files, each with the subject of an erasure, in the transaction that changes the files.
pub(super) fn keep_files(
    transaction: &Connection,
    snapshot: u64,
    files: Vec<(String, ErasedFile)>,
) -> Result<(), LakeError> {
    if files.is_empty() {
        return Ok(());
    }
    transaction.execute_batch(TABLE)?;
    let erasures = epoch(transaction)?;
    let sql = "INSERT INTO tabularium_evidence (subject, snapshot, erasures, entry) VALUES (?, ?, ?, ?)";
    let mut insert = transaction.prepare_cached(sql)?;
    for (subject, file) in files {
        // An entry has only strings and numbers, so it can always be written as JSON.
        let text = serde_json::to_string(&Entry::File(file)).unwrap_or_default();
        insert.execute(params![subject, snapshot, erasures, text])?;
    }
    Ok(())
}

/// Returns the evidence of a subject, oldest first. Each entry has the state of the lake before the exchange of the
/// files.
pub(in crate::lake) fn entries(connection: &Connection, subject: &str) -> Result<Vec<(LakeState, Entry)>, LakeError> {
    if !has_table(connection)? {
        return Ok(Vec::new());
    }
    let sql = "SELECT snapshot, erasures, entry FROM tabularium_evidence WHERE subject = ? ORDER BY evidence_id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([subject])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let lake_state = LakeState {
            snapshot: row.get(0)?,
            erasures: row.get(1)?,
        };
        let entry = serde_json::from_str(&row.get::<_, String>(2)?);
        let damaged = |_| LakeError::Damaged("tabularium_evidence has a row that is no evidence".to_owned());
        found.push((lake_state, entry.map_err(damaged)?));
    }
    Ok(found)
}

/// A row of `tabularium_evidence`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lake) struct KeptEvidence {
    subject: String,
    before: LakeState,
    entry: String,
}

/// Returns all evidence that no caller has taken yet.
pub(in crate::lake) fn all_entries(connection: &Connection) -> Result<Vec<KeptEvidence>, LakeError> {
    if !has_table(connection)? {
        return Ok(Vec::new());
    }
    let sql = "SELECT subject, snapshot, erasures, entry FROM tabularium_evidence ORDER BY evidence_id";
    let mut statement = connection.prepare(sql)?;
    let kept = statement.query_map([], |row| {
        Ok(KeptEvidence {
            subject: row.get(0)?,
            before: LakeState {
                snapshot: row.get(1)?,
                erasures: row.get(2)?,
            },
            entry: row.get(3)?,
        })
    })?;
    Ok(kept.collect::<Result<_, _>>()?)
}

/// Copies the evidence of an earlier catalog into a new one.
pub(in crate::lake) fn put_entries(connection: &mut Connection, kept: &[KeptEvidence]) -> Result<(), LakeError> {
    if kept.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLE)?;
    let sql = "INSERT INTO tabularium_evidence (subject, snapshot, erasures, entry) VALUES (?, ?, ?, ?)";
    for one in kept {
        let values = params![one.subject, one.before.snapshot, one.before.erasures, one.entry];
        transaction.prepare_cached(sql)?.execute(values)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Removes the evidence of these subjects.
pub(in crate::lake) fn forget_entries(connection: &mut Connection, subjects: &[String]) -> Result<(), LakeError> {
    if !has_table(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for subject in subjects {
        transaction.execute("DELETE FROM tabularium_evidence WHERE subject = ?", [subject])?;
    }
    transaction.commit()?;
    Ok(())
}

/// Searches every text and blob of the catalog for these ids.
pub(in crate::lake) fn search(connection: &Connection, ids: &ErasedIds) -> Result<FoundInTexts, LakeError> {
    let mut tables = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    let tables = tables
        .query_map([], |row| row.get(0))?
        .collect::<Result<Vec<String>, _>>()?;
    let mut searched = FoundInTexts::default();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for (at, name) in names.iter().enumerate() {
                let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(at)? else {
                    continue;
                };
                let text = String::from_utf8_lossy(bytes);
                searched.values += 1;
                for one in ids.in_cell(name, &text) {
                    let at = one as usize;
                    searched.found.resize(searched.found.len().max(at + 1), 0);
                    searched.found[at] += 1;
                }
            }
        }
    }
    Ok(searched)
}

fn has_table(connection: &Connection) -> Result<bool, LakeError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tabularium_evidence')";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}
