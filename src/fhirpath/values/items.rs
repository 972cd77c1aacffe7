//! Items of one type, as slots of a column. A selection of items only gets a new index. The column stays the same.

use std::sync::Arc;

use arrow::array::{Array, StringArray, StructArray};

use super::super::compile::types::ItemType;
use super::super::evaluate::lineage::Above;
use super::super::evaluate::opening::Openings;
use super::columns::Values;

/// The slot of each item in the column.
#[derive(Clone, Debug)]
pub(in crate::fhirpath) enum Index {
    /// Item `i` is slot `i`.
    Identity,
    /// Item `i` is slot `indices[i]`.
    Gather(Arc<[u32]>),
    /// All items are this one slot. A constant has this index.
    Constant(u32),
}

/// Items of one type, in order.
#[derive(Clone, Debug)]
pub struct Items {
    pub(in crate::fhirpath) item_type: ItemType,
    pub(in crate::fhirpath) len: usize,
    pub(in crate::fhirpath) index: Index,
    pub(in crate::fhirpath) column: Arc<Column>,
}

/// A column of items, with links to related columns. All [`Items`] of the column share it.
#[derive(Debug)]
pub(in crate::fhirpath) struct Column {
    pub(in crate::fhirpath) values: Values,
    /// The column `_x` of a primitive `x`: its id and extensions.
    pub(in crate::fhirpath) element: Option<StructArray>,
    /// The column that contains this one. `None` for the batch and for computed values.
    pub(in crate::fhirpath) above: Option<Above>,
    /// The JSON columns of the batch that have been read. Only the batch itself, which contains all other columns, uses
    /// this field.
    pub(in crate::fhirpath) openings: Openings,
}

impl Column {
    pub(in crate::fhirpath) fn new(values: Values) -> Column {
        Column {
            values,
            element: None,
            above: None,
            openings: Openings::default(),
        }
    }
}

impl Items {
    /// Returns one item for each slot of a column.
    pub(in crate::fhirpath) fn new(item_type: ItemType, values: Values) -> Items {
        Items {
            item_type,
            len: values.len(),
            index: Index::Identity,
            column: Arc::new(Column::new(values)),
        }
    }

    /// Returns `times` items, which all have the first value of `values`.
    pub(in crate::fhirpath) fn constant(item_type: ItemType, values: Values, times: usize) -> Items {
        Items {
            item_type,
            len: times,
            index: Index::Constant(0),
            column: Arc::new(Column::new(values)),
        }
    }

    pub(in crate::fhirpath) fn none() -> Items {
        Items::new(
            ItemType::System(super::super::compile::types::System::String),
            Values::Text(StringArray::new_null(0)),
        )
    }

    /// Returns the type of the items.
    pub fn item_type(&self) -> ItemType {
        self.item_type
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the column of the items. Item `i` is in the slot [`Items::slot`]`(i)`. The column may have further
    /// slots.
    pub fn values(&self) -> &Values {
        &self.column.values
    }

    /// Returns the slot of an item in [`Items::values`].
    #[inline]
    pub fn slot(&self, item: usize) -> usize {
        match &self.index {
            Index::Identity => item,
            Index::Gather(indices) => indices[item] as usize,
            Index::Constant(slot) => *slot as usize,
        }
    }

    /// Whether an item has a value. An element that has only extensions has no value. Complex items always count as
    /// having a value.
    #[inline]
    pub fn has_value(&self, item: usize) -> bool {
        self.column.values.is_valid(self.slot(item))
    }

    /// Returns the text of a string, code, date or decimal as written, or the JSON of a whole resource. `None` for
    /// other items and for items without a value.
    #[inline]
    pub fn text(&self, item: usize) -> Option<&str> {
        let array = self.column.values.text()?;
        let slot = self.slot(item);
        array.is_valid(slot).then(|| array.value(slot))
    }

    /// Returns an item as a boolean. `None` for items of other types.
    #[inline]
    pub fn boolean(&self, item: usize) -> Option<bool> {
        let Values::Boolean(array) = &self.column.values else {
            return None;
        };
        let slot = self.slot(item);
        array.is_valid(slot).then(|| array.value(slot))
    }

    /// Returns an item as an integer. `None` for items of other types.
    #[inline]
    pub fn integer(&self, item: usize) -> Option<i32> {
        let Values::Integer(array) = &self.column.values else {
            return None;
        };
        let slot = self.slot(item);
        array.is_valid(slot).then(|| array.value(slot))
    }

    /// Returns a decimal in units of 10^-18, from its number column. `None` for other items, if the batch lacks the
    /// column, or if the decimal does not fit exactly.
    #[inline]
    pub fn number(&self, item: usize) -> Option<i128> {
        let Values::Decimal {
            number: Some(array), ..
        } = &self.column.values
        else {
            return None;
        };
        let slot = self.slot(item);
        array.is_valid(slot).then(|| array.value(slot))
    }

    /// Returns a date, dateTime, instant or time as a half-open interval of microseconds, from its bound columns.
    /// `None` for other items, or if the batch lacks one of the columns.
    #[inline]
    pub fn bounds(&self, item: usize) -> Option<(i64, i64)> {
        let Values::Temporal {
            start: Some(start),
            end: Some(end),
            ..
        } = &self.column.values
        else {
            return None;
        };
        let slot = self.slot(item);
        (start.is_valid(slot) && end.is_valid(slot)).then(|| (start.value(slot), end.value(slot)))
    }

    /// Returns the items at these indexes, in this order.
    pub(in crate::fhirpath) fn take(&self, places: Vec<u32>) -> Items {
        let len = places.len();
        let index = match &self.index {
            Index::Identity => Index::Gather(places.into()),
            Index::Constant(slot) => Index::Constant(*slot),
            Index::Gather(indices) => {
                let mut places = places;
                for place in &mut places {
                    *place = indices[*place as usize];
                }
                Index::Gather(places.into())
            }
        };
        Items {
            len,
            index,
            ..self.clone()
        }
    }

    pub(in crate::fhirpath) fn slice(&self, offset: usize, length: usize) -> Items {
        if offset == 0 && length == self.len {
            return self.clone();
        }
        match &self.index {
            Index::Identity => Items {
                item_type: self.item_type,
                len: length,
                index: Index::Identity,
                column: Arc::new(Column {
                    values: self.column.values.slice(offset, length),
                    element: self
                        .column
                        .element
                        .as_ref()
                        .map(|element| element.slice(offset, length)),
                    above: self.column.above.as_ref().map(|above| above.shifted(offset)),
                    openings: Openings::default(),
                }),
            },
            Index::Constant(_) => Items {
                len: length,
                ..self.clone()
            },
            Index::Gather(indices) => {
                let index = Index::Gather(indices[offset..offset + length].into());
                Items {
                    len: length,
                    index,
                    ..self.clone()
                }
            }
        }
    }

    pub(in crate::fhirpath) fn with_type(&self, item_type: ItemType) -> Items {
        Items {
            item_type,
            ..self.clone()
        }
    }
}
