//! A folder of tables in the data folder, beside the lake's own files, with a list of the current tables.
//!
//! Table files never change. A load writes new files and then replaces the list by a rename. So a reader sees either
//! the former list or the new one. Replaced files stay until the next load, so a reader with the former list still
//! finds them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use rustc_hash::FxHashSet;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::PublishedError;
use crate::private::{self, Kind, OwnFolder};

const LIST: &str = "tables.json";
const LOCK: &str = "lock";

/// A folder of tables of one kind.
#[derive(Clone, Debug)]
pub(crate) struct TableFolder {
    data: PathBuf,
    path: PathBuf,
    kind: &'static str,
}

/// Identifies a version of the list by the metadata of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    changed: SystemTime,
    length: u64,
    inode: u64,
}

/// A file that was just written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The file's name in the folder.
    pub(crate) file: String,
    /// The file's size.
    pub(crate) bytes: u64,
    /// The file's CRC-32.
    pub(crate) checksum: u32,
}

/// The lock of a folder. While it is held, no other process can load into the folder.
pub(crate) struct Locked<'f> {
    folder: &'f TableFolder,
    own: OwnFolder,
    _lock: File,
}

/// The part of a list that is read first, because it says whether this program can read the rest.
#[derive(Deserialize)]
struct Layout {
    layout: u32,
}

impl TableFolder {
    /// Returns the folder for this kind of tables in a lake's data folder. It need not exist.
    pub(crate) fn new(data: &Path, kind: &'static str) -> TableFolder {
        TableFolder {
            data: data.to_owned(),
            path: data.join(kind),
            kind,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the stamp of the current list. `None` if there is no list.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let metadata = fs::symlink_metadata(self.path.join(LIST)).ok()?;
        Some(Stamp {
            changed: metadata.modified().ok()?,
            length: metadata.len(),
            inode: metadata.ino(),
        })
    }

    /// Reads the list. It must have the layout version `known`. `None` if there is no list.
    pub(crate) fn list<L: DeserializeOwned>(&self, known: u32) -> Result<Option<L>, PublishedError> {
        let path = self.path.join(LIST);
        let text = match self.read(LIST) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(unreadable(&path, source)),
        };
        let damaged = |error: serde_json::Error| self.damaged(LIST, error.to_string());
        let Layout { layout: found } = serde_json::from_slice(&text).map_err(damaged)?;
        if found != known {
            return Err(PublishedError::Layout { path, found, known });
        }
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }

    /// Reads a file. Fails if it does not have the recorded checksum.
    pub(crate) fn content(&self, file: &str, checksum: u32) -> Result<Bytes, PublishedError> {
        let path = self.path.join(file);
        let content = self.read(file).map_err(|source| unreadable(&path, source))?;
        if crc32fast::hash(&content) != checksum {
            return Err(self.damaged(file, "its checksum is not the one it was written with".to_owned()));
        }
        Ok(Bytes::from(content))
    }

    /// Opens the folder. It must be a folder of the data folder itself, and no link.
    fn own(&self) -> io::Result<OwnFolder> {
        OwnFolder::open(&self.data)?.folder(self.kind)
    }

    /// Reads a file of the folder, which must be no link.
    fn read(&self, file: &str) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.own()?.file(file)?.read_to_end(&mut content)?;
        Ok(content)
    }

    /// Returns the error for a file that is not as it was written.
    pub(crate) fn damaged(&self, file: &str, reason: String) -> PublishedError {
        PublishedError::Damaged {
            path: self.path.join(file),
            reason,
            kind: self.kind,
        }
    }

    /// Returns the error for a table that could not be written.
    pub(crate) fn failed(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> PublishedError {
        unreadable(&self.path, io::Error::other(error))
    }

    /// Locks the folder against loads by other processes. Creates the folder if it is missing. Fails at once if
    /// another process has the lock.
    pub(crate) fn lock(&self) -> Result<Locked<'_>, PublishedError> {
        private::folder(&self.data).map_err(|source| PublishedError::Unreadable {
            path: self.data.clone(),
            source,
        })?;
        let own = OwnFolder::open(&self.data).and_then(|data| data.folder_or_new(self.kind));
        let own = own.map_err(|source| unreadable(&self.path, source))?;
        let path = self.path.join(LOCK);
        let mut options = private::options();
        let file = options.read(true).write(true).create(true).open(&path);
        let file = file.map_err(|source| unreadable(&path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(Locked {
                folder: self,
                own,
                _lock: file,
            }),
            Err(fs::TryLockError::WouldBlock) => Err(PublishedError::Busy {
                path: self.path.clone(),
                kind: self.kind,
            }),
            Err(fs::TryLockError::Error(source)) => Err(unreadable(&path, source)),
        }
    }
}

impl Locked<'_> {
    /// Deletes table files that are not in the list. They were replaced by the previous load, or an interrupted load
    /// has left them.
    pub(crate) fn sweep<'n>(&self, named: impl Iterator<Item = &'n str>) -> Result<(), PublishedError> {
        let named: FxHashSet<&str> = named.collect();
        let folder = &self.folder.path;
        let entries = self.own.entries().map_err(|source| unreadable(folder, source))?;
        for (name, kind) in entries {
            let Some(name) = name.to_str() else { continue };
            if kind == Kind::File && is_ours(name) && !named.contains(name) {
                let removed = self.own.remove(name);
                removed.map_err(|source| unreadable(&folder.join(name), source))?;
            }
        }
        Ok(())
    }

    /// Writes a table. The file's name consists of these parts and the checksum.
    pub(crate) fn table(&self, parts: &[&str], content: &[u8]) -> Result<Written, PublishedError> {
        let checksum = crc32fast::hash(content);
        let parts: Vec<String> = parts.iter().map(|part| slug(part)).collect();
        let parts: Vec<&str> = parts
            .iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        let file = format!("{}-{checksum:08x}.parquet", parts.join("-"));
        self.write(&file, content)?;
        Ok(Written {
            file,
            bytes: content.len() as u64,
            checksum,
        })
    }

    /// Replaces the list.
    pub(crate) fn replace<L: Serialize>(&self, list: &L) -> Result<(), PublishedError> {
        let text = serde_json::to_vec_pretty(list).map_err(|error| self.folder.failed(error))?;
        self.write(LIST, &text)
    }

    /// Writes a file under a temporary name and renames it, so that no reader sees a partial file.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), PublishedError> {
        let folder = &self.folder.path;
        let new_name = format!("{name}.new");
        let (path, new) = (folder.join(name), folder.join(&new_name));
        let write = || {
            let mut file = private::create(&new)?;
            file.write_all(content)?;
            file.sync_all()?;
            self.own.rename(&new_name, &self.own, name)?;
            self.own.sync()
        };
        write().map_err(|source| unreadable(&path, source))
    }
}

/// Whether a file has the name of a table or of an unfinished file, as this module writes it. Other files stay.
fn is_ours(name: &str) -> bool {
    let whole = name.strip_suffix(".new").unwrap_or(name);
    let checksum = whole
        .strip_suffix(".parquet")
        .and_then(|stem| Some(stem.rsplit_once('-')?.1));
    let is_table = checksum.is_some_and(|sum| sum.len() == 8 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_table || whole == LIST && name != LIST
}

/// Whether a table may replace the stored table although it lacks more than a tenth of the stored rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shrink {
    /// A table that lacks many of the stored rows may not replace the stored table, because the given file may be cut
    /// off.
    #[default]
    Refused,
    /// A table that lacks many of the stored rows may replace the stored table.
    Taken,
}

/// Whether a load would remove more than a tenth of the rows.
pub(crate) fn shrinks(before: u64, lost: u64) -> bool {
    lost.saturating_mul(10) > before
}

fn unreadable(path: &Path, source: io::Error) -> PublishedError {
    PublishedError::Stored {
        path: path.to_owned(),
        source,
    }
}

/// Converts the end of a text into a part of a file name: at most 60 lower-case letters, digits, dots and hyphens.
fn slug(text: &str) -> String {
    let text = text.split_once("://").map_or(text, |(_, behind)| behind);
    let mut slug = String::new();
    for part in text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
        .filter(|part| !part.is_empty())
    {
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&part.to_ascii_lowercase());
    }
    let cut = slug.len().saturating_sub(60);
    slug.split_off(cut).trim_start_matches(['-', '.']).to_string()
}
