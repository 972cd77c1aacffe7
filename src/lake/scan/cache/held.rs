//! The resources that a long answer opens before it sends its first part, so that an erasure does not interrupt it.
//! These are handles of its data files, which stay readable after the files are removed, and data that it reads from
//! other files.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::visible::shared_rows::SharedRows;
use super::handles::HeldHandle;

/// Keeps the data from which a table's rows are read.
#[derive(Debug)]
pub(in crate::lake::scan) struct Held {
    /// The scan finds these handles by their paths.
    pub(in crate::lake::scan) _files: Vec<HeldHandle>,
    /// Positions of deleted rows, by the ids of their delete files.
    pub(in crate::lake::scan) deletes: FxHashMap<u64, Arc<[u32]>>,
    /// The shared rows that the scope shows.
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
