//! Builds the indexes of row groups on first use, from the file itself.

use std::sync::Arc;

use arrow::array::{Array, AsArray};

use super::super::decode::columns::read_leaf;
use super::super::error::ScanError;
use super::super::visible::system_columns::SystemColumns;
use super::file::OpenFile;
use super::id_index::IdIndex;
use crate::columns::conditions::hash_id;

impl OpenFile {
    /// Returns the row group's id index. The first call builds it.
    pub(in crate::lake::scan) fn ids(self: &Arc<Self>, group: usize) -> Result<&IdIndex, ScanError> {
        let slot = &self.groups()[group].ids;
        if slot.get().is_none() {
            let index = IdIndex::build(self, group)?;
            self.build(slot, index, IdIndex::weight);
        }
        slot.get().ok_or_else(|| self.missing("id index"))
    }

    /// Returns the row group's system columns. The first call reads them.
    pub(in crate::lake::scan) fn directory(self: &Arc<Self>, group: usize) -> Result<&SystemColumns, ScanError> {
        let slot = &self.groups()[group].directory;
        if slot.get().is_none() {
            let directory = SystemColumns::build(self, group)?;
            self.build(slot, directory, SystemColumns::weight);
        }
        slot.get().ok_or_else(|| self.missing("directory"))
    }
}

impl IdIndex {
    /// Reads the ids of a row group and builds their index.
    fn build(file: &Arc<OpenFile>, group: usize) -> Result<IdIndex, ScanError> {
        let column = read_leaf(file, group, "id")?;
        let ids = column
            .as_string_opt::<i32>()
            .ok_or_else(|| file.missing("text column id"))?;
        let mut entries: Vec<(u64, u32)> = (0..ids.len())
            .filter(|row| ids.is_valid(*row))
            .map(|row| (hash_id(ids.value(row)), row as u32))
            .collect();
        entries.sort_unstable();
        Ok(IdIndex::new(&entries))
    }
}
