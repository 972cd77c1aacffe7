//! Copies a lake into another folder, a sealed lake together with its keys. Changes to the copy do not affect the
//! original.

use std::path::Path;

use super::super::catalog;
use super::super::commit::lock::WriteLock;
use super::super::error::LakeError;
use super::open::Lake;
use crate::private;

impl Lake {
    /// Copies the lake on disk into a folder, which is created if it is missing. Returns [`LakeError::Busy`] if
    /// another process writes the lake. Copies the catalog, the keys and `data/` without `data/.orphans/`, and
    /// nothing else.
    pub fn copy_to(&self, dir: &Path) -> Result<(), LakeError> {
        let _lock = WriteLock::take(self.folder())?;
        private::folder(dir).map_err(LakeError::io("make", dir))?;
        let to = dir.join("catalog.sqlite");
        self.with_reader(|reader| catalog::copy(reader, &to))?;
        self.folder().keys().copy_to(dir, None)?;
        let data = self.folder().data();
        if data.is_dir() {
            copy(&data, &dir.join("data"), &self.folder().orphans())?;
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path, but: &Path) -> Result<(), LakeError> {
    private::folder(to).map_err(LakeError::io("make", to))?;
    for entry in std::fs::read_dir(from).map_err(LakeError::io("read", from))? {
        let entry = entry.map_err(LakeError::io("read", from))?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path == but {
            continue;
        }
        if entry.file_type().map_err(LakeError::io("read", &path))?.is_dir() {
            copy(&path, &to, but)?;
        } else {
            std::fs::copy(&path, &to).map_err(LakeError::io("copy", &path))?;
        }
    }
    Ok(())
}
