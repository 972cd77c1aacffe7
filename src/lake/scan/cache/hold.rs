//! Opens the files of a long answer before the answer sends its first part.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::error::ScanError;
use super::super::table::ScopedTable;
use super::held::Held;
use crate::lake::owners::owner::SHARED;
use crate::lake::snapshot::DataFile;

impl ScopedTable {
    /// Returns the same table with its files held open until the table is dropped: the files that may have rows of
    /// `owners`, or of any owner that the scope shows. If too many files would be held, the returned table holds none.
    /// Then a scan fails if a file is unlinked before the scan opens it.
    pub fn held(&self, owners: Option<&[i64]>) -> Result<ScopedTable, ScanError> {
        let files = self.files_shown(owners);
        let paths = files.iter().map(|file| file.path.as_path());
        let Some(handles) = self.reader.memory.handles(paths)? else {
            return Ok(self.clone());
        };
        let shows_shared = |file: &Arc<DataFile>| file.owners.contains(&SHARED);
        let shared = if self.scope.patient.is_some() && files.iter().any(shows_shared) {
            Some(self.shared()?)
        } else {
            None
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

    /// Returns the files that may have rows of these owners. If `owners` is `None`, returns the files that may have
    /// rows that the scope shows.
    pub(in crate::lake::scan) fn files_shown(&self, owners: Option<&[i64]>) -> Vec<Arc<DataFile>> {
        match (owners, &self.scope.patient) {
            (Some(owners), _) => self.files_of(owners),
            (None, Some(patient)) => self.files_of(&[patient.owners.as_slice(), &[SHARED]].concat()),
            (None, None) => self.files().to_vec(),
        }
    }
}
