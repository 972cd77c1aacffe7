//! A snapshot and its tables. Finds a table's files by id and by owner.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::files::DataFile;
use super::owners::OwnerIndex;
use crate::columns::layout::Layout;
use crate::fhir::TypeId;
use crate::lake::erase::Erasures;
use crate::lake::owners::scope::Mode;

/// One snapshot of the whole lake.
#[derive(Debug)]
pub struct Snapshot {
    /// The id in the catalog; zero for an empty lake.
    pub id: u64,
    /// The time of the commit, in microseconds since 1970.
    pub time: i64,
    /// The tables that exist, one per mode and resource type.
    pub tables: BTreeMap<(Mode, TypeId), Arc<TableSnapshot>>,
    /// The recorded erasures and the epoch when the snapshot was read. Rows of erasures that were finished by then
    /// are in no file of the snapshot.
    pub(in crate::lake) erasures: Erasures,
}

impl Snapshot {
    /// Returns the epoch when the snapshot was read: how many times an erasure had been recorded or finished. The
    /// same snapshot, read in another epoch, may name other files.
    pub fn erasures(&self) -> u64 {
        self.erasures.epoch
    }

    /// Whether this snapshot has data files that `other` lacks. Skips tables that both snapshots share.
    pub(in crate::lake) fn names_more_than(&self, other: &Snapshot) -> bool {
        let lost = |(key, table): (&(Mode, TypeId), &Arc<TableSnapshot>)| match other.tables.get(key) {
            Some(now) => !Arc::ptr_eq(table, now) && table.files.iter().any(|file| now.file(file.id).is_none()),
            None => !table.files.is_empty(),
        };
        self.tables.iter().any(lost)
    }

    /// Returns the number of stored resources of all types in a mode.
    pub fn stored(&self, mode: Mode) -> u64 {
        let of_mode = self.tables.iter().filter(|((of, _), _)| *of == mode);
        of_mode.map(|(_, table)| table.rows).sum()
    }

    /// Returns the table of a resource type, if a row of this type was ever stored in this mode.
    pub fn table(&self, mode: Mode, type_id: TypeId) -> Option<&Arc<TableSnapshot>> {
        self.tables.get(&(mode, type_id))
    }
}

/// The files of one table in one snapshot.
#[derive(Debug)]
pub struct TableSnapshot {
    /// The table's id in the catalog.
    pub table_id: u64,
    /// Live or test.
    pub mode: Mode,
    /// The resource type of the rows.
    pub type_id: TypeId,
    /// The columns of the table. A file may lack some of them.
    pub layout: Arc<Layout>,
    /// Data files, ascending by (lowest owner, id).
    pub files: Vec<Arc<DataFile>>,
    /// The number of live rows.
    pub rows: u64,
    /// Bytes of data files and delete files.
    pub bytes: u64,
    owners: OwnerIndex,
    by_id: OnceLock<FxHashMap<u64, u32>>,
}

impl TableSnapshot {
    /// Makes a table with these files, in any order.
    pub(in crate::lake) fn new(
        table_id: u64,
        mode: Mode,
        type_id: TypeId,
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
            type_id,
            layout,
            files,
            rows,
            bytes,
            owners,
            by_id: OnceLock::new(),
        }
    }

    /// Returns the files that may hold rows of this owner, in file order.
    pub fn files_of_owner(&self, owner: i64) -> impl Iterator<Item = &Arc<DataFile>> {
        self.owners.holding(owner).into_iter().map(|at| &self.files[at])
    }

    /// Returns the file with this id.
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
