//! Rows lately read, kept in memory: a page that comes again, or a resource that is read again, touches no file.
//! Whether the scope shows a row is asked before, each time.

use super::super::table::{Row, ScopedTable};
use super::file::OpenFile;
use super::memory::Weigh;

/// Names a row in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::lake::scan) struct RowKey {
    /// The data file's id.
    pub(in crate::lake::scan) id: u64,
    /// Which opening of the file it was read from: what an erasure puts in a file's place is another.
    opening: u64,
    /// Position in the file.
    row: u32,
}

impl RowKey {
    fn new(file: &OpenFile, group: usize, row: u32) -> RowKey {
        RowKey {
            id: file.id,
            opening: file.serial(),
            row: file.groups()[group].first + row,
        }
    }
}

impl ScopedTable {
    /// A row that was lately read, by its position in a row group. The caller has asked whether the scope shows it.
    pub(in crate::lake::scan) fn kept(&self, file: &OpenFile, group: usize, row: u32) -> Option<Row> {
        let kept = self.reader.memory.row(RowKey::new(file, group, row));
        if let Some(watch) = self.watch() {
            watch.kept("resources", kept.is_some());
        }
        kept
    }

    /// Keeps a row that was read.
    pub(in crate::lake::scan) fn keep(&self, file: &OpenFile, group: usize, row: u32, read: &Row) {
        let key = RowKey::new(file, group, row);
        self.reader.memory.keep_row(key, read);
    }
}

impl Weigh for Row {
    fn weigh(&self) -> u64 {
        (self.id.capacity() + self.resource.len() + 64) as u64
    }
}
