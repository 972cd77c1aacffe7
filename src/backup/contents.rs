//! The files of a snapshot that is being made. It reuses files of earlier snapshots and adds the others.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use super::error::BackupError;
use super::files::{Files, How};
use super::folder::BackupFolder;
use super::manifest::{Manifest, ManifestFile};
use crate::private::Below;

/// The files of a snapshot that is being made, by their path in the data folder.
#[derive(Debug)]
pub(super) struct Contents<'p> {
    place: &'p BackupFolder,
    pub(super) files: Files<'p>,
    /// Files of earlier snapshots, and of earlier attempts at this one, by their path in the data folder.
    known: FxHashMap<String, ManifestFile>,
    taken: BTreeMap<String, ManifestFile>,
}

impl<'p> Contents<'p> {
    /// Returns empty contents. Files of the snapshots in `earlier` can be reused.
    pub(super) fn new(place: &'p BackupFolder, earlier: &[&Manifest]) -> Contents<'p> {
        let files = earlier.iter().flat_map(|manifest| &manifest.files);
        Contents {
            place,
            files: Files::new(place),
            known: files.map(|file| (file.path.clone(), file.clone())).collect(),
            taken: BTreeMap::new(),
        }
    }

    /// Returns the folder of backups.
    pub(super) fn place(&self) -> &'p BackupFolder {
        self.place
    }

    /// Begins another attempt. Files that earlier attempts have added can be reused.
    pub(super) fn begin_again(&mut self) {
        self.known.extend(std::mem::take(&mut self.taken));
    }

    /// Returns a path for a temporary file of this backup, and removes the file that is there.
    pub(super) fn draft(&self, name: &str) -> PathBuf {
        let path = self.place.work().join(name);
        let _ = std::fs::remove_file(&path);
        path
    }

    /// Reuses a known file with this path and length. Returns `false` if there is none.
    pub(super) fn take_known(&mut self, path: &str, bytes: u64) -> bool {
        let known = self.known.get(path).filter(|known| known.bytes == bytes);
        let Some(known) = known.filter(|known| self.files.has(known)).cloned() else {
            return false;
        };
        self.taken.insert(path.to_owned(), known);
        true
    }

    /// Adds the draft with this name under this path.
    pub(super) fn add_draft(&mut self, name: &str, path: &str) -> Result<(), BackupError> {
        let work = self.place.work();
        self.add(Below::new(&work, name), path, How::Move)
    }

    /// Adds the file `source` under this path. Returns an error if it does not exist.
    pub(super) fn add(&mut self, source: Below<'_>, path: &str, how: How) -> Result<(), BackupError> {
        if self.add_if_there(source, path, how)? {
            Ok(())
        } else {
            Err(BackupError::io("read", &source.path())(
                std::io::ErrorKind::NotFound.into(),
            ))
        }
    }

    /// Adds the file `source` under this path. Returns `false` if it does not exist.
    pub(super) fn add_if_there(&mut self, source: Below<'_>, path: &str, how: How) -> Result<bool, BackupError> {
        let added = self.files.add(source, path, how)?;
        let is_there = added.is_some();
        self.taken.extend(added.map(|file| (path.to_owned(), file)));
        Ok(is_there)
    }

    /// Returns the length of the file that was added under this path. `None` if there is none.
    pub(super) fn bytes(&self, path: &str) -> Option<u64> {
        self.taken.get(path).map(|file| file.bytes)
    }

    /// Removes the file with this path from the contents. The caller has found that the file is faulty.
    pub(super) fn forget(&mut self, path: &str) {
        self.taken.remove(path);
    }

    /// Makes all added files durable and returns the files, sorted by path.
    pub(super) fn finish(&mut self) -> Result<Vec<ManifestFile>, BackupError> {
        self.files.sync()?;
        Ok(std::mem::take(&mut self.taken).into_values().collect())
    }
}
