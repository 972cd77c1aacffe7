//! Converts results to Arrow arrays with one slot per row, for the columns of tables. A slot holds the first item of
//! its row. The slot is null if the row has no item, or if the first item cannot be converted to the array's type.

use arrow::array::{ArrayRef, BooleanArray, Int32Array, StringArray, StringBuilder, UInt32Array};

use super::super::values::collection::{Body, Collection, Offsets};
use super::super::values::columns::Values;
use super::super::values::items::{Index, Items};
use super::super::values::scalar::Scalar;

impl Collection {
    /// Returns the first item of each row as text: strings, codes, dates and decimals as written; booleans, integers
    /// and quantities as `toString()` returns them. Complex items are null.
    pub fn first_texts(&self) -> StringArray {
        if let (Body::One(items), Some(indices)) = (&self.body, self.first_slots())
            && let Some(texts) = items.values().text()
        {
            if let (Index::Identity, Offsets::Each(_)) = (&items.index, &self.offsets) {
                return texts.clone();
            }
            if let Ok(taken) = arrow::compute::take(texts, &indices, None) {
                return StringArray::from(taken.to_data());
            }
        }
        let mut builder = StringBuilder::with_capacity(self.rows(), 0);
        for row in 0..self.rows() {
            match self.first(row).and_then(|(items, item)| items.as_text(item)) {
                Some(text) => builder.append_value(text),
                None => builder.append_null(),
            }
        }
        builder.finish()
    }

    /// Returns the first item of each row as a boolean.
    pub fn first_booleans(&self) -> BooleanArray {
        (0..self.rows())
            .map(|row| self.first(row).and_then(|(items, item)| items.boolean(item)))
            .collect()
    }

    /// Returns the first item of each row as an integer.
    pub fn first_integers(&self) -> Int32Array {
        (0..self.rows())
            .map(|row| self.first(row).and_then(|(items, item)| items.integer(item)))
            .collect()
    }

    /// Returns the column that holds a row's first item, and the item's index in this column. `None` if the row is
    /// empty.
    pub fn first(&self, row: usize) -> Option<(&Items, usize)> {
        let range = self.range(row);
        (!range.is_empty()).then(|| self.item(range.start))
    }

    /// Returns the index of the first row that has more than one item. `None` if there is no such row.
    pub fn crowded_row(&self) -> Option<usize> {
        match &self.offsets {
            Offsets::Each(_) => None,
            Offsets::List(offsets) => offsets.windows(2).position(|pair| pair[1] - pair[0] > 1),
        }
    }

    /// Returns for each row the slot of the row's first item in the column that holds the items. An entry is null if
    /// the row has no items. `None` if the items are in several columns.
    pub fn first_slots(&self) -> Option<UInt32Array> {
        let items = self.single()?;
        Some(
            (0..self.rows())
                .map(|row| {
                    let range = self.range(row);
                    (!range.is_empty()).then(|| items.slot(range.start) as u32)
                })
                .collect(),
        )
    }
}

impl Items {
    /// Returns an item as text, as [`Collection::first_texts`] does. `None` for complex items and for items without a
    /// value.
    pub fn as_text(&self, item: usize) -> Option<std::borrow::Cow<'_, str>> {
        if let Some(text) = self.text(item) {
            return Some(text.into());
        }
        match self.scalar(item)? {
            Scalar::Other | Scalar::Beyond(..) | Scalar::Quantity(_) if matches!(self.values(), Values::Struct(_)) => {
                None
            }
            scalar => scalar.to_text().map(Into::into),
        }
    }

    /// Returns the items as an array with one slot per item. Decimals, dates and times become texts. A FHIRPath
    /// quantity becomes the text of its number. `None` if the items are the rows of a table, which are not one array,
    /// or if the batch lacks the texts of the items.
    pub fn to_array(&self) -> Option<ArrayRef> {
        use std::sync::Arc;
        let array: ArrayRef = match self.values() {
            Values::Text(array) | Values::Json(array) => Arc::new(array.clone()),
            Values::Boolean(array) => Arc::new(array.clone()),
            Values::Integer(array) => Arc::new(array.clone()),
            Values::Decimal { text, .. } | Values::Temporal { text, .. } => Arc::new(text.clone()?),
            Values::Struct(array) => Arc::new(array.clone()),
            Values::Quantity { value, .. } => Arc::new(value.clone()),
            Values::Record(_) => return None,
        };
        if let (Index::Identity, true) = (&self.index, array.len() == self.len()) {
            return Some(array);
        }
        let slots: UInt32Array = (0..self.len()).map(|item| self.slot(item) as u32).collect();
        arrow::compute::take(&array, &slots, None).ok()
    }
}
