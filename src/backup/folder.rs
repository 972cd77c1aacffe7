//! A folder of backups: its layout, its lock, and its snapshots.
//!
//! ```text
//! BACKUPS/snapshots/20261123T120102.345Z.json   the manifest of a snapshot
//! BACKUPS/files/3f/3f9a...                      a file of one or several snapshots; its name is its SHA-256
//! BACKUPS/work/                                 temporary files of a process that makes a backup
//! BACKUPS/lock                                  locked while a process uses the folder
//! ```

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

use super::error::BackupError;
use super::manifest::Manifest;
use crate::private;

/// The format of a snapshot's id, which is the time when the snapshot was made.
const ID: &str = "%Y%m%dT%H%M%S%.3fZ";

/// A folder of backups that this process is using.
#[derive(Debug)]
pub struct BackupFolder {
    root: PathBuf,
    /// The lock on the folder. `None` if a reader could not open the lock's file.
    _lock: Option<File>,
}

impl BackupFolder {
    /// Opens a folder to add to it, and locks it. Creates it if it does not exist. Returns [`BackupError::Busy`] if
    /// another process uses it.
    pub(super) fn open_or_create(root: &Path) -> Result<BackupFolder, BackupError> {
        let root = std::path::absolute(root).map_err(BackupError::io("find", root))?;
        let place = BackupFolder { root, _lock: None };
        let is_filled = match std::fs::read_dir(&place.root) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(BackupError::io("read", &place.root)(error)),
        };
        if is_filled && !place.snapshots().is_dir() {
            return Err(BackupError::Folder {
                path: place.root,
                what: "is no folder of backups: other files lie in it",
            });
        }
        for folder in [place.root.clone(), place.snapshots(), place.files()] {
            private::folder(&folder).map_err(BackupError::io("make", &folder))?;
        }
        let path = place.root.join("lock");
        let lock = private::options().write(true).create(true).truncate(false).open(&path);
        let lock = lock.map_err(BackupError::io("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BackupError::Busy(place.root)),
            Err(TryLockError::Error(error)) => return Err(BackupError::io("lock", &path)(error)),
        }
        let place = BackupFolder {
            _lock: Some(lock),
            ..place
        };
        place.clear_work()?;
        Ok(place)
    }

    /// Opens a folder to read it. Other readers may use it at the same time. Returns [`BackupError::Busy`] while
    /// another process adds to it.
    pub fn open(root: &Path) -> Result<BackupFolder, BackupError> {
        let root = std::path::absolute(root).map_err(BackupError::io("find", root))?;
        let mut place = BackupFolder { root, _lock: None };
        if !place.snapshots().is_dir() {
            return Err(BackupError::Folder {
                path: place.root,
                what: "is no folder of backups",
            });
        }
        if let Ok(lock) = File::open(place.root.join("lock")) {
            match lock.try_lock_shared() {
                Err(TryLockError::WouldBlock) => return Err(BackupError::Busy(place.root)),
                _ => place._lock = Some(lock),
            }
        }
        Ok(place)
    }

    /// Whether one of the folders above this path is a folder of backups.
    pub fn has_within(path: &Path) -> bool {
        let is_one = |folder: &Path| folder.join("snapshots").is_dir() && folder.join("files").is_dir();
        path.ancestors().skip(1).any(is_one)
    }

    /// Returns the absolute path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    pub(super) fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// Returns the path of the file with this SHA-256.
    pub(super) fn file(&self, sha256: &str) -> PathBuf {
        self.files().join(sha256.get(..2).unwrap_or_default()).join(sha256)
    }

    /// Returns the path of the folder for temporary files.
    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(super) fn clear_work(&self) -> Result<(), BackupError> {
        let work = self.work();
        match std::fs::remove_dir_all(&work) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(BackupError::io("remove", &work)(error)),
            _ => private::folder(&work).map_err(BackupError::io("make", &work)),
        }
    }

    /// Returns the ids of all snapshots, the oldest first.
    pub fn ids(&self) -> Result<Vec<String>, BackupError> {
        let folder = self.snapshots();
        let mut ids = BTreeSet::new();
        for entry in std::fs::read_dir(&folder).map_err(BackupError::io("read", &folder))? {
            let name = entry.map_err(BackupError::io("read", &folder))?.file_name();
            if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) {
                ids.insert(id.to_owned());
            }
        }
        Ok(ids.into_iter().collect())
    }

    /// Returns an id for a new snapshot. It is later than all others, even if the clock went back.
    pub(super) fn next_id(&self) -> Result<String, BackupError> {
        let mut time: DateTime<Utc> = Utc::now();
        let last = self.ids()?.pop();
        if let Some(last) = last.and_then(|id| NaiveDateTime::parse_from_str(&id, ID).ok()) {
            time = time.max(last.and_utc() + TimeDelta::milliseconds(1));
        }
        Ok(time.format(ID).to_string())
    }

    /// Reads the manifest of the snapshot with this id, or of the newest one.
    pub fn manifest(&self, id: Option<&str>) -> Result<Manifest, BackupError> {
        let known = self.ids()?;
        let wanted = id.or(known.last().map(String::as_str));
        match wanted.filter(|wanted| known.iter().any(|known| known == wanted)) {
            Some(id) => Manifest::read(&self.path(id)),
            None => Err(BackupError::NoSnapshot {
                path: self.root.clone(),
                wanted: id.unwrap_or("yet").to_owned(),
                known,
            }),
        }
    }

    pub(super) fn path(&self, id: &str) -> PathBuf {
        self.snapshots().join(format!("{id}.json"))
    }

    /// Writes a manifest, durably. This makes a new snapshot visible, or replaces the manifest of an existing one.
    pub(super) fn publish(&self, manifest: &Manifest) -> Result<(), BackupError> {
        let path = self.path(&manifest.id);
        let draft = self.work().join("manifest");
        let write = || -> std::io::Result<()> {
            let mut file = private::options()
                .write(true)
                .create(true)
                .truncate(true)
                .open(&draft)?;
            file.write_all(&manifest.to_bytes()?)?;
            file.sync_all()?;
            std::fs::rename(&draft, &path)
        };
        write().map_err(BackupError::io("write", &path))?;
        sync_folder(&self.snapshots())
    }

    /// Removes the manifests of all snapshots except the newest ones. Snapshots with an unreadable manifest stay and
    /// do not count. Returns the number of removed snapshots.
    pub(super) fn keep(&self, newest: usize) -> Result<u64, BackupError> {
        let mut ids = self.ids()?;
        ids.retain(|id| Manifest::read(&self.path(id)).is_ok());
        let gone = ids.len().saturating_sub(newest);
        for id in &ids[..gone] {
            let path = self.path(id);
            std::fs::remove_file(&path).map_err(BackupError::io("remove", &path))?;
        }
        sync_folder(&self.snapshots())?;
        Ok(gone as u64)
    }

    /// Removes the files that no snapshot uses, and returns their number. If a manifest is unreadable, returns its
    /// error and removes nothing, because that snapshot's files are unknown.
    pub(super) fn sweep(&self) -> Result<u64, BackupError> {
        let mut named = rustc_hash::FxHashSet::default();
        for id in self.ids()? {
            let manifest = Manifest::read(&self.path(&id))?;
            named.extend(manifest.files.into_iter().map(|file| file.sha256));
        }
        let mut removed = 0;
        let read = |folder: &Path| -> Result<Vec<PathBuf>, BackupError> {
            let entries = std::fs::read_dir(folder).map_err(BackupError::io("read", folder))?;
            let paths = entries.map(|entry| entry.map(|entry| entry.path()));
            paths.collect::<Result<_, _>>().map_err(BackupError::io("read", folder))
        };
        for folder in read(&self.files())? {
            let before = removed;
            for path in read(&folder)? {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if !named.contains(name) {
                    std::fs::remove_file(&path).map_err(BackupError::io("remove", &path))?;
                    removed += 1;
                }
            }
            if removed > before {
                sync_folder(&folder)?;
            }
        }
        Ok(removed)
    }
}

/// Syncs a folder, so that the names in it are durable.
pub(super) fn sync_folder(path: &Path) -> Result<(), BackupError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(BackupError::io("sync", path))
}
