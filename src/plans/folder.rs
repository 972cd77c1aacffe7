//! The folder `DIR/plans`: tables of plans beside the lake, one for each year and publication, and the list of the
//! current ones.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chrono::{SecondsFormat, Utc};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::error::PlansError;
use super::load::{Loaded, LoadedTable};
use super::publication::Publication;
use super::table::{self, Table};
use crate::published::{Locked, PublishedError, ReadOnce, Shrink, TableFolder, shrinks};

/// The version of the folder's layout. It is raised with each change that an earlier program would misread.
const LAYOUT: u32 = 1;

/// The entry of a table in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// The calendar year of the plans.
    pub year: i32,
    /// The publication from which the table was made.
    pub publication: Publication,
    /// The file's name in the folder.
    pub file: String,
    /// The number of rows: plans with their segments, or contracts.
    pub plans: u64,
    /// The total number of states and counties that the rows list as areas.
    pub areas: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The CRC-32 of the file.
    pub checksum: u32,
    /// The names of CMS's files from which the table was made.
    pub sources: Vec<String>,
    /// When the table was loaded, as an RFC 3339 time.
    pub loaded: String,
}

/// The list of the current tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct List {
    layout: u32,
    /// The tables in the order of year and publication.
    pub tables: Vec<TableEntry>,
}

/// A table of the list. Its file is read when the table is first used.
#[derive(Debug)]
pub(super) struct Stored {
    folder: TableFolder,
    entry: TableEntry,
    table: ReadOnce<Table>,
}

impl Stored {
    pub(super) fn year(&self) -> i32 {
        self.entry.year
    }

    pub(super) fn publication(&self) -> Publication {
        self.entry.publication
    }

    /// Returns the table. `None` if its file cannot be read. After a pause, a later call tries again.
    pub(super) fn table(&self) -> Option<Arc<Table>> {
        self.table.get(Instant::now(), || read(&self.folder, &self.entry))
    }

    /// Reads the table now if that was not done yet.
    pub(super) fn read(&self) -> Result<(), PublishedError> {
        self.table.read(|| read(&self.folder, &self.entry))
    }
}

/// The folder of plans beside a lake.
#[derive(Debug)]
pub struct Folder(TableFolder);

impl Folder {
    /// Returns the folder for the lake in `data`. It need not exist.
    pub fn new(data: &Path) -> Folder {
        Folder(TableFolder::new(data, "plans"))
    }

    pub(super) fn tables(&self) -> &TableFolder {
        &self.0
    }

    /// Reads the list. It is empty if there is no folder.
    pub fn list(&self) -> Result<List, PlansError> {
        Ok(list(&self.0)?)
    }

    /// Stores tables beside the lake, and returns their entries. Each replaces the table of the same year and
    /// publication. Other tables stay. With [`Shrink::Refused`], nothing is stored if a new table lacks more than a
    /// tenth of the rows of the table that it replaces.
    pub fn store(&self, loaded: &Loaded, shrink: Shrink) -> Result<Vec<TableEntry>, PlansError> {
        let folder = self.0.lock()?;
        let mut list = self.list()?;
        folder.sweep(list.tables.iter().map(|entry| entry.file.as_str()))?;
        let same =
            |entry: &TableEntry, one: &LoadedTable| (entry.year, entry.publication) == (one.year, one.publication);
        if shrink == Shrink::Refused {
            for one in &loaded.tables {
                let replaced = list.tables.iter().find(|entry| same(entry, one));
                replaced.map_or(Ok(()), |entry| self.compare(entry, one))?;
            }
        }
        let now = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
        let entries: Result<Vec<TableEntry>, _> =
            loaded.tables.iter().map(|one| self.table(&folder, one, &now)).collect();
        let entries = entries?;
        list.tables
            .retain(|entry| !loaded.tables.iter().any(|one| same(entry, one)));
        list.tables.extend(entries.iter().cloned());
        list.tables.sort_by_key(|entry| (entry.year, entry.publication));
        folder.replace(&list)?;
        Ok(entries)
    }

    /// Refuses a table that lacks more than a tenth of the rows of the stored table. A file looks complete even if it
    /// was cut off at the end of a line, or if it is one of the two halves of a split file. If the stored table is
    /// damaged, any table may replace it.
    fn compare(&self, entry: &TableEntry, one: &LoadedTable) -> Result<(), PublishedError> {
        let Ok(before) = read(&self.0, entry) else {
            return Ok(());
        };
        let lost = before.lost_in(&one.table) as u64;
        if shrinks(entry.plans, lost) {
            Err(PublishedError::Shrinks {
                table: format!("{} of {}", entry.publication, entry.year),
                what: entry.publication.rows(),
                before: entry.plans,
                after: one.table.len() as u64,
                lost,
            })
        } else {
            Ok(())
        }
    }

    fn table(&self, folder: &Locked<'_>, one: &LoadedTable, now: &str) -> Result<TableEntry, PlansError> {
        let content = table::write(&one.table).map_err(|error| self.0.failed(error))?;
        let written = folder.table(&[&one.year.to_string(), one.publication.name()], &content)?;
        Ok(TableEntry {
            year: one.year,
            publication: one.publication,
            file: written.file,
            plans: one.table.len() as u64,
            areas: one.table.areas() as u64,
            bytes: written.bytes,
            checksum: written.checksum,
            sources: one.sources.clone(),
            loaded: now.to_owned(),
        })
    }
}

/// Returns the tables of the current list. Tables that are in `before` are reused, so their files are not read again.
pub(super) fn stored(folder: &TableFolder, before: &[Arc<Stored>]) -> Result<Vec<Arc<Stored>>, PublishedError> {
    let known: FxHashMap<&str, &Arc<Stored>> = before.iter().map(|one| (one.entry.file.as_str(), one)).collect();
    let tables = list(folder)?.tables.into_iter();
    let tables = tables.map(|entry| match known.get(entry.file.as_str()) {
        Some(stored) => (*stored).clone(),
        None => Arc::new(Stored {
            folder: folder.clone(),
            entry,
            table: ReadOnce::default(),
        }),
    });
    Ok(tables.collect())
}

fn list(folder: &TableFolder) -> Result<List, PublishedError> {
    Ok(folder.list(LAYOUT)?.unwrap_or(List {
        layout: LAYOUT,
        tables: Vec::new(),
    }))
}

fn read(folder: &TableFolder, entry: &TableEntry) -> Result<Table, PublishedError> {
    let content = folder.content(&entry.file, entry.checksum)?;
    table::read(content).map_err(|error| folder.damaged(&entry.file, error.to_string()))
}
