//! The paths of the files in a lake's folder.
//!
//! ```text
//! DIR/catalog.sqlite                  the DuckLake catalog
//! DIR/catalog.mark                    the catalog's state when it was last written
//! DIR/keys.sqlite                     the keys of a sealed lake's files
//! DIR/lock                            locked while a process writes; contains the id of that process
//! DIR/data/live/Patient/*.parquet     data files and delete files of one table
//! DIR/data/live/Binary/*.attachment   attachments
//! DIR/data/.orphans/TIME/...          files of interrupted writers, moved aside
//! DIR/restoring/                      parts of a backup that is being restored
//! ```
//!
//! Some other files of the program build these paths themselves, without a [`Folder`], for example `copy.rs` beside
//! this file, `backup`, `maintenance` and `lake::seal`.

use std::path::{Path, PathBuf};

use super::super::error::LakeError;
use super::super::owners::scope::Mode;
use super::super::seal::{KEYS_FILE, KekSource, KeyStore, Keys, Kind, SealError, remove_unused};

/// The value of `data_path` in the catalog. It is relative to the lake's folder, so the folder can be moved.
pub(in crate::lake) const DATA_PATH: &str = "data/";

/// The name of the subfolder in which a backup is restored. While it exists and there is no catalog, the folder is
/// neither a lake nor empty.
pub(crate) const RESTORING: &str = "restoring";

/// The beginning of the name under which `tabularium check --adopt` keeps a catalog that it has replaced.
const KEPT_CATALOG: &str = "catalog.sqlite.damaged-";
/// The beginning of the name of the folder in which `tabularium check --adopt` keeps data files that the new catalog
/// could not adopt.
const KEPT_FILES: &str = "data.damaged-";

/// The folder of one lake. If the lake has sealed files, it also has the keys that open them.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    keys: Keys,
}

impl Folder {
    /// Returns the folder `dir`, without keys. Makes the path absolute, so a later change of the working directory
    /// does not matter.
    pub(in crate::lake) fn new(dir: &Path) -> std::io::Result<Folder> {
        Ok(Folder {
            path: std::path::absolute(dir)?,
            keys: Keys::none(),
        })
    }

    /// Replaces the keys that open the folder's files.
    pub(in crate::lake) fn with_keys(self, keys: Keys) -> Folder {
        Folder { keys, ..self }
    }

    /// Sets the kind of the lake. If a lake of this kind may have sealed files, opens the keys database, which must
    /// exist.
    pub(in crate::lake) fn unlock(self, kind: Kind, source: &KekSource) -> Result<Folder, LakeError> {
        let store = kind.has_keys().then(|| self.open_keys(source)).transpose()?;
        Ok(self.with_keys(Keys::of_kind(kind, store)))
    }

    /// Makes the keys database for a new sealed lake in this folder, and returns the folder with the keys of that
    /// database.
    pub(in crate::lake) fn seal(self, source: &KekSource) -> Result<Folder, LakeError> {
        let store = self.make_keys(source)?;
        Ok(self.with_keys(Keys::of(store)))
    }

    /// Opens the keys database of the lake, which must exist.
    pub(in crate::lake) fn open_keys(&self, source: &KekSource) -> Result<KeyStore, LakeError> {
        let store = source.load().and_then(|kek| KeyStore::open(&self.path, kek));
        store.map_err(|source| self.of_keys(source))
    }

    /// Creates the keys database of a lake without sealed files. Replaces an unused one that an interrupted attempt has
    /// left, which may be of another key-encryption key. If there is one with keys, opens it instead.
    pub(in crate::lake) fn make_keys(&self, source: &KekSource) -> Result<KeyStore, LakeError> {
        let store = source.load().and_then(|kek| {
            if remove_unused(&self.path)? {
                KeyStore::create(&self.path, kek)
            } else {
                KeyStore::open(&self.path, kek)
            }
        });
        store.map_err(|source| self.of_keys(source))
    }

    fn of_keys(&self, source: SealError) -> LakeError {
        let dir = self.path.clone();
        LakeError::Keys { dir, source }
    }

    /// Whether the folder has a keys database.
    pub(in crate::lake) fn has_keys(&self) -> bool {
        self.path.join(KEYS_FILE).exists()
    }

    /// Returns the keys that seal and open the lake's files.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the absolute path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the catalog, the SQLite file with the DuckLake tables.
    pub fn catalog(&self) -> PathBuf {
        self.path.join("catalog.sqlite")
    }

    /// Whether the folder has a catalog. An empty file does not count, because SQLite may create one when a program
    /// only looks for a catalog.
    pub(in crate::lake) fn has_catalog(&self) -> bool {
        std::fs::metadata(self.catalog()).is_ok_and(|file| file.is_file() && file.len() > 0)
    }

    /// Returns [`LakeError::Restoring`] if the folder has parts of a backup that is being restored, and no catalog yet.
    pub(in crate::lake) fn refuse_restoring(&self) -> Result<(), LakeError> {
        if self.path.join(RESTORING).exists() && !self.has_catalog() {
            return Err(LakeError::Restoring(self.path.clone()));
        }
        Ok(())
    }

    /// Returns the path at which a new catalog is built. When the new catalog is complete, it is renamed to its final
    /// name.
    pub(in crate::lake) fn new_catalog(&self) -> PathBuf {
        self.path.join("catalog.sqlite.new")
    }

    /// Returns the path of the catalog's mark.
    pub(in crate::lake) fn mark(&self) -> PathBuf {
        self.path.join("catalog.mark")
    }

    /// Returns the path at which a new mark is written. When the new mark is complete, it is renamed to its final name.
    pub(in crate::lake) fn new_mark(&self) -> PathBuf {
        self.path.join("catalog.mark.new")
    }

    /// Returns the path of the writer's lock.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Returns the folder of the data files, with one subfolder per schema and table.
    pub fn data(&self) -> PathBuf {
        self.path.join(DATA_PATH.trim_end_matches('/'))
    }

    /// Returns the folder for files of interrupted writers.
    pub(in crate::lake) fn orphans(&self) -> PathBuf {
        self.data().join(".orphans")
    }

    /// Renames a catalog that must not be used, with its write-ahead log and shared-memory file. `time` makes the new
    /// name unique. Returns the new path of the catalog, or `None` if there was no catalog.
    pub(in crate::lake) fn keep_catalog(&self, time: &str) -> Result<Option<PathBuf>, LakeError> {
        let to = self.path.join(format!("{KEPT_CATALOG}{time}"));
        let mut kept = None;
        for part in ["", "-wal", "-shm"] {
            let named = |path: &Path| {
                let mut name = path.as_os_str().to_owned();
                name.push(part);
                PathBuf::from(name)
            };
            let (from, to) = (named(&self.catalog()), named(&to));
            match std::fs::rename(&from, &to) {
                Ok(()) if part.is_empty() => kept = Some(to),
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(LakeError::io("rename", &from)(error)),
            }
        }
        Ok(kept)
    }

    /// Returns the folder for data files that a new catalog could not adopt. `time` makes the name of the folder
    /// unique.
    pub(in crate::lake) fn kept_files(&self, time: &str) -> PathBuf {
        self.path.join(format!("{KEPT_FILES}{time}"))
    }

    /// Returns all replaced catalogs and all folders of files that could not be adopted.
    pub(in crate::lake) fn kept(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let is_kept = |name: &str| name.starts_with(KEPT_CATALOG) || name.starts_with(KEPT_FILES);
        let kept = entries.filter(|entry| is_kept(&entry.file_name().to_string_lossy()));
        kept.map(|entry| entry.path()).collect()
    }

    /// Returns the folder of one table's files.
    pub fn table(&self, mode: Mode, table: &str) -> PathBuf {
        self.data().join(mode.schema()).join(table)
    }
}
