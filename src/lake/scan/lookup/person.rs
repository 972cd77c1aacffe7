//! Reads one person's rows of a table as columns, and caches them. A repeated search for the same person reads no file.
//!
//! A cache entry names the data files and delete files from which it came, and holds the columns that were read so far.
//! A commit that changes only other files leaves the entry valid. After a commit that adds or deletes rows of the
//! person's owners, the next search gathers the rows again and replaces the entry.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::concat;
use arrow::datatypes::{FieldRef, Schema};

use super::super::cache::file::ReadBytes;
use super::super::cache::person::{Origin, Part, PersonKey, PersonRowsBase};
use super::super::conditions::owner_set::OwnerSet;
use super::super::decode::columns;
use super::super::error::ScanError;
use super::super::report::watch::SeenPerson;
use super::super::rows::clip::{Clip, is_asked};
use super::super::rows::partition::ROWS_OF_A_READ;
use super::super::rows::request::Person;
use super::super::table::ScopedTable;
use super::locator;
use crate::fhir::storage::LeafSet;
use crate::lake::owners::owner::SHARED;
use crate::lake::snapshot::DataFile;

/// A person's rows.
#[derive(Clone, Debug)]
pub struct PersonRows {
    /// The requested columns in the order of the table, then `id` and `last_updated` if they were not requested, and
    /// then the locator columns.
    pub batch: RecordBatch,
}

/// The work of finding a person's rows and columns in the cache. A request that asks for very many small tables is
/// bounded by this.
const PER_READ: u64 = 1_000;

/// The number of columns that were not cached, and the number of bytes read for them.
#[derive(Clone, Copy, Default)]
struct ReadColumns {
    columns: usize,
    bytes: u64,
}

impl ScopedTable {
    /// Returns a person's rows of this table that the scope shows, with the columns that `leaves` requests.
    pub fn person_batch(&self, person: Person, leaves: &LeafSet) -> Result<PersonRows, ScanError> {
        let mut wanted = leaves.clone();
        for always in ["id", "last_updated"] {
            wanted.insert(always.to_owned());
        }
        let clip = self.clip(&wanted);
        let started = Instant::now();
        self.spend(PER_READ)?;
        let (key, base) = self.person_rows(person)?;
        self.spend(base.count as u64 / ROWS_OF_A_READ)?;
        let (columns, read) = self.person_columns(&base, &clip)?;
        if read.columns > 0 {
            self.reader.memory.keep_person(&key, &base);
        }
        if let Some(watch) = self.watch() {
            watch.person(SeenPerson {
                type_id: self.type_id,
                rows: base.count,
                columns_kept: columns.len() - read.columns,
                columns_read: read.columns,
                bytes: read.bytes,
                time: started.elapsed(),
            });
        }
        // The table's order puts `id` and `last_updated` first. Callers expect the columns that they requested in
        // front. So move the other columns behind them.
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

    fn person_rows(&self, person: Person) -> Result<(Arc<PersonKey>, Arc<PersonRowsBase>), ScanError> {
        let owners = self.owners_of(person);
        let mut files = self.files_of(&owners);
        let mut shared = 0;
        let may_share = matches!(person, Person::OfScope | Person::Owner(SHARED)) && self.scope.patient.is_some();
        if may_share && !self.files_of(&[SHARED]).is_empty() {
            let rows = self.shared()?;
            if rows.any(self.type_id) {
                shared = self.snapshot.id;
                files = self.files_of(&[owners.as_slice(), &[SHARED]].concat());
            }
        }
        let key = Arc::new(PersonKey {
            table: self.table.as_ref().map_or(0, |table| table.table_id),
            person,
            scope: self.scope.clone(),
        });
        let origin = Origin {
            files: files
                .iter()
                .map(|file| (file.id, file.deletes.as_ref().map_or(0, |deletes| deletes.id)))
                .collect(),
            shared,
            erasures: self.erasures.iter().map(|erasure| erasure.id).collect(),
        };
        let kept = self.reader.memory.person(&key).filter(|base| base.origin == origin);
        if let Some(watch) = self.watch() {
            watch.kept("places of people's rows", kept.is_some());
        }
        if let Some(base) = kept {
            return Ok((key, base));
        }
        let base = Arc::new(self.gather(&owners, origin, files)?);
        self.reader.memory.keep_person(&key, &base);
        Ok((key, base))
    }

    fn owners_of(&self, person: Person) -> Vec<i64> {
        match (person, self.scope.patient.as_deref()) {
            (Person::Owner(owner), _) => vec![owner],
            (Person::Either(one, other), _) => vec![one, other],
            (Person::OfScope, Some(patient)) => patient.owners.clone(),
            (Person::OfScope, None) => Vec::new(),
        }
    }

    /// Finds the rows of the owners in these files, and the visible shared rows if `origin.shared` is not zero.
    fn gather(&self, owners: &[i64], origin: Origin, files: Vec<Arc<DataFile>>) -> Result<PersonRowsBase, ScanError> {
        let (mut parts, mut ids, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let (owners, of_nobody) = (OwnerSet::of(owners), OwnerSet::of(&[SHARED]));
        for data in files {
            let file = self.open(&data)?;
            for (group, place) in file.groups().iter().enumerate() {
                let mut rows = self.visible(&data, &file, group, Some(&owners))?;
                if origin.shared != 0 {
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
            origin,
            parts,
            count: ids.len(),
            file: Arc::new(Int64Array::from(ids)),
            row: Arc::new(UInt32Array::from(positions)),
            columns: RwLock::default(),
        })
    }

    /// Returns the columns of the clip for a person's rows. Those that are not cached are read together and added to
    /// `base`.
    fn person_columns(&self, base: &PersonRowsBase, clip: &Clip) -> Result<(Vec<ArrayRef>, ReadColumns), ScanError> {
        let fields = clip.schema().fields();
        let mut columns = base.columns(fields);
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
            let mut known = base.columns.write().unwrap_or_else(PoisonError::into_inner);
            for (field, column) in fields.iter().zip(&mut columns) {
                if column.is_none()
                    && let Some(array) = read.column_by_name(field.name())
                {
                    known.insert(field.clone(), array.clone());
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
                if parts.is_empty() {
                    Ok(arrow::array::new_empty_array(clip.schema().field(at).data_type()))
                } else {
                    concat(&parts)
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(base.count));
        let batch = RecordBatch::try_new_with_options(clip.schema().clone(), arrays, &options)?;
        Ok((batch, bytes))
    }
}
