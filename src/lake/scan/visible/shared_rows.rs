//! The shared rows that a patient scope shows, as positions in files. `shared_search` finds them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::cache::file::OpenFile;
use super::super::cache::weigh::Weigh;
use super::super::conditions::ranges::Ranges;
use crate::fhir::TypeId;

/// The shared rows that a patient scope shows. `found` has their ascending positions, by type and data file.
#[derive(Debug)]
pub(in crate::lake::scan) struct SharedRows {
    pub(in crate::lake::scan) found: Found,
    pub(in crate::lake::scan) origin: Origin,
}

pub(in crate::lake::scan) type Found = FxHashMap<(TypeId, u64), Box<[u32]>>;

/// The snapshot and the erasures that determine the shared rows. As long as they are the same, the rows are the same.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lake::scan) struct Origin {
    pub(in crate::lake::scan) snapshot: u64,
    /// The epoch of the snapshot.
    pub(in crate::lake::scan) epoch: u64,
    /// The ids of the erasures whose rows are left out.
    pub(in crate::lake::scan) erasures: Box<[u64]>,
}

impl SharedRows {
    /// Returns the id of the snapshot that has these rows.
    pub(in crate::lake::scan) fn snapshot(&self) -> u64 {
        self.origin.snapshot
    }

    /// Whether any of these rows has this type.
    pub(in crate::lake::scan) fn any(&self, type_id: TypeId) -> bool {
        self.found.keys().any(|(have, _)| *have == type_id)
    }

    pub(in crate::lake::scan) fn contains(&self, type_id: TypeId, file: u64, position: u32) -> bool {
        self.found
            .get(&(type_id, file))
            .is_some_and(|rows| rows.binary_search(&position).is_ok())
    }

    /// Returns the positions of these rows within a row group.
    pub(in crate::lake::scan) fn rows(&self, type_id: TypeId, file: &OpenFile, group: usize) -> Ranges {
        let Some(rows) = self.found.get(&(type_id, file.id)) else {
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
