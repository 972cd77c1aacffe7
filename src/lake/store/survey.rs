//! Compares the files in a lake's data folder with the files that the catalog names.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::super::error::LakeError;
use super::folder::Folder;

/// How the data folder differs from the catalog. Paths are sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::lake) struct Survey {
    /// Files that the catalog names and that do not exist.
    pub(in crate::lake) missing: Vec<PathBuf>,
    /// Files whose size differs from the recorded one: path, recorded bytes, actual bytes.
    pub(in crate::lake) altered: Vec<(PathBuf, u64, u64)>,
    /// Files that exist and that the catalog does not name.
    pub(in crate::lake) unnamed: Vec<PathBuf>,
}

impl Survey {
    /// Whether every file that the catalog names exists with its recorded size.
    pub(in crate::lake) fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.altered.is_empty()
    }
}

/// Compares every file of the data folder with `named`, the catalog's files with their sizes. Leaves out files that
/// were moved aside.
pub(in crate::lake) fn survey(folder: &Folder, mut named: FxHashMap<PathBuf, u64>) -> Result<Survey, LakeError> {
    let mut survey = Survey::default();
    files(folder, &mut |path, bytes| match named.remove(&path) {
        Some(recorded) if recorded == bytes => {}
        Some(recorded) => survey.altered.push((path, recorded, bytes)),
        None => survey.unnamed.push(path),
    })?;
    survey.missing.extend(named.into_keys());
    survey.missing.sort_unstable();
    survey.altered.sort_unstable();
    survey.unnamed.sort_unstable();
    Ok(survey)
}

/// Whether the data folder has any file that was not moved aside.
pub(in crate::lake) fn holds_files(folder: &Folder) -> Result<bool, LakeError> {
    let mut any = false;
    files(folder, &mut |_, _| any = true)?;
    Ok(any)
}

/// Calls `found` with the path and size of each file of the data folder, except files that were moved aside.
fn files(folder: &Folder, found: &mut dyn FnMut(PathBuf, u64)) -> Result<(), LakeError> {
    walk(&folder.data(), &folder.orphans(), found)
}

/// Calls `found` with the path and size of each file below a folder. A missing folder has none.
pub(in crate::lake) fn files_below(dir: &Path, found: &mut dyn FnMut(PathBuf, u64)) -> Result<(), LakeError> {
    walk(dir, Path::new(""), found)
}

fn walk(dir: &Path, leave_out: &Path, found: &mut dyn FnMut(PathBuf, u64)) -> Result<(), LakeError> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(LakeError::io("read", dir))?,
    };
    for entry in entries {
        let path = entry.map_err(LakeError::io("read", dir))?.path();
        if path == leave_out {
            continue;
        }
        // Follow a link to its target. A broken link counts as a file with the link's own size.
        let facts = std::fs::metadata(&path).or_else(|_| std::fs::symlink_metadata(&path));
        match facts {
            Ok(facts) if facts.is_dir() => walk(&path, leave_out, found)?,
            Ok(facts) => found(path, facts.len()),
            // Another process has just removed it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(LakeError::io("read", &path)(error)),
        }
    }
    Ok(())
}
