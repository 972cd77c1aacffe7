//! Opens files before a request needs them. Otherwise the first request for a row of a file waits for its footer and
//! page indexes, and the first one for a row group waits for its system columns.
//!
//! This reads only data that every request needs. Lookups read filters and indexes of ids, and searches read columns.

use super::super::error::ScanError;
use super::super::table::Reader;
use super::memory::Memory;
use crate::lake::snapshot::{DataFile, Snapshot};

/// Counts of what was read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// Files that were opened.
    pub files: usize,
    /// Row groups whose directories were built.
    pub row_groups: usize,
}

impl Reader {
    /// Opens a snapshot's files and then builds the system columns of their row groups. Stops when the files fill half
    /// of the budget. Calls `go_on` before every step, and stops if it returns `false`. The largest tables come first,
    /// because they are requested most and take longest to read.
    pub(in crate::lake) fn warm(
        &self,
        snapshot: &Snapshot,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Warmed, ScanError> {
        let mut tables: Vec<_> = snapshot.tables.values().collect();
        tables.sort_by_key(|table| std::cmp::Reverse(table.bytes));
        let files: Vec<&DataFile> = tables
            .iter()
            .flat_map(|table| &table.files)
            .map(|file| &**file)
            .collect();
        let mut done = Warmed::default();
        for data in &files {
            if !go_on() {
                return Ok(done);
            }
            if !self.memory.holds(data) && self.memory.is_roomy() {
                self.memory.file(data)?;
                done.files += 1;
            }
        }
        for data in &files {
            if !go_on() {
                return Ok(done);
            }
            if self.memory.holds(data) {
                done.row_groups += directories(&self.memory, data, &mut go_on)?;
            }
        }
        Ok(done)
    }
}

/// Builds the directories of a file that is held open. Returns how many are new.
fn directories(memory: &Memory, data: &DataFile, go_on: &mut impl FnMut() -> bool) -> Result<usize, ScanError> {
    let file = memory.file(data)?;
    let mut built = 0;
    for group in 0..file.groups().len() {
        if file.has_directory(group) {
            continue;
        }
        if !memory.is_roomy() || !go_on() {
            break;
        }
        let before = file.weight();
        file.directory(group)?;
        memory.weigh(&file, before);
        built += 1;
    }
    Ok(built)
}
