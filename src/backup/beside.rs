//! Adds the parts of a data folder that are not the lake to a backup: the service's store, archived audit lines, and
//! the tables of terminology and plans.

use std::io::ErrorKind;
use std::path::Path;

use super::contents::Contents;
use super::error::BackupError;
use super::files::How;
use crate::consent::{KEY_FILE, STORE_FILE, copy_store};
use crate::private::{Below, Kind, OwnFolder};

/// The folder of archived audit lines. Lines are appended to its files, and never changed.
const AUDIT: &str = "audit";
/// The folders of published tables. Each has a list of its tables, and files that never change.
const PUBLISHED: [&str; 2] = ["terminology", "plans"];
const LIST: &str = "tables.json";

/// Adds the service's store, if there is one, and its key if `with_key` is set.
pub(super) fn add_service(contents: &mut Contents<'_>, data: &Path, with_key: bool) -> Result<(), BackupError> {
    let copy = contents.draft(STORE_FILE);
    if copy_store(data, &copy)? {
        contents.add_draft(STORE_FILE, STORE_FILE)?;
    }
    if with_key {
        contents.add_if_there(Below::new(data, KEY_FILE), KEY_FILE, How::Copy)?;
    }
    Ok(())
}

/// Adds the archived audit lines and the published tables. Call this after [`add_service`]. The server may move an
/// audit line from the store to an audit file between the two calls. Then the copied store and the copied file both
/// have the line. In the other order, it is possible that neither has it.
pub(super) fn add_tables(contents: &mut Contents<'_>, data: &Path) -> Result<(), BackupError> {
    for (name, bytes) in below(data, AUDIT)? {
        let path = format!("{AUDIT}/{name}");
        // Audit files only grow. So if an earlier snapshot has the file with this length, it has the same lines.
        if !contents.take_known(&path, bytes) {
            contents.add_if_there(Below::new(data, &path), &path, How::Copy)?;
        }
    }
    for folder in PUBLISHED {
        let list = format!("{folder}/{LIST}");
        let list = Below::new(data, &list);
        let text = match list.read() {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            read => read.map_err(BackupError::io("read", &list.path()))?,
        };
        let draft = contents.draft(LIST);
        std::fs::write(&draft, &text).map_err(BackupError::io("write", &draft))?;
        contents.add_draft(LIST, &format!("{folder}/{LIST}"))?;
        for (name, bytes) in below(data, folder)? {
            let quoted = format!("\"{name}\"");
            if !name.ends_with(".parquet") || memchr::memmem::find(&text, quoted.as_bytes()).is_none() {
                continue;
            }
            let path = format!("{folder}/{name}");
            if !contents.take_known(&path, bytes) {
                contents.add_if_there(Below::new(data, &path), &path, How::Link)?;
            }
        }
    }
    Ok(())
}

/// Returns the names and lengths of the files in a folder below `data`. A missing folder has none. Returns an error if
/// the folder or an entry is a link, or an entry is a pipe or a device.
fn below(data: &Path, folder: &str) -> Result<Vec<(String, u64)>, BackupError> {
    let path = data.join(folder);
    let opened = match OwnFolder::open(data).and_then(|data| data.folder(folder)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(BackupError::io("read", &path))?,
    };
    let mut files = Vec::new();
    for (name, kind) in opened.entries().map_err(BackupError::io("read", &path))? {
        if kind == Kind::Folder {
            continue;
        }
        let facts = match opened.file(&name).and_then(|file| file.metadata()) {
            // Another process has just removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            facts => facts.map_err(BackupError::io("read", &path.join(&name)))?,
        };
        files.push((name.to_string_lossy().into_owned(), facts.len()));
    }
    Ok(files)
}
