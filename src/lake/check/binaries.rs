//! Compares the rows of `Binary` with the attachments. A synced row that has an attachment's SHA-256 in a tag must
//! have that attachment, and each attachment must have such a row.

use std::path::PathBuf;

use arrow::array::{Array, AsArray};
use parquet::arrow::ProjectionMask;
use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use super::report::Problem;
use crate::fhir::{TypeId, facts};
use crate::lake::attachment::{CONTENT_TAG, Contents, TABLE};
use crate::lake::catalog;
use crate::lake::deletes;
use crate::lake::error::LakeError;
use crate::lake::file::CheckedFile;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::Keys;
use crate::lake::snapshot::DataFile;
use crate::lake::store::folder::Folder;

/// The number of rows decoded at a time.
const BATCH_ROWS: usize = 1_024;
const COLUMNS: [&str; 4] = ["id", "application", "authorization", "resource"];

/// Returns the contradictions between `Binary` rows and attachments in the newest snapshot, each with its file. Returns
/// none if another process commits at the same time, because the rows and the attachments may then be of different
/// snapshots.
pub(super) fn binaries(connection: &Connection, folder: &Folder) -> Result<Vec<(PathBuf, Problem)>, LakeError> {
    let snapshot = catalog::load(connection, folder, None)?;
    let mut attachments = catalog::all_attachments(connection)?;
    attachments.retain(|one| one.end.is_none());
    // An attachment whose key is lost has no contents here. Another check reports it.
    let contents = attachments.iter().map(|one| one.contents(folder.keys()).ok());
    let contents: Vec<Option<Contents>> = contents.collect();
    let rows_of = attachments.iter().zip(&contents).zip(0..);
    let by_row: FxHashMap<_, (usize, &str)> = rows_of
        .filter_map(|((one, contents), at)| {
            let contents = contents.as_ref()?;
            let row = (one.mode, one.application.clone(), contents.binary.clone());
            Some((row, (at, &*contents.sha256)))
        })
        .collect();
    let (mut found, mut named, mut are_all_read) = (Vec::new(), FxHashSet::default(), true);
    let tables = snapshot.tables.values();
    for table in tables.filter(|table| facts().get(table.type_id).name == TABLE) {
        for file in &table.files {
            // Another check reports that the file cannot be read.
            let Ok(rows) = rows(file, folder.keys()) else {
                are_all_read = false;
                continue;
            };
            let mut without = 0;
            for row in rows {
                let known = by_row.get(&(table.mode, row.application, row.id));
                match (known.filter(|(_, sha256)| *sha256 == row.sha256), row.is_synced) {
                    (Some((at, _)), _) => drop(named.insert(*at)),
                    (None, true) => without += 1,
                    // This is no fault: the row may have been imported from another lake's export, which kept the tags.
                    (None, false) => {}
                }
            }
            if without > 0 {
                let what = format!("has {without} rows whose attachments are not in the catalog");
                found.push((file.path.clone(), Problem::Contents(what)));
            }
        }
    }
    if are_all_read {
        let is_of_none = |at: usize| contents[at].is_some() && !named.contains(&at);
        for (_, one) in attachments.iter().enumerate().filter(|(at, _)| is_of_none(*at)) {
            let path = folder.table(one.mode, TABLE).join(&one.name);
            found.push((path, Problem::Contents("is of no row of Binary".to_owned())));
        }
    }
    let now = catalog::load(connection, folder, None)?;
    let is_same = (now.id, now.erasures.epoch) == (snapshot.id, snapshot.erasures.epoch);
    Ok(if is_same { found } else { Vec::new() })
}

/// Rows of one data file of `Binary` that a sync stored and whose attachments are not in the catalog.
#[derive(Debug)]
pub(in crate::lake) struct Unattached {
    pub(in crate::lake) mode: Mode,
    pub(in crate::lake) type_id: TypeId,
    pub(in crate::lake) file: u64,
    pub(in crate::lake) positions: Vec<u64>,
}

/// Finds the rows of `Binary` in the newest snapshot that a sync stored and whose attachments are not in the catalog.
pub(in crate::lake) fn unattached(connection: &Connection, folder: &Folder) -> Result<Vec<Unattached>, LakeError> {
    let snapshot = catalog::load(connection, folder, None)?;
    let attachments = catalog::all_attachments(connection)?.into_iter();
    let live = attachments.filter(|one| one.end.is_none());
    let known = live.map(|one| {
        let contents = one.contents(folder.keys())?;
        Ok((one.mode, one.application, contents.binary, contents.sha256))
    });
    let known = known.collect::<Result<FxHashSet<_>, LakeError>>()?;
    let mut found = Vec::new();
    let tables = snapshot.tables.values();
    for table in tables.filter(|table| facts().get(table.type_id).name == TABLE) {
        for file in &table.files {
            let rows = rows(file, folder.keys())?.into_iter().filter(|row| row.is_synced);
            let without = rows.filter_map(|row| {
                let position = row.position;
                (!known.contains(&(table.mode, row.application, row.id, row.sha256))).then_some(position)
            });
            let positions: Vec<u64> = without.collect();
            if !positions.is_empty() {
                found.push(Unattached {
                    mode: table.mode,
                    type_id: table.type_id,
                    file: file.id,
                    positions,
                });
            }
        }
    }
    Ok(found)
}

/// A row that has an attachment's SHA-256 in a tag.
struct Attached {
    /// The position of the row in the file.
    position: u64,
    application: String,
    id: String,
    sha256: String,
    /// Whether a sync stored the row.
    is_synced: bool,
}

#[derive(Deserialize)]
struct Resource {
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default)]
    tag: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    system: Option<String>,
    code: Option<String>,
}

/// Reads the rows of a file that have an attachment's SHA-256 in a tag, without deleted rows.
fn rows(file: &DataFile, keys: &Keys) -> Result<Vec<Attached>, LakeError> {
    let gone = match &file.deletes {
        Some(deletes) => deletes::read(&deletes.path, keys)?,
        None => Vec::new(),
    };
    let builder = CheckedFile::open(&file.path, keys)?.rows(&file.path)?;
    let columns = ProjectionMask::columns(builder.parquet_schema(), COLUMNS);
    let reader = builder.with_projection(columns).with_batch_size(BATCH_ROWS).build();
    let (mut found, mut position) = (Vec::new(), 0u64);
    for batch in reader.map_err(LakeError::parquet("read", &file.path))? {
        let batch = batch.map_err(LakeError::parquet("read", &file.path))?;
        let column = |name: &str| {
            batch
                .column_by_name(name)
                .and_then(|column| column.as_string_opt::<i32>())
        };
        let [id, application, authorization, resource] = COLUMNS.map(column);
        let (Some(id), Some(application), Some(resource)) = (id, application, resource) else {
            return Err(LakeError::Damaged(format!("{} lacks a column", file.path.display())));
        };
        for at in 0..batch.num_rows() {
            let is_gone = gone.binary_search(&(position + at as u64)).is_ok();
            let Some(sha256) = (!is_gone).then(|| digest(resource.value(at))).flatten() else {
                continue;
            };
            found.push(Attached {
                position: position + at as u64,
                application: application.value(at).to_owned(),
                id: id.value(at).to_owned(),
                sha256,
                is_synced: authorization.is_some_and(|column| column.is_valid(at) && !column.value(at).is_empty()),
            });
        }
        position += batch.num_rows() as u64;
    }
    Ok(found)
}

/// Returns the SHA-256 in the tag of a resource that has an attachment.
fn digest(resource: &str) -> Option<String> {
    let resource: Resource = serde_json::from_str(resource).ok()?;
    let mut tags = resource.meta?.tag.into_iter();
    let is_digest = |tag: &Tag| tag.system.as_ref().is_some_and(|system| system.ends_with(CONTENT_TAG));
    tags.find(is_digest)?.code
}
