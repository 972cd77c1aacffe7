//! The columns of repeating elements.

use super::column::{Column, Context};
use crate::columns::json::Value;
use crate::fhir::storage::LIST_ITEM;
use arrow::array::{Array, ArrayRef, ListArray, NullBufferBuilder};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Field;
use arrow::error::ArrowError;
use std::sync::Arc;

/// A list column: the items of all rows in one column, and the position in it at which each row ends.
#[derive(Debug)]
pub(super) struct List {
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    pub(super) items: Column,
}

impl List {
    pub(super) fn new(items: Column) -> List {
        List {
            offsets: vec![0],
            nulls: NullBufferBuilder::new(0),
            items,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the end of the last row, as an index into the items.
    pub(super) fn end(&self) -> usize {
        self.offsets.last().map_or(0, |end| *end as usize)
    }

    pub(super) fn append(&mut self, at: usize, value: Value<'_>, cx: &mut Context) -> bool {
        let start = self.end();
        let mut end = start;
        let mut any = false;
        for item in value.items() {
            any |= self.items.append(end, item, cx);
            end += 1;
        }
        if any {
            self.pad(at);
            self.offsets.push(end as i32);
            self.nulls.append_non_null();
        }
        any
    }

    fn pad(&mut self, to: usize) {
        let len = self.len();
        if to > len {
            self.offsets.resize(to + 1, self.end() as i32);
            self.nulls.append_n_nulls(to - len);
        }
    }

    /// Adds this many items without a value to the last row.
    pub(super) fn extend(&mut self, items: usize) {
        if let Some(end) = self.offsets.last_mut() {
            *end += items as i32;
        }
    }

    /// Returns the number of items in the last row.
    pub(super) fn last(&self) -> usize {
        match self.offsets[..] {
            [.., start, end] => (end - start) as usize,
            _ => 0,
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if self.len() > len {
            self.offsets.truncate(len + 1);
            self.nulls.truncate(len);
        }
        self.items.truncate(self.end());
    }

    pub(super) fn finish(&mut self, len: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        self.pad(len);
        let items = self.items.finish(self.end())?;
        let offsets = OffsetBuffer::new(std::mem::replace(&mut self.offsets, vec![0]).into());
        let nulls = std::mem::replace(&mut self.nulls, NullBufferBuilder::new(0)).finish();
        let list = |items: ArrayRef| -> Result<ArrayRef, ArrowError> {
            let field = Arc::new(Field::new(LIST_ITEM, items.data_type().clone(), true));
            Ok(Arc::new(ListArray::try_new(
                field,
                offsets.clone(),
                items,
                nulls.clone(),
            )?))
        };
        items.into_iter().map(list).collect()
    }
}
