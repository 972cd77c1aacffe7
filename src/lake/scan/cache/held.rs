//! The data that a long answer keeps readable while it is sent, so that an erasure does not interrupt it: handles of
//! its data files, positions of deleted rows, and shared rows. A data file stays readable by its handle after the file
//! was unlinked.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::visible::shared_rows::SharedRows;
use super::handles::HeldHandle;

/// The open files and the other data from which a held table is read.
#[derive(Debug)]
pub(in crate::lake::scan) struct Held {
    /// The handles of the data files. A scan finds the files by their paths, so nothing reads this field. It only keeps
    /// the files open.
    pub(in crate::lake::scan) _files: Vec<HeldHandle>,
    /// The positions of deleted rows, by the ids of their delete files.
    pub(in crate::lake::scan) deletes: FxHashMap<u64, Arc<[u32]>>,
    /// The shared rows that a patient scope shows. `None` if the data files have no shared rows or the scope has no
    /// patient.
    pub(in crate::lake::scan) shared: Option<Arc<SharedRows>>,
}

impl Held {
    pub(in crate::lake::scan) fn shared(&self) -> Option<&Arc<SharedRows>> {
        self.shared.as_ref()
    }

    pub(in crate::lake::scan) fn deletes(&self, id: u64) -> Option<&Arc<[u32]>> {
        self.deletes.get(&id)
    }
}
