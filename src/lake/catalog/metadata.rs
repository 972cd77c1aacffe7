//! Reads and writes facts about the lake in the catalog's metadata.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::columns::layout::SEALED_CATALOG_VERSION;
use crate::lake::erase::ledger::Entered;
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;

/// The metadata key of the layout version.
pub(super) const LAYOUT_KEY: &str = "tabularium_layout_version";

/// The metadata key of the ledger of erasures: its id, and the entries that it must have.
const LEDGER_KEY: &str = "tabularium.ledger";

/// Returns the ledger in which this lake's erasures must be entered, and the entries that it has at least. `None`
/// before the first backup or entry.
pub(in crate::lake) fn ledger(connection: &Connection) -> Result<Option<Entered>, LakeError> {
    let sql = "SELECT value FROM ducklake_metadata WHERE key = ? AND scope IS NULL";
    let found: Option<String> = connection.query_row(sql, [LEDGER_KEY], |row| row.get(0)).optional()?;
    let read = |text: String| {
        serde_json::from_str(&text).map_err(|_| LakeError::Damaged(format!("{LEDGER_KEY} is no record of a ledger")))
    };
    found.map(read).transpose()
}

/// Records the ledger, or removes its record for `None`. Another process is allowed to write the lake at the same time:
/// the digest of the rows does not cover this key, so that process does not mistake the change for damage.
pub(in crate::lake) fn set_ledger(connection: &mut Connection, entered: Option<&Entered>) -> Result<(), LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    put_ledger(&transaction, entered)?;
    Ok(transaction.commit()?)
}

/// Records the ledger of a new backup. Does not lower the number of entries if a writer has raised it meanwhile.
pub(in crate::lake) fn record_ledger(connection: &mut Connection, entered: &Entered) -> Result<(), LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let known = ledger(&transaction)?;
    if known.is_none_or(|known| known.ledger != entered.ledger || known.entries < entered.entries) {
        put_ledger(&transaction, Some(entered))?;
    }
    Ok(transaction.commit()?)
}

/// Records that erasures which end in this transaction were entered. Returns [`LakeError::LedgerReplaced`] if a backup
/// has recorded another ledger since.
pub(super) fn raise_ledger(transaction: &Connection, entered: Option<&Entered>) -> Result<(), LakeError> {
    match (ledger(transaction)?, entered) {
        (None, None) => Ok(()),
        (Some(known), Some(entered)) if known.ledger != entered.ledger => Err(LakeError::LedgerReplaced),
        (Some(_), None) => Err(LakeError::LedgerReplaced),
        // A backup or another copy of the lake may have recorded more entries meanwhile.
        (Some(known), Some(entered)) if known.entries >= entered.entries => Ok(()),
        (_, entered) => put_ledger(transaction, entered),
    }
}

fn put_ledger(transaction: &Connection, entered: Option<&Entered>) -> Result<(), LakeError> {
    let sql = "DELETE FROM ducklake_metadata WHERE key = ? AND scope IS NULL";
    transaction.execute(sql, [LEDGER_KEY])?;
    if let Some(entered) = entered {
        let sql = "INSERT INTO ducklake_metadata VALUES (?, ?, NULL, NULL)";
        transaction.execute(sql, [LEDGER_KEY, &serde_json::json!(entered).to_string()])?;
    }
    Ok(())
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
    Ok(found == Some(SEALED_CATALOG_VERSION.to_string()))
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
