//! One person's rows of a table as columns, from a bounded cache of hot people: a search that comes again for the same
//! person touches no file.
//!
//! What is kept are columns, each under the rows it belongs to; which rows those are is kept apart from them, and both are
//! named by the very files and deletions they come from, so that a commit elsewhere leaves them valid.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::concat;
use arrow::datatypes::{FieldRef, Schema};

use super::clip::{Clip, is_asked};
use super::columns;
use super::error::ScanError;
use super::file::ReadBytes;
use super::locator;
use super::memory::Weigh;
use super::owner_set::OwnerSet;
use super::ranges::Ranges;
use super::request::Person;
use super::table::ScopedTable;
use super::watch::SeenPerson;
use crate::fhir::storage::LeafSet;
use crate::lake::owner::SHARED;
use crate::lake::picture::DataFile;
use crate::lake::scope::Scope;

/// A person's rows.
#[derive(Clone, Debug)]
pub struct PersonRows {
    /// The clipped columns; behind them `id` and `last_updated`, where they are not among these, and the locators. In file
    /// order.
    pub batch: RecordBatch,
}

/// Names a person's rows in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PersonKey {
    table: u64,
    person: Person,
    scope: Arc<Scope>,
    /// Data files with their delete files.
    files: Vec<(u64, u64)>,
    /// The snapshot, where rows shown by reference are among them.
    shared: u64,
    /// The erasures, where rows are left out for them.
    erasures: Vec<u64>,
}

/// Which rows are a person's, and the columns that everybody wants.
#[derive(Debug)]
pub(super) struct PersonRowsBase {
    /// Never used for others' rows: columns are kept under it.
    serial: u64,
    parts: Vec<Part>,
    count: usize,
    file: ArrayRef,
    row: ArrayRef,
}

/// Rows of one row group.
#[derive(Debug)]
struct Part {
    data: Arc<DataFile>,
    group: usize,
    rows: Ranges,
}

/// What was not in memory of a person's columns.
#[derive(Clone, Copy, Default)]
struct ReadColumns {
    columns: usize,
    bytes: u64,
}

/// Names a column of a person's rows in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ColumnKey {
    rows: u64,
    field: FieldRef,
}

impl ScopedTable {
    /// A person's rows of this table, as far as the scope shows them, with the columns clipped to `leaves`.
    pub fn person_batch(&self, person: Person, leaves: &LeafSet) -> Result<PersonRows, ScanError> {
        let mut wanted = leaves.clone();
        for always in ["id", "last_updated"] {
            wanted.insert(always.to_owned());
        }
        let clip = self.clip(&wanted);
        let started = Instant::now();
        let base = self.person_rows(person)?;
        let (columns, read) = self.person_columns(&base, &clip)?;
        if let Some(watch) = self.watch() {
            watch.person(SeenPerson {
                ty: self.ty,
                rows: base.count,
                columns_kept: columns.len() - read.columns,
                columns_read: read.columns,
                bytes: read.bytes,
                time: started.elapsed(),
            });
        }
        // The table's order has `id` and `last_updated` first; callers expect their own columns in front.
        let own = |field: &&FieldRef| is_asked(leaves, field);
        let fields = clip.schema().fields();
        let mut order: Vec<usize> = (0..fields.len()).filter(|at| own(&&fields[*at])).collect();
        order.extend((0..fields.len()).filter(|at| !own(&&fields[*at])));
        let mut schema: Vec<FieldRef> = order.iter().map(|at| fields[*at].clone()).collect();
        let mut arrays: Vec<ArrayRef> = order.iter().map(|at| columns[*at].clone()).collect();
        schema.extend(locator::fields());
        arrays.extend([base.file.clone(), base.row.clone()]);
        let options = RecordBatchOptions::new().with_row_count(Some(base.count));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(schema)), arrays, &options)?;
        Ok(PersonRows { batch })
    }

    fn person_rows(&self, person: Person) -> Result<Arc<PersonRowsBase>, ScanError> {
        let owners = self.owners_of(person);
        let mut files = self.files_of(&owners);
        let mut shared = 0;
        let may_share = matches!(person, Person::OfScope | Person::Owner(SHARED)) && self.scope.patient.is_some();
        if may_share && !self.files_of(&[SHARED]).is_empty() {
            let rows = self.shared()?;
            if rows.any(self.ty) {
                shared = self.picture.snapshot;
                files = self.files_of(&[owners.as_slice(), &[SHARED]].concat());
            }
        }
        let key = PersonKey {
            table: self.table.as_ref().map_or(0, |table| table.table_id),
            person,
            scope: self.scope.clone(),
            files: files
                .iter()
                .map(|file| (file.id, file.deletes.as_ref().map_or(0, |deletes| deletes.id)))
                .collect(),
            shared,
            erasures: self.erasures.iter().map(|erasure| erasure.id).collect(),
        };
        let kept = self.reader.memory.people().get(&key);
        if let Some(watch) = self.watch() {
            watch.kept("places of people's rows", kept.is_some());
        }
        if let Some(base) = kept {
            return Ok(base);
        }
        let base = Arc::new(self.gather(&owners, shared != 0, files)?);
        self.reader.memory.people().insert(key, base.clone());
        Ok(base)
    }

    fn owners_of(&self, person: Person) -> Vec<i64> {
        match (person, self.scope.patient.as_deref()) {
            (Person::Owner(owner), _) => vec![owner],
            (Person::Either(one, other), _) => vec![one, other],
            (Person::OfScope, Some(patient)) => patient.owners.clone(),
            (Person::OfScope, None) => Vec::new(),
        }
    }

    /// Finds the rows in the files.
    fn gather(&self, owners: &[i64], shared: bool, files: Vec<Arc<DataFile>>) -> Result<PersonRowsBase, ScanError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let (mut parts, mut ids, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let (owners, of_nobody) = (OwnerSet::of(owners), OwnerSet::of(&[SHARED]));
        for data in files {
            let file = self.open(&data)?;
            for (group, place) in file.groups().iter().enumerate() {
                let mut rows = self.visible(&data, &file, group, Some(&owners))?;
                if shared {
                    let referred = self.visible(&data, &file, group, Some(&of_nobody))?;
                    rows = rows.union(&referred);
                }
                if !rows.is_empty() {
                    ids.extend(std::iter::repeat_n(data.id as i64, rows.count()));
                    positions.extend(rows.rows().map(|row| place.first + row));
                    parts.push(Part {
                        data: data.clone(),
                        group,
                        rows,
                    });
                }
            }
        }
        Ok(PersonRowsBase {
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            parts,
            count: ids.len(),
            file: Arc::new(Int64Array::from(ids)),
            row: Arc::new(UInt32Array::from(positions)),
        })
    }

    /// The clip's columns of a person's rows; those that are not in memory are read together.
    fn person_columns(&self, base: &PersonRowsBase, clip: &Clip) -> Result<(Vec<ArrayRef>, ReadColumns), ScanError> {
        let memory = self.reader.memory.columns();
        let key = |field: &FieldRef| ColumnKey {
            rows: base.serial,
            field: field.clone(),
        };
        let fields = clip.schema().fields();
        let mut columns: Vec<Option<ArrayRef>> = fields.iter().map(|field| memory.get(&key(field))).collect();
        let mut done = ReadColumns::default();
        if columns.iter().any(Option::is_none) {
            let missing: Vec<&str> = fields
                .iter()
                .zip(&columns)
                .filter(|(_, column)| column.is_none())
                .map(|(field, _)| field.name().as_str())
                .collect();
            done.columns = missing.len();
            let (read, bytes) = self.read_parts(base, &clip.retain(|name| missing.contains(&name)))?;
            done.bytes = bytes;
            for (field, column) in fields.iter().zip(&mut columns) {
                if column.is_none()
                    && let Some(array) = read.column_by_name(field.name())
                {
                    memory.insert(key(field), array.clone());
                    *column = Some(array.clone());
                }
            }
        }
        Ok((columns.into_iter().flatten().collect(), done))
    }

    fn read_parts(&self, base: &PersonRowsBase, clip: &Clip) -> Result<(RecordBatch, u64), ScanError> {
        let mut bytes = 0;
        let mut batches = Vec::with_capacity(base.parts.len());
        for part in &base.parts {
            let file = self.open(&part.data)?;
            let counted = ReadBytes::new(&file);
            batches.push(columns::read(&file, part.group, clip, &part.rows, &counted)?);
            bytes += counted.by_leaf(&file).map(|(_, bytes)| bytes).sum::<u64>();
        }
        let arrays = (0..clip.schema().fields().len())
            .map(|at| {
                let parts: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
                match parts.is_empty() {
                    true => Ok(arrow::array::new_empty_array(clip.schema().field(at).data_type())),
                    false => concat(&parts),
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(base.count));
        let batch = RecordBatch::try_new_with_options(clip.schema().clone(), arrays, &options)?;
        Ok((batch, bytes))
    }
}

impl Weigh for Arc<PersonRowsBase> {
    fn weigh(&self) -> u64 {
        let parts = self
            .parts
            .iter()
            .map(|part| 64 + 8 * part.rows.iter().count())
            .sum::<usize>();
        (parts + 12 * self.count + 128) as u64
    }
}
