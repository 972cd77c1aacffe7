//! Attachments in the catalog: our own table with a row for each file. A row begins and ends with a snapshot, as rows
//! of data files do.
//!
//! The first attachment creates the table. From then on the catalog has layout 2. Programs that know no attachments
//! refuse it; otherwise they would take the files for leftovers of an interrupted writer.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::load::Head;
use super::stamp;
use crate::columns::layout::ATTACHMENTS_LAYOUT_VERSION;
use crate::lake::attachment::{TABLE as FOLDER, Trailer};
use crate::lake::erase::{ErasedAttachment, Erasure, Intent};
use crate::lake::error::LakeError;
use crate::lake::owners::scope::Mode;

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS tabularium_attachment (attachment_id INTEGER PRIMARY KEY, mode VARCHAR NOT NULL, application VARCHAR NOT NULL, owner BIGINT NOT NULL, authorization VARCHAR NOT NULL, binary_id VARCHAR NOT NULL, path VARCHAR NOT NULL, content_bytes BIGINT NOT NULL, file_size_bytes BIGINT NOT NULL, sha256 VARCHAR NOT NULL, sha1 VARCHAR NOT NULL, origin VARCHAR NOT NULL, begin_snapshot BIGINT NOT NULL, end_snapshot BIGINT);
CREATE INDEX IF NOT EXISTS tabularium_attachment_binary ON tabularium_attachment (binary_id);
CREATE INDEX IF NOT EXISTS tabularium_attachment_owner ON tabularium_attachment (owner)";

const COLUMNS: &str =
    "attachment_id, mode, application, owner, authorization, binary_id, path, content_bytes, file_size_bytes,
                       sha256, sha1, origin, begin_snapshot, end_snapshot";

/// A row of `tabularium_attachment`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lake) struct StoredAttachment {
    pub(in crate::lake) id: u64,
    pub(in crate::lake) mode: Mode,
    pub(in crate::lake) application: String,
    pub(in crate::lake) owner: i64,
    pub(in crate::lake) authorization: String,
    /// The id of the row of `Binary`.
    pub(in crate::lake) binary: String,
    /// The file's name beside the data files of `Binary`.
    pub(in crate::lake) name: String,
    /// Length of the bytes, and of the file.
    pub(in crate::lake) bytes: u64,
    pub(in crate::lake) file_bytes: u64,
    /// Hexadecimal digits.
    pub(in crate::lake) sha256: String,
    pub(in crate::lake) sha1: String,
    pub(in crate::lake) origin: String,
    pub(in crate::lake) begin: u64,
    pub(in crate::lake) end: Option<u64>,
}

impl StoredAttachment {
    /// The row of a file with this trailer. The commit adds its number and snapshot.
    pub(in crate::lake) fn of(mode: Mode, name: String, file_bytes: u64, trailer: Trailer) -> StoredAttachment {
        StoredAttachment {
            id: 0,
            mode,
            application: trailer.application,
            owner: trailer.owner,
            authorization: trailer.authorization,
            binary: trailer.binary,
            name,
            bytes: trailer.bytes,
            file_bytes,
            sha256: trailer.sha256,
            sha1: trailer.sha1,
            origin: trailer.origin,
            begin: 0,
            end: None,
        }
    }
}

/// Whether the catalog has ever had an attachment.
pub(in crate::lake) fn has_attachments(connection: &Connection) -> Result<bool, LakeError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tabularium_attachment')";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Makes the table if there is none yet.
pub(super) fn make_table(connection: &Connection) -> Result<(), LakeError> {
    Ok(connection.execute_batch(TABLE)?)
}

/// The attachment of a row of `Binary` in a snapshot.
pub(in crate::lake) fn find_attachment(
    connection: &Connection,
    mode: Mode,
    application: &str,
    binary: &str,
    snapshot: u64,
) -> Result<Option<StoredAttachment>, LakeError> {
    if !has_attachments(connection)? {
        return Ok(None);
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM tabularium_attachment WHERE binary_id = ?1 AND mode = ?2 AND application = ?3
         AND begin_snapshot <= ?4 AND (end_snapshot IS NULL OR end_snapshot > ?4) ORDER BY attachment_id DESC LIMIT 1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row(params![binary, mode.schema(), application, snapshot], |row| {
        Ok(stored(row))
    });
    found.optional()?.transpose()
}

/// The attachments of an authorization in the newest snapshot.
pub(in crate::lake) fn live_attachments(
    connection: &Connection,
    mode: Mode,
    application: &str,
    owner: i64,
    authorization: &str,
) -> Result<Vec<StoredAttachment>, LakeError> {
    if !has_attachments(connection)? {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM tabularium_attachment
         WHERE owner = ?1 AND mode = ?2 AND application = ?3 AND authorization = ?4 AND end_snapshot IS NULL"
    );
    select(
        connection,
        &sql,
        params![owner, mode.schema(), application, authorization],
    )
}

/// The attachments of all snapshots, in the order of their numbers.
pub(in crate::lake) fn all_attachments(connection: &Connection) -> Result<Vec<StoredAttachment>, LakeError> {
    if !has_attachments(connection)? {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT {COLUMNS} FROM tabularium_attachment ORDER BY attachment_id");
    select(connection, &sql, [])
}

fn select(connection: &Connection, sql: &str, of: impl rusqlite::Params) -> Result<Vec<StoredAttachment>, LakeError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(of)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(stored(row)?);
    }
    Ok(found)
}

fn stored(row: &Row<'_>) -> Result<StoredAttachment, LakeError> {
    let mode: String = row.get(1)?;
    let damaged = || LakeError::Damaged("tabularium_attachment has a row that is no attachment".to_owned());
    let name: String = row.get(6)?;
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    Ok(StoredAttachment {
        id: row.get(0)?,
        mode: Mode::named(&mode).filter(|_| is_plain).ok_or_else(damaged)?,
        application: row.get(2)?,
        owner: row.get(3)?,
        authorization: row.get(4)?,
        binary: row.get(5)?,
        name,
        bytes: row.get(7)?,
        file_bytes: row.get(8)?,
        sha256: row.get(9)?,
        sha1: row.get(10)?,
        origin: row.get(11)?,
        begin: row.get(12)?,
        end: row.get(13)?,
    })
}

/// The changes of attachments in a snapshot.
#[derive(Debug, Default)]
pub(in crate::lake) struct AttachmentCommit {
    /// Each takes the place of the one of the same row of `Binary`. Numbers and snapshots are given by the commit.
    pub(in crate::lake) added: Vec<StoredAttachment>,
    /// Those that stay and are known by another origin from now on.
    pub(in crate::lake) origins: Vec<(u64, String)>,
}

impl AttachmentCommit {
    pub(in crate::lake) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.origins.is_empty()
    }
}

/// Writes the rows of a snapshot.
pub(super) fn insert_attachments(
    transaction: &Connection,
    after: &mut Head,
    commit: &AttachmentCommit,
) -> Result<(), LakeError> {
    if commit.is_empty() {
        return Ok(());
    }
    make_table(transaction)?;
    transaction.execute(
        "UPDATE ducklake_metadata SET value = ?1 WHERE key = ?2 AND scope IS NULL AND CAST(value AS INTEGER) < ?1",
        params![ATTACHMENTS_LAYOUT_VERSION, super::create::LAYOUT_KEY],
    )?;
    for (id, origin) in &commit.origins {
        transaction.execute(
            "UPDATE tabularium_attachment SET origin = ? WHERE attachment_id = ?",
            params![origin, id],
        )?;
    }
    let mut end = transaction.prepare_cached(
        "UPDATE tabularium_attachment SET end_snapshot = ?
         WHERE binary_id = ? AND mode = ? AND application = ? AND end_snapshot IS NULL",
    )?;
    let mut row = transaction
        .prepare_cached("INSERT INTO tabularium_attachment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)")?;
    for one in &commit.added {
        end.execute(params![after.snapshot, one.binary, one.mode.schema(), one.application])?;
        let id = after.next_file_id;
        after.next_file_id += 1;
        row.execute(params![
            id,
            one.mode.schema(),
            one.application,
            one.owner,
            one.authorization,
            one.binary,
            one.name,
            one.bytes,
            one.file_bytes,
            one.sha256,
            one.sha1,
            one.origin,
            after.snapshot
        ])?;
    }
    Ok(())
}

/// Schedules the files for deletion that only snapshots before `oldest` reach. Returns how many.
pub(super) fn expire_attachments(transaction: &Connection, oldest: u64, now: i64) -> Result<u64, LakeError> {
    if !has_attachments(transaction)? {
        return Ok(0);
    }
    let files = schedule_attachments(transaction, "end_snapshot <= ?1", oldest, now)?;
    transaction.execute("DELETE FROM tabularium_attachment WHERE end_snapshot <= ?", [oldest])?;
    Ok(files)
}

/// Removes the attachments of erasures from all snapshots and schedules their files for deletion. Returns the removed
/// ones for each erasure.
pub(super) fn erase_attachments(
    transaction: &Connection,
    erasures: &[&Erasure],
    now: i64,
) -> Result<Vec<(u64, Vec<ErasedAttachment>)>, LakeError> {
    let mut erased = Vec::new();
    if erasures.is_empty() || !has_attachments(transaction)? {
        return Ok(erased);
    }
    for erasure in erasures {
        let Some(intent) = erasure.intent() else { continue };
        let meant = meant(transaction, &intent, Some(erasure.first_file))?;
        let mut files = Vec::with_capacity(meant.len());
        for one in &meant {
            schedule_attachments(transaction, "attachment_id = ?1", *one, now)?;
            let sql = format!(
                "DELETE FROM tabularium_attachment WHERE attachment_id = ?
                 RETURNING mode || '/{FOLDER}/' || path, content_bytes, sha256"
            );
            files.push(transaction.prepare_cached(&sql)?.query_row([one], |row| {
                Ok(ErasedAttachment {
                    path: row.get(0)?,
                    bytes: row.get(1)?,
                    sha256: row.get(2)?,
                })
            })?);
        }
        erased.push((erasure.id, files));
    }
    Ok(erased)
}

/// Whether an intent means attachments.
pub(in crate::lake) fn means_attachments(connection: &Connection, intent: &Intent) -> Result<bool, LakeError> {
    Ok(has_attachments(connection)? && !meant(connection, intent, None)?.is_empty())
}

/// The numbers of the attachments that an intent means, below `first_file` if that is given.
fn meant(connection: &Connection, intent: &Intent, first_file: Option<u64>) -> Result<Vec<u64>, LakeError> {
    let mut statement = connection.prepare_cached(
        "SELECT attachment_id, authorization FROM tabularium_attachment
         WHERE owner = ?1 AND mode = ?2 AND application = ?3 AND (?4 IS NULL OR attachment_id < ?4)",
    )?;
    let mut found = Vec::new();
    for owner in &intent.patient.owners {
        let mut rows = statement.query(params![owner, intent.mode.schema(), intent.application, first_file])?;
        while let Some(row) = rows.next()? {
            let authorization: String = row.get(1)?;
            if intent.patient.authorizations.contains(&authorization) {
                found.push(row.get(0)?);
            }
        }
    }
    Ok(found)
}

pub(super) fn schedule_attachments(
    transaction: &Connection,
    condition: &str,
    number: u64,
    now: i64,
) -> Result<u64, LakeError> {
    let scheduled = transaction.execute(
        &format!(
            "INSERT INTO ducklake_files_scheduled_for_deletion
             SELECT attachment_id, mode || '/{FOLDER}/' || path, 1, ?2 FROM tabularium_attachment WHERE {condition}"
        ),
        params![number, stamp::text(now)],
    )?;
    Ok(scheduled as u64)
}
