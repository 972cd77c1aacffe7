//! Recently read rows, kept in memory. A repeated page, or a repeated read of a resource, opens no file. The caller
//! checks the scope before each use.

use super::super::row::Row;
use super::super::table::ScopedTable;
use super::file::OpenFile;
use super::memory::RowKey;

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
