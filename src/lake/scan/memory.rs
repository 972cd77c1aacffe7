//! What reading keeps between questions, bounded in bytes: open files with their footers and indexes, positions of deleted
//! rows, what each patient token sees of the shared rows, hot people's columns, and rows lately read. Whole answers are never
//! kept.

use std::sync::Arc;

use arrow::array::ArrayRef;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use super::error::ScanError;
use super::file::OpenFile;
use super::handles::Handles;
use super::kept::RowKey;
use super::person::{ColumnKey, PersonKey, PersonRowsBase};
use super::shared::{SharedKey, SharedRows};
use super::table::Row;
use crate::lake::deletes;
use crate::lake::picture::{DataFile, DeleteFile};

/// Upper bounds of what reading keeps in memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// Open files: footers, page indexes, bloom filters, id indexes, directories. 512 MiB by default: about 20 bytes a row
    /// where every row group was met by a read by id.
    pub files: u64,
    /// How many data files are held open at the same time. 512 by default.
    pub handles: usize,
    /// Positions of deleted rows. 64 MiB by default.
    pub deletes: u64,
    /// Columns of hot people. 512 MiB by default.
    pub people: u64,
    /// Shared rows that patient tokens see. 32 MiB by default.
    pub shared: u64,
    /// Resources lately read by id or for a page. 128 MiB by default.
    pub rows: u64,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        MemoryLimits {
            files: 512 * MIB,
            handles: 512,
            deletes: 64 * MIB,
            people: 512 * MIB,
            shared: 32 * MIB,
            rows: 128 * MIB,
        }
    }
}

/// The caches of one process.
pub(super) struct Memory {
    handles: Arc<Handles>,
    files: Bounded<u64, Held>,
    deletes: Bounded<u64, Arc<[u32]>>,
    columns: Bounded<ColumnKey, ArrayRef>,
    people: Bounded<PersonKey, Arc<PersonRowsBase>>,
    shared: Bounded<SharedKey, Arc<SharedRows>>,
    rows: Bounded<RowKey, Row>,
}

impl Memory {
    pub(super) fn new(limits: MemoryLimits) -> Memory {
        Memory {
            handles: Arc::new(Handles::new(limits.handles)),
            files: bounded(limits.files, 64 << 10),
            deletes: bounded(limits.deletes, 4 << 10),
            columns: bounded(limits.people / 8 * 7, 8 << 10),
            people: bounded(limits.people / 8, 8 << 10),
            shared: bounded(limits.shared, 4 << 10),
            rows: bounded(limits.rows, 2 << 10),
        }
    }

    /// The open file.
    pub(super) fn file(&self, file: &DataFile) -> Result<Arc<OpenFile>, ScanError> {
        // Erasure rewrites a file in place of another of the same id, under a new path.
        if let Some(held) = self.files.get(&file.id).filter(|held| held.file.path() == file.path) {
            return Ok(held.file);
        }
        let open = Arc::new(OpenFile::open(file.id, &file.path, &self.handles)?);
        self.hold(&open);
        Ok(open)
    }

    /// Lets go of everything: rows were erased, and what was read of them is not kept.
    pub(super) fn forget(&self) {
        self.handles.forget();
        self.files.clear();
        self.deletes.clear();
        self.columns.clear();
        self.people.clear();
        self.shared.clear();
        self.rows.clear();
    }

    /// Whether the file is held open.
    pub(super) fn holds(&self, file: &DataFile) -> bool {
        self.files
            .peek(&file.id)
            .is_some_and(|held| held.file.path() == file.path)
    }

    /// Whether less than half of what may be kept of files is taken.
    pub(super) fn is_roomy(&self) -> bool {
        self.files.weight() < self.files.capacity() / 2
    }

    /// Tells the cache that a file's indexes grew.
    pub(super) fn weigh(&self, file: &Arc<OpenFile>, before: usize) {
        if file.weight() != before {
            self.hold(file);
        }
    }

    fn hold(&self, file: &Arc<OpenFile>) {
        let held = Held {
            weight: file.weight() as u64,
            file: file.clone(),
        };
        self.files.insert(file.id, held);
    }

    /// Positions of deleted rows of a file, ascending.
    pub(super) fn deletes(&self, file: &DataFile) -> Result<Option<Arc<[u32]>>, ScanError> {
        let Some(deletes) = &file.deletes else { return Ok(None) };
        if let Some(gone) = self.deletes.get(&deletes.id) {
            return Ok(Some(gone));
        }
        let gone = read_deletes(deletes)?;
        self.deletes.insert(deletes.id, gone.clone());
        Ok(Some(gone))
    }

    pub(super) fn columns(&self) -> &Bounded<ColumnKey, ArrayRef> {
        &self.columns
    }

    pub(super) fn people(&self) -> &Bounded<PersonKey, Arc<PersonRowsBase>> {
        &self.people
    }

    pub(super) fn shared(&self) -> &Bounded<SharedKey, Arc<SharedRows>> {
        &self.shared
    }

    pub(super) fn rows(&self) -> &Bounded<RowKey, Row> {
        &self.rows
    }
}

fn read_deletes(file: &DeleteFile) -> Result<Arc<[u32]>, ScanError> {
    let positions = deletes::read(&file.path)?;
    // Positions beyond what a file can hold delete nothing.
    Ok(positions.into_iter().filter_map(|at| u32::try_from(at).ok()).collect())
}

/// A cache bounded by the bytes of its values.
pub(super) type Bounded<K, V> = Cache<K, V, Bytes>;

/// How many bytes a cached value holds.
pub(super) trait Weigh {
    fn weigh(&self) -> u64;
}

#[derive(Clone, Copy)]
pub(super) struct Bytes;

impl<K, V: Weigh> Weighter<K, V> for Bytes {
    fn weight(&self, _: &K, value: &V) -> u64 {
        value.weigh() + size_of::<K>() as u64 + 64
    }
}

/// A file with what it weighed when it was put into the cache: a cached value must not change its weight.
#[derive(Clone)]
struct Held {
    file: Arc<OpenFile>,
    weight: u64,
}

impl Weigh for Held {
    fn weigh(&self) -> u64 {
        self.weight
    }
}

impl Weigh for Arc<[u32]> {
    fn weigh(&self) -> u64 {
        4 * self.len() as u64
    }
}

impl Weigh for ArrayRef {
    fn weigh(&self) -> u64 {
        self.get_array_memory_size() as u64
    }
}

fn bounded<K: Eq + std::hash::Hash, V: Weigh + Clone>(bytes: u64, item: u64) -> Bounded<K, V> {
    let items = (bytes / item).max(1) as usize;
    // A value heavier than its shard's part is not kept at all: few shards, so that the largest files fit.
    let options = OptionsBuilder::new()
        .estimated_items_capacity(items)
        .weight_capacity(bytes)
        .shards(4)
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
