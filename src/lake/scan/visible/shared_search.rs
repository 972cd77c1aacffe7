//! Finds the shared rows that a patient scope shows. The scope's own rows refer to them by relative references,
//! directly or through other shared rows. The search never finds a Patient, a row of another person or an
//! application-only row.
//!
//! The search runs when a read first needs its result. The reader caches the result for the scope. It is valid as long
//! as the snapshot, the epoch and the hidden erasures are the same.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::cache::file::OpenFile;
use super::super::conditions::owner_set::OwnerSet;
use super::super::conditions::ranges::Ranges;
use super::super::decode::columns::read_root;
use super::super::error::ScanError;
use super::super::lookup::point::has_id;
use super::super::table::{Reader, ScopedTable};
use super::shared_rows::{Found, Origin, SharedRows};
use super::system_columns::Shown;
use crate::fhir::{TypeId, facts};
use crate::lake::owners::owner::SHARED;
use crate::lake::owners::scope::Scope;
use crate::lake::snapshot::Snapshot;

/// The type and the id of a reference in the column `shared_refs`.
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
}

/// Rows of one row group whose references must be followed next, with their open file.
type Referred = (Arc<OpenFile>, Vec<u32>);

/// A search that follows references.
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
            for (type_id, id) in next {
                self.table(type_id).find_shared(&id, |file, group, row| {
                    found
                        .entry((type_id, file.id))
                        .or_default()
                        .insert(file.groups()[group].first + row);
                    groups
                        .entry((type_id, file.id, group))
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

    fn table(&self, type_id: TypeId) -> ScopedTable {
        self.reader.table(self.snapshot, type_id, self.scope)
    }

    /// Returns the targets of the references in the scope's own rows.
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
            .map(|(_, type_id)| *type_id)
            .collect();
        for type_id in types {
            let table = self.table(type_id);
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

    /// Adds the targets of the references in these rows to `targets`, except targets that the search already knows.
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

/// Splits a reference `Type/id`. `None` for a Patient, for an unknown type and for a text of another form.
fn target(reference: &str) -> Option<Target> {
    let (resource_type, id) = reference.split_once('/')?;
    (resource_type != "Patient").then_some(())?;
    Some((facts().lookup(resource_type)?, id.to_owned()))
}

impl ScopedTable {
    /// Calls `found` for each shared row of the scope's application that has this id and is not deleted. Passes the
    /// file, the index of the row group, and the position of the row in the row group.
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
