//! The subfolder `restoring` in which a restore builds a data folder, and the remains of a killed restore.
//!
//! A restore does these steps:
//!
//! 1. It makes the subfolder and puts a mark into it.
//! 2. It builds the parts of the data folder in the subfolder.
//! 3. It writes `restored.json` into the subfolder: the result, and the names of the parts.
//! 4. It moves the parts to their places, the catalog last.
//! 5. It removes the rest of the subfolder except the mark and `restored.json`.
//! 6. It moves `restored.json` into the data folder, removes the subfolder, and then `restored.json`.
//!
//! So a process that finds a marked subfolder knows what belongs to the killed restore. Before step 3 nothing outside
//! the subfolder does. After it, exactly the named parts do that are no longer in the subfolder. Anything else belongs
//! to somebody else, and is refused by its name. If step 4 is complete, `restored.json` is there until the subfolder is
//! gone, so the same command can return the result. Links are never followed.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::error::BackupError;
use super::super::manifest::CATALOG;
use super::restore::Restored;
use crate::lake::store::image::{RESTORING, Reserved, discard_keys};
use crate::private::{self, Kind, OwnFolder};

const LOCK: &str = "lock";
/// The file with the result of the restore and the names of its parts.
const RESULT: &str = "restored.json";
/// The copy of the ledger in the subfolder, until the restored lake gets it.
const LEDGER: &str = "ledger";
/// The name of an empty file in the subfolder. Without it, the subfolder is somebody else's.
const MARK: &str = "tabularium-restore";

/// The contents of [`RESULT`].
#[derive(Debug, Serialize, Deserialize)]
struct Outcome {
    #[serde(flatten)]
    restored: Restored,
    /// The names of the parts that are moved into the data folder before the catalog.
    parts: Vec<String>,
}

/// The subfolder of a restore, and the data folder.
#[derive(Debug)]
pub(super) struct Building {
    data: OwnFolder,
    folder: OwnFolder,
}

impl Building {
    /// Makes the subfolder in `data`. Removes the remains of a killed restore first. The caller holds the lock.
    pub(super) fn begin(data: &Path) -> Result<Building, BackupError> {
        let data = OwnFolder::open(data).map_err(BackupError::io("read", data))?;
        Remains::find(&data)?.clear(&data)?;
        let path = data.path().join(RESTORING);
        let folder = data.folder_or_new(RESTORING).map_err(BackupError::io("make", &path))?;
        let mark = path.join(MARK);
        let made = private::options().write(true).create_new(true).open(&mark);
        made.map_err(BackupError::io("write", &mark))?;
        sync(&folder)?;
        sync(&data)?;
        Ok(Building { data, folder })
    }

    /// Returns the path of the subfolder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of the ledger's copy in the subfolder.
    pub(super) fn ledger(&self) -> PathBuf {
        self.path().join(LEDGER)
    }

    /// Writes down the result of the restore and the names of the parts, durably. Returns these names. Fails if the
    /// place of a part is taken.
    pub(super) fn write_result(&self, restored: &Restored) -> Result<Vec<String>, BackupError> {
        let mut parts = Vec::new();
        for (name, _) in entries(&self.folder)? {
            let name = name.to_string_lossy().into_owned();
            let stays = [LOCK, MARK, RESULT].contains(&name.as_str());
            if !stays && !name.starts_with(LEDGER) && !name.starts_with(CATALOG) {
                parts.push(name);
            }
        }
        for name in parts.iter().map(String::as_str).chain([CATALOG]) {
            if kind(&self.data, name)?.is_some() {
                return Err(foreign(&self.data, name));
            }
        }
        let outcome = Outcome {
            restored: restored.clone(),
            parts,
        };
        let path = self.path().join(RESULT);
        let write = || -> std::io::Result<()> {
            let mut file = private::options().write(true).create_new(true).open(&path)?;
            file.write_all(&serde_json::to_vec(&outcome)?)?;
            file.sync_all()
        };
        write().map_err(BackupError::io("write", &path))?;
        sync(&self.folder)?;
        Ok(outcome.parts)
    }

    /// Moves the parts to their places, the catalog last, and removes the subfolder.
    pub(super) fn show(self, parts: &[String]) -> Result<(), BackupError> {
        let put = |name: &str| {
            let to = self.data.path().join(name);
            let moved = self.folder.rename(name, &self.data, name);
            moved.map_err(BackupError::io("write", &to))
        };
        for name in parts {
            put(name)?;
        }
        sync(&self.data)?;
        put(CATALOG)?;
        sync(&self.data)?;
        end(&self.data, Some(&self.folder))
    }

    /// Removes the unfinished subfolder. Destroys its keys, because they may open files with rows of people who were
    /// erased after the snapshot.
    pub(super) fn discard(self) {
        if let Err(error) = empty(&self.data, &self.folder) {
            tracing::warn!(%error, "parts of an unfinished restore stay");
        }
    }
}

/// Returns an error if `data` is neither missing nor empty, and has not only the remains of a killed restore.
pub(super) fn check(data: &Path) -> Result<(), BackupError> {
    match OwnFolder::open(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        opened => Remains::find(&opened.map_err(BackupError::io("read", data))?).map(drop),
    }
}

/// Ends a restore of the snapshot `id` that was killed after all parts were in their places, and returns its result.
/// Returns `None` if there is none. Also removes an empty subfolder beside a catalog.
pub(super) fn end_killed(data: &Path, id: &str) -> Result<Option<Restored>, BackupError> {
    let path = data;
    let Ok(data) = OwnFolder::open(path) else {
        return Ok(None);
    };
    if kind(&data, CATALOG)? != Some(Kind::File) {
        return Ok(None);
    }
    let folder = subfolder(&data)?;
    let (is_marked, is_empty) = match &folder {
        Some(folder) => (is_marked(folder)?, entries(folder)?.is_empty()),
        None => (false, kind(&data, RESTORING)?.is_none()),
    };
    // The result is in the data folder if the subfolder has only its mark, or not even that.
    let inside = folder.as_ref().filter(|_| is_marked).and_then(outcome);
    let has_only_mark = |folder: &OwnFolder| entries(folder).is_ok_and(|names| names.len() == 1);
    let is_ending = is_empty || is_marked && folder.as_ref().is_some_and(has_only_mark);
    let found = inside.or_else(|| outcome(&data).filter(|_| is_ending));
    match found.filter(|found| found.restored.id == id) {
        Some(found) => {
            let _lock = Reserved::take(path)?;
            end(&data, folder.as_ref())?;
            Ok(Some(found.restored))
        }
        None => {
            if is_empty && folder.is_some() {
                let _lock = Reserved::take(path)?;
                // If it cannot be removed, it does no harm.
                let _ = data.remove_folder(RESTORING);
            }
            Ok(None)
        }
    }
}

/// Removes what a restore does not need after the last move: steps 5 and 6.
fn end(data: &OwnFolder, folder: Option<&OwnFolder>) -> Result<(), BackupError> {
    if let Some(folder) = folder {
        for (name, _) in entries(folder)? {
            if name != MARK && name != RESULT {
                remove(folder, &name)?;
            }
        }
        if kind(folder, RESULT)?.is_some() {
            let path = data.path().join(RESULT);
            if kind(data, RESULT)?.is_some() {
                return Err(foreign(data, RESULT));
            }
            let moved = folder.rename(RESULT, data, RESULT);
            moved.map_err(BackupError::io("write", &path))?;
            sync(data)?;
        }
        remove_subfolder(data, folder)?;
    }
    remove(data, RESULT.as_ref())?;
    sync(data)
}

/// Removes the subfolder with everything in it, before the catalog is in its place. The mark goes last. The result goes
/// first: without it, nothing in the data folder counts as a moved part.
fn empty(data: &OwnFolder, folder: &OwnFolder) -> Result<(), BackupError> {
    if kind(folder, RESULT)?.is_some() {
        remove(folder, RESULT.as_ref())?;
        sync(folder)?;
    }
    discard_keys(folder, |_| true)?;
    for (name, _) in entries(folder)? {
        if name != MARK {
            remove(folder, &name)?;
        }
    }
    remove_subfolder(data, folder)
}

/// Removes the mark and the empty subfolder.
fn remove_subfolder(data: &OwnFolder, folder: &OwnFolder) -> Result<(), BackupError> {
    if kind(folder, MARK)?.is_some() {
        remove(folder, MARK.as_ref())?;
    }
    let removed = data.remove_folder(RESTORING);
    removed.map_err(BackupError::io("remove", folder.path()))?;
    sync(data)
}

/// What a killed restore has left in a data folder without a catalog.
#[derive(Debug, Default)]
struct Remains {
    folder: Option<OwnFolder>,
    /// The names of the parts that the killed restore has moved.
    moved: Vec<OsString>,
}

impl Remains {
    /// Finds the remains in `data`. Returns an error if the folder has anything else. The lock does not count.
    ///
    /// A restore that was killed before it made the mark, or after it removed the mark, leaves the subfolder empty and
    /// alone.
    fn find(data: &OwnFolder) -> Result<Remains, BackupError> {
        let mut names = entries(data)?;
        names.retain(|(name, _)| name != LOCK);
        if names.is_empty() {
            return Ok(Remains::default());
        }
        let not_empty = || BackupError::Folder {
            path: data.path().to_owned(),
            what: "is not empty; a backup is restored into an empty folder",
        };
        let has_catalog = names.iter().any(|(name, _)| name == CATALOG);
        let folder = subfolder(data)?.filter(|_| !has_catalog).ok_or_else(not_empty)?;
        if !(is_marked(&folder)? || names.len() == 1 && entries(&folder)?.is_empty()) {
            return Err(not_empty());
        }
        let parts = outcome(&folder).map(|outcome| outcome.parts).unwrap_or_default();
        let mut moved = Vec::new();
        for (name, found) in names.into_iter().filter(|(name, _)| name != RESTORING) {
            // A part is in one place only, and none is a link.
            let is_part = parts.iter().any(|part| name == *part.as_str()) && kind(&folder, &name)?.is_none();
            if !is_part || !matches!(found, Kind::File | Kind::Folder) {
                return Err(foreign(data, &name.to_string_lossy()));
            }
            moved.push(name);
        }
        let folder = Some(folder);
        Ok(Remains { folder, moved })
    }

    /// Removes the remains. Destroys the keys that the killed restore has left, because they may open files with rows
    /// of people who were erased after the snapshot.
    fn clear(&self, data: &OwnFolder) -> Result<(), BackupError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        discard_keys(data, |name| self.moved.iter().any(|moved| moved == name))?;
        for name in &self.moved {
            if kind(data, name)?.is_some() {
                remove(data, name)?;
            }
        }
        sync(data)?;
        empty(data, folder)
    }
}

/// Opens the subfolder of `data`. Returns `None` if there is none, or a link or a file in its place.
fn subfolder(data: &OwnFolder) -> Result<Option<OwnFolder>, BackupError> {
    if kind(data, RESTORING)? != Some(Kind::Folder) {
        return Ok(None);
    }
    let path = data.path().join(RESTORING);
    let folder = data.folder(RESTORING).map_err(BackupError::io("read", &path))?;
    Ok(Some(folder))
}

/// Whether a restore has made this subfolder.
fn is_marked(folder: &OwnFolder) -> Result<bool, BackupError> {
    Ok(kind(folder, MARK)? == Some(Kind::File))
}

/// Reads what a restore has written down. Returns `None` if it has not, or was killed while it wrote.
fn outcome(folder: &OwnFolder) -> Option<Outcome> {
    let mut text = Vec::new();
    folder.file(RESULT).ok()?.read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn foreign(data: &OwnFolder, entry: &str) -> BackupError {
    BackupError::Foreign {
        path: data.path().to_owned(),
        entry: entry.to_owned(),
    }
}

fn kind(folder: &OwnFolder, name: impl AsRef<OsStr>) -> Result<Option<Kind>, BackupError> {
    let path = folder.path().join(name.as_ref());
    folder.kind(name).map_err(BackupError::io("read", &path))
}

fn entries(folder: &OwnFolder) -> Result<Vec<(OsString, Kind)>, BackupError> {
    folder.entries().map_err(BackupError::io("read", folder.path()))
}

fn remove(folder: &OwnFolder, name: &OsStr) -> Result<(), BackupError> {
    let path = folder.path().join(name);
    folder.remove_all(name).map_err(BackupError::io("remove", &path))
}

fn sync(folder: &OwnFolder) -> Result<(), BackupError> {
    folder.sync().map_err(BackupError::io("sync", folder.path()))
}
