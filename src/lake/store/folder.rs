//! The paths in a lake's folder: the catalog, the data files and the lock. No other file of the program builds these
//! paths.
//!
//! ```text
//! DIR/catalog.sqlite              the DuckLake catalog
//! DIR/catalog.mark                the catalog's state when it was last written
//! DIR/keys.sqlite                 the keys of a sealed lake's files
//! DIR/lock                        held while a process writes, names it
//! DIR/data/live/Patient/*.parquet data and delete files of one table
//! DIR/data/.orphans/TIME/...      files of interrupted writers, moved aside
//! ```

use std::path::{Path, PathBuf};

use super::super::error::LakeError;
use super::super::owners::scope::Mode;
use super::super::seal::{KEYS_FILE, KekSource, KeyStore, Keys, Kind, SealError};

/// `data_path` in the catalog: relative to the lake's folder, so that the folder can be moved.
pub(in crate::lake) const DATA_PATH: &str = "data/";

/// The beginning of the name of a catalog that was replaced.
const KEPT_CATALOG: &str = "catalog.sqlite.damaged-";
/// The same for data files.
const KEPT_FILES: &str = "data.damaged-";

/// The folder of one lake, with the keys to open its files if they are sealed.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    keys: Keys,
}

impl Folder {
    /// The lake in `dir`. The path becomes absolute, so that a later change of the working directory does not matter.
    pub(in crate::lake) fn new(dir: &Path) -> std::io::Result<Folder> {
        Ok(Folder {
            path: std::path::absolute(dir)?,
            keys: Keys::none(),
        })
    }

    /// The same folder with these keys to open its files.
    pub(in crate::lake) fn with_keys(self, keys: Keys) -> Folder {
        Folder { keys, ..self }
    }

    /// The same folder of a lake of this kind, with its keys. A lake with sealed files must have keys.
    pub(in crate::lake) fn unlock(self, kind: Kind, source: &KekSource) -> Result<Folder, LakeError> {
        let store = kind.has_keys().then(|| self.open_keys(source)).transpose()?;
        Ok(self.with_keys(Keys::of_kind(kind, store)))
    }

    /// The same folder, with keys for the sealed lake that will be made in it.
    pub(in crate::lake) fn seal(self, source: &KekSource) -> Result<Folder, LakeError> {
        let store = self.make_keys(source)?;
        Ok(self.with_keys(Keys::of(store)))
    }

    /// Opens the keys database of the lake, which must exist.
    pub(in crate::lake) fn open_keys(&self, source: &KekSource) -> Result<KeyStore, LakeError> {
        let store = source.load().and_then(|kek| KeyStore::open(&self.path, kek));
        store.map_err(|source| self.of_keys(source))
    }

    /// Creates a keys database for a lake without one. Continues an interrupted attempt.
    pub(in crate::lake) fn make_keys(&self, source: &KekSource) -> Result<KeyStore, LakeError> {
        let store = source.load().and_then(|kek| {
            if self.has_keys() {
                KeyStore::open(&self.path, kek)
            } else {
                KeyStore::create(&self.path, kek)
            }
        });
        store.map_err(|source| self.of_keys(source))
    }

    fn of_keys(&self, source: SealError) -> LakeError {
        let dir = self.path.clone();
        LakeError::Keys { dir, source }
    }

    /// Whether there are keys of a sealed lake.
    pub(in crate::lake) fn has_keys(&self) -> bool {
        self.path.join(KEYS_FILE).exists()
    }

    /// The keys that seal and open the lake's files.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The SQLite file with the DuckLake tables.
    pub fn catalog(&self) -> PathBuf {
        self.path.join("catalog.sqlite")
    }

    /// Whether there is a catalog. An empty file does not count, because SQLite creates one when it only looks.
    pub(in crate::lake) fn has_catalog(&self) -> bool {
        std::fs::metadata(self.catalog()).is_ok_and(|file| file.is_file() && file.len() > 0)
    }

    /// The path of a new catalog until it is complete.
    pub(in crate::lake) fn new_catalog(&self) -> PathBuf {
        self.path.join("catalog.sqlite.new")
    }

    /// The path of the mark.
    pub(in crate::lake) fn mark(&self) -> PathBuf {
        self.path.join("catalog.mark")
    }

    /// The path of a new mark until it is complete.
    pub(in crate::lake) fn new_mark(&self) -> PathBuf {
        self.path.join("catalog.mark.new")
    }

    /// The path of the writer's lock.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The folder of data files, with one subfolder per schema and table.
    pub fn data(&self) -> PathBuf {
        self.path.join(DATA_PATH.trim_end_matches('/'))
    }

    /// The folder for files of interrupted writers.
    pub(in crate::lake) fn orphans(&self) -> PathBuf {
        self.data().join(".orphans")
    }

    /// Renames a catalog that must not be used, with its log. Returns the new name. `time` makes the name unique.
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

    /// The folder for data files that a new catalog could not adopt.
    pub(in crate::lake) fn kept_files(&self, time: &str) -> PathBuf {
        self.path.join(format!("{KEPT_FILES}{time}"))
    }

    /// All files and folders with such names.
    pub(in crate::lake) fn kept(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let is_kept = |name: &str| name.starts_with(KEPT_CATALOG) || name.starts_with(KEPT_FILES);
        let kept = entries.filter(|entry| is_kept(&entry.file_name().to_string_lossy()));
        kept.map(|entry| entry.path()).collect()
    }

    /// The folder of one table's files.
    pub fn table(&self, mode: Mode, table: &str) -> PathBuf {
        self.data().join(mode.schema()).join(table)
    }
}
