//! Where the catalog stands: three numbers that only rise, and a digest of its rows. `lake::mark` keeps them beside the catalog, so
//! that a writer notices an older copy of it and a changed row.

use std::hash::Hasher;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use siphasher::sip::SipHasher13;

use super::erasure::epoch;
use super::load::head;
use crate::lake::error::LakeError;
use crate::lake::owner::OwnerKey;

/// The state of a catalog. Every change of the rows that the digest covers raises one of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake) struct Standing {
    /// The newest snapshot: a commit raises it.
    pub(in crate::lake) newest: u64,
    /// How often an erasure was recorded or finished.
    pub(in crate::lake) erasures: u64,
    /// The oldest snapshot: an expiry raises it.
    pub(in crate::lake) oldest: u64,
}

/// What the digest covers: every row that decides which files and columns are whose. Statistics are left out, they are many and
/// are worked out anew.
const COVERED: [&str; 8] = [
    "SELECT key, value FROM ducklake_metadata
     WHERE scope IS NULL AND key IN ('version', 'data_path', 'tabularium_layout_version', 'tabularium.owner_key', 'tabularium.erasures')
     ORDER BY key",
    "SELECT snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id
     FROM ducklake_snapshot ORDER BY snapshot_id",
    "SELECT schema_id, begin_snapshot, end_snapshot, schema_name, path, path_is_relative
     FROM ducklake_schema ORDER BY schema_id",
    "SELECT table_id, begin_snapshot, end_snapshot, schema_id, table_name, path, path_is_relative
     FROM ducklake_table ORDER BY rowid",
    "SELECT column_id, begin_snapshot, end_snapshot, table_id, column_order, column_name, column_type, nulls_allowed, parent_column
     FROM ducklake_column ORDER BY rowid",
    "SELECT data_file_id, table_id, begin_snapshot, end_snapshot, path, path_is_relative, record_count, file_size_bytes,
            footer_size, row_id_start
     FROM ducklake_data_file ORDER BY data_file_id",
    "SELECT delete_file_id, table_id, begin_snapshot, end_snapshot, data_file_id, path, path_is_relative, delete_count,
            file_size_bytes, footer_size
     FROM ducklake_delete_file ORDER BY delete_file_id",
    "SELECT data_file_id, owner_min, owner_max, version_min, version_max, last_updated_min, last_updated_max
     FROM tabularium_file_bounds ORDER BY data_file_id",
];

/// The same for the erasures that are not finished; the table is there once one was recorded.
const ERASURES: &str = "SELECT erasure_id, mode, application, owners, patients, authorizations, first_file
     FROM tabularium_erasure ORDER BY erasure_id";

/// Where the catalog stands now.
pub(in crate::lake) fn standing(connection: &Connection) -> Result<Standing, LakeError> {
    Ok(Standing {
        newest: head(connection)?.snapshot,
        erasures: epoch(connection)?,
        oldest: super::erasure::oldest_snapshot(connection)?,
    })
}

/// A digest of the catalog's rows.
pub(in crate::lake) fn digest(connection: &Connection) -> Result<u64, LakeError> {
    let reading = connection.unchecked_transaction()?;
    let erasures = (epoch(&reading)? > 0).then_some(ERASURES);
    let mut hasher = SipHasher13::new();
    for sql in COVERED.into_iter().chain(erasures) {
        let mut statement = reading.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                hash(&mut hasher, row.get_ref(column)?);
            }
        }
        hasher.write_u8(b'.');
    }
    Ok(hasher.finish())
}

fn hash(hasher: &mut SipHasher13, value: ValueRef<'_>) {
    let mut bytes = |tag: u8, bytes: &[u8]| {
        hasher.write_u8(tag);
        hasher.write(&(bytes.len() as u64).to_le_bytes());
        hasher.write(bytes);
    };
    match value {
        ValueRef::Null => bytes(b'n', &[]),
        ValueRef::Integer(number) => bytes(b'i', &number.to_le_bytes()),
        ValueRef::Real(number) => bytes(b'r', &number.to_bits().to_le_bytes()),
        ValueRef::Text(text) => bytes(b't', text),
        ValueRef::Blob(blob) => bytes(b'b', blob),
    }
}

/// The owner key that stands in the bytes of a catalog that SQLite cannot read any more: a row of `ducklake_metadata` lies in one
/// piece, the value right behind the key.
pub(in crate::lake) fn find_owner_key(bytes: &[u8]) -> Option<OwnerKey> {
    let name = OwnerKey::METADATA_KEY.as_bytes();
    let mut found = memchr::memmem::find_iter(bytes, name).filter_map(|at| {
        let value = bytes.get(at + name.len()..)?.get(..32)?;
        OwnerKey::from_hex(std::str::from_utf8(value).ok()?)
    });
    found.next()
}
