//! One snapshot of the lake, immutable: the files of each table, and what is known about them without opening them.
//!
//! Readers hold an `Arc<Snapshot>` and never ask the catalog again. Successive snapshots share what did not change.
//! `catalog` reads snapshots.

mod owners;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::erase::Erasures;
use super::owners::scope::Mode;
use crate::columns::layout::Layout;
use crate::fhir::TypeId;
use owners::OwnerIndex;

/// One snapshot of the whole lake.
#[derive(Debug)]
pub struct Snapshot {
    /// Its id in the catalog; zero for an empty lake.
    pub id: u64,
    /// When it was committed, in microseconds since 1970.
    pub time: i64,
    /// The tables that exist, one per mode and resource type.
    pub tables: BTreeMap<(Mode, TypeId), Arc<TableSnapshot>>,
    /// The erasures that were recorded when it was read. Rows that were erased by then are in none of its files.
    pub(super) erasures: Erasures,
}

impl Snapshot {
    /// How many times an erasure was recorded or finished before it was read: the same snapshot
    /// read earlier may name other files.
    pub fn erasures(&self) -> u64 {
        self.erasures.epoch
    }

    /// Whether it has data files that another one has not. Asks tables only that differ between the two.
    pub(super) fn names_more_than(&self, other: &Snapshot) -> bool {
        let lost = |(key, table): (&(Mode, TypeId), &Arc<TableSnapshot>)| match other.tables.get(key) {
            Some(now) => !Arc::ptr_eq(table, now) && table.files.iter().any(|file| now.file(file.id).is_none()),
            None => !table.files.is_empty(),
        };
        self.tables.iter().any(lost)
    }

    /// The table of a resource type, if a row of it was ever stored in this mode.
    pub fn table(&self, mode: Mode, ty: TypeId) -> Option<&Arc<TableSnapshot>> {
        self.tables.get(&(mode, ty))
    }
}

/// The files of one table in one snapshot.
#[derive(Debug)]
pub struct TableSnapshot {
    /// The table's id in the catalog.
    pub table_id: u64,
    /// Live or test.
    pub mode: Mode,
    /// Whose resources it holds.
    pub ty: TypeId,
    /// Its columns, in every file or not.
    pub layout: Arc<Layout>,
    /// Data files, ascending by (least owner, id).
    pub files: Vec<Arc<DataFile>>,
    /// Rows that are not deleted.
    pub rows: u64,
    /// Bytes of data files and delete files.
    pub bytes: u64,
    owners: OwnerIndex,
    by_id: OnceLock<FxHashMap<u64, u32>>,
}

impl TableSnapshot {
    /// A table with these files, in any order.
    pub(super) fn new(
        table_id: u64,
        mode: Mode,
        ty: TypeId,
        layout: Arc<Layout>,
        mut files: Vec<Arc<DataFile>>,
    ) -> TableSnapshot {
        files.sort_by_key(|file| (*file.owners.start(), file.id));
        let rows = files.iter().map(|file| file.live_rows()).sum();
        let bytes = files
            .iter()
            .map(|file| file.bytes + file.deletes.as_ref().map_or(0, |deletes| deletes.bytes))
            .sum();
        let owners = OwnerIndex::new(files.iter().map(|file| &file.owners));
        TableSnapshot {
            table_id,
            mode,
            ty,
            layout,
            files,
            rows,
            bytes,
            owners,
            by_id: OnceLock::new(),
        }
    }

    /// The files that may hold rows of this owner, in file order.
    pub fn files_of_owner(&self, owner: i64) -> impl Iterator<Item = &Arc<DataFile>> {
        self.owners.holding(owner).into_iter().map(|at| &self.files[at])
    }

    /// The file of this id.
    pub fn file(&self, id: u64) -> Option<&Arc<DataFile>> {
        let by_id = self.by_id.get_or_init(|| {
            self.files
                .iter()
                .enumerate()
                .map(|(at, file)| (file.id, at as u32))
                .collect()
        });
        by_id.get(&id).map(|at| &self.files[*at as usize])
    }
}

/// A Parquet file of rows, sorted by (owner, id).
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// `data_file_id` in the catalog; never used for another file.
    pub id: u64,
    /// Where it is.
    pub path: PathBuf,
    /// Rows in the file, deleted ones included.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Size of the Parquet footer, without its length and magic.
    pub footer_size: u64,
    /// The row id of the first row. The others follow.
    pub row_id_start: u64,
    /// The snapshot that added it.
    pub begin_snapshot: u64,
    /// The lowest and greatest `owner`.
    pub owners: RangeInclusive<i64>,
    /// The lowest and greatest `version`.
    pub versions: RangeInclusive<i64>,
    /// The lowest and greatest `last_updated`, in microseconds since 1970.
    pub last_updated: RangeInclusive<i64>,
    /// Which of its rows are gone.
    pub deletes: Option<Arc<DeleteFile>>,
}

impl DataFile {
    /// Rows that are not deleted.
    pub fn live_rows(&self) -> u64 {
        self.rows
            .saturating_sub(self.deletes.as_ref().map_or(0, |deletes| deletes.count))
    }
}

/// A Parquet file with the positions of the deleted rows of one data file; `lake::deletes` reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteFile {
    /// `delete_file_id` in the catalog.
    pub id: u64,
    /// Where it is.
    pub path: PathBuf,
    /// How many rows are deleted.
    pub count: u64,
    /// Size of the file.
    pub bytes: u64,
    /// The snapshot that added it.
    pub begin_snapshot: u64,
}
