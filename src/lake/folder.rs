//! Where things lie in a lake's folder: the catalog, the data files and the lock. Nothing else in the program builds these
//! paths.
//!
//! ```text
//! DIR/catalog.sqlite              the DuckLake catalog
//! DIR/catalog.mark                where the catalog stood when it was last written
//! DIR/lock                        held while a process writes, names it
//! DIR/data/live/Patient/*.parquet data and delete files of one table
//! DIR/data/.orphans/TIME/...      files of interrupted writers, moved aside
//! ```

use std::path::{Path, PathBuf};

use super::scope::Mode;

/// `data_path` as the catalog states it: relative to the lake's folder, so that the folder can be moved.
pub(super) const DATA_PATH: &str = "data/";

/// How the name of a catalog begins that another has replaced.
const KEPT_CATALOG: &str = "catalog.sqlite.damaged-";
/// The same for data files.
const KEPT_FILES: &str = "data.damaged-";

/// The folder of one lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The lake in `dir`, made absolute so that a later change of the working directory does not matter.
    pub(super) fn new(dir: &Path) -> std::io::Result<Folder> {
        Ok(Folder(std::path::absolute(dir)?))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The SQLite file with the DuckLake tables.
    pub fn catalog(&self) -> PathBuf {
        self.0.join("catalog.sqlite")
    }

    /// Whether there is a catalog. An empty file is none: SQLite makes one when somebody only looks.
    pub(super) fn has_catalog(&self) -> bool {
        std::fs::metadata(self.catalog()).is_ok_and(|file| file.is_file() && file.len() > 0)
    }

    /// Where a new catalog is made before it gets its name.
    pub(super) fn new_catalog(&self) -> PathBuf {
        self.0.join("catalog.sqlite.new")
    }

    /// What is known of the catalog beside it.
    pub(super) fn mark(&self) -> PathBuf {
        self.0.join("catalog.mark")
    }

    /// Where a new mark is written before it gets its name.
    pub(super) fn new_mark(&self) -> PathBuf {
        self.0.join("catalog.mark.new")
    }

    /// The file whose lock a writer holds.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Where data files are, one folder per schema and table below it.
    pub fn data(&self) -> PathBuf {
        self.0.join(DATA_PATH.trim_end_matches('/'))
    }

    /// Where files of interrupted writers are moved.
    pub(super) fn orphans(&self) -> PathBuf {
        self.data().join(".orphans")
    }

    /// Moves a catalog that is not to be trusted to another name, with its log; gives the name. `time` keeps the names apart.
    pub(super) fn keep_catalog(&self, time: &str) -> Result<Option<PathBuf>, super::error::LakeError> {
        let to = self.0.join(format!("{KEPT_CATALOG}{time}"));
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
                Err(error) => return Err(super::error::LakeError::io("rename", &from)(error)),
            }
        }
        Ok(kept)
    }

    /// Where data files are kept that a new catalog could not take.
    pub(super) fn kept_files(&self, time: &str) -> PathBuf {
        self.0.join(format!("{KEPT_FILES}{time}"))
    }

    /// All that was kept under such names.
    pub(super) fn kept(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let is_kept = |name: &str| name.starts_with(KEPT_CATALOG) || name.starts_with(KEPT_FILES);
        let kept = entries.filter(|entry| is_kept(&entry.file_name().to_string_lossy()));
        kept.map(|entry| entry.path()).collect()
    }

    /// The folder of one table's files.
    pub fn table(&self, mode: Mode, table: &str) -> PathBuf {
        self.data().join(mode.schema()).join(table)
    }
}
