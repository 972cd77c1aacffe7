//! Reads and writes facts about the lake in the catalog's metadata.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::columns::layout::SEALED_LAYOUT_VERSION;
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;

/// The metadata key of the layout version.
pub(super) const LAYOUT_KEY: &str = "tabularium_layout_version";

/// The metadata key of the ledger's id.
const LEDGER_KEY: &str = "tabularium.ledger";

/// Returns the id of the ledger in which this lake's erasures must be entered. `None` before the first backup.
pub(in crate::lake) fn ledger(connection: &Connection) -> Result<Option<String>, LakeError> {
    let sql = "SELECT value FROM ducklake_metadata WHERE key = ? AND scope IS NULL";
    Ok(connection.query_row(sql, [LEDGER_KEY], |row| row.get(0)).optional()?)
}

/// Records the ledger's id, or removes it for `None`. Another process is allowed to write the lake at the same time:
/// the digest of the rows does not cover this key, so that process does not mistake the change for damage.
pub(in crate::lake) fn set_ledger(connection: &mut Connection, id: Option<&str>) -> Result<(), LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let sql = "DELETE FROM ducklake_metadata WHERE key = ? AND scope IS NULL";
    transaction.execute(sql, [LEDGER_KEY])?;
    if let Some(id) = id {
        let sql = "INSERT INTO ducklake_metadata VALUES (?, ?, NULL, NULL)";
        transaction.execute(sql, [LEDGER_KEY, id])?;
    }
    Ok(transaction.commit()?)
}

/// Whether the lake may have sealed files: it is sealed, or it is being sealed or unsealed.
pub(in crate::lake) fn is_sealed(connection: &Connection) -> Result<bool, LakeError> {
    let found: Option<String> = connection
        .query_row(
            "SELECT value FROM ducklake_metadata WHERE key = ? AND scope IS NULL",
            [LAYOUT_KEY],
            |row| row.get(0),
        )
        .optional()?;
    Ok(found == Some(SEALED_LAYOUT_VERSION.to_string()))
}

/// Returns the secret under which this lake hashes owners.
pub(in crate::lake) fn owner_key(connection: &Connection) -> Result<OwnerKey, LakeError> {
    let found: Option<String> = connection
        .query_row(
            "SELECT value FROM ducklake_metadata WHERE key = ? AND scope IS NULL",
            [OwnerKey::METADATA_KEY],
            |row| row.get(0),
        )
        .optional()?;
    let key = found.as_deref().and_then(OwnerKey::from_hex);
    key.ok_or_else(|| LakeError::Damaged(format!("{} is missing or no key", OwnerKey::METADATA_KEY)))
}
