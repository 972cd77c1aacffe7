//! `DIR/terminology`: tables of code systems beside the lake, and the list that says which of them count.
//!
//! Files are never changed. A load writes new ones, then puts a new list in the place of the old one with a rename: a reader sees
//! the tables of one list or of the other. A file that a load has replaced stays until the next load, so whoever has just read the
//! earlier list still finds its files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use bytes::Bytes;
use chrono::{SecondsFormat, Utc};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::code_system::CodeSystem;
use super::error::TerminologyError;
use super::load::{Loaded, LoadedSystem};
use super::stored_sets;
use super::{raw, table};
use crate::lake::private;

pub(super) use super::stored_sets::StoredSets;

/// The layout of the folder. A change that an older program would misread raises it.
const LAYOUT: u32 = 1;
const LIST: &str = "tables.json";
const LOCK: &str = "lock";

/// A code system beside the lake, as the list names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Its canonical URL.
    pub system: String,
    /// Its version, if the publisher's file or its name tells one.
    pub version: Option<String>,
    /// The file's name in the folder.
    pub file: String,
    /// How many concepts it has.
    pub concepts: u64,
    /// The file's size.
    pub bytes: u64,
    /// CRC-32 of the file.
    pub checksum: u32,
    /// The publisher's file.
    pub source: String,
    /// Whether it is all that the publisher ships, not an excerpt.
    pub whole: bool,
    /// When it was loaded.
    pub loaded: String,
}

/// The file of value sets beside the lake, as the list names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetsEntry {
    /// The file's name in the folder.
    pub file: String,
    /// How many value sets it has.
    pub count: u64,
    /// The file's size.
    pub bytes: u64,
    /// CRC-32 of the file.
    pub checksum: u32,
}

/// Which files count.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct List {
    layout: u32,
    /// The code systems.
    pub tables: Vec<TableEntry>,
    /// The value sets.
    pub value_sets: Option<SetsEntry>,
}

/// What tells one list from another without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    changed: SystemTime,
    length: u64,
    inode: u64,
}

/// The tables of one list.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    pub(super) tables: Vec<Arc<Table>>,
    pub(super) sets: Option<Arc<StoredSets>>,
}

/// A code system's file, read when somebody asks for it.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    entry: TableEntry,
    system: OnceLock<Option<Arc<CodeSystem>>>,
}

impl Table {
    pub(super) fn url(&self) -> &str {
        &self.entry.system
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.entry.version.as_deref()
    }

    /// The system; `None` if its file cannot be read, which is logged once.
    pub(super) fn system(&self) -> Option<Arc<CodeSystem>> {
        let read = || match self.load() {
            Ok(system) => Some(Arc::new(system)),
            Err(error) => {
                tracing::error!(%error, "a code system cannot be read and is taken as not given");
                None
            }
        };
        self.system.get_or_init(read).clone()
    }

    /// Reads the system if that has not been done.
    pub(super) fn read(&self) -> Result<(), TerminologyError> {
        if self.system.get().is_none() {
            let system = Arc::new(self.load()?);
            // Another thread may have been faster; both have read the same.
            let _ = self.system.set(Some(system));
        }
        Ok(())
    }

    fn load(&self) -> Result<CodeSystem, TerminologyError> {
        let file = checked(&self.path, self.entry.checksum)?;
        table::read(file).map_err(|error| damaged(&self.path, error.to_string()))
    }
}

/// The folder of terminology of a lake.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder of the lake in `data`. It need not be there.
    pub fn new(data: &Path) -> Folder {
        Folder(data.join("terminology"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Tells the list that is there from any other; `None` without one.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let metadata = fs::metadata(self.0.join(LIST)).ok()?;
        Some(Stamp {
            changed: metadata.modified().ok()?,
            length: metadata.len(),
            inode: metadata.ino(),
        })
    }

    /// The list; an empty one without a folder.
    pub fn list(&self) -> Result<List, TerminologyError> {
        let path = self.0.join(LIST);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(List {
                    layout: LAYOUT,
                    tables: Vec::new(),
                    value_sets: None,
                });
            }
            Err(source) => return Err(TerminologyError::Unreadable { path, source }),
        };
        let list: List = serde_json::from_slice(&text).map_err(|error| damaged(&path, error.to_string()))?;
        match list.layout {
            LAYOUT => Ok(list),
            found => Err(TerminologyError::Layout {
                path,
                found,
                known: LAYOUT,
            }),
        }
    }

    /// The tables of the list that is there. Those that `before` has too are taken from it.
    pub(super) fn read(&self, before: &Stored) -> Result<(Option<Stamp>, Stored), TerminologyError> {
        // Taken first: a list that comes after it is noticed by its other stamp.
        let stamp = self.stamp();
        let list = self.list()?;
        let known: FxHashMap<&str, &Arc<Table>> = before
            .tables
            .iter()
            .map(|table| (table.entry.file.as_str(), table))
            .collect();
        let tables = list
            .tables
            .into_iter()
            .map(|entry| match known.get(entry.file.as_str()) {
                Some(table) => (*table).clone(),
                None => Arc::new(Table {
                    path: self.0.join(&entry.file),
                    entry,
                    system: OnceLock::new(),
                }),
            });
        let tables = tables.collect();
        let sets = match (&list.value_sets, &before.sets) {
            (Some(entry), Some(sets)) if sets.file() == entry.file => Some(sets.clone()),
            (Some(entry), _) => Some(Arc::new(self.sets(entry)?)),
            (None, _) => None,
        };
        Ok((stamp, Stored { tables, sets }))
    }

    fn sets(&self, entry: &SetsEntry) -> Result<StoredSets, TerminologyError> {
        let path = self.0.join(&entry.file);
        let file = checked(&path, entry.checksum)?;
        StoredSets::read(file, &entry.file).map_err(|error| damaged(&path, error.to_string()))
    }

    /// Puts systems and value sets beside the lake. A system replaces all versions of it that are there, and a value set likewise; what
    /// else is there stays. An excerpt of a system does not replace the whole. Returns the systems that were put there.
    pub fn store(&self, loaded: &Loaded) -> Result<Vec<TableEntry>, TerminologyError> {
        private::folder(&self.0).map_err(|source| unreadable(&self.0, source))?;
        let _lock = self.lock()?;
        let mut list = self.list()?;
        self.sweep(&list)?;
        let now = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
        let has_whole = |url: &str| {
            let stored = list.tables.iter().any(|entry| entry.whole && entry.system == url);
            stored || loaded.systems.iter().any(|one| one.whole && one.system.url() == url)
        };
        let taken: Vec<&LoadedSystem> = loaded
            .systems
            .iter()
            .filter(|one| one.whole || !has_whole(one.system.url()))
            .collect();
        let entries: Result<Vec<TableEntry>, _> = taken.iter().map(|one| self.store_system(one, &now)).collect();
        let entries = entries?;
        let replaced: FxHashSet<&str> = taken.iter().map(|one| one.system.url()).collect();
        list.tables.retain(|entry| !replaced.contains(entry.system.as_str()));
        list.tables.extend(entries.iter().cloned());
        list.tables
            .sort_by(|one, other| (&one.system, &one.version).cmp(&(&other.system, &other.version)));
        if !loaded.sets.is_empty() {
            list.value_sets = Some(self.store_sets(list.value_sets.as_ref(), &loaded.sets)?);
        }
        let text = serde_json::to_vec_pretty(&list).map_err(|error| unreadable(&self.0, io::Error::other(error)))?;
        self.write(LIST, &text)?;
        Ok(entries)
    }

    fn store_system(&self, loaded: &LoadedSystem, now: &str) -> Result<TableEntry, TerminologyError> {
        let system = &loaded.system;
        let content = table::write(system).map_err(|error| unreadable(&self.0, io::Error::other(error)))?;
        let checksum = crc32fast::hash(&content);
        let version = system.version().map(str::to_string);
        let name = [slug(system.url()), slug(version.as_deref().unwrap_or_default())];
        let name: Vec<&str> = name
            .iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        let file = format!("{}-{checksum:08x}.parquet", name.join("-"));
        self.write(&file, &content)?;
        Ok(TableEntry {
            system: system.url().to_string(),
            version,
            file,
            concepts: system.len() as u64,
            bytes: content.len() as u64,
            checksum,
            source: loaded.source.clone(),
            whole: loaded.whole,
            loaded: now.to_string(),
        })
    }

    fn store_sets(&self, before: Option<&SetsEntry>, sets: &[raw::ValueSet]) -> Result<SetsEntry, TerminologyError> {
        let before = before.map(|entry| self.sets(entry)).transpose()?;
        let (content, count) =
            stored_sets::write(before.as_ref(), sets).map_err(|error| unreadable(&self.0, io::Error::other(error)))?;
        let checksum = crc32fast::hash(&content);
        let file = format!("value-sets-{checksum:08x}.parquet");
        self.write(&file, &content)?;
        Ok(SetsEntry {
            file,
            count,
            bytes: content.len() as u64,
            checksum,
        })
    }

    /// Keeps others from loading at the same time.
    fn lock(&self) -> Result<File, TerminologyError> {
        let path = self.0.join(LOCK);
        let mut options = private::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|source| unreadable(&path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => Err(TerminologyError::Busy { path: self.0.clone() }),
            Err(fs::TryLockError::Error(source)) => Err(unreadable(&path, source)),
        }
    }

    /// Removes the files that the list does not name: those that the load before has replaced, and what an interrupted one has left.
    fn sweep(&self, list: &List) -> Result<(), TerminologyError> {
        let named: FxHashSet<&str> = list.tables.iter().map(|entry| entry.file.as_str()).collect();
        let sets = list.value_sets.as_ref().map(|entry| entry.file.as_str());
        let entries = fs::read_dir(&self.0).map_err(|source| unreadable(&self.0, source))?;
        for entry in entries {
            let path = entry.map_err(|source| unreadable(&self.0, source))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let ours = name.ends_with(".parquet") || name.ends_with(".new");
            if ours && !named.contains(name) && sets != Some(name) {
                fs::remove_file(&path).map_err(|source| unreadable(&path, source))?;
            }
        }
        Ok(())
    }

    /// Writes a file whole, or not at all.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), TerminologyError> {
        let (path, new) = (self.0.join(name), self.0.join(format!("{name}.new")));
        let write = || {
            let mut file = private::options().write(true).create(true).truncate(true).open(&new)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(&self.0)?.sync_all()
        };
        write().map_err(|source| unreadable(&path, source))
    }
}

fn checked(path: &Path, checksum: u32) -> Result<Bytes, TerminologyError> {
    let content = fs::read(path).map_err(|source| unreadable(path, source))?;
    match crc32fast::hash(&content) == checksum {
        true => Ok(Bytes::from(content)),
        false => Err(damaged(
            path,
            "its checksum is not the one it was written with".to_string(),
        )),
    }
}

fn unreadable(path: &Path, source: io::Error) -> TerminologyError {
    TerminologyError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

fn damaged(path: &Path, reason: String) -> TerminologyError {
    TerminologyError::Damaged {
        path: path.to_owned(),
        reason,
    }
}

/// The end of a text as part of a file's name.
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
