//! A data folder before a lake is made in it: whether a lake may be made there, and how to undo that.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::lake::Lake;

/// Names that a data folder may contain before it has a lake: loaded tables, the service's store, parts of a lake.
const OWN: [&str; 9] = [
    "audit",
    "catalog",
    "data",
    "keys.sqlite",
    "lost+found",
    "plans",
    "population",
    "service.",
    "terminology",
];

/// A folder that contains other things than a data folder does.
#[derive(Debug, thiserror::Error)]
#[error("{} holds no lake but other things ({entry}); name an empty folder or a new one", folder.display())]
pub struct ForeignFolder {
    folder: PathBuf,
    entry: String,
}

/// The state in which a folder was found.
#[derive(Debug)]
pub enum Before {
    /// It has a lake, or parts of one.
    Lake,
    /// It did not exist.
    Missing,
    /// It had these entries.
    Without(Vec<OsString>),
}

impl Before {
    /// Inspects a folder, and refuses one with other contents.
    pub fn look(data: &Path) -> Result<Before, ForeignFolder> {
        let entries = match std::fs::read_dir(data) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Before::Missing),
            // Opening a lake in this folder will report the fault.
            Err(_) => return Ok(Before::Lake),
        };
        let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        let is = |name: &OsString, known: &str| name.to_string_lossy().starts_with(known);
        if names.iter().any(|name| is(name, "catalog") || name == "data") {
            return Ok(Before::Lake);
        }
        let own = |name: &OsString| is(name, ".") || OWN.iter().any(|known| is(name, known));
        match names.iter().find(|name| !own(name)) {
            None => Ok(Before::Without(names)),
            Some(other) => Err(ForeignFolder {
                folder: data.to_owned(),
                entry: other.to_string_lossy().into_owned(),
            }),
        }
    }

    /// Removes the lake that was made since, if nothing was stored in it.
    pub fn restore(&self, data: &Path) {
        let is_empty = Lake::open(data).is_ok_and(|lake| lake.info().is_ok_and(|info| info.rows == 0));
        let before = match self {
            Before::Lake => return,
            _ if !is_empty => return,
            Before::Missing => &Vec::new(),
            Before::Without(names) => names,
        };
        let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| !before.contains(&entry.file_name())) {
            let path = entry.path();
            // An empty lake may remain. It does no harm.
            let _ = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
        }
        self.sweep(data);
    }

    /// Removes the mark that a writer wrote at its end, after the catalog was removed.
    pub fn sweep(&self, data: &Path) {
        if matches!(self, Before::Lake) || data.join("catalog.sqlite").exists() {
            return;
        }
        let _ = std::fs::remove_file(data.join("catalog.mark"));
        if matches!(self, Before::Missing) {
            let _ = std::fs::remove_dir(data);
        }
    }
}
