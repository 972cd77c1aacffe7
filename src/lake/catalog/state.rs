//! The catalog's state: three numbers that never fall, and a digest of its rows. `lake::commit::mark` keeps a copy of
//! them beside the catalog, so that a writer notices an older copy of the catalog and a changed row. A writer reads all
//! rows for the digest only once, when it begins.

use std::hash::Hasher;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use siphasher::sip::SipHasher13;

use super::attachment::{self, has_attachments};
use super::pending::{epoch, make_table};
use super::snapshots::load::head;
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;

/// The state of a catalog. Every change of the rows that the digest covers raises one of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake) struct CatalogState {
    /// The id of the newest snapshot. A commit raises it.
    pub(in crate::lake) newest: u64,
    /// The epoch. A change of the rows of existing snapshots raises it.
    pub(in crate::lake) erasures: u64,
    /// The id of the oldest snapshot. An expiry raises it.
    pub(in crate::lake) oldest: u64,
}

/// A table that the digest covers: its name, its columns, and a condition if the digest covers only some rows. `{row}`
/// in the condition stands for the row. Without a condition, the last text is empty.
type Covered = (&'static str, &'static [&'static str], &'static str);

/// The tables that the digest always covers: all tables whose rows decide which files and columns belong to whom.
/// Statistics of columns are left out, because there are many of them and they can be computed again.
const COVERED: [Covered; 8] = [
    (
        "ducklake_metadata",
        &["key", "value"],
        "{row}.scope IS NULL AND {row}.key IN
         ('version', 'data_path', 'tabularium_layout_version', 'tabularium.owner_key', 'tabularium.erasures', 'tabularium.sealing')",
    ),
    (
        "ducklake_snapshot",
        &[
            "snapshot_id",
            "snapshot_time",
            "schema_version",
            "next_catalog_id",
            "next_file_id",
        ],
        "",
    ),
    (
        "ducklake_schema",
        &[
            "schema_id",
            "begin_snapshot",
            "end_snapshot",
            "schema_name",
            "path",
            "path_is_relative",
        ],
        "",
    ),
    (
        "ducklake_table",
        &[
            "table_id",
            "begin_snapshot",
            "end_snapshot",
            "schema_id",
            "table_name",
            "path",
            "path_is_relative",
        ],
        "",
    ),
    (
        "ducklake_column",
        &[
            "column_id",
            "begin_snapshot",
            "end_snapshot",
            "table_id",
            "column_order",
            "column_name",
            "column_type",
            "nulls_allowed",
            "parent_column",
        ],
        "",
    ),
    (
        "ducklake_data_file",
        &[
            "data_file_id",
            "table_id",
            "begin_snapshot",
            "end_snapshot",
            "path",
            "path_is_relative",
            "record_count",
            "file_size_bytes",
            "footer_size",
            "row_id_start",
        ],
        "",
    ),
    (
        "ducklake_delete_file",
        &[
            "delete_file_id",
            "table_id",
            "begin_snapshot",
            "end_snapshot",
            "data_file_id",
            "path",
            "path_is_relative",
            "delete_count",
            "file_size_bytes",
            "footer_size",
        ],
        "",
    ),
    (
        "tabularium_file_bounds",
        &[
            "data_file_id",
            "owner_min",
            "owner_max",
            "version_min",
            "version_max",
            "last_updated_min",
            "last_updated_max",
        ],
        "",
    ),
];

/// The table of unfinished erasures, which the digest also covers. It exists after the first erasure.
const ERASURES: Covered = (
    "tabularium_erasure",
    &[
        "erasure_id",
        "mode",
        "application",
        "owners",
        "patients",
        "authorizations",
        "first_file",
    ],
    "",
);

/// The table of attachments, which the digest also covers. It exists after the first attachment.
const ATTACHMENTS: Covered = (
    "tabularium_attachment",
    &[
        "attachment_id",
        "mode",
        "application",
        "owner",
        "authorization",
        "binary_id",
        "path",
        "content_bytes",
        "file_size_bytes",
        "sha256",
        "sha1",
        "origin",
        "begin_snapshot",
        "end_snapshot",
    ],
    "",
);

/// Returns the catalog's present state.
pub(in crate::lake) fn state(connection: &Connection) -> Result<CatalogState, LakeError> {
    Ok(CatalogState {
        newest: head(connection)?.snapshot,
        erasures: epoch(connection)?,
        oldest: super::erasure::oldest_snapshot(connection)?,
    })
}

/// Computes the digest of the catalog's rows, which is the sum of the hashes of the rows. So a writer can update the
/// digest from the rows that it adds and removes.
pub(in crate::lake) fn digest(connection: &Connection) -> Result<u64, LakeError> {
    let reading = connection.unchecked_transaction()?;
    let erasures = (epoch(&reading)? > 0).then_some(&ERASURES);
    let attachments = has_attachments(&reading)?.then_some(&ATTACHMENTS);
    let mut sum = 0u64;
    for (table, columns, condition) in COVERED.iter().chain(erasures).chain(attachments) {
        let condition = match condition {
            &"" => String::new(),
            condition => format!(" WHERE {}", condition.replace("{row}", table)),
        };
        let mut statement = reading.prepare(&format!("SELECT {} FROM {table}{condition}", columns.join(", ")))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut hasher = hasher(table);
            for column in 0..columns.len() {
                hash(&mut hasher, row.get_ref(column)?);
            }
            sum = sum.wrapping_add(hasher.finish());
        }
    }
    Ok(sum)
}

/// Makes this connection update the digest with each row that it changes. The digest starts at `digest`. So a writer
/// need not read all rows again when it ends.
pub(in crate::lake) fn watch(connection: &Connection, digest: u64) -> Result<(), LakeError> {
    // The digest is in a temporary table, because a rollback of a transaction then also resets the digest. Keep
    // temporary tables in memory, not on the disk.
    connection.pragma_update(None, "temp_store", "memory")?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("tabularium_hash", -1, flags, |row| {
        let table = row.get_raw(0).as_str()?;
        let mut hasher = hasher(table);
        (1..row.len()).for_each(|column| hash(&mut hasher, row.get_raw(column)));
        Ok(hasher.finish().cast_signed())
    })?;
    // SQLite's own `+` and `-` return an inexact real number when an integer overflows.
    connection.create_scalar_function("tabularium_add", 2, flags, |row| {
        Ok(row.get::<i64>(0)?.wrapping_add(row.get::<i64>(1)?))
    })?;
    connection.create_scalar_function("tabularium_subtract", 2, flags, |row| {
        Ok(row.get::<i64>(0)?.wrapping_sub(row.get::<i64>(1)?))
    })?;
    connection.execute_batch("CREATE TEMP TABLE tabularium_watched (digest BIGINT NOT NULL)")?;
    connection.execute("INSERT INTO tabularium_watched VALUES (?)", [digest.cast_signed()])?;
    COVERED
        .iter()
        .try_for_each(|covered| watch_table(connection, covered))?;
    if epoch(connection)? > 0 {
        watch_erasures(connection)?;
    }
    if has_attachments(connection)? {
        watch_attachments(connection)?;
    }
    Ok(())
}

/// Computes the digest of a watching connection again from all rows, because another process may have changed rows.
pub(in crate::lake) fn watch_anew(connection: &Connection) -> Result<(), LakeError> {
    let digest = digest(connection)?.cast_signed();
    connection.execute("UPDATE temp.tabularium_watched SET digest = ?", [digest])?;
    Ok(())
}

/// Makes a watching connection also cover the table of erasures. Creates the table if it is missing.
pub(in crate::lake) fn watch_erasures(connection: &Connection) -> Result<(), LakeError> {
    make_table(connection)?;
    watch_table(connection, &ERASURES)
}

/// Makes a watching connection also cover the table of attachments. Creates the table if it is missing.
pub(in crate::lake) fn watch_attachments(connection: &Connection) -> Result<(), LakeError> {
    attachment::make_table(connection)?;
    watch_table(connection, &ATTACHMENTS)
}

/// Returns the current digest of a watching connection.
pub(in crate::lake) fn watched(connection: &Connection) -> Result<u64, LakeError> {
    let digest: i64 = connection.query_row("SELECT digest FROM temp.tabularium_watched", [], |row| row.get(0))?;
    Ok(digest.cast_unsigned())
}

fn watch_table(connection: &Connection, (table, columns, condition): &Covered) -> Result<(), LakeError> {
    let changes: [(&str, &[(&str, &str)]); 3] = [
        ("INSERT", &[("tabularium_add", "NEW")]),
        ("DELETE", &[("tabularium_subtract", "OLD")]),
        ("UPDATE", &[("tabularium_subtract", "OLD"), ("tabularium_add", "NEW")]),
    ];
    for (change, steps) in changes {
        let steps: String = steps
            .iter()
            .map(|(combine, row)| {
                let values: Vec<String> = columns.iter().map(|column| format!("{row}.{column}")).collect();
                let condition = match condition {
                    &"" => String::new(),
                    condition => format!(" WHERE {}", condition.replace("{row}", row)),
                };
                format!(
                    "UPDATE tabularium_watched SET digest = {combine}(digest, tabularium_hash('{table}', {})){condition};",
                    values.join(", ")
                )
            })
            .collect();
        connection.execute_batch(&format!(
            "CREATE TEMP TRIGGER IF NOT EXISTS {table}_{change} AFTER {change} ON main.{table} BEGIN {steps} END"
        ))?;
    }
    Ok(())
}

/// Makes a hasher for the rows of a table. The hasher has already hashed the table's name.
fn hasher(table: &str) -> SipHasher13 {
    let mut hasher = SipHasher13::new();
    hash(&mut hasher, ValueRef::Text(table.as_bytes()));
    hasher
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

/// Finds the owner key in the raw bytes of a catalog that SQLite can no longer read. The bytes of a row of
/// `ducklake_metadata` are contiguous, and the value directly follows the key.
pub(in crate::lake) fn find_owner_key(bytes: &[u8]) -> Option<OwnerKey> {
    let name = OwnerKey::METADATA_KEY.as_bytes();
    let mut found = memchr::memmem::find_iter(bytes, name).filter_map(|at| {
        let value = bytes.get(at + name.len()..)?.get(..32)?;
        OwnerKey::from_hex(std::str::from_utf8(value).ok()?)
    });
    found.next()
}
