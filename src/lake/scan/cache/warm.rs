//! Opening files before somebody asks for them: else the first to want a row of a file waits for its footer and page
//! indexes to be read, and the first to want one of a row group for its directory.
//!
//! Only what every request wants is read. Filters and indexes of ids are left to who reads by id, columns to who
//! searches.

use super::super::error::ScanError;
use super::super::table::Reader;
use super::memory::Memory;
use crate::lake::picture::{DataFile, Picture};

/// What was read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// Files that were opened.
    pub files: usize,
    /// Row groups whose directories were built.
    pub row_groups: usize,
}

impl Reader {
    /// Opens a picture's files, and then builds the directories of their row groups, until what is kept of files takes
    /// half of its bound or `go_on`, which is asked before every step, says no. The largest tables come first: the most
    /// is asked of them, and the most is to be read.
    pub(in crate::lake) fn warm(
        &self,
        picture: &Picture,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Warmed, ScanError> {
        let mut tables: Vec<_> = picture.tables.values().collect();
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

/// Builds the directories of a file that is held open; gives how many there are new.
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
