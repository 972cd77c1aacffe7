//! Adds the parts of a data folder that are not the lake to a backup: the service's store, archived audit lines, and
//! the tables of terminology and plans.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::error::BackupError;
use super::files::How;
use crate::consent::{KEY_FILE, STORE_FILE, copy_store};

/// The folder of archived audit lines. Lines are appended to its files, and never changed.
const AUDIT: &str = "audit";
/// The folders of published tables. Each has a list of its tables, and files that never change.
const PUBLISHED: [&str; 2] = ["terminology", "plans"];
const LIST: &str = "tables.json";

/// Adds the service's store, if there is one, and its key if `with_key` is set.
pub(super) fn add_service(contents: &mut Contents<'_>, data: &Path, with_key: bool) -> Result<(), BackupError> {
    let copy = contents.draft(STORE_FILE);
    if copy_store(data, &copy)? {
        contents.add(&copy, STORE_FILE, How::Move)?;
    }
    if with_key {
        contents.add_if_there(&data.join(KEY_FILE), KEY_FILE, How::Copy)?;
    }
    Ok(())
}

/// Adds the archived audit lines and the published tables. Call this after [`add_service`]. The server may move an
/// audit line from the store to an audit file between the two calls. Then the copied store and the copied file both
/// have the line. In the other order, it is possible that neither has it.
pub(super) fn add_tables(contents: &mut Contents<'_>, data: &Path) -> Result<(), BackupError> {
    for path in below(&data.join(AUDIT))? {
        let name = format!("{AUDIT}/{}", name(&path));
        // Audit files only grow. So if an earlier snapshot has the file with this length, it has the same lines.
        let bytes = std::fs::metadata(&path).map_err(BackupError::io("read", &path))?.len();
        if !contents.take_known(&name, bytes) {
            contents.add_if_there(&path, &name, How::Copy)?;
        }
    }
    for folder in PUBLISHED {
        let list = data.join(folder).join(LIST);
        let text = match std::fs::read(&list) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            read => read.map_err(BackupError::io("read", &list))?,
        };
        let draft = contents.draft(LIST);
        std::fs::write(&draft, &text).map_err(BackupError::io("write", &draft))?;
        contents.add(&draft, &format!("{folder}/{LIST}"), How::Copy)?;
        for path in below(&data.join(folder))? {
            let file = name(&path);
            let quoted = format!("\"{file}\"");
            if !file.ends_with(".parquet") || memchr::memmem::find(&text, quoted.as_bytes()).is_none() {
                continue;
            }
            let bytes = std::fs::metadata(&path).map_err(BackupError::io("read", &path))?.len();
            let name = format!("{folder}/{file}");
            if !contents.take_known(&name, bytes) {
                contents.add_if_there(&path, &name, How::Link)?;
            }
        }
    }
    Ok(())
}

/// Returns the files in a folder. A missing folder has none.
fn below(folder: &Path) -> Result<Vec<PathBuf>, BackupError> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(BackupError::io("read", folder))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(BackupError::io("read", folder))?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
