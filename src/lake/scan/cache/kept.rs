//! Rows lately read, kept in memory: a page that comes again, or a resource that is read again, touches no file.
//! Whether the scope shows a row is asked before, each time.

use super::super::row::Row;
use super::super::table::ScopedTable;
use super::file::OpenFile;
use super::memory::RowKey;

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
