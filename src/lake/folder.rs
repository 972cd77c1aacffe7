//! Where things lie in a lake's folder: the catalog, the data files and the lock. Nothing else in the program builds these
//! paths.
//!
//! ```text
//! DIR/catalog.sqlite              the DuckLake catalog
//! DIR/lock                        held while a process writes, names it
//! DIR/data/live/Patient/*.parquet data and delete files of one table
//! ```

use std::path::{Path, PathBuf};

use super::scope::Mode;

/// `data_path` as the catalog states it: relative to the lake's folder, so that the folder can be moved.
pub(super) const DATA_PATH: &str = "data/";

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

    /// The file whose lock a writer holds.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Where data files are, one folder per schema and table below it.
    pub fn data(&self) -> PathBuf {
        self.0.join(DATA_PATH.trim_end_matches('/'))
    }

    /// The folder of one table's files.
    pub fn table(&self, mode: Mode, table: &str) -> PathBuf {
        self.data().join(mode.schema()).join(table)
    }
}
