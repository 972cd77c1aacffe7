//! Finds the rows of a row group that meet an [`ItemMatch`]: by the id index, on dictionary codes, or over columns.

use std::sync::Arc;

use super::super::cache::file::{OpenFile, ReadBytes};
use super::super::decode::{codes, columns};
use super::super::error::ScanError;
use super::super::table::ScopedTable;
use super::ranges::Ranges;
use crate::columns::conditions::{IdSet, ItemMatch, MAX_ALTERNATIVES};

/// The rows of a row group are looked up by the requested ids only if the row group has at least this many rows per id.
/// With more ids, checking all rows is faster.
const ROWS_PER_LOOKUP: usize = 4;

impl ScopedTable {
    /// Returns those of `rows` that meet the condition.
    pub(in crate::lake::scan) fn matching(
        &self,
        condition: &ItemMatch,
        file: &Arc<OpenFile>,
        group: usize,
        rows: &Ranges,
        read: &Arc<ReadBytes>,
    ) -> Result<Ranges, ScanError> {
        let few = match condition.ids() {
            Some(ids) => self.rows_of_ids(file, group, ids)?.map(|found| rows.intersect(&found)),
            None => None,
        };
        let rows = few.as_ref().unwrap_or(rows);
        if rows.is_empty() {
            return Ok(Ranges::default());
        }
        // Use the codes only if at least a quarter of the row group's rows remain. If fewer remain, decoding them is
        // cheaper than reading the codes of all rows.
        let is_most = rows.count() * 4 >= file.groups()[group].rows as usize;
        if is_most
            && condition.any_of.len() <= MAX_ALTERNATIVES
            && let Some(found) = codes::matching(condition, file, group, read).map_err(file.parquet())?
        {
            return Ok(rows.intersect(&found));
        }
        // The codes cannot be used: few rows are left, the condition has too many alternatives, or a leaf has an
        // unexpected encoding. So read the columns and evaluate the condition on them.
        let clip = self.clip(&condition.leaf_set());
        let batch = columns::read(file, group, &clip, rows, read)?;
        Ok(rows.filter(&condition.evaluate(&batch)))
    }

    /// Returns the rows of a row group that probably have one of these ids, by its bloom filter and id index. `None` if
    /// there are so many ids that checking all rows is faster.
    fn rows_of_ids(&self, file: &Arc<OpenFile>, group: usize, ids: &IdSet) -> Result<Option<Ranges>, ScanError> {
        if ids.len() * ROWS_PER_LOOKUP > file.groups()[group].rows as usize {
            return Ok(None);
        }
        let mut rows = Vec::new();
        for sought in ids.hashed() {
            rows.extend(self.candidates_of(file, group, sought.hash, &sought.id)?);
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(Some(Ranges::of(rows)))
    }
}
