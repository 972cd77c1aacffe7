//! Open file handles, so many at most: a lake may have more files than a process may hold open.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use quick_cache::sync::Cache;

/// Open files by path.
pub(super) struct Handles(Cache<Arc<Path>, Arc<File>>);

impl Handles {
    pub(super) fn new(limit: usize) -> Handles {
        Handles(Cache::new(limit.max(1)))
    }

    /// Closes what nobody reads at the moment.
    pub(super) fn forget(&self) {
        self.0.clear();
    }

    /// Closes files that `keep` refuses, as far as nobody reads them at the moment: their space on disk is free only then.
    pub(super) fn retain(&self, keep: impl Fn(&Path) -> bool) {
        self.0.retain(|path, _| keep(path));
    }

    /// How many are held.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The file, opened if it is not open.
    pub(super) fn get(&self, path: &Arc<Path>) -> io::Result<Arc<File>> {
        if let Some(file) = self.0.get(path) {
            return Ok(file);
        }
        let file = Arc::new(File::open(path)?);
        self.0.insert(path.clone(), file.clone());
        Ok(file)
    }
}
