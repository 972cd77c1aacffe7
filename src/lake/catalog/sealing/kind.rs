//! Reads and writes the kind of a lake (open, sealed or in between) in its catalog.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};

use super::super::attachment::has_attachments;
use super::super::metadata::{LAYOUT_KEY, is_sealed};
use super::super::pending::count_on;
use super::super::snapshots::statistics::{complete, reduce};
use super::keys::{begin_list, end_list, have_keys_destroyed};
use crate::columns::layout::{ATTACHMENTS_CATALOG_VERSION, CATALOG_VERSION, SEALED_CATALOG_VERSION};
use crate::lake::error::LakeError;
use crate::lake::seal::Kind;

/// The metadata key that exists while a lake is being converted to the other kind.
const HALFWAY_KEY: &str = "tabularium.sealing";
const SEALING: &str = "sealing";
const UNSEALING: &str = "unsealing";

/// Returns the kind of the lake.
pub(in crate::lake) fn kind(connection: &Connection) -> Result<Kind, LakeError> {
    if !is_sealed(connection)? {
        return Ok(Kind::Open);
    }
    let sql = "SELECT value FROM ducklake_metadata WHERE key = ? AND scope IS NULL";
    let halfway: Option<String> = connection.query_row(sql, [HALFWAY_KEY], |row| row.get(0)).optional()?;
    match halfway.as_deref() {
        None => Ok(Kind::Sealed),
        Some(SEALING) => Ok(Kind::Sealing),
        Some(UNSEALING) => Ok(Kind::Unsealing),
        Some(_) => Err(LakeError::Damaged(format!("{HALFWAY_KEY} says neither of both"))),
    }
}

/// Whether a file of a catalog that was put aside has no unencrypted records. This is so if the file is empty, if it is
/// SQLite's `-shm` file, or if it is the catalog of a sealed lake. `false` if it cannot be read. Does not change the
/// file.
pub(in crate::lake) fn is_kept_sealed(path: &Path) -> bool {
    let name = path.to_string_lossy();
    if name.ends_with("-shm") || std::fs::metadata(path).is_ok_and(|file| file.len() == 0) {
        return true;
    }
    // A write-ahead log may have pages from before the lake was sealed, so it is not taken as encrypted.
    if name.ends_with("-wal") {
        return false;
    }
    let only_reading = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let encoded = percent_encoding::utf8_percent_encode(&name, percent_encoding::NON_ALPHANUMERIC);
    let connection = Connection::open_with_flags(format!("file:{encoded}?immutable=1"), only_reading);
    connection.is_ok_and(|connection| matches!(kind(&connection), Ok(Kind::Sealed)))
}

/// Changes the kind of the lake, and raises the epoch, as an erasure does: a conversion replaces files of existing
/// snapshots, so other processes must load the newest snapshot again.
pub(in crate::lake) fn turn(connection: &mut Connection, kind: Kind) -> Result<(), LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match kind {
        Kind::Sealing => {
            reduce(&transaction)?;
            begin_list(&transaction)?;
        }
        Kind::Open => {
            complete(&transaction)?;
            end_list(&transaction)?;
            // Call this before `set_kind`, because this does nothing for a lake that the catalog calls open.
            have_keys_destroyed(&transaction)?;
        }
        // An empty lake is sealed in one step, so it has no list yet.
        Kind::Sealed => begin_list(&transaction)?,
        Kind::Unsealing => {}
    }
    set_kind(&transaction, kind)?;
    count_on(&transaction, 1)?;
    Ok(transaction.commit()?)
}

/// Stores the kind of the lake in the metadata.
pub(in crate::lake) fn set_kind(connection: &Connection, kind: Kind) -> Result<(), LakeError> {
    let layout = if kind.has_keys() {
        SEALED_CATALOG_VERSION
    } else if has_attachments(connection)? {
        ATTACHMENTS_CATALOG_VERSION
    } else {
        CATALOG_VERSION
    };
    let encrypted = if kind.has_keys() { "true" } else { "false" };
    for (key, value) in [("encrypted", encrypted), (LAYOUT_KEY, &layout.to_string())] {
        let sql = "UPDATE ducklake_metadata SET value = ? WHERE key = ? AND scope IS NULL";
        connection.execute(sql, [value, key])?;
    }
    let sql = "DELETE FROM ducklake_metadata WHERE key = ? AND scope IS NULL";
    connection.execute(sql, [HALFWAY_KEY])?;
    let halfway = match kind {
        Kind::Sealing => SEALING,
        Kind::Unsealing => UNSEALING,
        Kind::Open | Kind::Sealed => return Ok(()),
    };
    let sql = "INSERT INTO ducklake_metadata VALUES (?, ?, NULL, NULL)";
    connection.execute(sql, [HALFWAY_KEY, halfway])?;
    Ok(())
}
