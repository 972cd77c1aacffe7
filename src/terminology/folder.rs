//! `DIR/terminology`: the code systems and value sets beside the lake, as Parquet files, and the list of the current
//! files.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chrono::{SecondsFormat, Utc};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::error::TerminologyError;
use super::load::{Loaded, LoadedSystem};
use super::sets::raw;
use super::sets::stored_sets;
use super::system::code_system::{CodeSystem, Contents};
use super::system::table;
use crate::published::{Locked, PublishedError, ReadOnce, Shrink, TableFolder, shrinks};

pub(super) use super::sets::stored_sets::StoredSets;

/// The layout version of the folder. Must be raised for a change that an older program would misread.
const LAYOUT: u32 = 1;

/// An entry of the list: a code system beside the lake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// The system's canonical URL.
    pub system: String,
    /// The version, if the publisher's file or its name states one.
    pub version: Option<String>,
    /// The file's name in the folder.
    pub file: String,
    /// The number of concepts.
    pub concepts: u64,
    /// The numbers of displays, parents, properties and NDCs. `None` if an earlier version of this program wrote the
    /// list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// The file's size in bytes.
    pub bytes: u64,
    /// CRC-32 of the file.
    pub checksum: u32,
    /// The name of the publisher's file.
    pub source: String,
    /// Whether the table has the publisher's complete system, and not an excerpt.
    pub whole: bool,
    /// The time at which the system was loaded, in the format of RFC 3339.
    pub loaded: String,
}

/// An entry of the list: the file of value sets beside the lake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetsEntry {
    /// The file's name in the folder.
    pub file: String,
    /// The number of value sets.
    pub count: u64,
    /// The file's size in bytes.
    pub bytes: u64,
    /// CRC-32 of the file.
    pub checksum: u32,
}

/// The list of the current files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct List {
    layout: u32,
    /// The code systems.
    pub tables: Vec<TableEntry>,
    /// The value sets.
    pub value_sets: Option<SetsEntry>,
}

/// The tables and value sets that one list names.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    pub(super) tables: Vec<Arc<Table>>,
    pub(super) sets: Option<Arc<StoredSets>>,
}

/// A code system's file, read at its first use.
#[derive(Debug)]
pub(super) struct Table {
    folder: TableFolder,
    entry: TableEntry,
    system: ReadOnce<CodeSystem>,
}

impl Table {
    pub(super) fn url(&self) -> &str {
        &self.entry.system
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.entry.version.as_deref()
    }

    /// Returns the system, and reads its file if that was not done yet. `None` if the file cannot be read. A later call
    /// tries again after a pause.
    pub(super) fn system(&self) -> Option<Arc<CodeSystem>> {
        self.system.get(Instant::now(), || self.load())
    }

    /// Reads the system, unless it was read before.
    pub(super) fn read(&self) -> Result<(), TerminologyError> {
        self.system.read(|| self.load())
    }

    /// Whether the last attempt to read the file failed.
    pub(super) fn has_failed(&self) -> bool {
        self.system.has_failed()
    }

    fn load(&self) -> Result<CodeSystem, TerminologyError> {
        let file = self.folder.content(&self.entry.file, self.entry.checksum)?;
        let damaged = |error: parquet::errors::ParquetError| self.folder.damaged(&self.entry.file, error.to_string());
        Ok(table::read(file).map_err(damaged)?)
    }
}

/// The folder of a lake's terminology.
#[derive(Debug)]
pub struct Folder(TableFolder);

impl Folder {
    /// Returns the folder for the lake in `data`. The folder need not exist.
    pub fn new(data: &Path) -> Folder {
        Folder(TableFolder::new(data, "terminology"))
    }

    pub(super) fn tables(&self) -> &TableFolder {
        &self.0
    }

    /// Returns the list. It is empty if there is no folder.
    pub fn list(&self) -> Result<List, TerminologyError> {
        list(&self.0)
    }

    /// Stores the loaded systems and value sets beside the lake. A system replaces all stored versions of this system,
    /// and a value set replaces all stored versions of this value set. All others stay. Skips an excerpt if the
    /// complete system is stored or loaded, too. Fails if a complete system is much smaller than the stored one, unless
    /// `shrink` is [`Shrink::Taken`]. Returns the new entries for systems.
    pub fn store(&self, loaded: &Loaded, shrink: Shrink) -> Result<Vec<TableEntry>, TerminologyError> {
        let folder = self.0.lock()?;
        let mut list = self.list()?;
        let sets = list.value_sets.iter().map(|entry| entry.file.as_str());
        folder.sweep(list.tables.iter().map(|entry| entry.file.as_str()).chain(sets))?;
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
        if shrink == Shrink::Refused {
            for one in &taken {
                let mut replaced = list.tables.iter().filter(|entry| replaces(one, entry));
                replaced.try_for_each(|entry| compare(one, entry))?;
            }
        }
        let entries: Result<Vec<TableEntry>, _> = taken
            .iter()
            .map(|one| store_system(&self.0, &folder, one, &now))
            .collect();
        let entries = entries?;
        let replaced: FxHashSet<&str> = taken.iter().map(|one| one.system.url()).collect();
        list.tables.retain(|entry| !replaced.contains(entry.system.as_str()));
        list.tables.extend(entries.iter().cloned());
        list.tables
            .sort_by(|one, other| (&one.system, &one.version).cmp(&(&other.system, &other.version)));
        if !loaded.sets.is_empty() {
            let stored = store_sets(&self.0, &folder, list.value_sets.as_ref(), &loaded.sets)?;
            list.value_sets = Some(stored);
        }
        folder.replace(&list)?;
        Ok(entries)
    }
}

/// Returns the list of a folder. It is empty if there is no folder.
fn list(folder: &TableFolder) -> Result<List, TerminologyError> {
    let list = folder.list(LAYOUT)?;
    Ok(list.unwrap_or(List {
        layout: LAYOUT,
        tables: Vec::new(),
        value_sets: None,
    }))
}

impl Stored {
    /// Reads the current list and returns its tables. Reuses a table of `before` if the list names the same file.
    pub(super) fn read(folder: &TableFolder, before: &Stored) -> Result<Stored, TerminologyError> {
        let list = list(folder)?;
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
                    folder: folder.clone(),
                    entry,
                    system: ReadOnce::default(),
                }),
            });
        let tables = tables.collect();
        let sets = match (&list.value_sets, &before.sets) {
            (Some(entry), Some(sets)) if sets.file() == entry.file => Some(sets.clone()),
            (Some(entry), _) => Some(Arc::new(read_sets(folder, entry)?)),
            (None, _) => None,
        };
        Ok(Stored { tables, sets })
    }
}

/// Whether the loaded system `one` replaces the stored system `entry`, and both are complete.
fn replaces(one: &LoadedSystem, entry: &TableEntry) -> bool {
    one.whole && entry.whole && entry.system == one.system.url()
}

/// Fails if the loaded system `one` is much smaller than the stored system `entry`. In that case, the publisher's file
/// may be cut off: a file that was cut off at the end of a line looks complete.
fn compare(one: &LoadedSystem, entry: &TableEntry) -> Result<(), PublishedError> {
    let after = one.system.contents();
    let mut counts = vec![("concepts", entry.concepts, one.system.len() as u64)];
    if let Some(before) = entry.contents {
        counts.push(("displays", before.displays, after.displays));
        counts.push(("places in the hierarchy", before.parents, after.parents));
        counts.push(("properties", before.properties, after.properties));
        counts.push(("National Drug Codes", before.ndcs, after.ndcs));
    }
    for (what, before, after) in counts {
        let lost = before.saturating_sub(after);
        if shrinks(before, lost) {
            let version = entry
                .version
                .as_ref()
                .map_or_else(String::new, |version| format!("|{version}"));
            return Err(PublishedError::Shrinks {
                table: format!("{}{version}", entry.system),
                what,
                before,
                after,
                lost,
            });
        }
    }
    Ok(())
}

fn store_system(
    folder: &TableFolder,
    locked: &Locked<'_>,
    loaded: &LoadedSystem,
    now: &str,
) -> Result<TableEntry, TerminologyError> {
    let system = &loaded.system;
    let content = table::write(system).map_err(|error| folder.failed(error))?;
    let version = system.version().map(str::to_string);
    let written = locked.table(&[system.url(), version.as_deref().unwrap_or_default()], &content)?;
    Ok(TableEntry {
        system: system.url().to_string(),
        version,
        file: written.file,
        concepts: system.len() as u64,
        contents: Some(system.contents()),
        bytes: written.bytes,
        checksum: written.checksum,
        source: loaded.source.clone(),
        whole: loaded.whole,
        loaded: now.to_string(),
    })
}

fn store_sets(
    folder: &TableFolder,
    locked: &Locked<'_>,
    before: Option<&SetsEntry>,
    sets: &[raw::ValueSet],
) -> Result<SetsEntry, TerminologyError> {
    let before = before.map(|entry| read_sets(folder, entry)).transpose()?;
    let (content, count) = stored_sets::write(before.as_ref(), sets).map_err(|error| folder.failed(error))?;
    let written = locked.table(&["value-sets"], &content)?;
    Ok(SetsEntry {
        file: written.file,
        count,
        bytes: written.bytes,
        checksum: written.checksum,
    })
}

fn read_sets(folder: &TableFolder, entry: &SetsEntry) -> Result<StoredSets, TerminologyError> {
    let file = folder.content(&entry.file, entry.checksum)?;
    let damaged = |error: parquet::errors::ParquetError| folder.damaged(&entry.file, error.to_string());
    Ok(StoredSets::read(file, &entry.file).map_err(damaged)?)
}
