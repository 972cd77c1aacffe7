//! Records erasures in the catalog. Finishes them: replaces the files that have erased rows, in all snapshots.

use std::ops::RangeInclusive;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::attachment::erase_attachments;
use super::evidence::{keep_entries, keep_files};
use super::metadata::raise_ledger;
use super::pending::{count, make_table};
use super::sealing::keys::have_keys_destroyed;
use super::snapshots::expire::schedule;
use super::snapshots::insert::{key_id, write_statistics};
use super::snapshots::load::{Head, head};
use super::snapshots::statistics::recompute;
use crate::columns::layout::Layout;
use crate::lake::commit::written::WrittenFile;
use crate::lake::erase::ledger::Entered;
use crate::lake::erase::{Entry, ErasedAttachment, ErasedFile, Erasure, Intent};
use crate::lake::error::LakeError;
use crate::lake::seal::{FileKey, Keys};

/// A data file of any snapshot, with its delete files.
#[derive(Debug)]
pub(in crate::lake) struct StoredFile {
    pub(in crate::lake) id: u64,
    pub(in crate::lake) name: String,
    /// The lowest and the highest owner of the file's rows.
    pub(in crate::lake) owners: RangeInclusive<i64>,
    pub(in crate::lake) rows: u64,
    pub(in crate::lake) begin: u64,
    pub(in crate::lake) end: Option<u64>,
    /// The delete files of the data file, ordered by their first snapshot.
    pub(in crate::lake) deletes: Vec<StoredDeletes>,
}

/// A delete file of any snapshot.
#[derive(Debug)]
pub(in crate::lake) struct StoredDeletes {
    pub(in crate::lake) name: String,
    pub(in crate::lake) begin: u64,
    pub(in crate::lake) end: Option<u64>,
}

/// What happens to the data file `id` in all snapshots: another file replaces it, or it is removed.
#[derive(Debug)]
pub(in crate::lake) struct Exchange<'a> {
    pub(in crate::lake) table: u64,
    pub(in crate::lake) layout: &'a Layout,
    pub(in crate::lake) id: u64,
    /// The file that replaces the data file, with its name. `None` if no row remains, so that the data file is only
    /// removed.
    pub(in crate::lake) written: Option<(String, WrittenFile)>,
    /// The new file's `end_snapshot`: the first snapshot that no longer has the file, or in which all of its rows are
    /// deleted. `None` if the newest snapshot has some of its rows.
    pub(in crate::lake) end: Option<u64>,
    /// All delete files of the new file.
    pub(in crate::lake) deletes: Vec<NewPeriod>,
}

/// A delete file with the first snapshot in which it applies, and the first in which it no longer applies.
#[derive(Debug)]
pub(in crate::lake) struct NewPeriod {
    pub(in crate::lake) begin: u64,
    pub(in crate::lake) end: Option<u64>,
    pub(in crate::lake) name: String,
    pub(in crate::lake) count: u64,
    pub(in crate::lake) bytes: u64,
    pub(in crate::lake) footer_size: u64,
    pub(in crate::lake) key: Option<FileKey>,
}

/// Records erasures and returns their ids. A new erasure replaces an unfinished one of the same rows.
pub(in crate::lake) fn record(connection: &mut Connection, intents: &[&Intent]) -> Result<Vec<u64>, LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    make_table(&transaction)?;
    let first_file = head(&transaction)?.next_file_id;
    let mut id = count(&transaction, intents.len() as u64)? - intents.len() as u64;
    let mut ids = Vec::with_capacity(intents.len());
    for intent in intents {
        id += 1;
        ids.push(id);
        let list = |of: serde_json::Value| of.to_string();
        let whose = params![
            id,
            intent.mode.schema(),
            intent.application,
            list(serde_json::json!(intent.patient.owners)),
            list(serde_json::json!(intent.patient.patients)),
            list(serde_json::json!(intent.patient.authorizations)),
            first_file
        ];
        transaction.execute(
            "DELETE FROM tabularium_erasure WHERE mode = ?2 AND application = ?3 AND owners = ?4 AND patients = ?5
             AND authorizations = ?6 AND erasure_id <> ?1 AND first_file <= ?7",
            whose,
        )?;
        transaction.execute("INSERT INTO tabularium_erasure VALUES (?, ?, ?, ?, ?, ?, ?)", whose)?;
    }
    transaction.commit()?;
    Ok(ids)
}

/// Returns the data files of a table, in all snapshots, for which `may_reach` returns `true`. `may_reach` gets the id
/// and the owners of a file.
pub(in crate::lake) fn reached(
    connection: &Connection,
    table: u64,
    may_reach: impl Fn(u64, &RangeInclusive<i64>) -> bool,
) -> Result<Vec<StoredFile>, LakeError> {
    let mut statement = connection.prepare_cached(
        "SELECT f.data_file_id, f.path, f.record_count, f.begin_snapshot, f.end_snapshot,
                coalesce(b.owner_min, -9223372036854775808), coalesce(b.owner_max, 9223372036854775807)
         FROM ducklake_data_file f LEFT JOIN tabularium_file_bounds b ON b.data_file_id = f.data_file_id
         WHERE f.table_id = ? ORDER BY f.data_file_id",
    )?;
    let mut deletes = connection.prepare_cached(
        "SELECT path, begin_snapshot, end_snapshot FROM ducklake_delete_file
         WHERE data_file_id = ? ORDER BY begin_snapshot",
    )?;
    let mut rows = statement.query([table])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, owners) = (row.get(0)?, row.get(5)?..=row.get(6)?);
        if !may_reach(id, &owners) {
            continue;
        }
        let of_file = deletes.query_map([id], |row| {
            Ok(StoredDeletes {
                name: row.get(0)?,
                begin: row.get(1)?,
                end: row.get(2)?,
            })
        })?;
        found.push(StoredFile {
            id,
            name: row.get(1)?,
            owners,
            rows: row.get(2)?,
            begin: row.get(3)?,
            end: row.get(4)?,
            deletes: of_file.collect::<Result<_, _>>()?,
        });
    }
    Ok(found)
}

/// Returns the id of the oldest snapshot that can be read.
pub(in crate::lake) fn oldest_snapshot(connection: &Connection) -> Result<u64, LakeError> {
    Ok(connection.query_row("SELECT min(snapshot_id) FROM ducklake_snapshot", [], |row| row.get(0))?)
}

/// Evidence about data files: for unfinished erasures by their ids, and for finished ones by their subjects.
#[derive(Debug, Default)]
pub(in crate::lake) struct Told {
    pub(in crate::lake) of_erasures: Vec<(u64, ErasedFile)>,
    pub(in crate::lake) of_subjects: Vec<(String, ErasedFile)>,
}

/// Carries out erasures in one transaction. Replaces or removes files in all snapshots, removes the attachments that
/// the erasures `attached` cover, stores the evidence, and deletes the records of the erasures `finished`, which the
/// ledger `entered` has. Returns the ids of the erasures in `attached`, each with its number of removed attachments.
pub(in crate::lake) fn exchange(
    connection: &mut Connection,
    (finished, entered): (&[u64], Option<&Entered>),
    exchanges: &[Exchange<'_>],
    attached: &[&Erasure],
    told: Told,
    keys: &Keys,
) -> Result<Vec<(u64, u64)>, LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let head = exchange_files(&transaction, &exchanges.iter().collect::<Vec<_>>())?;
    let attachments = erase_attachments(&transaction, attached, keys, head.time)?;
    let counts = attachments
        .iter()
        .map(|(id, erased)| (*id, erased.len() as u64))
        .collect();
    let files = told.of_erasures.into_iter().map(|(id, file)| (id, Entry::File(file)));
    let of_erasure =
        |(id, erased): (u64, Vec<ErasedAttachment>)| erased.into_iter().map(move |one| (id, Entry::Attachment(one)));
    let entries: Vec<(u64, Entry)> = files.chain(attachments.into_iter().flat_map(of_erasure)).collect();
    keep_entries(&transaction, head.snapshot, entries)?;
    keep_files(&transaction, head.snapshot, told.of_subjects)?;
    if !finished.is_empty() {
        raise_ledger(&transaction, entered)?;
    }
    for id in finished {
        transaction.execute("DELETE FROM tabularium_erasure WHERE erasure_id = ?", [id])?;
    }
    count(&transaction, 1)?;
    have_keys_destroyed(&transaction)?;
    transaction.commit()?;
    Ok(counts)
}

/// Makes a failed commit invalid for good. A commit can fail when its pages are in the log, because the log could not
/// be synced. This connection does not see such a commit, but the next process to open the catalog would. A further
/// commit takes its place in the log.
pub(in crate::lake) fn overrule_failed_commit(connection: &Connection) -> Result<(), LakeError> {
    // SQLite writes this number, which nobody reads, even if it is the same.
    Ok(connection.pragma_update(None, "user_version", 0)?)
}

/// Moves the write-ahead log into the catalog's file and truncates it, so that no older page of the catalog remains.
/// Returns `false` if a reader prevents it.
pub(in crate::lake) fn empty_log(connection: &Connection) -> Result<bool, LakeError> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}

/// Replaces or removes data files in all snapshots, and schedules the old files for deletion. Returns the newest
/// snapshot.
pub(super) fn exchange_files(transaction: &Connection, exchanges: &[&Exchange<'_>]) -> Result<Head, LakeError> {
    let head = head(transaction)?;
    let mut next_file_id = head.next_file_id;
    for exchange in exchanges {
        // Schedule the old files for deletion, because their rows are erased or converted. They are unlinked after this
        // commit. If the process is killed before that, the next writer unlinks them.
        for table in [
            ("ducklake_data_file", "data_file_id"),
            ("ducklake_delete_file", "delete_file_id"),
        ] {
            schedule(transaction, table, "f.data_file_id = ?1", exchange.id, head.time)?;
        }
        exchange_file(transaction, exchange, &mut next_file_id)?;
    }
    transaction.execute(
        "UPDATE ducklake_snapshot SET next_file_id = ? WHERE snapshot_id = ?",
        [next_file_id, head.snapshot],
    )?;
    let mut done: Vec<u64> = Vec::new();
    for exchange in exchanges {
        if !done.contains(&exchange.table) {
            recompute(transaction, Some(exchange.table))?;
            done.push(exchange.table);
        }
    }
    Ok(head)
}

fn exchange_file(transaction: &Connection, exchange: &Exchange<'_>, next_file_id: &mut u64) -> Result<(), LakeError> {
    let id = exchange.id;
    transaction.execute("DELETE FROM ducklake_delete_file WHERE data_file_id = ?", [id])?;
    transaction.execute("DELETE FROM ducklake_file_column_stats WHERE data_file_id = ?", [id])?;
    let Some((name, written)) = &exchange.written else {
        for table in ["ducklake_data_file", "tabularium_file_bounds"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE data_file_id = ?"), [id])?;
        }
        return Ok(());
    };
    let min_owner_left = min_owner(transaction, exchange, written)?;
    transaction.execute(
        "UPDATE ducklake_data_file SET path = ?2, file_size_bytes = ?3, footer_size = ?4, end_snapshot = ?5,
             encryption_key = ?6
         WHERE data_file_id = ?1",
        params![
            id,
            name,
            written.bytes,
            written.footer_size,
            exchange.end,
            key_id(written.key.as_ref())
        ],
    )?;
    transaction.execute("DELETE FROM tabularium_file_bounds WHERE data_file_id = ?", [id])?;
    write_statistics(transaction, exchange.table, id, exchange.layout, written)?;
    transaction.execute(
        "UPDATE tabularium_file_bounds SET owner_min = ? WHERE data_file_id = ?",
        params![min_owner_left, id],
    )?;
    let mut statement = transaction
        .prepare_cached("INSERT INTO ducklake_delete_file VALUES (?, ?, ?, ?, ?, ?, 1, 'parquet', ?, ?, ?, ?, NULL)")?;
    for deletes in &exchange.deletes {
        statement.execute(params![
            *next_file_id,
            exchange.table,
            deletes.begin,
            deletes.end,
            id,
            deletes.name,
            deletes.count,
            deletes.bytes,
            deletes.footer_size,
            key_id(deletes.key.as_ref())
        ])?;
        *next_file_id += 1;
    }
    Ok(())
}

/// Returns the lowest owner to record for a rewritten file. Files of a table are ordered by their lowest owner, and
/// page links rely on that order. If the lowest owner was erased, the result keeps the file's position in the order and
/// does not reveal the erased owner.
fn min_owner(transaction: &Connection, exchange: &Exchange<'_>, written: &WrittenFile) -> Result<i64, LakeError> {
    let left = *written.owners.start();
    let before: Option<i64> = transaction
        .query_row(
            "SELECT owner_min FROM tabularium_file_bounds WHERE data_file_id = ?",
            [exchange.id],
            |row| row.get(0),
        )
        .optional()?;
    let Some(before) = before.filter(|before| *before < left) else {
        return Ok(left);
    };
    let previous: Option<(u64, i64, i64)> = transaction
        .query_row(
            "SELECT b.data_file_id, b.owner_min, b.owner_max
             FROM tabularium_file_bounds b JOIN ducklake_data_file f ON f.data_file_id = b.data_file_id
             WHERE f.table_id = ?1 AND (b.owner_min, b.data_file_id) < (?2, ?3)
             ORDER BY b.owner_min DESC, b.data_file_id DESC LIMIT 1",
            params![exchange.table, before, exchange.id],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    Ok(match previous {
        // No file comes before this one, so a lower owner keeps the order. The owner 2 is below the owners of all
        // people.
        None => before.min(2),
        Some((_, _, max_owner)) if max_owner < before => max_owner + 1,
        Some((id, min_owner_left, _)) if id < exchange.id => min_owner_left,
        Some((_, min_owner_left, _)) => min_owner_left + 1,
    })
}
