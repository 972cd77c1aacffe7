//! Finds the shared rows that a patient scope shows. Its own rows refer to them by a relative reference, directly or
//! through other shared rows. It never shows a Patient, a row of another person or a row of the application alone.
//!
//! Computed once per snapshot and scope, on the first request for a shared row.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::cache::file::OpenFile;
use super::super::cache::memory::Weigh;
use super::super::conditions::owner_set::OwnerSet;
use super::super::conditions::ranges::Ranges;
use super::super::decode::columns::read_root;
use super::super::error::ScanError;
use super::super::lookup::point::has_id;
use super::super::table::{Reader, ScopedTable};
use super::system_columns::Shown;
use crate::fhir::{TypeId, facts};
use crate::lake::owners::owner::SHARED;
use crate::lake::owners::scope::Scope;
use crate::lake::snapshot::Snapshot;

/// Positions of shared rows, by type and data file, ascending.
#[derive(Debug)]
pub(in crate::lake::scan) struct SharedRows {
    found: Found,
    origin: Origin,
}

type Found = FxHashMap<(TypeId, u64), Box<[u32]>>;

/// The data from which they were found.
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    snapshot: u64,
    /// The epoch of the snapshot.
    epoch: u64,
    /// The erasures whose rows are left out.
    erasures: Box<[u64]>,
}

/// A reference as the column `shared_refs` has it.
type Target = (TypeId, String);

impl SharedRows {
    pub(in crate::lake::scan) fn of(table: &ScopedTable) -> Result<Arc<SharedRows>, ScanError> {
        let (reader, snapshot, scope) = (&table.reader, &table.snapshot, &table.scope);
        let origin = Origin {
            snapshot: snapshot.id,
            epoch: snapshot.erasures.epoch,
            erasures: table.erasures.iter().map(|erasure| erasure.id).collect(),
        };
        let kept = reader.memory.shared(scope);
        if let Some(rows) = kept.filter(|rows| rows.origin == origin) {
            return Ok(rows);
        }
        let search = Search {
            reader,
            snapshot,
            scope,
            met: HashSet::new(),
        };
        let found = search.run()?;
        let rows = Arc::new(SharedRows { found, origin });
        reader.memory.keep_shared(scope, &rows);
        Ok(rows)
    }

    /// The id of their snapshot.
    pub(in crate::lake::scan) fn snapshot(&self) -> u64 {
        self.origin.snapshot
    }

    /// Whether they include rows of this type.
    pub(in crate::lake::scan) fn any(&self, ty: TypeId) -> bool {
        self.found.keys().any(|(have, _)| *have == ty)
    }

    pub(in crate::lake::scan) fn contains(&self, ty: TypeId, file: u64, position: u32) -> bool {
        self.found
            .get(&(ty, file))
            .is_some_and(|rows| rows.binary_search(&position).is_ok())
    }

    /// Their positions within a row group.
    pub(in crate::lake::scan) fn rows(&self, ty: TypeId, file: &OpenFile, group: usize) -> Ranges {
        let Some(rows) = self.found.get(&(ty, file.id)) else {
            return Ranges::default();
        };
        let group = &file.groups()[group];
        let from = rows.partition_point(|row| *row < group.first);
        let until = rows.partition_point(|row| *row < group.first + group.rows);
        Ranges::of(rows[from..until].iter().map(|row| row - group.first))
    }
}

impl Weigh for Arc<SharedRows> {
    fn weigh(&self) -> u64 {
        let rows: usize = self.found.values().map(|rows| 4 * rows.len() + 96).sum();
        (rows + 8 * self.origin.erasures.len() + 160) as u64
    }
}

/// Rows of a row group.
type Referred = (Arc<OpenFile>, Vec<u32>);

/// A walk along references.
struct Search<'a> {
    reader: &'a Arc<Reader>,
    snapshot: &'a Arc<Snapshot>,
    scope: &'a Arc<Scope>,
    met: HashSet<Target>,
}

impl Search<'_> {
    fn run(mut self) -> Result<Found, ScanError> {
        let mut found: FxHashMap<(TypeId, u64), FxHashSet<u32>> = FxHashMap::default();
        let mut next = self.own_references()?;
        while !next.is_empty() {
            let mut groups: FxHashMap<(TypeId, u64, usize), Referred> = FxHashMap::default();
            for (ty, id) in next {
                self.table(ty).find_shared(&id, |file, group, row| {
                    found
                        .entry((ty, file.id))
                        .or_default()
                        .insert(file.groups()[group].first + row);
                    groups
                        .entry((ty, file.id, group))
                        .or_insert_with(|| (file.clone(), Vec::new()))
                        .1
                        .push(row);
                })?;
            }
            next = Vec::new();
            for ((_, _, group), (file, mut rows)) in groups {
                rows.sort_unstable();
                rows.dedup();
                self.references(&file, group, &Ranges::of(rows), &mut next)?;
            }
        }
        let sorted = |positions: FxHashSet<u32>| {
            let mut positions: Box<[u32]> = positions.into_iter().collect();
            positions.sort_unstable();
            positions
        };
        Ok(found.into_iter().map(|(key, rows)| (key, sorted(rows))).collect())
    }

    fn table(&self, ty: TypeId) -> ScopedTable {
        self.reader.table(self.snapshot, ty, self.scope)
    }

    /// The targets of the scope's own rows.
    fn own_references(&mut self) -> Result<Vec<Target>, ScanError> {
        let mut targets = Vec::new();
        let Some(patient) = self.scope.patient.as_deref() else {
            return Ok(targets);
        };
        let types: Vec<TypeId> = self
            .snapshot
            .tables
            .keys()
            .filter(|(mode, _)| *mode == self.scope.mode)
            .map(|(_, ty)| *ty)
            .collect();
        for ty in types {
            let table = self.table(ty);
            let owners = OwnerSet::of(&patient.owners);
            for data in table.files_of(owners.all()) {
                let file = self.reader.memory.file(&data)?;
                for group in 0..file.groups().len() {
                    let rows = table.visible(&data, &file, group, Some(&owners))?;
                    self.references(&file, group, &rows, &mut targets)?;
                }
            }
        }
        Ok(targets)
    }

    /// References of some rows that are new.
    fn references(
        &mut self,
        file: &Arc<OpenFile>,
        group: usize,
        rows: &Ranges,
        targets: &mut Vec<Target>,
    ) -> Result<(), ScanError> {
        if rows.is_empty() || file.leaf("shared_refs").is_none() {
            return Ok(());
        }
        let column = read_root(file, group, "shared_refs", rows)?;
        let wrong = || file.missing("list of references in shared_refs");
        let lists = column.as_list_opt::<i32>().ok_or_else(wrong)?;
        let texts = lists.values().as_string_opt::<i32>().ok_or_else(wrong)?;
        let (Some(first), Some(last)) = (lists.offsets().first(), lists.offsets().last()) else {
            return Ok(());
        };
        let values = (*first as usize..*last as usize)
            .filter(|at| texts.is_valid(*at))
            .map(|at| texts.value(at));
        for target in values.filter_map(target) {
            if self.met.insert(target.clone()) {
                targets.push(target);
            }
        }
        Ok(())
    }
}

/// Splits `Type/id`. `None` for a Patient or an unknown type.
fn target(reference: &str) -> Option<Target> {
    let (ty, id) = reference.split_once('/')?;
    (ty != "Patient").then_some(())?;
    Some((facts().lookup(ty)?, id.to_owned()))
}

impl ScopedTable {
    /// The live shared rows of an id in the scope's application.
    fn find_shared(&self, id: &str, mut found: impl FnMut(&Arc<OpenFile>, usize, u32)) -> Result<(), ScanError> {
        for data in self.files_of(&[SHARED]) {
            let file = self.reader.memory.file(&data)?;
            for group in 0..file.groups().len() {
                for row in self.candidates(&file, group, id)? {
                    let shared =
                        self.directory(&file, group, |rows| rows.shows(row, &self.scope))? == Shown::IfReferred;
                    if shared && !self.is_deleted(&data, &file, group, row)? && has_id(&file, group, row, id)? {
                        found(&file, group, row);
                    }
                }
            }
        }
        Ok(())
    }
}
