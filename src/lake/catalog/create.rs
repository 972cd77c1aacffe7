//! Makes an empty catalog: the tables of DuckLake 1.0 and a first snapshot.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::connection::open_writer;
use super::metadata::LAYOUT_KEY;
use super::sealing::keys::begin_list;
use super::{pending, stamp};
use crate::columns::layout::{ATTACHMENTS_CATALOG_VERSION, CATALOG_VERSION, SEALED_CATALOG_VERSION};
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::Mode;
use crate::lake::store::folder::{DATA_PATH, Folder};
use crate::private;

/// The version of DuckLake that this program writes and reads.
const DUCKLAKE_VERSION: &str = "1.0";

/// The tables of the DuckLake 1.0 specification, and `tabularium_file_bounds`. They differ from the specification in
/// two points. Some primary keys are SQLite's row ids, which saves an index. There are three more indexes: two of them
/// are for rows with an `end_snapshot`.
const TABLES: &str = r#"
CREATE TABLE ducklake_column (column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, table_id BIGINT, column_order BIGINT, column_name VARCHAR, column_type VARCHAR, initial_default VARCHAR, default_value VARCHAR, nulls_allowed BOOLEAN, parent_column BIGINT, default_value_type VARCHAR, default_value_dialect VARCHAR);
CREATE TABLE ducklake_column_mapping (mapping_id BIGINT, table_id BIGINT, "type" VARCHAR);
CREATE TABLE ducklake_column_tag (table_id BIGINT, column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE ducklake_data_file (data_file_id INTEGER PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, file_order BIGINT, path VARCHAR, path_is_relative BOOLEAN, file_format VARCHAR, record_count BIGINT, file_size_bytes BIGINT, footer_size BIGINT, row_id_start BIGINT, partition_id BIGINT, encryption_key VARCHAR, mapping_id BIGINT, partial_max BIGINT);
CREATE TABLE ducklake_delete_file (delete_file_id INTEGER PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, format VARCHAR, delete_count BIGINT, file_size_bytes BIGINT, footer_size BIGINT, encryption_key VARCHAR, partial_max BIGINT);
CREATE TABLE ducklake_file_column_stats (data_file_id BIGINT, table_id BIGINT, column_id BIGINT, column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR, contains_nan BOOLEAN, extra_stats VARCHAR);
CREATE TABLE ducklake_file_partition_value (data_file_id BIGINT, table_id BIGINT, partition_key_index BIGINT, partition_value VARCHAR);
CREATE TABLE ducklake_file_variant_stats (data_file_id BIGINT, table_id BIGINT, column_id BIGINT, variant_path VARCHAR, shredded_type VARCHAR, column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR, contains_nan BOOLEAN, extra_stats VARCHAR);
CREATE TABLE ducklake_files_scheduled_for_deletion (data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, schedule_start TIMESTAMP WITH TIME ZONE);
CREATE TABLE ducklake_inlined_data_tables (table_id BIGINT, table_name VARCHAR, schema_version BIGINT);
CREATE TABLE ducklake_macro (schema_id BIGINT, macro_id BIGINT, macro_name VARCHAR, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE ducklake_macro_impl (macro_id BIGINT, impl_id BIGINT, dialect VARCHAR, "sql" VARCHAR, "type" VARCHAR);
CREATE TABLE ducklake_macro_parameters (macro_id BIGINT, impl_id BIGINT, column_id BIGINT, parameter_name VARCHAR, parameter_type VARCHAR, default_value VARCHAR, default_value_type VARCHAR);
CREATE TABLE ducklake_metadata ("key" VARCHAR NOT NULL, "value" VARCHAR NOT NULL, "scope" VARCHAR, scope_id BIGINT);
CREATE TABLE ducklake_name_mapping (mapping_id BIGINT, column_id BIGINT, source_name VARCHAR, target_field_id BIGINT, parent_column BIGINT, is_partition BOOLEAN);
CREATE TABLE ducklake_partition_column (partition_id BIGINT, table_id BIGINT, partition_key_index BIGINT, column_id BIGINT, "transform" VARCHAR);
CREATE TABLE ducklake_partition_info (partition_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE ducklake_schema (schema_id INTEGER PRIMARY KEY, schema_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
CREATE TABLE ducklake_schema_versions (begin_snapshot BIGINT, schema_version BIGINT, table_id BIGINT);
CREATE TABLE ducklake_snapshot (snapshot_id INTEGER PRIMARY KEY, snapshot_time TIMESTAMP WITH TIME ZONE, schema_version BIGINT, next_catalog_id BIGINT, next_file_id BIGINT);
CREATE TABLE ducklake_snapshot_changes (snapshot_id INTEGER PRIMARY KEY, changes_made VARCHAR, author VARCHAR, commit_message VARCHAR, commit_extra_info VARCHAR);
CREATE TABLE ducklake_sort_expression (sort_id BIGINT, table_id BIGINT, sort_key_index BIGINT, expression VARCHAR, dialect VARCHAR, sort_direction VARCHAR, null_order VARCHAR);
CREATE TABLE ducklake_sort_info (sort_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE ducklake_table (table_id BIGINT, table_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT, table_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
CREATE TABLE ducklake_table_column_stats (table_id BIGINT, column_id BIGINT, contains_null BOOLEAN, contains_nan BOOLEAN, min_value VARCHAR, max_value VARCHAR, extra_stats VARCHAR);
CREATE TABLE ducklake_table_stats (table_id BIGINT, record_count BIGINT, next_row_id BIGINT, file_size_bytes BIGINT);
CREATE TABLE ducklake_tag (object_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE ducklake_view (view_id BIGINT, view_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT, view_name VARCHAR, dialect VARCHAR, "sql" VARCHAR, column_aliases VARCHAR);

CREATE TABLE tabularium_file_bounds (data_file_id INTEGER PRIMARY KEY, owner_min BIGINT NOT NULL, owner_max BIGINT NOT NULL, version_min BIGINT NOT NULL, version_max BIGINT NOT NULL, last_updated_min BIGINT NOT NULL, last_updated_max BIGINT NOT NULL);
CREATE INDEX tabularium_data_file_ended ON ducklake_data_file (end_snapshot) WHERE end_snapshot IS NOT NULL;
CREATE INDEX tabularium_delete_file_ended ON ducklake_delete_file (end_snapshot) WHERE end_snapshot IS NOT NULL;
CREATE INDEX tabularium_table_column_stats ON ducklake_table_column_stats (table_id, column_id);
"#;

/// Makes an empty catalog. The caller holds the writer's lock.
///
/// The catalog is made under another name and renamed when it is complete. So after a kill there is either no catalog
/// or a complete one, and other processes never see an incomplete one.
pub(in crate::lake) fn create(folder: &Folder, now: i64, key: OwnerKey) -> Result<(), LakeError> {
    let path = make(folder, now, key)?;
    std::fs::rename(&path, folder.catalog()).map_err(LakeError::io("rename", &path))
}

/// Makes an empty catalog under another name, where no process opens it as a catalog. Returns its path.
pub(in crate::lake) fn make(folder: &Folder, now: i64, key: OwnerKey) -> Result<PathBuf, LakeError> {
    let path = folder.new_catalog();
    for leftover in ["", "-wal", "-shm", "-journal"] {
        let mut leftover_path = path.clone().into_os_string();
        leftover_path.push(leftover);
        match std::fs::remove_file(&leftover_path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(LakeError::io("remove", Path::new(&leftover_path))(error));
            }
            _ => {}
        }
    }
    // SQLite gives its write-ahead log the permissions of the file itself, so make the file with private permissions
    // first.
    let made = private::options().write(true).create_new(true).open(&path);
    made.map_err(LakeError::io("create", &path))?;
    let mut connection = open_writer(&path)?;
    fill(&mut connection, now, key, folder.keys().seals())?;
    // Closing moves the write-ahead log into the file.
    connection.close().map_err(|(_, error)| error)?;
    let synced = std::fs::File::open(&path).and_then(|file| file.sync_all());
    synced.map_err(LakeError::io("sync", &path))?;
    Ok(path)
}

/// Makes the tables and their first rows.
fn fill(connection: &mut Connection, now: i64, key: OwnerKey, is_sealed: bool) -> Result<(), LakeError> {
    let layout = if is_sealed {
        SEALED_CATALOG_VERSION
    } else {
        CATALOG_VERSION
    };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    if is_sealed {
        begin_list(&transaction)?;
    }
    for (key, value) in [
        ("version", DUCKLAKE_VERSION),
        ("created_by", concat!("Tabularium ", env!("CARGO_PKG_VERSION"))),
        ("data_path", DATA_PATH),
        ("encrypted", if is_sealed { "true" } else { "false" }),
        (LAYOUT_KEY, &layout.to_string()),
        (OwnerKey::METADATA_KEY, &key.to_hex()),
    ] {
        transaction.execute("INSERT INTO ducklake_metadata VALUES (?, ?, NULL, NULL)", [key, value])?;
    }
    // DuckDB's own catalogs have a schema `main`, and DuckDB expects it.
    let schemas = ["main", Mode::Live.schema(), Mode::Test.schema()];
    transaction.execute(
        "INSERT INTO ducklake_snapshot VALUES (0, ?, 0, ?, 0)",
        params![stamp::text(now), schemas.len()],
    )?;
    let changes: Vec<String> = schemas
        .iter()
        .map(|name| format!("created_schema:\"{name}\""))
        .collect();
    transaction.execute(
        "INSERT INTO ducklake_snapshot_changes VALUES (0, ?, NULL, NULL, NULL)",
        [changes.join(",")],
    )?;
    for (id, name) in schemas.iter().enumerate() {
        transaction.execute(
            "INSERT INTO ducklake_schema VALUES (?, ?, 0, NULL, ?, ?, 1)",
            params![id, uuid::Uuid::new_v4().to_string(), name, format!("{name}/")],
        )?;
    }
    transaction.commit()?;
    Ok(())
}

/// Removes the first, empty snapshot of a catalog that has a newer one. `snapshot` is the id of the first snapshot.
pub(in crate::lake) fn forget_first(connection: &Connection, snapshot: u64) -> Result<(), LakeError> {
    for table in ["ducklake_snapshot", "ducklake_snapshot_changes"] {
        connection.execute(&format!("DELETE FROM {table} WHERE snapshot_id = ?"), [snapshot])?;
    }
    Ok(())
}

/// Sets the snapshot id and the epoch of an empty catalog, so that they continue the numbers of an earlier catalog.
pub(in crate::lake) fn count_on(connection: &mut Connection, snapshot: u64, erasures: u64) -> Result<(), LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for table in ["ducklake_snapshot", "ducklake_snapshot_changes"] {
        transaction.execute(&format!("UPDATE {table} SET snapshot_id = ?"), [snapshot])?;
    }
    if erasures > 0 {
        pending::count_on(&transaction, erasures)?;
    }
    Ok(transaction.commit()?)
}

/// Fails if the catalog has a version of DuckLake or of the layout that this program does not know.
pub(in crate::lake) fn check_version(connection: &Connection, folder: &Folder) -> Result<(), LakeError> {
    for (key, known) in [
        ("version", vec![DUCKLAKE_VERSION.to_owned()]),
        (
            LAYOUT_KEY,
            [CATALOG_VERSION, ATTACHMENTS_CATALOG_VERSION, SEALED_CATALOG_VERSION]
                .map(|one| one.to_string())
                .to_vec(),
        ),
    ] {
        let found: Option<String> = connection
            .query_row(
                "SELECT value FROM ducklake_metadata WHERE key = ? AND scope IS NULL",
                [key],
                |row| row.get(0),
            )
            .optional()?;
        if !found.as_ref().is_some_and(|found| known.contains(found)) {
            let known = known.join(" or ");
            let number = |text: &str| text.parse::<u32>().ok();
            let is_earlier = key == LAYOUT_KEY
                && found
                    .as_deref()
                    .and_then(number)
                    .is_some_and(|found| found < CATALOG_VERSION);
            let found = format!("{key} {}", found.as_deref().unwrap_or("unset"));
            return Err(LakeError::Version {
                dir: folder.path().to_owned(),
                found,
                known,
                advice: if is_earlier {
                    "an earlier version of Tabularium wrote it: import its records again into a new folder, or use that version"
                } else {
                    "use the program that wrote it"
                },
            });
        }
    }
    Ok(())
}
