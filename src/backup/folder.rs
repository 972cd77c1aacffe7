//! A folder of backups: its layout, its lock, and its snapshots.
//!
//! ```text
//! BACKUPS/tabularium-backups                    the mark: this folder is one of backups (`mark.rs`)
//! BACKUPS/snapshots/20261123T120102.345Z.json   the manifest of a snapshot
//! BACKUPS/files/3f/3f9a...                      a file of one or several snapshots; its name is its SHA-256
//! BACKUPS/work/                                 temporary files of a process that makes a backup
//! BACKUPS/lock                                  locked while a process uses the folder
//! ```
//!
//! Below `BACKUPS` no link is followed. Only files with these names are removed: manifests, files that are named by
//! their SHA-256 in a folder named by its first two digits, and everything in `work`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

use super::error::BackupError;
use super::manifest::{Manifest, is_sha256};
use super::mark::{self, LOCK, MARK, SNAPSHOTS};
use crate::private::{self, Below, Kind, OwnFolder};

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
        private::folder(&root).map_err(BackupError::io("make", &root))?;
        let own = OwnFolder::open(&root).map_err(BackupError::io("read", &root))?;
        mark::put(&own)?;
        let place = BackupFolder { root, _lock: None };
        let path = place.root.join(LOCK);
        let lock = private::options().write(true).create(true).open(&path);
        let lock = lock.map_err(BackupError::io("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BackupError::Busy(place.root)),
            Err(TryLockError::Error(error)) => return Err(BackupError::io("lock", &path)(error)),
        }
        for folder in [place.snapshots(), place.files()] {
            let made = own.folder_or_new(folder.file_name().unwrap_or_default());
            made.map_err(BackupError::io("make", &folder))?;
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
        let own = match OwnFolder::open(&place.root) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(BackupError::Folder {
                    path: place.root,
                    what: "is no folder of backups",
                });
            }
            own => own.map_err(BackupError::io("read", &place.root))?,
        };
        mark::check(&own)?;
        for folder in [place.snapshots(), place.files()] {
            let found = own.folder(folder.file_name().unwrap_or_default());
            found.map_err(BackupError::io("read", &folder))?;
        }
        if let Ok(lock) = own.file(LOCK) {
            match lock.try_lock_shared() {
                Err(TryLockError::WouldBlock) => return Err(BackupError::Busy(place.root)),
                _ => place._lock = Some(lock),
            }
        }
        Ok(place)
    }

    /// Whether one of the folders above this path is a folder of backups.
    pub fn has_within(path: &Path) -> bool {
        let is_older = |folder: &Path| folder.join(SNAPSHOTS).is_dir() && folder.join("files").is_dir();
        let is_one = |folder: &Path| folder.join(MARK).is_file() || is_older(folder);
        path.ancestors().skip(1).any(is_one)
    }

    /// Returns the absolute path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn snapshots(&self) -> PathBuf {
        self.root.join(SNAPSHOTS)
    }

    pub(super) fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// Returns the path of the file with this SHA-256.
    pub(super) fn file(&self, sha256: &str) -> PathBuf {
        self.files().join(sha256.get(..2).unwrap_or_default()).join(sha256)
    }

    /// Opens the file with this SHA-256 to read it. Follows no link.
    pub(super) fn stored(&self, sha256: &str) -> std::io::Result<File> {
        let path = self.file(sha256);
        Below::new(&self.root, path.strip_prefix(&self.root).unwrap_or(&path)).open()
    }

    /// Moves a temporary file to the place of the file with this SHA-256. Returns the folder of that place.
    pub(super) fn store(&self, draft: &str, sha256: &str) -> std::io::Result<PathBuf> {
        let root = OwnFolder::open(&self.root)?;
        let digits = sha256.get(..2).unwrap_or_default();
        let folder = root.folder("files")?.folder_or_new(digits)?;
        root.folder("work")?.rename(draft, &folder, sha256)?;
        Ok(folder.path().to_owned())
    }

    /// Returns the path of the folder for temporary files.
    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(super) fn clear_work(&self) -> Result<(), BackupError> {
        let work = self.work();
        // If `work` is a link, this removes the link and nothing behind it.
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
            let mut file = private::create(&draft)?;
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
    /// error and removes nothing, because that snapshot's files are unknown. Leaves entries with other names than those
    /// of stored files, and follows no link.
    pub(super) fn sweep(&self) -> Result<u64, BackupError> {
        let mut named = rustc_hash::FxHashSet::default();
        for id in self.ids()? {
            let manifest = Manifest::read(&self.path(&id))?;
            named.extend(manifest.files.into_iter().map(|file| file.sha256));
        }
        let mut removed = 0;
        let path = self.files();
        let files = OwnFolder::open(&self.root).and_then(|root| root.folder("files"));
        let files = files.map_err(BackupError::io("read", &path))?;
        for (digits, kind) in files.entries().map_err(BackupError::io("read", &path))? {
            if kind != Kind::Folder || digits.len() != 2 {
                continue;
            }
            let path = path.join(&digits);
            let folder = files.folder(&digits).map_err(BackupError::io("read", &path))?;
            let before = removed;
            for (name, kind) in folder.entries().map_err(BackupError::io("read", &path))? {
                let is_stored = kind == Kind::File && is_stored(&digits, &name);
                if is_stored && !name.to_str().is_some_and(|name| named.contains(name)) {
                    let path = path.join(&name);
                    folder.remove(&name).map_err(BackupError::io("remove", &path))?;
                    removed += 1;
                }
            }
            if removed > before {
                folder.sync().map_err(BackupError::io("sync", &path))?;
            }
        }
        Ok(removed)
    }
}

/// Whether a file in a folder with these digits is named by its SHA-256, which begins with the digits.
fn is_stored(digits: &OsStr, name: &OsStr) -> bool {
    let names = digits.to_str().zip(name.to_str());
    names.is_some_and(|(digits, name)| is_sha256(name) && name.starts_with(digits))
}

/// Syncs a folder, so that the names in it are durable.
pub(super) fn sync_folder(path: &Path) -> Result<(), BackupError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(BackupError::io("sync", path))
}
