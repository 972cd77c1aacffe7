//! A data file that a new catalog may adopt: the facts that the catalog records about it, and for each row the values
//! that decide whether it is the newest version of its resource.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, SchemaRef, TimestampMicrosecondType};
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::columns::layout::{LAYOUT_VERSION, field_id};
use crate::fhir::{TypeId, facts};
use crate::lake::commit::written::{WrittenColumn, WrittenFile};
use crate::lake::error::LakeError;
use crate::lake::file::{CheckedFile, LAYOUT_VERSION_KEY, RESOURCE_TYPE_KEY};
use crate::lake::owners::owner::{APPLICATION_ONLY, OwnerKey};
use crate::lake::seal::Keys;
use crate::private;

/// The number of rows decoded at a time.
const BATCH_ROWS: usize = 1_024;

/// A data file that was read completely.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) written: WrittenFile,
    pub(super) schema: SchemaRef,
    pub(super) rows: Vec<RowMark>,
    /// The application, patient and owner of an imported row. They show whether an owner key is the right one. `None`
    /// if the file has no imported row of a person.
    pub(super) owned: Option<(String, String, i64)>,
}

/// The values that decide whether a row is the newest version of its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowMark {
    /// A hash of the resource's identity within the table: application and id.
    pub(super) resource: u128,
    pub(super) version: i64,
    pub(super) last_updated: i64,
    /// Whether an erasure blanked this row.
    pub(super) is_blank: bool,
}

impl Candidate {
    /// Reads a data file of a table completely. Returns an error if it does not fit the table.
    pub(super) fn read(path: PathBuf, type_id: TypeId, keys: &Keys) -> Result<Candidate, LakeError> {
        let bytes = std::fs::metadata(&path).map_err(LakeError::io("read", &path))?.len();
        let failed = || LakeError::parquet("read", &path);
        let file = CheckedFile::open(&path, keys)?;
        let key = file.key().cloned();
        let builder = file.rows(&path)?;
        let values = builder.metadata().file_metadata().key_value_metadata();
        let says = |key: &str, expected: &str| {
            let mut values = values.into_iter().flatten();
            values.any(|value| value.key == key && value.value.as_deref() == Some(expected))
        };
        if !says(LAYOUT_VERSION_KEY, &LAYOUT_VERSION.to_string()) || !says(RESOURCE_TYPE_KEY, facts().get(type_id).name)
        {
            return Err(unfit(&path, "its footer is not that of a file of this table"));
        }
        let schema = builder.schema().clone();
        let footer_size = footer_size(&path, bytes)?;
        let mut rows = Vec::new();
        let mut owned = None;
        let mut nulls = vec![0; schema.fields().len()];
        let (mut owners, mut versions, mut updated) = (Range::new(), Range::new(), Range::new());
        for batch in builder.with_batch_size(BATCH_ROWS).build().map_err(failed())? {
            let batch = batch.map_err(|error| unfit(&path, &error.to_string()))?;
            for (nulls, column) in nulls.iter_mut().zip(batch.columns()) {
                *nulls += column.null_count() as u64;
            }
            let found = system(&batch).ok_or_else(|| unfit(&path, "it lacks a system column"))?;
            for row in found {
                owners.add(row.owner);
                versions.add(row.mark.version);
                updated.add(row.mark.last_updated);
                if owned.is_none() && row.owner > APPLICATION_ONLY && !row.is_synced && !row.mark.is_blank {
                    owned = row.patient.map(|patient| (row.application, patient, row.owner));
                }
                rows.push(row.mark);
            }
        }
        let fields = schema.fields().iter().zip(nulls);
        let columns: Option<Vec<WrittenColumn>> = fields
            .map(|(field, nulls)| field_id(field).map(|id| WrittenColumn { id, nulls }))
            .collect();
        let columns = columns.ok_or_else(|| unfit(&path, "it has a column without a field id"))?;
        if rows.is_empty() {
            return Err(unfit(&path, "it has no rows"));
        }
        Ok(Candidate {
            written: WrittenFile {
                rows: rows.len() as u64,
                path,
                bytes,
                footer_size,
                owners: owners.0..=owners.1,
                versions: versions.0..=versions.1,
                last_updated: updated.0..=updated.1,
                columns,
                key,
            },
            schema,
            rows,
            owned,
        })
    }

    /// Returns the `last_updated` of the first row of a resource that is neither blank nor in `gone`, the deleted
    /// positions.
    pub(super) fn updated(&self, application: &str, id: &str, gone: &BTreeSet<u64>) -> Option<i64> {
        let resource = identity(application, id);
        let mut rows = (0..).zip(&self.rows);
        let found = rows.find(|(at, row)| row.resource == resource && !row.is_blank && !gone.contains(at));
        found.map(|(_, row)| row.last_updated)
    }

    /// Whether an erasure made `other` from this file. Then `other` has the same rows at the same positions, except
    /// for blank rows. A row that is blank only in `other` was erased.
    pub(super) fn was_before(&self, other: &Candidate) -> bool {
        let pairs = || self.rows.iter().zip(&other.rows);
        self.rows.len() == other.rows.len()
            && pairs().all(|(old, new)| new.is_blank || old == new)
            && pairs().any(|(old, new)| new.is_blank && !old.is_blank)
    }

    /// Whether this key hashed the owners of the file's rows. `None` if no row shows it.
    pub(super) fn fits(&self, key: OwnerKey) -> Option<bool> {
        let (application, patient, owner) = self.owned.as_ref()?;
        Some(key.owners_of(application, patient).contains(owner))
    }
}

struct SystemRow {
    mark: RowMark,
    owner: i64,
    application: String,
    patient: Option<String>,
    is_synced: bool,
}

fn system(batch: &RecordBatch) -> Option<Vec<SystemRow>> {
    let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let optional = |name: &str| {
        batch
            .column_by_name(name)
            .and_then(|column| column.as_string_opt::<i32>())
    };
    let number = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
    let (id, application) = (text("id")?, text("application")?);
    let (patient, authorization) = (optional("patient"), optional("authorization"));
    let (owner, version) = (number("owner")?, number("version")?);
    let updated = batch.column_by_name("last_updated")?;
    let updated = updated.as_primitive_opt::<TimestampMicrosecondType>()?;
    let row = |at: usize| SystemRow {
        mark: RowMark {
            resource: identity(application.value(at), id.value(at)),
            version: version.value(at),
            last_updated: updated.value(at),
            is_blank: id.value(at).is_empty() || id.value(at).ends_with('!'),
        },
        owner: owner.value(at),
        application: application.value(at).to_owned(),
        patient: patient
            .filter(|patient| patient.is_valid(at))
            .map(|patient| patient.value(at).to_owned()),
        is_synced: authorization.is_some_and(|authorization| authorization.is_valid(at)),
    };
    Some((0..batch.num_rows()).map(row).collect())
}

/// Returns a hash of a resource's identity within its table.
fn identity(application: &str, id: &str) -> u128 {
    let mut hasher = SipHasher13::new();
    (application, id).hash(&mut hasher);
    hasher.write_u8(0xff);
    hasher.finish128().as_u128()
}

/// Returns the length of the footer, as the file states it.
fn footer_size(path: &Path, bytes: u64) -> Result<u64, LakeError> {
    use std::os::unix::fs::FileExt;
    let mut length = [0; 4];
    private::open(path)
        .and_then(|file| file.read_exact_at(&mut length, bytes.saturating_sub(8)))
        .map_err(LakeError::io("read", path))?;
    Ok(u64::from(u32::from_le_bytes(length)))
}

struct Range(i64, i64);

impl Range {
    fn new() -> Range {
        Range(i64::MAX, i64::MIN)
    }

    fn add(&mut self, value: i64) {
        self.0 = self.0.min(value);
        self.1 = self.1.max(value);
    }
}

pub(super) fn unfit(path: &Path, why: &str) -> LakeError {
    LakeError::Damaged(format!("{}: {why}", path.display()))
}
