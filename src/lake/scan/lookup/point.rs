//! Reads single rows without a plan: by id, or by locator after a search has chosen the rows of a page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{RecordBatch, UInt32Array};
use bytes::Bytes;
use parquet::data_type::AsBytes;

use super::super::cache::file::{OpenFile, ReadBytes};
use super::super::conditions::ranges::Ranges;
use super::super::decode::columns;
use super::super::decode::pages::{all_texts, read_resources};
use super::super::error::ScanError;
use super::super::report::watch::SeenRows;
use super::super::row::Row;
use super::super::table::ScopedTable;
use super::super::visible::system_columns::Shown;
use super::locator::Locator;
use crate::columns::conditions::hash_id;
use crate::fhir::storage::LeafSet;
use crate::lake::snapshot::DataFile;

/// The maximum number of rows of a read that uses the cache. Larger reads bypass the cache, so that a walk through
/// thousands of rows does not evict other rows.
pub(in crate::lake::scan) const KEPT_AT_ONCE: usize = 100;

/// The work of reading one resource by its id or its locator.
const PER_RESOURCE: u64 = 64;
/// Reading this many bytes of resources counts as one further unit of work.
pub(in crate::lake::scan) const BYTES_OF_A_UNIT: u64 = 32;

/// A row of an open file.
pub(in crate::lake::scan) struct Found {
    pub(in crate::lake::scan) file: Arc<OpenFile>,
    pub(in crate::lake::scan) group: usize,
    /// The position in the row group.
    pub(in crate::lake::scan) row: u32,
}

/// The requested rows of a row group. `rows` maps the position of a row in the row group to the indexes at which the
/// answer has this row.
struct Group {
    file: Arc<OpenFile>,
    group: usize,
    rows: BTreeMap<u32, Vec<usize>>,
}

impl ScopedTable {
    /// Returns the resource of this id. `None` if the scope shows none.
    pub fn read(&self, id: &str) -> Result<Option<Row>, ScanError> {
        self.spend(PER_RESOURCE)?;
        let started = self.watch().map(|watch| (watch, Instant::now()));
        let row = self.read_one(id)?;
        if let Some((watch, started)) = started {
            watch.rows(self.type_id, seen(1, row.as_slice(), started));
        }
        Ok(row)
    }

    fn read_one(&self, id: &str) -> Result<Option<Row>, ScanError> {
        let mut row = None;
        self.find(id, |found| {
            if let Some(kept) = self.kept(&found.file, found.group, found.row) {
                row = Some(kept).filter(|kept| kept.id == id);
                return Ok(row.is_some());
            }
            let resource = read_resources(&found.file, found.group, &[found.row], usize::MAX)?
                .and_then(|mut read| read.pop())
                .unwrap_or_default();
            if !mentions_id(&resource, id) && !has_id(&found.file, found.group, found.row, id)? {
                return Ok(false);
            }
            let (version, last_updated) = self.directory(&found.file, found.group, |rows| rows.version(found.row))?;
            let read = Row {
                id: id.to_owned(),
                resource,
                version,
                last_updated,
            };
            self.keep(&found.file, found.group, found.row, &read);
            row = Some(read);
            Ok(true)
        })?;
        Ok(row)
    }

    /// Returns the locator of the resource of this id. `None` if the scope shows none.
    pub fn locate(&self, id: &str) -> Result<Option<Locator>, ScanError> {
        let mut place = None;
        self.find(id, |found| {
            if has_id(&found.file, found.group, found.row, id)? {
                place = Some(Locator {
                    file: found.file.id,
                    row: found.file.groups()[found.group].first + found.row,
                });
            }
            Ok(place.is_some())
        })?;
        Ok(place)
    }

    /// Whether the table has a row at this locator. Ignores the scope, so the row may be hidden or deleted.
    pub fn has(&self, place: Locator) -> bool {
        let file = self.table.as_ref().and_then(|table| table.file(place.file));
        file.is_some_and(|file| u64::from(place.row) < file.rows)
    }

    /// Returns the resources at these locators, in the given order. Fails if the scope does not show one of the rows.
    pub fn resources(&self, places: &[Locator]) -> Result<Vec<Row>, ScanError> {
        Ok(self.resources_at_most(places, usize::MAX)?.unwrap_or_default())
    }

    /// Returns the resources at these locators, as `resources` does. `None` if they have more than `max_bytes` bytes in
    /// all.
    pub fn resources_at_most(&self, places: &[Locator], max_bytes: usize) -> Result<Option<Vec<Row>>, ScanError> {
        self.spend(PER_RESOURCE * places.len() as u64)?;
        let started = self.watch().map(|watch| (watch, Instant::now()));
        let rows = self.rows_at_most(places, max_bytes, places.len() <= KEPT_AT_ONCE)?;
        let read = rows.iter().flatten().map(|row| row.resource.len() as u64);
        self.spend(read.sum::<u64>() / BYTES_OF_A_UNIT)?;
        if let Some((watch, started)) = started {
            watch.rows(
                self.type_id,
                seen(places.len(), rows.as_deref().unwrap_or_default(), started),
            );
        }
        Ok(rows)
    }

    /// Returns the resources at these locators, as `resources_at_most` does. Does not use the cache of rows,
    /// records nothing in the watch, and takes no work from the budget. For callers that read very many rows.
    pub fn resources_in_passing(&self, places: &[Locator], max_bytes: usize) -> Result<Option<Vec<Row>>, ScanError> {
        self.rows_at_most(places, max_bytes, false)
    }

    fn rows_at_most(&self, places: &[Locator], max_bytes: usize, keeps: bool) -> Result<Option<Vec<Row>>, ScanError> {
        let mut rows: Vec<Option<Row>> = vec![None; places.len()];
        let groups = self.groups(places, |at, file, group, row| {
            rows[at] = keeps.then(|| self.kept(file, group, row)).flatten();
            rows[at].is_some()
        })?;
        let kept = rows.iter().flatten().map(|row| row.resource.len()).sum();
        let Some(mut left) = max_bytes.checked_sub(kept) else {
            return Ok(None);
        };
        for Group {
            file,
            group,
            rows: wanted,
        } in groups
        {
            let positions: Vec<u32> = wanted.keys().copied().collect();
            let Some(resources) = read_resources(&file, group, &positions, left)? else {
                return Ok(None);
            };
            left = left.saturating_sub(resources.iter().map(Bytes::len).sum());
            let ids = all_texts(&file, group, "id", &positions)?;
            let directory = file.directory(group)?;
            for (((position, at), resource), id) in wanted.iter().zip(resources).zip(ids) {
                let (version, last_updated) = directory.version(*position);
                let row = Row {
                    id: String::from_utf8_lossy(&id).into_owned(),
                    resource,
                    version,
                    last_updated,
                };
                if keeps {
                    self.keep(&file, group, *position, &row);
                }
                for at in at {
                    rows[*at] = Some(row.clone());
                }
            }
        }
        Ok(Some(rows.into_iter().flatten().collect()))
    }

    /// Returns the columns of these leaves for the rows at these locators, in the given order. Fails if the scope does
    /// not show one of the rows.
    pub fn columns(&self, places: &[Locator], leaves: &LeafSet) -> Result<RecordBatch, ScanError> {
        let clip = self.clip(leaves);
        let mut order = vec![0; places.len()];
        let mut batches = Vec::new();
        let mut read_before = 0;
        for Group { file, group, rows } in self.groups(places, |_, _, _, _| false)? {
            let wanted = Ranges::of(rows.keys().copied());
            batches.push(columns::read(&file, group, &clip, &wanted, &ReadBytes::new(&file))?);
            for (nth, at) in rows.values().enumerate() {
                at.iter().for_each(|at| order[*at] = (read_before + nth) as u32);
            }
            read_before += rows.len();
        }
        let rows = arrow::compute::concat_batches(clip.schema(), &batches)?;
        Ok(arrow::compute::take_record_batch(&rows, &UInt32Array::from(order))?)
    }

    /// Groups locators by row group, ascending by the ids of the files. Calls `has` with each locator's index, file,
    /// row group and position in the group, and leaves out the locators for which `has` returns `true`. Fails if the
    /// scope does not show one of the rows.
    fn groups(
        &self,
        places: &[Locator],
        mut has: impl FnMut(usize, &OpenFile, usize, u32) -> bool,
    ) -> Result<Vec<Group>, ScanError> {
        let mut groups: BTreeMap<(u64, usize), Group> = BTreeMap::new();
        let mut last: Option<(Arc<DataFile>, Arc<OpenFile>)> = None;
        for (at, place) in places.iter().enumerate() {
            let gone = || ScanError::Locator {
                file: place.file,
                row: place.row,
            };
            let (data, file) = match last.take().filter(|(data, _)| data.id == place.file) {
                Some(same) => same,
                None => {
                    let data = self
                        .table
                        .as_ref()
                        .and_then(|table| table.file(place.file))
                        .ok_or_else(gone)?;
                    (data.clone(), self.open(data)?)
                }
            };
            let (group, row) = file.locate(place.row).ok_or_else(gone)?;
            if !self.shows(&data, &file, group, row)? {
                return Err(gone());
            }
            if !has(at, &file, group, row) {
                let rows = &mut groups
                    .entry((file.id, group))
                    .or_insert_with(|| Group {
                        file: file.clone(),
                        group,
                        rows: BTreeMap::new(),
                    })
                    .rows;
                rows.entry(row).or_default().push(at);
            }
            last = Some((data, file));
        }
        Ok(groups.into_values().collect())
    }

    /// Calls `take` with the rows that probably have this id and that the scope shows, until `take` returns `true`.
    pub(in crate::lake::scan) fn find(
        &self,
        id: &str,
        mut take: impl FnMut(Found) -> Result<bool, ScanError>,
    ) -> Result<(), ScanError> {
        for data in self.files() {
            let file = self.open(data)?;
            for group in 0..file.groups().len() {
                for row in self.candidates(&file, group, id)? {
                    if self.shows(data, &file, group, row)?
                        && take(Found {
                            file: file.clone(),
                            group,
                            row,
                        })?
                    {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the rows of a row group whose id has the same hash as `id`. If the id index was not built yet, checks
    /// the bloom filter first: if the filter excludes the id, there are no rows, and the index is not built.
    pub(in crate::lake::scan) fn candidates(
        &self,
        file: &Arc<OpenFile>,
        group: usize,
        id: &str,
    ) -> Result<Vec<u32>, ScanError> {
        self.candidates_of(file, group, hash_id(id), id)
    }

    /// Returns the same rows as `candidates`, for a caller that knows the hash of the id.
    pub(in crate::lake::scan) fn candidates_of(
        &self,
        file: &Arc<OpenFile>,
        group: usize,
        hash: u64,
        id: &str,
    ) -> Result<Vec<u32>, ScanError> {
        if let Some(index) = file.ids_if_built(group) {
            return Ok(index.rows(hash).collect());
        }
        let before = file.weight();
        let rows = match file.bloom(group)? {
            Some(bloom) if !bloom.check(id.as_bytes()) => Vec::new(),
            _ => file.ids(group)?.rows(hash).collect(),
        };
        self.reader.memory.weigh(file, before);
        Ok(rows)
    }

    /// Whether the scope shows the row. A deleted or erased row is not shown.
    pub(in crate::lake::scan) fn shows(
        &self,
        data: &DataFile,
        file: &Arc<OpenFile>,
        group: usize,
        row: u32,
    ) -> Result<bool, ScanError> {
        if self.is_deleted(data, file, group, row)? || self.is_erased(data, file, group, row)? {
            return Ok(false);
        }
        match self.directory(file, group, |rows| rows.shows(row, &self.scope))? {
            Shown::No => Ok(false),
            Shown::Own => Ok(true),
            Shown::IfReferred => Ok(self
                .shared()?
                .contains(self.type_id, file.id, file.groups()[group].first + row)),
        }
    }

    pub(in crate::lake::scan) fn is_deleted(
        &self,
        data: &DataFile,
        file: &OpenFile,
        group: usize,
        row: u32,
    ) -> Result<bool, ScanError> {
        let position = file.groups()[group].first + row;
        Ok(self
            .deletes(data)?
            .is_some_and(|gone| gone.binary_search(&position).is_ok()))
    }
}

fn seen(asked: usize, rows: &[Row], started: Instant) -> SeenRows {
    SeenRows {
        asked,
        found: rows.len(),
        bytes: rows.iter().map(|row| row.resource.len() as u64).sum(),
        time: started.elapsed(),
    }
}

/// Whether the row has this id, not only an id with the same hash.
pub(in crate::lake::scan) fn has_id(file: &Arc<OpenFile>, group: usize, row: u32, id: &str) -> Result<bool, ScanError> {
    let ids = all_texts(file, group, "id", &[row])?;
    Ok(ids.first().is_some_and(|have| have.as_bytes() == id.as_bytes()))
}

/// Whether the id is near the start of the JSON text, where the writer puts it. If so, the `id` column need not be
/// read.
pub(in crate::lake::scan) fn mentions_id(resource: &[u8], id: &str) -> bool {
    let head = &resource[..resource.len().min(256)];
    let needle = format!("\"id\":\"{id}\"");
    memchr::memmem::find(head, needle.as_bytes()).is_some()
}
