//! Opens files before a request needs them. Otherwise the first request for a file waits for its footer and page
//! indexes, and the first request for a row group waits for its system columns.
//!
//! Only data that every request needs is read ahead. Bloom filters, id indexes and other columns are read when a
//! request needs them.

use super::super::error::ScanError;
use super::super::table::Reader;
use super::memory::Memory;
use crate::lake::snapshot::{DataFile, Snapshot};

/// The amount of data that was read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// The number of files that were opened.
    pub files: usize,
    /// The number of row groups whose system columns were read.
    pub row_groups: usize,
}

impl Reader {
    /// Opens a snapshot's files and then reads the system columns of their row groups, until open files take half of
    /// the caches' budget. Calls `go_on` before each file and row group, and stops if it returns `false`. Begins with
    /// the largest tables, because they are requested most and take longest to read.
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

/// Reads the system columns of a file's row groups, unless they were read before. Stops when open files take half of
/// the caches' budget, or when `go_on` returns `false`. Returns the number of row groups whose system columns it has
/// read.
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
