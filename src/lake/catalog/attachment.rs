//! Attachments in the catalog: a table of this program with a row for each file. A row begins and ends with a snapshot,
//! as rows of data files do.
//!
//! The first attachment creates the table and raises the catalog's layout version. Programs that do not know
//! attachments refuse this version. Otherwise they would take the files for leftovers of an interrupted writer, and
//! remove them.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::metadata::{LAYOUT_KEY, owner_key};
use super::snapshots::load::Head;
use super::stamp;
use crate::columns::layout::ATTACHMENTS_CATALOG_VERSION;
use crate::lake::attachment::{Contents, Mark, Recorded, TABLE as FOLDER, Trailer, is_sealed_name};
use crate::lake::erase::{ErasedAttachment, Erasure, Intent};
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::Keys;

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
    /// The name of the file, which is in the folder of the data files of `Binary`.
    pub(in crate::lake) name: String,
    /// The length of the document. `file_bytes` is the length of the file.
    pub(in crate::lake) bytes: u64,
    pub(in crate::lake) file_bytes: u64,
    /// The record of the contents. If the file is sealed, only the file's key opens the record.
    pub(in crate::lake) recorded: Recorded,
    pub(in crate::lake) begin: u64,
    pub(in crate::lake) end: Option<u64>,
}

impl StoredAttachment {
    /// Whether a sync of one of these authorizations stored the file.
    pub(in crate::lake) fn is_of(&self, authorizations: &[String], key: OwnerKey) -> bool {
        let mut authorizations = authorizations.iter();
        match &self.recorded {
            Recorded::Clear(contents) => authorizations.any(|one| *one == contents.authorization),
            Recorded::Sealed { authorization, .. } => authorizations
                .any(|one| Mark::of_authorization(key, self.mode, &self.application, one) == *authorization),
        }
    }

    /// Returns the recorded contents. Fails if the file is sealed and its key is not in `keys`.
    pub(in crate::lake) fn contents(&self, keys: &Keys) -> Result<Contents, LakeError> {
        self.recorded.open(&self.name, keys)
    }
}

/// A file that becomes the attachment of a row of `Binary`.
#[derive(Debug)]
pub(in crate::lake) struct AddedAttachment {
    pub(in crate::lake) mode: Mode,
    /// The name of the file, which is in the folder of the data files of `Binary`.
    pub(in crate::lake) name: String,
    pub(in crate::lake) file_bytes: u64,
    pub(in crate::lake) trailer: Trailer,
}

/// Whether the table of attachments exists. It exists if the catalog has ever had an attachment.
pub(in crate::lake) fn has_attachments(connection: &Connection) -> Result<bool, LakeError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tabularium_attachment')";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Makes the table if it is missing.
pub(super) fn make_table(connection: &Connection) -> Result<(), LakeError> {
    Ok(connection.execute_batch(TABLE)?)
}

/// Returns the attachment of a row of `Binary` in a snapshot. `None` if it has none.
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
        "SELECT {COLUMNS} FROM tabularium_attachment WHERE binary_id IN (?1, ?5) AND mode = ?2 AND application = ?3
         AND begin_snapshot <= ?4 AND (end_snapshot IS NULL OR end_snapshot > ?4) ORDER BY attachment_id DESC LIMIT 1"
    );
    let mark = Mark::of_binary(owner_key(connection)?, mode, application, binary);
    let mut statement = connection.prepare_cached(&sql)?;
    let asked = params![binary, mode.schema(), application, snapshot, mark.as_str()];
    let found = statement.query_row(asked, |row| Ok(stored(row)));
    found.optional()?.transpose()
}

/// Returns the attachments of an authorization in the newest snapshot.
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
         WHERE owner = ?1 AND mode = ?2 AND application = ?3 AND authorization IN (?4, ?5) AND end_snapshot IS NULL"
    );
    let mark = Mark::of_authorization(owner_key(connection)?, mode, application, authorization);
    let asked = params![owner, mode.schema(), application, authorization, mark.as_str()];
    select(connection, &sql, asked)
}

/// Returns the attachments of all snapshots, in the order of their ids.
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
    let recorded = if is_sealed_name(&name) {
        Recorded::Sealed {
            binary: Mark::read(row.get(5)?),
            authorization: Mark::read(row.get(4)?),
            sealed: row.get(11)?,
        }
    } else {
        Recorded::Clear(Contents {
            binary: row.get(5)?,
            authorization: row.get(4)?,
            sha256: row.get(9)?,
            sha1: row.get(10)?,
            origin: row.get(11)?,
        })
    };
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    Ok(StoredAttachment {
        id: row.get(0)?,
        mode: Mode::named(&mode).filter(|_| is_plain).ok_or_else(damaged)?,
        application: row.get(2)?,
        owner: row.get(3)?,
        name,
        bytes: row.get(7)?,
        file_bytes: row.get(8)?,
        recorded,
        begin: row.get(12)?,
        end: row.get(13)?,
    })
}

/// The changes of attachments in a snapshot.
#[derive(Debug, Default)]
pub(in crate::lake) struct AttachmentCommit {
    /// New attachments. If a row of `Binary` already has an attachment, the new one ends it. The commit assigns the ids
    /// and snapshots of new attachments.
    pub(in crate::lake) added: Vec<AddedAttachment>,
    /// The ids of existing attachments that get a new origin, each with the new origin.
    pub(in crate::lake) origins: Vec<(u64, String)>,
}

impl AttachmentCommit {
    pub(in crate::lake) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.origins.is_empty()
    }
}

/// Returns the values of the five columns that describe an attachment's contents: `binary_id`, `authorization`,
/// `sha256`, `sha1` and `origin`. For a sealed file, the first two are keyed hashes, the next two are empty, and
/// `origin` has the encrypted record.
fn told(recorded: &Recorded) -> [&str; 5] {
    match recorded {
        Recorded::Clear(contents) => [
            &contents.binary,
            &contents.authorization,
            &contents.sha256,
            &contents.sha1,
            &contents.origin,
        ],
        Recorded::Sealed {
            binary,
            authorization,
            sealed,
        } => [binary.as_str(), authorization.as_str(), "", "", sealed],
    }
}

/// Overwrites the record of an attachment's contents.
pub(super) fn record_again(connection: &Connection, id: u64, recorded: &Recorded) -> Result<(), LakeError> {
    let [binary, authorization, sha256, sha1, origin] = told(recorded);
    let sql = "UPDATE tabularium_attachment
               SET binary_id = ?, authorization = ?, sha256 = ?, sha1 = ?, origin = ? WHERE attachment_id = ?";
    let values = params![binary, authorization, sha256, sha1, origin, id];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Changes the origin in the record of an attachment's contents.
fn set_origin(connection: &Connection, id: u64, origin: &str, keys: &Keys) -> Result<(), LakeError> {
    let sql = format!("SELECT {COLUMNS} FROM tabularium_attachment WHERE attachment_id = ?");
    for one in select(connection, &sql, [id])? {
        let mut contents = one.contents(keys)?;
        origin.clone_into(&mut contents.origin);
        let whose = (one.mode, &*one.application);
        let recorded = Recorded::new(&contents, &one.name, whose, owner_key(connection)?, keys)?;
        record_again(connection, id, &recorded)?;
    }
    Ok(())
}

/// Writes the changes of attachments in a snapshot. Takes the ids of new attachments from `after`.
pub(super) fn insert_attachments(
    transaction: &Connection,
    after: &mut Head,
    commit: &AttachmentCommit,
    keys: &Keys,
) -> Result<(), LakeError> {
    if commit.is_empty() {
        return Ok(());
    }
    make_table(transaction)?;
    transaction.execute(
        "UPDATE ducklake_metadata SET value = ?1 WHERE key = ?2 AND scope IS NULL AND CAST(value AS INTEGER) < ?1",
        params![ATTACHMENTS_CATALOG_VERSION, LAYOUT_KEY],
    )?;
    for (id, origin) in &commit.origins {
        set_origin(transaction, *id, origin, keys)?;
    }
    let mut end = transaction.prepare_cached(
        "UPDATE tabularium_attachment SET end_snapshot = ?
         WHERE binary_id IN (?, ?) AND mode = ? AND application = ? AND end_snapshot IS NULL",
    )?;
    let owner_key = owner_key(transaction)?;
    let mut row = transaction
        .prepare_cached("INSERT INTO tabularium_attachment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)")?;
    for one in &commit.added {
        let (mode, trailer) = (one.mode.schema(), &one.trailer);
        // The row of a sealed file has a keyed hash in place of `binary_id`. During a conversion, the earlier row may
        // be of either kind, so the statement looks for both values.
        let mark = Mark::of_binary(owner_key, one.mode, &trailer.application, &trailer.binary);
        let ended = params![after.snapshot, trailer.binary, mark.as_str(), mode, trailer.application];
        end.execute(ended)?;
        let whose = (one.mode, &*trailer.application);
        let recorded = Recorded::new(&Contents::of(trailer), &one.name, whose, owner_key, keys)?;
        let [binary, authorization, sha256, sha1, origin] = told(&recorded);
        let id = after.next_file_id;
        after.next_file_id += 1;
        row.execute(params![
            id,
            mode,
            trailer.application,
            trailer.owner,
            authorization,
            binary,
            one.name,
            trailer.bytes,
            one.file_bytes,
            sha256,
            sha1,
            origin,
            after.snapshot
        ])?;
    }
    Ok(())
}

/// Removes the rows of attachments that only snapshots before `oldest` have, and schedules their files for deletion.
/// Returns the number of files.
pub(super) fn expire_attachments(transaction: &Connection, oldest: u64, now: i64) -> Result<u64, LakeError> {
    if !has_attachments(transaction)? {
        return Ok(0);
    }
    let files = schedule_attachments(transaction, "end_snapshot <= ?1", oldest, now)?;
    transaction.execute("DELETE FROM tabularium_attachment WHERE end_snapshot <= ?", [oldest])?;
    Ok(files)
}

/// Removes from all snapshots the attachments that erasures cover, and schedules their files for deletion. Returns the
/// removed attachments of each erasure.
pub(super) fn erase_attachments(
    transaction: &Connection,
    erasures: &[&Erasure],
    keys: &Keys,
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
            schedule_attachments(transaction, "attachment_id = ?1", one.id, now)?;
            transaction.execute("DELETE FROM tabularium_attachment WHERE attachment_id = ?", [one.id])?;
            files.push(ErasedAttachment {
                path: format!("{}/{FOLDER}/{}", one.mode.schema(), one.name),
                bytes: one.bytes,
                // If the key of a sealed file is lost, its record cannot be read. The file is still removed, and its
                // SHA-256 is left empty.
                sha256: one.contents(keys).map(|contents| contents.sha256).unwrap_or_default(),
            });
        }
        erased.push((erasure.id, files));
    }
    Ok(erased)
}

/// Whether an intent covers any attachment.
pub(in crate::lake) fn means_attachments(connection: &Connection, intent: &Intent) -> Result<bool, LakeError> {
    Ok(has_attachments(connection)? && !meant(connection, intent, None)?.is_empty())
}

/// Returns the attachments that an intent covers. If `first_file` is given, returns only those with lower ids, because
/// an erasure does not cover later files.
fn meant(
    connection: &Connection,
    intent: &Intent,
    first_file: Option<u64>,
) -> Result<Vec<StoredAttachment>, LakeError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tabularium_attachment
         WHERE owner = ?1 AND mode = ?2 AND application = ?3 AND (?4 IS NULL OR attachment_id < ?4)"
    );
    let key = owner_key(connection)?;
    let mut found = Vec::new();
    for owner in &intent.patient.owners {
        let asked = params![owner, intent.mode.schema(), intent.application, first_file];
        let of_owner = select(connection, &sql, asked)?.into_iter();
        found.extend(of_owner.filter(|one| one.is_of(&intent.patient.authorizations, key)));
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
