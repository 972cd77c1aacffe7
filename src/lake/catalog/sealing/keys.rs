//! The ids of keys in the catalog: of the keys of files in snapshots, and of the keys of expired files. The metadata
//! has a note while keys must be destroyed.

use rusqlite::Connection;

use super::super::attachment::has_attachments;
use super::super::metadata::is_sealed;
use crate::lake::error::LakeError;

/// The metadata key that exists while keys of erased files may remain in a sealed lake.
const DESTROY_KEY: &str = "tabularium.keys_to_destroy";

/// The table of the keys of files that have expired since the last erasure.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS tabularium_expired_key (key_id VARCHAR PRIMARY KEY) WITHOUT ROWID";

/// Notes that keys without a file must be destroyed. Does nothing for an open lake. [`keys_are_destroyed`] removes the
/// note.
pub(in crate::lake) fn have_keys_destroyed(connection: &Connection) -> Result<(), LakeError> {
    if is_sealed(connection)? && !has_keys_to_destroy(connection)? {
        connection.execute(
            "INSERT INTO ducklake_metadata VALUES (?, '1', NULL, NULL)",
            [DESTROY_KEY],
        )?;
    }
    Ok(())
}

/// Whether the note says that keys must be destroyed.
pub(in crate::lake) fn has_keys_to_destroy(connection: &Connection) -> Result<bool, LakeError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM ducklake_metadata WHERE key = ? AND scope IS NULL)";
    Ok(connection.query_row(sql, [DESTROY_KEY], |row| row.get(0))?)
}

/// Removes the note that keys must be destroyed, and empties the list of keys of expired files. Callers do this when
/// every remaining key has a file.
pub(in crate::lake) fn keys_are_destroyed(connection: &Connection) -> Result<(), LakeError> {
    let transaction = connection.unchecked_transaction()?;
    // All keys without a file were destroyed. The keys of expired files are among them, so empty their list.
    if has_list(&transaction)? {
        transaction.execute("DELETE FROM tabularium_expired_key", [])?;
    }
    let sql = "DELETE FROM ducklake_metadata WHERE key = ? AND scope IS NULL";
    transaction.execute(sql, [DESTROY_KEY])?;
    Ok(transaction.commit()?)
}

/// Returns the ids of the keys of all data files and delete files, in all snapshots.
pub(in crate::lake) fn named_keys(connection: &Connection) -> Result<Vec<String>, LakeError> {
    let mut statement = connection.prepare(
        "SELECT encryption_key FROM ducklake_data_file WHERE encryption_key IS NOT NULL
         UNION SELECT encryption_key FROM ducklake_delete_file WHERE encryption_key IS NOT NULL",
    )?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Whether the list of keys of expired files exists.
fn has_list(connection: &Connection) -> Result<bool, LakeError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tabularium_expired_key')";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// Returns the ids of the keys of files that expired since the last erasure. `None` if the catalog has no list of them.
pub(in crate::lake) fn expired_keys(connection: &Connection) -> Result<Option<Vec<String>>, LakeError> {
    if !has_list(connection)? {
        return Ok(None);
    }
    let mut statement = connection.prepare("SELECT key_id FROM tabularium_expired_key")?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(Some(ids.collect::<Result<_, _>>()?))
}

/// Creates the list of keys of expired files if it is missing, and adds these keys.
pub(in crate::lake) fn list_expired_keys(
    connection: &Connection,
    ids: impl Iterator<Item = String>,
) -> Result<(), LakeError> {
    let transaction = connection.unchecked_transaction()?;
    begin_list(&transaction)?;
    for id in ids {
        transaction.execute("INSERT OR IGNORE INTO tabularium_expired_key VALUES (?)", [id])?;
    }
    Ok(transaction.commit()?)
}

/// Creates the list of keys of expired files in a transaction, if it is missing.
pub(in crate::lake::catalog) fn begin_list(transaction: &Connection) -> Result<(), LakeError> {
    Ok(transaction.execute_batch(TABLE)?)
}

/// Removes the list of keys of expired files.
pub(in crate::lake) fn unlist_expired_keys(connection: &Connection) -> Result<(), LakeError> {
    end_list(connection)
}

/// Removes the list of keys of expired files in a transaction.
pub(in crate::lake::catalog) fn end_list(transaction: &Connection) -> Result<(), LakeError> {
    Ok(transaction.execute_batch("DROP TABLE IF EXISTS tabularium_expired_key")?)
}

/// Adds keys to the list of keys of expired files: those of the files that only snapshots before `oldest` have. Does
/// nothing if there is no list. The caller's transaction removes the rows of these files.
pub(in crate::lake::catalog) fn expire_keys(transaction: &Connection, oldest: u64) -> Result<(), LakeError> {
    if !has_list(transaction)? {
        return Ok(());
    }
    for table in ["ducklake_data_file", "ducklake_delete_file"] {
        transaction.execute(
            &format!(
                "INSERT OR IGNORE INTO tabularium_expired_key
                 SELECT encryption_key FROM {table} WHERE end_snapshot <= ? AND encryption_key IS NOT NULL"
            ),
            [oldest],
        )?;
    }
    if has_attachments(transaction)? {
        // The name of a sealed attachment has the id of its key after the first hyphen.
        transaction.execute(
            "INSERT OR IGNORE INTO tabularium_expired_key
             SELECT substr(path, instr(path, '-') + 1, 32) FROM tabularium_attachment
             WHERE end_snapshot <= ? AND instr(path, '-') > 0",
            [oldest],
        )?;
    }
    Ok(())
}

/// Adds keys to the list of keys of expired files: those of the data files, delete files and attachments that a
/// conversion replaces in this transaction. Backups may still have these files. Does nothing if there is no list.
pub(in crate::lake::catalog) fn expire_replaced_keys(
    transaction: &Connection,
    files: impl Iterator<Item = u64>,
    attachments: impl Iterator<Item = u64>,
) -> Result<(), LakeError> {
    if !has_list(transaction)? {
        return Ok(());
    }
    for file in files {
        for table in ["ducklake_data_file", "ducklake_delete_file"] {
            let sql = format!(
                "INSERT OR IGNORE INTO tabularium_expired_key
                 SELECT encryption_key FROM {table} WHERE data_file_id = ? AND encryption_key IS NOT NULL"
            );
            transaction.prepare_cached(&sql)?.execute([file])?;
        }
    }
    for attachment in attachments {
        transaction.execute(
            "INSERT OR IGNORE INTO tabularium_expired_key
             SELECT substr(path, instr(path, '-') + 1, 32) FROM tabularium_attachment
             WHERE attachment_id = ? AND instr(path, '-') > 0",
            [attachment],
        )?;
    }
    Ok(())
}
