//! What the catalog's metadata says of the lake.

use rusqlite::{Connection, OptionalExtension};

use crate::columns::layout::SEALED_LAYOUT_VERSION;
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;

/// The metadata key of the version of the files' columns.
pub(super) const LAYOUT_KEY: &str = "tabularium_layout_version";

/// Whether there may be sealed files in the lake.
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

/// The secret under which this lake hashes owners.
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
