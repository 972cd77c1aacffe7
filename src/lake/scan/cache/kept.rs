//! Caches recently read rows, so that a repeated read of a resource decodes nothing. The caller checks the scope before
//! each use.

use super::super::row::Row;
use super::super::table::ScopedTable;
use super::file::OpenFile;
use super::memory::RowKey;

impl ScopedTable {
    /// Returns a recently read row by its position in a row group, if it is cached. The caller must have checked that
    /// the scope shows the row.
    pub(in crate::lake::scan) fn kept(&self, file: &OpenFile, group: usize, row: u32) -> Option<Row> {
        let kept = self.reader.memory.row(RowKey::new(file, group, row));
        if let Some(watch) = self.watch() {
            watch.kept("resources", kept.is_some());
        }
        kept
    }

    /// Caches a row that was read.
    pub(in crate::lake::scan) fn keep(&self, file: &OpenFile, group: usize, row: u32, read: &Row) {
        let key = RowKey::new(file, group, row);
        self.reader.memory.keep_row(key, read);
    }
}
