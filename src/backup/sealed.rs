//! The keys for a snapshot of a sealed lake. Backups do not contain these keys. So a restore first checks whether the
//! keys that the caller gives open all files.

use std::path::Path;

use super::error::BackupError;
use super::folder::BackupFolder;
use super::manifest::{CATALOG, Manifest};
use crate::lake::KekSource;
use crate::lake::store::image::{CopyKeys, Lost, drop_unattached, is_sealed_copy};

/// The keys for a snapshot of a sealed lake, and the numbers of files and rows that cannot be read with these keys.
#[derive(Debug)]
pub(super) struct SnapshotKeys {
    keys: CopyKeys,
    pub(super) lost: Lost,
}

impl SnapshotKeys {
    /// Opens the keys database `database` for a snapshot of a sealed lake. Returns `None` if the lake is not sealed.
    /// Returns an error if the keys do not open all files, unless `accepts_loss` is set.
    pub(super) fn find(
        place: &BackupFolder,
        manifest: &Manifest,
        database: Option<&Path>,
        accepts_loss: bool,
    ) -> Result<Option<SnapshotKeys>, BackupError> {
        let catalog = manifest.files.iter().find(|file| file.path == CATALOG);
        let Some(catalog) = catalog.map(|file| place.file(&file.sha256)) else {
            // The manifest names no catalog, so it is unknown whether the lake is sealed. The restore reports the
            // missing catalog later, when it opens the restored lake.
            return Ok(None);
        };
        let is_file = std::fs::symlink_metadata(&catalog).is_ok_and(|facts| facts.is_file());
        if !is_file || !is_sealed_copy(&catalog)? {
            return Ok(None);
        }
        let database = database.ok_or_else(|| BackupError::NoKeys(place.root().to_owned()))?;
        let keys = CopyKeys::open(database, &KekSource::default())?;
        let lost = keys.lost(&catalog)?;
        if lost.is_nothing() || accepts_loss {
            Ok(Some(SnapshotKeys { keys, lost }))
        } else {
            Err(BackupError::Unreadable {
                path: place.root().to_owned(),
                id: manifest.id.clone(),
                lost,
            })
        }
    }

    /// Puts the keys into the folder `dir`, which has the snapshot's files. Removes the files that the keys do not
    /// open, from the folder and from its catalog.
    pub(super) fn give_to(&self, dir: &Path) -> Result<(), BackupError> {
        Ok(self.keys.give_to(dir)?)
    }

    /// Deletes the `Binary` rows whose attachments the keys do not open. `dir` must have a complete lake, because the
    /// rows are deleted by a new commit.
    pub(super) fn end(&self, dir: &Path) -> Result<(), BackupError> {
        if self.lost.attachments > 0 {
            drop_unattached(dir, &KekSource::default())?;
        }
        Ok(())
    }
}
