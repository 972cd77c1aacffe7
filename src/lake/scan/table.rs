//! A table as a scope sees it ([`ScopedTable`]), and the [`Reader`] that makes such tables.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use arrow::datatypes::{Schema, SchemaRef};

use super::budget::Budget;
use super::cache::file::OpenFile;
use super::cache::held::Held;
use super::cache::memory::{Memory, MemoryLimits, MemoryUse};
use super::conditions::owner_set::OwnerSet;
use super::conditions::pruning::{may_hold_owners, proves_application};
use super::conditions::ranges::Ranges;
use super::error::ScanError;
use super::report::watch::Watch;
use super::rows::clip::Clip;
use super::visible::shared_rows::SharedRows;
use super::visible::system_columns::{Shown, SystemColumns};
use crate::columns::layout::system_fields;
use crate::fhir::TypeId;
use crate::fhir::storage::LeafSet;
use crate::lake::erase::{Erasure, Erasures, Intent, Known};
use crate::lake::owners::owner::SHARED;
use crate::lake::owners::scope::Scope;
use crate::lake::seal::Keys;
use crate::lake::snapshot::{DataFile, Snapshot, TableSnapshot};

/// The reader of a lake's files, with its caches. A process has one per lake, apart from readers that `apart` makes.
pub struct Reader {
    pub(super) memory: Memory,
    /// The erasures whose rows the reader hides.
    erasures: RwLock<Arc<Known>>,
}

impl Reader {
    /// Makes a reader with empty caches.
    pub fn new(limits: MemoryLimits, keys: Keys) -> Reader {
        Reader {
            memory: Memory::new(limits, keys),
            erasures: RwLock::default(),
        }
    }

    /// Makes another reader of the same lake, with empty caches of its own. It hides the rows that this reader hides
    /// now, and learns of no later erasure. So use it only while no erasure can begin.
    pub(in crate::lake) fn apart(&self, limits: MemoryLimits) -> Reader {
        Reader {
            memory: Memory::new(limits, self.memory.keys().clone()),
            erasures: RwLock::new(self.erasures()),
        }
    }

    /// Hides the rows of the erasures that the catalog has recorded, and empties the caches. Does nothing if the epoch
    /// of `erasures` is not newer than the known one. `oldest` is the lowest epoch of all snapshots in use: the reader
    /// forgets erasures that finished at or before it.
    pub(in crate::lake) fn learn(&self, erasures: &Erasures, oldest: u64) {
        let mut known = self.erasures.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(now) = known.learn(erasures, oldest) {
            *known = Arc::new(now);
            drop(known);
            self.memory.forget();
        }
    }

    /// Hides the rows of requested erasures that the catalog has not recorded yet. Recorded erasures stay hidden, too.
    /// `intents` replaces the intents of the previous call.
    pub(in crate::lake) fn hide(&self, intents: &[Intent]) {
        let mut known = self.erasures.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(now) = known.hiding(intents) {
            *known = Arc::new(now);
            drop(known);
            self.memory.forget();
        }
    }

    /// Drops the cache entries that none of these snapshots needs: data files, delete files, and positions of rows.
    pub(in crate::lake) fn release(&self, snapshots: &[Arc<Snapshot>]) {
        self.memory.release(snapshots);
    }

    /// Returns the sizes of the caches.
    pub(in crate::lake) fn usage(&self) -> MemoryUse {
        self.memory.usage()
    }

    fn erasures(&self) -> Arc<Known> {
        self.erasures.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the rows of a type that a scope shows in a snapshot. If the type was never stored, the table has the
    /// system columns and no rows.
    pub fn table(self: &Arc<Self>, snapshot: &Arc<Snapshot>, type_id: TypeId, scope: &Arc<Scope>) -> ScopedTable {
        ScopedTable {
            reader: self.clone(),
            snapshot: snapshot.clone(),
            table: snapshot.table(scope.mode, type_id).cloned(),
            type_id,
            scope: scope.clone(),
            erasures: self.erasures().of(snapshot, scope),
            held: None,
            watch: Weak::new(),
            budget: None,
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

/// The rows of one type that a scope shows in one snapshot. It is cheap to clone.
#[derive(Clone)]
pub struct ScopedTable {
    pub(super) reader: Arc<Reader>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) table: Option<Arc<TableSnapshot>>,
    pub(super) type_id: TypeId,
    pub(super) scope: Arc<Scope>,
    /// The erasures whose rows must be hidden, because the snapshot's files may still have them.
    pub(super) erasures: Box<[Arc<Erasure>]>,
    /// The files and other data that the table keeps readable, if it was made by [`ScopedTable::held`].
    pub(super) held: Option<Arc<Held>>,
    /// The watch that records the reads. It is weak, so a table that outlives the watch records nothing.
    pub(super) watch: Weak<Watch>,
    /// The budget of the answer. `None` if its work is not bounded.
    pub(super) budget: Option<Arc<Budget>>,
}

impl ScopedTable {
    /// Returns the same table with a watch that records its reads, and the reads of tables made from it.
    pub fn watched(self, watch: &Arc<Watch>) -> ScopedTable {
        ScopedTable {
            watch: Arc::downgrade(watch),
            ..self
        }
    }

    /// Returns the same table with a budget for its reads, and for the reads of tables made from it.
    pub fn within(self, budget: &Arc<Budget>) -> ScopedTable {
        ScopedTable {
            budget: Some(budget.clone()),
            ..self
        }
    }

    /// Takes work from the table's budget, as [`Budget::spend`] does. Without a budget, any work is allowed.
    pub fn spend(&self, work: u64) -> Result<(), ScanError> {
        self.budget.as_ref().map_or(Ok(()), |budget| budget.spend(work))
    }

    /// Returns the watch that records the reads. `None` if there is none or it was dropped.
    pub(super) fn watch(&self) -> Option<Arc<Watch>> {
        self.watch.upgrade()
    }

    /// Returns an open data file from the cache, or opens the file.
    pub(super) fn open(&self, data: &DataFile) -> Result<Arc<OpenFile>, ScanError> {
        let memory = &self.reader.memory;
        if let Some(watch) = self.watch() {
            watch.kept("footers and page indexes", memory.holds(data));
        }
        memory.file(data)
    }

    /// Returns the resource type.
    pub fn type_id(&self) -> TypeId {
        self.type_id
    }

    /// Returns the caller's scope.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the id of the snapshot that the table reads.
    pub fn snapshot(&self) -> u64 {
        self.snapshot.id
    }

    /// Whether the table keeps its files open, so that they stay readable until the table is dropped.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the number of stored resources of the type in the scope's mode, of all applications and patients.
    pub fn stored(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| table.rows)
    }

    /// Whether the table has data files. Without any, no resource of the type is stored in the scope's mode.
    pub fn has_files(&self) -> bool {
        !self.files().is_empty()
    }

    /// Returns the table of another type in the same scope and snapshot, with the same watch and the same
    /// budget. It holds no files open.
    pub fn other(&self, type_id: TypeId) -> ScopedTable {
        ScopedTable {
            watch: self.watch.clone(),
            budget: self.budget.clone(),
            ..self.reader.table(&self.snapshot, type_id, &self.scope)
        }
    }

    /// Returns the columns that a scan for these leaves yields, without the locator columns. For a leaf that the table
    /// lacks, the scan yields the deepest element above the leaf that the table has.
    pub fn schema(&self, leaves: &LeafSet) -> SchemaRef {
        self.clip(leaves).schema().clone()
    }

    /// Returns all stored columns of the type, with their Parquet field ids. `None` if the type was never stored.
    pub fn stored_columns(&self) -> Option<&SchemaRef> {
        self.table.as_ref().map(|table| table.layout.schema())
    }

    pub(super) fn clip(&self, leaves: &LeafSet) -> Clip {
        match &self.table {
            Some(table) => Clip::new(table.layout.schema(), leaves),
            None => Clip::new(&Schema::new(system_fields().to_vec()), leaves),
        }
    }

    pub(super) fn files(&self) -> &[Arc<DataFile>] {
        self.table.as_ref().map_or(&[], |table| table.files.as_slice())
    }

    /// Returns the rows of a row group that the scope shows, without deleted and erased rows. If `owners` is given,
    /// returns only rows of these owners.
    pub(super) fn visible(
        &self,
        data: &DataFile,
        file: &Arc<OpenFile>,
        group: usize,
        owners: Option<&OwnerSet>,
    ) -> Result<Ranges, ScanError> {
        let first = file.groups()[group].first;
        let mut shown = self.own(file, group, owners)?;
        if self.scope.patient.is_some()
            && owners.is_none_or(|owners| owners.holds(SHARED))
            && data.owners.contains(&SHARED)
        {
            shown = shown.union(&self.shared()?.rows(self.type_id, file, group));
        }
        if !shown.is_empty() {
            let erased = self.erased(data, file, group)?;
            if !erased.is_empty() {
                shown = shown.without(&erased);
            }
        }
        if let Some(gone) = self.deletes(data)?.filter(|_| !shown.is_empty()) {
            let from = gone.partition_point(|at| *at < first);
            let until = gone.partition_point(|at| *at < first + file.groups()[group].rows);
            let here: Vec<u32> = gone[from..until].iter().map(|at| at - first).collect();
            shown = shown.without(&here);
        }
        Ok(shown)
    }

    /// Returns the erasures whose rows must be hidden. A held table asks the reader on each call, because an erasure
    /// may begin while a long answer is sent.
    fn hidden(&self) -> Cow<'_, [Arc<Erasure>]> {
        match &self.held {
            None => Cow::Borrowed(&self.erasures),
            Some(_) => Cow::Owned(self.reader.erasures().of(&self.snapshot, &self.scope).into_vec()),
        }
    }

    /// Returns the positions in a row group of the rows that erasures hide, ascending.
    fn erased(&self, data: &DataFile, file: &Arc<OpenFile>, group: usize) -> Result<Vec<u32>, ScanError> {
        let mut rows = Vec::new();
        for erasure in &*self.hidden() {
            let owners = OwnerSet::of(erasure.owners());
            if erasure.may_reach(data.id, &data.owners) && may_hold_owners(file, group, &owners) {
                let own = self.directory(file, group, |rows| rows.own(&erasure.scope, Some(&owners)))?;
                rows.extend(own.rows());
            }
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }

    /// Whether an erasure hides a row.
    pub(super) fn is_erased(
        &self,
        data: &DataFile,
        file: &Arc<OpenFile>,
        group: usize,
        row: u32,
    ) -> Result<bool, ScanError> {
        for erasure in &*self.hidden() {
            if erasure.may_reach(data.id, &data.owners)
                && self.directory(file, group, |rows| rows.shows(row, &erasure.scope))? == Shown::Own
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the rows of a row group that the scope shows even if no row refers to them. Deleted and erased rows are
    /// included. If `owners` is given, returns only rows of these owners.
    pub(super) fn own(
        &self,
        file: &Arc<OpenFile>,
        group: usize,
        owners: Option<&OwnerSet>,
    ) -> Result<Ranges, ScanError> {
        let patient = self.scope.patient.as_deref();
        let of_scope = match (owners, patient) {
            (None, Some(patient)) => Some(OwnerSet::of(&patient.owners)),
            _ => None,
        };
        let owners = owners.or(of_scope.as_ref());
        if owners.is_some_and(|owners| !may_hold_owners(file, group, owners)) {
            return Ok(Ranges::default());
        }
        if owners.is_none() && proves_application(file, group, &self.scope.application) {
            return Ok(Ranges::all(file.groups()[group].rows));
        }
        self.directory(file, group, |rows| rows.own(&self.scope, owners))
    }

    /// Calls `ask` with the system columns of a row group. The first call for a row group reads them from the file.
    pub(super) fn directory<T>(
        &self,
        file: &Arc<OpenFile>,
        group: usize,
        ask: impl FnOnce(&SystemColumns) -> T,
    ) -> Result<T, ScanError> {
        let before = file.weight();
        let answer = ask(file.directory(group)?);
        self.reader.memory.weigh(file, before);
        if let Some(watch) = self.watch() {
            watch.kept("directories of row groups", file.weight() == before);
        }
        Ok(answer)
    }

    /// Returns the files that may hold rows of one of these owners, without duplicates.
    pub(super) fn files_of(&self, owners: &[i64]) -> Vec<Arc<DataFile>> {
        let Some(table) = &self.table else { return Vec::new() };
        if owners.len() > table.files.len() {
            let owners = OwnerSet::of(owners);
            let may_hold = |file: &&Arc<DataFile>| !owners.within(&file.owners).is_empty();
            return table.files.iter().filter(may_hold).cloned().collect();
        }
        let mut files: Vec<Arc<DataFile>> = owners
            .iter()
            .flat_map(|owner| table.files_of_owner(*owner))
            .cloned()
            .collect();
        files.sort_by_key(|file| (*file.owners.start(), file.id));
        files.dedup_by_key(|file| file.id);
        files
    }

    /// Returns the shared rows of all tables to which the patient scope's own rows refer, directly or through other
    /// shared rows.
    pub(super) fn shared(&self) -> Result<Arc<SharedRows>, ScanError> {
        match self.held.as_deref().and_then(Held::shared) {
            Some(shared) => Ok(shared.clone()),
            None => SharedRows::of(self),
        }
    }

    /// Returns the positions of a file's deleted rows, ascending. `None` if the file has no delete file.
    pub(super) fn deletes(&self, data: &DataFile) -> Result<Option<Arc<[u32]>>, ScanError> {
        let id = data.deletes.as_ref().map(|deletes| deletes.id);
        match self.held.as_deref().zip(id).and_then(|(held, id)| held.deletes(id)) {
            Some(gone) => Ok(Some(gone.clone())),
            None => self.reader.memory.deletes(data),
        }
    }
}

impl fmt::Debug for ScopedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patients = self.scope.patient.as_ref().map(|patient| patient.patients.len());
        f.debug_struct("ScopedTable")
            .field("type_id", &self.type_id)
            .field("snapshot", &self.snapshot.id)
            .field("patients", &patients)
            .finish_non_exhaustive()
    }
}
