//! Resources that a long answer takes before its first part, so that an erasure does not interrupt it: open handles of
//! its data files, which stay readable after the files are removed, and data that it reads from other files.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::error::ScanError;
use super::super::table::ScopedTable;
use super::super::visible::shared_rows::SharedRows;
use super::handles::HeldHandle;
use crate::lake::owners::owner::SHARED;
use crate::lake::snapshot::DataFile;

/// Keeps the data from which a table's rows are read.
#[derive(Debug)]
pub(in crate::lake::scan) struct Held {
    /// The scan finds these handles by their paths.
    _files: Vec<HeldHandle>,
    /// Positions of deleted rows, by the ids of their delete files.
    deletes: FxHashMap<u64, Arc<[u32]>>,
    /// The shared rows that the scope shows.
    shared: Option<Arc<SharedRows>>,
}

impl Held {
    pub(in crate::lake::scan) fn shared(&self) -> Option<&Arc<SharedRows>> {
        self.shared.as_ref()
    }

    pub(in crate::lake::scan) fn deletes(&self, id: u64) -> Option<&Arc<[u32]>> {
        self.deletes.get(&id)
    }
}

impl ScopedTable {
    /// The same table, with its files held open until it is dropped. These are the files of these owners, or of all
    /// owners that the scope shows. If there are more files than handles, files are not held. Then a scan fails if one
    /// of them is removed before it is read.
    pub fn held(&self, owners: Option<&[i64]>) -> Result<ScopedTable, ScanError> {
        let files = self.files_shown(owners);
        let paths = files.iter().map(|file| file.path.as_path());
        let Some(handles) = self.reader.memory.handles(paths)? else {
            return Ok(self.clone());
        };
        let shows_shared = |file: &Arc<DataFile>| file.owners.contains(&SHARED);
        let shared = match self.scope.patient.is_some() && files.iter().any(shows_shared) {
            true => Some(self.shared()?),
            false => None,
        };
        let mut deletes = FxHashMap::default();
        for file in &files {
            if let Some((gone, positions)) = file.deletes.as_ref().zip(self.deletes(file)?) {
                deletes.insert(gone.id, positions);
            }
        }
        let held = Held {
            _files: handles,
            deletes,
            shared,
        };
        Ok(ScopedTable {
            held: Some(Arc::new(held)),
            ..self.clone()
        })
    }

    /// The files that may hold rows of these owners. Without owners, the files that may hold rows that the scope shows.
    pub(in crate::lake::scan) fn files_shown(&self, owners: Option<&[i64]>) -> Vec<Arc<DataFile>> {
        match (owners, &self.scope.patient) {
            (Some(owners), _) => self.files_of(owners),
            (None, Some(patient)) => self.files_of(&[patient.owners.as_slice(), &[SHARED]].concat()),
            (None, None) => self.files().to_vec(),
        }
    }
}
