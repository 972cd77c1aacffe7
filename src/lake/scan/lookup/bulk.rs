//! Reads many rows by their ids. The search looks for all ids in one row group before it opens the next, so that it
//! reads each page once. If the probable owners are known, it reads few row groups, because rows are sorted by owner.

use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashSet;

use super::super::cache::file::OpenFile;
use super::super::conditions::pruning::owner_bounds;
use super::super::decode::pages::read_resources;
use super::super::error::ScanError;
use super::super::report::watch::SeenRows;
use super::super::row::Row;
use super::super::table::ScopedTable;
use super::locator::Locator;
use super::point::{BYTES_OF_A_UNIT, KEPT_AT_ONCE, has_id, mentions_id};
use crate::columns::conditions::hash_id;
use crate::lake::owners::owner::SHARED;
use crate::lake::snapshot::DataFile;

/// A requested row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sought {
    /// The resource's id.
    pub id: String,
    /// The owner that the row probably has. `None` if the caller cannot guess it. A wrong guess only costs time.
    pub owner: Option<i64>,
}

/// A row that was found, with its locator. `None` if the scope shows no row of the id.
pub type PlacedRow = Option<(Locator, Row)>;

/// The work of looking for one id: its row group, its page and its text.
const PER_ID: u64 = 64;

/// The requested rows and the results so far.
struct Search<'s> {
    sought: &'s [Sought],
    hashes: Vec<u64>,
    found: Vec<PlacedRow>,
    /// The number of bytes of resources that may still be read.
    left: usize,
}

impl ScopedTable {
    /// Returns the resources of these ids with their locators, in the order of the ids. If the scope shows no resource
    /// of an id, the list has `None` for this id. Returns `None` instead of a list if the resources have more than
    /// `max_bytes` bytes in all.
    pub fn read_all(&self, sought: &[Sought], max_bytes: usize) -> Result<Option<Vec<PlacedRow>>, ScanError> {
        self.spend(PER_ID * sought.len() as u64)?;
        let started = self.watch().map(|watch| (watch, Instant::now()));
        let found = self.search(sought, max_bytes)?;
        let read = found.iter().flatten().flatten();
        self.spend(read.map(|(_, row)| row.resource.len() as u64).sum::<u64>() / BYTES_OF_A_UNIT)?;
        if let Some((watch, started)) = started {
            let rows = || found.iter().flatten().flatten();
            let seen = SeenRows {
                asked: sought.len(),
                found: rows().count(),
                bytes: rows().map(|(_, row)| row.resource.len() as u64).sum(),
                time: started.elapsed(),
            };
            watch.rows(self.type_id, seen);
        }
        Ok(found)
    }

    fn search(&self, sought: &[Sought], max_bytes: usize) -> Result<Option<Vec<PlacedRow>>, ScanError> {
        let mut search = Search {
            sought,
            hashes: sought.iter().map(|one| hash_id(&one.id)).collect(),
            found: vec![None; sought.len()],
            left: max_bytes,
        };
        let mut guessed: Vec<(i64, usize)> = sought
            .iter()
            .enumerate()
            .filter_map(|(at, one)| Some((one.owner?, at)))
            .collect();
        guessed.sort_unstable();
        if !self.look_where_guessed(&guessed, &mut search)? {
            return Ok(None);
        }
        // Search the files with shared rows before all other files. The references of a person's rows mostly lead to
        // rows of the same person, which the search by owner has found already, or to shared rows.
        let shared: FxHashSet<u64> = if search.missing().is_empty() {
            FxHashSet::default()
        } else {
            self.files_of(&[SHARED]).iter().map(|file| file.id).collect()
        };
        for first in [true, false] {
            for data in self.files() {
                let missing = search.missing();
                if missing.is_empty() {
                    return Ok(Some(search.found));
                }
                if shared.contains(&data.id) != first {
                    continue;
                }
                let file = self.open(data)?;
                for group in 0..file.groups().len() {
                    if !self.look(data, &file, group, &missing, &mut search)? {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(Some(search.found))
    }

    /// Returns the owners of the rows at these locators. Ignores the scope. Fails if the table lacks one of the rows.
    pub fn owners(&self, places: &[Locator]) -> Result<Vec<i64>, ScanError> {
        let mut owners = Vec::with_capacity(places.len());
        let mut last: Option<Arc<OpenFile>> = None;
        for place in places {
            let gone = || ScanError::Locator {
                file: place.file,
                row: place.row,
            };
            let file = match last.take().filter(|file| file.id == place.file) {
                Some(file) => file,
                None => {
                    let data = self.table.as_ref().and_then(|table| table.file(place.file));
                    self.open(data.ok_or_else(gone)?)?
                }
            };
            let (group, row) = file.locate(place.row).ok_or_else(gone)?;
            let owner = self.directory(&file, group, |rows| rows.owner(row))?;
            owners.push(owner.ok_or_else(gone)?);
            last = Some(file);
        }
        Ok(owners)
    }

    /// Searches the row groups that may hold rows of the probable owners. Each entry of `guessed` is a probable owner
    /// and the index of the requested row, ascending. Returns `false` if the resources have too many bytes.
    fn look_where_guessed(&self, guessed: &[(i64, usize)], search: &mut Search<'_>) -> Result<bool, ScanError> {
        let mut owners: Vec<i64> = guessed.iter().map(|(owner, _)| *owner).collect();
        owners.dedup();
        for data in self.files_of(&owners) {
            let file = self.open(&data)?;
            for group in 0..file.groups().len() {
                let Some(bounds) = owner_bounds(&file, group) else {
                    continue;
                };
                let from = guessed.partition_point(|(owner, _)| i128::from(*owner) < *bounds.start());
                let until = guessed.partition_point(|(owner, _)| i128::from(*owner) <= *bounds.end());
                let here: Vec<usize> = guessed[from..until.max(from)]
                    .iter()
                    .map(|(_, at)| *at)
                    .filter(|at| search.found[*at].is_none())
                    .collect();
                if !self.look(&data, &file, group, &here, search)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Searches a row group for the requested rows with the indexes `missing`. Returns `false` if their resources have
    /// too many bytes.
    fn look(
        &self,
        data: &DataFile,
        file: &Arc<OpenFile>,
        group: usize,
        missing: &[usize],
        search: &mut Search<'_>,
    ) -> Result<bool, ScanError> {
        let mut rows: Vec<(u32, usize)> = Vec::new();
        for at in missing {
            for row in self.candidates_of(file, group, search.hashes[*at], &search.sought[*at].id)? {
                if self.shows(data, file, group, row)? {
                    rows.push((row, *at));
                }
            }
        }
        let first = file.groups()[group].first;
        let place = |row: u32| Locator {
            file: file.id,
            row: first + row,
        };
        let keeps = search.sought.len() <= KEPT_AT_ONCE;
        if keeps {
            let mut bytes = 0;
            rows.retain(|(row, at)| match self.kept(file, group, *row) {
                Some(kept) if kept.id == search.sought[*at].id => {
                    bytes += kept.resource.len();
                    search.found[*at].get_or_insert_with(|| (place(*row), kept));
                    false
                }
                kept => kept.is_none(),
            });
            let Some(left) = search.left.checked_sub(bytes) else {
                return Ok(false);
            };
            search.left = left;
        }
        if rows.is_empty() {
            return Ok(true);
        }
        rows.sort_unstable();
        let mut positions: Vec<u32> = rows.iter().map(|(row, _)| *row).collect();
        positions.dedup();
        let Some(resources) = read_resources(file, group, &positions, search.left)? else {
            return Ok(false);
        };
        let mut nth = 0;
        for (row, at) in rows {
            while positions[nth] < row {
                nth += 1;
            }
            let (resource, id) = (&resources[nth], &search.sought[at].id);
            if search.found[at].is_some() || !mentions_id(resource, id) && !has_id(file, group, row, id)? {
                continue;
            }
            let (version, last_updated) = self.directory(file, group, |rows| rows.version(row))?;
            search.left = search.left.saturating_sub(resource.len());
            let read = Row {
                id: id.clone(),
                resource: resource.clone(),
                version,
                last_updated,
            };
            if keeps {
                self.keep(file, group, row, &read);
            }
            search.found[at] = Some((place(row), read));
        }
        Ok(true)
    }
}

impl Search<'_> {
    fn missing(&self) -> Vec<usize> {
        (0..self.found.len()).filter(|at| self.found[*at].is_none()).collect()
    }
}
