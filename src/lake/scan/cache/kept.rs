//! Recently read rows, kept in memory: a repeated page or a repeated read of a resource touches no file. Each time the
//! scope is checked first.

use super::super::table::{Row, ScopedTable};
use super::file::OpenFile;
use super::memory::Weigh;

/// The key of a row in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::lake::scan) struct RowKey {
    /// The data file's id.
    pub(in crate::lake::scan) id: u64,
    /// The opening of the file from which it was read. An erasure replaces the file by another one.
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
    /// A recently read row, by its position in a row group. The caller has checked that the scope shows it.
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
