//! Decides whether a lake may be made in a folder, and removes a new lake in which nothing was stored.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::lake::Lake;
use crate::private::OwnFolder;

/// The beginnings of names that a data folder may contain before a lake is made in it: loaded tables, the service's
/// store, and parts of a lake.
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

/// The error for a folder that contains other things than a data folder does.
#[derive(Debug, thiserror::Error)]
#[error("{} holds no lake but other things ({entry}); name an empty folder or a new one", folder.display())]
pub struct ForeignFolder {
    folder: PathBuf,
    entry: String,
}

/// The state of a folder before a lake was made in it.
#[derive(Debug)]
pub enum Before {
    /// The folder had a lake, or parts of one, or it could not be read.
    Lake,
    /// The folder did not exist.
    Missing,
    /// The folder had no lake. It had entries with these names.
    Without(Vec<OsString>),
}

impl Before {
    /// Looks at a folder. Returns an error if it contains other things than a data folder does.
    pub fn look(data: &Path) -> Result<Before, ForeignFolder> {
        let entries = match std::fs::read_dir(data) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Before::Missing),
            // Opening a lake in this folder will report the fault.
            Err(_) => return Ok(Before::Lake),
        };
        let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        let is = |name: &OsString, known: &str| name.to_string_lossy().starts_with(known);
        // If a backup is being restored there, opening a lake says so.
        if names
            .iter()
            .any(|name| is(name, "catalog") || name == "data" || name == "restoring")
        {
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

    /// Removes the new lake if nothing was stored in it. Only what the creation of a lake makes is removed, and nothing
    /// that the folder had before. Other entries stay: another program has made them meanwhile.
    pub fn restore(&self, data: &Path) {
        let before: &[OsString] = match self {
            Before::Lake => return,
            Before::Missing => &[],
            Before::Without(names) => names,
        };
        if let Ok(lake) = Lake::open(data) {
            lake.remove_empty(before);
        }
        self.sweep(data);
    }

    /// If the folder has no catalog now, removes the mark that a writer has left. Also removes the folder if it did not
    /// exist before the lake was made.
    pub fn sweep(&self, data: &Path) {
        if matches!(self, Before::Lake) || data.join("catalog.sqlite").exists() {
            return;
        }
        let _ = OwnFolder::open(data).and_then(|folder| folder.remove("catalog.mark"));
        if matches!(self, Before::Missing) {
            let _ = std::fs::remove_dir(data);
        }
    }
}
