//! Compares the files in a lake's data folder with the files that the catalog names.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::super::attachment::is_attachment;
use super::super::error::LakeError;
use super::disk::file_name;
use super::folder::Folder;
use crate::private;

/// How the data folder differs from the catalog. Paths are sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::lake) struct Survey {
    /// Files that the catalog names and that do not exist.
    pub(in crate::lake) missing: Vec<PathBuf>,
    /// Files whose size differs from the recorded one: path, recorded bytes, actual bytes.
    pub(in crate::lake) altered: Vec<(PathBuf, u64, u64)>,
    /// Files that exist and that the catalog does not name. They need not be this program's ([`is_ours`]).
    pub(in crate::lake) unnamed: Vec<PathBuf>,
}

impl Survey {
    /// Whether every file that the catalog names exists with its recorded size.
    pub(in crate::lake) fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.altered.is_empty()
    }
}

/// Compares every file of the data folder with `named`, the catalog's files with their sizes. Leaves out files that
/// were moved aside. Follows no link, and fails if the catalog names a file that is a link, lies behind one, or is no
/// regular file.
pub(in crate::lake) fn survey(folder: &Folder, mut named: FxHashMap<PathBuf, u64>) -> Result<Survey, LakeError> {
    let mut survey = Survey::default();
    let mut foreign = Vec::new();
    files(folder, &mut |path, entry| match entry {
        Entry::Foreign => foreign.push(path),
        Entry::File(bytes) => match named.remove(&path) {
            Some(recorded) if recorded == bytes => {}
            Some(recorded) => survey.altered.push((path, recorded, bytes)),
            None => survey.unnamed.push(path),
        },
    })?;
    let is_named = |foreign: &&PathBuf| named.keys().any(|path| path.starts_with(foreign));
    if let Some(path) = foreign.iter().find(is_named) {
        return Err(refused(path));
    }
    survey.missing.extend(named.into_keys());
    survey.missing.sort_unstable();
    survey.altered.sort_unstable();
    survey.unnamed.sort_unstable();
    Ok(survey)
}

/// Whether the data folder has any file that was not moved aside.
pub(in crate::lake) fn holds_files(folder: &Folder) -> Result<bool, LakeError> {
    let mut any = false;
    files(folder, &mut |_, entry| any |= matches!(entry, Entry::File(_)))?;
    Ok(any)
}

/// Whether a file of the data folder has a name that this program gives to data files, delete files and attachments.
/// Only such files are moved aside and removed. All others belong to somebody else.
pub(in crate::lake) fn is_ours(path: &Path) -> bool {
    let name = file_name(path);
    let digits = name
        .bytes()
        .take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    digits.count() >= 16 && has_our_ending(path)
}

/// Whether a file's name ends as those of data files, delete files and attachments do.
pub(in crate::lake) fn has_our_ending(path: &Path) -> bool {
    file_name(path).ends_with(".parquet") || is_attachment(path)
}

/// An entry of the data folder that is no folder.
#[derive(Clone, Copy)]
enum Entry {
    /// A file with its size.
    File(u64),
    /// A link, a pipe or a device. It is not this program's.
    Foreign,
}

/// Calls `found` with the path and the kind of each entry of the data folder, except files that were moved aside.
fn files(folder: &Folder, found: &mut dyn FnMut(PathBuf, Entry)) -> Result<(), LakeError> {
    walk(&folder.data(), &folder.orphans(), found)
}

/// Calls `found` with the path and size of each file below a folder. A missing folder has none. Follows no link.
pub(in crate::lake) fn files_below(dir: &Path, found: &mut dyn FnMut(PathBuf, u64)) -> Result<(), LakeError> {
    walk(dir, Path::new(""), &mut |path, entry| {
        if let Entry::File(bytes) = entry {
            found(path, bytes);
        }
    })
}

fn walk(dir: &Path, leave_out: &Path, found: &mut dyn FnMut(PathBuf, Entry)) -> Result<(), LakeError> {
    if std::fs::symlink_metadata(dir).is_ok_and(|facts| facts.is_symlink()) {
        return Err(refused(dir));
    }
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(LakeError::io("read", dir))?,
    };
    for entry in entries {
        let path = entry.map_err(LakeError::io("read", dir))?.path();
        if path == leave_out {
            continue;
        }
        let facts = match std::fs::symlink_metadata(&path) {
            // Another process has just removed it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            facts => facts.map_err(LakeError::io("read", &path))?,
        };
        if facts.is_dir() {
            walk(&path, leave_out, found)?;
        } else if facts.is_file() {
            found(path, Entry::File(facts.len()));
        } else {
            found(path, Entry::Foreign);
        }
    }
    Ok(())
}

fn refused(foreign: &Path) -> LakeError {
    let reason = private::refuse_foreign(foreign).err();
    LakeError::io("read", foreign)(reason.unwrap_or_else(private::link))
}
