//! Caches that outlive a request: open files with their footers and indexes, positions of deleted rows, the shared rows
//! that each patient token sees, columns of frequently read people, and recently read rows. Whole answers are never
//! cached.
//!
//! All caches share one budget in bytes. The most requested entries stay. [`Memory::release`] drops the entries of
//! files and snapshots that are no longer in use.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use rustc_hash::FxHashSet;

use super::super::error::ScanError;
use super::super::row::Row;
use super::super::visible::shared_rows::SharedRows;
use super::file::OpenFile;
use super::handles::{Handles, HeldHandle};
use super::person::{PersonKey, PersonRowsBase};
use super::weigh::Weigh;
use crate::lake::deletes;
use crate::lake::owners::scope::Scope;
use crate::lake::seal::Keys;
use crate::lake::snapshot::{DataFile, DeleteFile, Snapshot};

/// The limits of the caches.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// The maximum size of all caches together, in bytes: open files with their footers and indexes, positions of
    /// deleted rows, columns of frequently read people, shared rows that patient tokens see, and recently read rows. 1
    /// GiB by default. Open files take about 20 bytes per row if reads by id have touched every row group.
    pub bytes: u64,
    /// The maximum number of open files in the cache. Long answers may hold up to the same number of files open in
    /// addition. 512 by default.
    pub handles: usize,
    /// Whether people's columns are cached. Benchmarks turn this off, so that each read of a person is a first read.
    pub people: bool,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        MemoryLimits {
            bytes: 1 << 30,
            handles: 512,
            people: true,
        }
    }
}

/// The current use of the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// The size of all entries in bytes.
    pub bytes: u64,
    /// The maximum of `bytes`.
    pub limit: u64,
    /// The number of open data files with footers and indexes.
    pub files: usize,
    /// The number of delete files whose positions are cached.
    pub deletes: usize,
    /// The number of people whose rows are cached. A person counts once per table and scope.
    pub people: usize,
    /// The number of patient scopes whose shared rows are cached.
    pub shared: usize,
    /// The number of recently read rows in the cache.
    pub rows: usize,
    /// The number of file handles in the cache.
    pub handles: usize,
}

/// The caches of one reader.
pub(in crate::lake::scan) struct Memory {
    handles: Arc<Handles>,
    kept: Cache<Key, Kept, Bytes>,
    /// The weight of all cached open files in bytes.
    of_files: Arc<AtomicU64>,
    people: bool,
}

/// The cache key of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::lake::scan) struct RowKey {
    /// The data file's id.
    pub(in crate::lake::scan) id: u64,
    /// The [`OpenFile::serial`] of the file from which the row was read. If an erasure replaces the file, the new file
    /// has another serial.
    opening: u64,
    /// The position of the row in the file.
    row: u32,
}

impl RowKey {
    pub(in crate::lake::scan) fn new(file: &OpenFile, group: usize, row: u32) -> RowKey {
        RowKey {
            id: file.id,
            opening: file.serial(),
            row: file.groups()[group].first + row,
        }
    }
}

/// The key of a cache entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    File(u64),
    Deletes(u64),
    Person(Arc<PersonKey>),
    Shared(Arc<Scope>),
    Row(RowKey),
}

#[derive(Clone)]
enum Kept {
    File(Arc<HeldFile>),
    Deletes(Arc<[u32]>),
    Person(Arc<PersonRowsBase>, u64),
    Shared(Arc<SharedRows>),
    Row(Row),
}

/// An open file with the weight that it had when it entered the cache. The weight of the file itself grows with its
/// indexes, but the cache requires that the weight of a cached value does not change.
struct HeldFile {
    file: Arc<OpenFile>,
    weight: u64,
    /// The sum of the weights of all cached files.
    sum: Arc<AtomicU64>,
}

impl HeldFile {
    fn new(file: &Arc<OpenFile>, sum: &Arc<AtomicU64>) -> Arc<HeldFile> {
        let weight = file.weight() as u64;
        sum.fetch_add(weight, Ordering::Relaxed);
        Arc::new(HeldFile {
            file: file.clone(),
            weight,
            sum: sum.clone(),
        })
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        self.sum.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

impl Memory {
    pub(in crate::lake::scan) fn new(limits: MemoryLimits, keys: Keys) -> Memory {
        Memory {
            handles: Arc::new(Handles::new(limits.handles, keys)),
            kept: bounded(limits.bytes),
            of_files: Arc::default(),
            people: limits.people,
        }
    }

    /// Returns the open file from the cache, or opens it.
    pub(in crate::lake::scan) fn file(&self, file: &DataFile) -> Result<Arc<OpenFile>, ScanError> {
        // An erasure replaces a file by one with the same id and another path. So compare the path, too.
        if let Some(Kept::File(held)) = self.kept.get(&Key::File(file.id))
            && held.file.path() == file.path
        {
            return Ok(held.file.clone());
        }
        let open = Arc::new(OpenFile::open(file.id, &file.path, &self.handles)?);
        self.hold(&open);
        Ok(open)
    }

    /// Returns the keys of sealed files.
    pub(in crate::lake::scan) fn keys(&self) -> &Keys {
        self.handles.keys()
    }

    /// Holds these files open until the returned handles are dropped. `None` if too many files would be held.
    pub(in crate::lake::scan) fn handles<'p>(
        &self,
        paths: impl Iterator<Item = &'p Path>,
    ) -> Result<Option<Vec<HeldHandle>>, ScanError> {
        self.handles.hold(paths)
    }

    /// Drops all entries. The reader calls this when it learns of an erasure, so that no erased row stays in memory.
    pub(in crate::lake::scan) fn forget(&self) {
        self.handles.forget();
        self.kept.clear();
    }

    /// Keeps only the entries of these snapshots: those whose files and delete files are in one of them, and the shared
    /// rows that were found in one of them. Takes some milliseconds if the caches are large.
    pub(in crate::lake::scan) fn release(&self, snapshots: &[Arc<Snapshot>]) {
        let named = Named::of(snapshots);
        self.kept.retain(|key, kept| named.has(key, kept));
        self.handles.retain(|path| named.paths.contains(path));
    }

    /// Returns the current use.
    pub(in crate::lake::scan) fn usage(&self) -> MemoryUse {
        let mut usage = MemoryUse {
            bytes: self.kept.weight(),
            limit: self.kept.capacity(),
            handles: self.handles.len(),
            ..MemoryUse::default()
        };
        for (key, _) in self.kept.iter() {
            *match key {
                Key::File(_) => &mut usage.files,
                Key::Deletes(_) => &mut usage.deletes,
                Key::Person(_) => &mut usage.people,
                Key::Shared(_) => &mut usage.shared,
                Key::Row(_) => &mut usage.rows,
            } += 1;
        }
        usage
    }

    /// Whether the file is open in the cache.
    pub(in crate::lake::scan) fn holds(&self, file: &DataFile) -> bool {
        match self.kept.peek(&Key::File(file.id)) {
            Some(Kept::File(held)) => held.file.path() == file.path,
            _ => false,
        }
    }

    /// Whether open files take less than half of the budget.
    pub(in crate::lake::scan) fn is_roomy(&self) -> bool {
        self.of_files.load(Ordering::Relaxed) < self.kept.capacity() / 2
    }

    /// Inserts a file into the cache again if its weight is no longer `before`, because indexes were built. So the
    /// cache counts the new weight.
    pub(in crate::lake::scan) fn weigh(&self, file: &Arc<OpenFile>, before: usize) {
        if file.weight() != before {
            self.hold(file);
        }
    }

    fn hold(&self, file: &Arc<OpenFile>) {
        let held = HeldFile::new(file, &self.of_files);
        self.kept.insert(Key::File(file.id), Kept::File(held));
    }

    /// Returns the positions of a file's deleted rows, ascending. `None` if the file has no delete file.
    pub(in crate::lake::scan) fn deletes(&self, file: &DataFile) -> Result<Option<Arc<[u32]>>, ScanError> {
        let Some(deletes) = &file.deletes else { return Ok(None) };
        let key = Key::Deletes(deletes.id);
        if let Some(Kept::Deletes(gone)) = self.kept.get(&key) {
            return Ok(Some(gone));
        }
        let gone = read_deletes(deletes, self.handles.keys())?;
        self.kept.insert(key, Kept::Deletes(gone.clone()));
        Ok(Some(gone))
    }

    /// Returns a person's rows, if they are cached.
    pub(in crate::lake::scan) fn person(&self, key: &Arc<PersonKey>) -> Option<Arc<PersonRowsBase>> {
        match self.kept.get(&Key::Person(key.clone())) {
            Some(Kept::Person(base, _)) => Some(base),
            _ => None,
        }
    }

    /// Caches a person's rows in place of the entry with the same key. After the caller has added columns to the rows,
    /// it calls this again, so that the cache counts the new weight.
    pub(in crate::lake::scan) fn keep_person(&self, key: &Arc<PersonKey>, base: &Arc<PersonRowsBase>) {
        if self.people {
            let kept = Kept::Person(base.clone(), base.weight());
            self.kept.insert(Key::Person(key.clone()), kept);
        }
    }

    /// Returns the shared rows that a scope shows, if they are cached.
    pub(in crate::lake::scan) fn shared(&self, scope: &Arc<Scope>) -> Option<Arc<SharedRows>> {
        match self.kept.get(&Key::Shared(scope.clone())) {
            Some(Kept::Shared(rows)) => Some(rows),
            _ => None,
        }
    }

    /// Caches the shared rows that a scope shows, in place of those that were cached for the scope before.
    pub(in crate::lake::scan) fn keep_shared(&self, scope: &Arc<Scope>, rows: &Arc<SharedRows>) {
        self.kept.insert(Key::Shared(scope.clone()), Kept::Shared(rows.clone()));
    }

    /// Returns a recently read row, if it is cached.
    pub(in crate::lake::scan) fn row(&self, key: RowKey) -> Option<Row> {
        match self.kept.get(&Key::Row(key)) {
            Some(Kept::Row(row)) => Some(row),
            _ => None,
        }
    }

    /// Caches a row.
    pub(in crate::lake::scan) fn keep_row(&self, key: RowKey, row: &Row) {
        self.kept.insert(Key::Row(key), Kept::Row(row.clone()));
    }
}

fn read_deletes(file: &DeleteFile, keys: &Keys) -> Result<Arc<[u32]>, ScanError> {
    let positions = deletes::read(&file.path, keys)?;
    // No file has rows at positions above `u32::MAX`, so such positions delete nothing.
    Ok(positions.into_iter().filter_map(|at| u32::try_from(at).ok()).collect())
}

/// The ids and paths of the files in some snapshots, and the ids of their delete files and of the snapshots.
#[derive(Default)]
struct Named<'a> {
    files: FxHashSet<u64>,
    deletes: FxHashSet<u64>,
    paths: FxHashSet<&'a Path>,
    snapshots: FxHashSet<u64>,
}

impl<'a> Named<'a> {
    fn of(snapshots: &'a [Arc<Snapshot>]) -> Named<'a> {
        let mut named = Named::default();
        // Snapshots share the tables that did not change between them, so visit each table once.
        let mut met = FxHashSet::default();
        for snapshot in snapshots {
            named.snapshots.insert(snapshot.id);
            for table in snapshot.tables.values().filter(|table| met.insert(Arc::as_ptr(table))) {
                for file in &table.files {
                    named.files.insert(file.id);
                    named.paths.insert(&file.path);
                    named.deletes.extend(file.deletes.as_ref().map(|deletes| deletes.id));
                }
            }
        }
        named
    }

    fn has(&self, key: &Key, kept: &Kept) -> bool {
        match (key, kept) {
            (Key::File(_), Kept::File(held)) => self.paths.contains(held.file.path()),
            (Key::Deletes(id), _) => self.deletes.contains(id),
            (Key::Row(row), _) => self.files.contains(&row.id),
            (_, Kept::Person(base, _)) => base
                .files()
                .all(|(file, deletes)| self.files.contains(&file) && (deletes == 0 || self.deletes.contains(&deletes))),
            (_, Kept::Shared(rows)) => self.snapshots.contains(&rows.snapshot()),
            _ => true,
        }
    }
}

#[derive(Clone, Copy)]
struct Bytes;

impl Weighter<Key, Kept> for Bytes {
    fn weight(&self, key: &Key, value: &Kept) -> u64 {
        let key = match key {
            Key::Person(key) => key.weigh(),
            Key::Shared(scope) => scope.weigh(),
            Key::File(_) | Key::Deletes(_) | Key::Row(_) => 0,
        };
        let value = match value {
            Kept::File(held) => held.weight + size_of::<HeldFile>() as u64,
            Kept::Deletes(gone) => 4 * gone.len() as u64,
            Kept::Person(_, weight) => *weight,
            Kept::Shared(rows) => rows.weigh(),
            Kept::Row(row) => row.weigh(),
        };
        // Add an eighth, because allocators round sizes up. Also add the size of the cache's own entry.
        let all = key + value;
        all + all / 8 + size_of::<(Key, Kept)>() as u64 + 64
    }
}

fn bounded(bytes: u64) -> Cache<Key, Kept, Bytes> {
    let items = (bytes / (8 << 10)).max(1) as usize;
    // The cache rejects a value that is heavier than its shard. So use few shards, in which even the largest files fit.
    let options = OptionsBuilder::new()
        .estimated_items_capacity(items)
        .weight_capacity(bytes)
        .shards(8)
        .build();
    match options {
        Ok(options) => Cache::with_options(
            options,
            Bytes,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        ),
        Err(_) => Cache::with_weighter(items, bytes, Bytes),
    }
}
