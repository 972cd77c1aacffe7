//! The result of an expression over a batch: a list of items for each row. Offsets assign items to rows. The items are
//! slots of typed columns. No value of the batch is copied.

use std::ops::Range;
use std::sync::Arc;

use arrow::buffer::{OffsetBuffer, ScalarBuffer};

use super::items::Items;

/// Assigns items to rows.
#[derive(Clone, Debug)]
pub enum Offsets {
    /// Every row has exactly one item: row `i` has item `i`.
    Each(usize),
    /// Row `i` has the items from `offsets[i]` to `offsets[i + 1]`. The first offset is 0.
    List(OffsetBuffer<i32>),
}

impl Offsets {
    pub(in crate::fhirpath) fn none(rows: usize) -> Offsets {
        Offsets::List(OffsetBuffer::new_zeroed(rows))
    }

    /// Returns these offsets, which must begin with 0 and never decrease.
    pub(in crate::fhirpath) fn list(offsets: Vec<i32>) -> Offsets {
        Offsets::List(OffsetBuffer::new(ScalarBuffer::from(offsets)))
    }

    /// Returns the number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        match self {
            Offsets::Each(rows) => *rows,
            Offsets::List(offsets) => offsets.len() - 1,
        }
    }

    /// Returns the number of items in all rows.
    #[inline]
    pub fn items(&self) -> usize {
        match self {
            Offsets::Each(rows) => *rows,
            Offsets::List(offsets) => offsets[offsets.len() - 1] as usize,
        }
    }

    /// Returns the index of a row's first item. For the row after the last, returns the number of items.
    #[inline]
    pub fn at(&self, row: usize) -> usize {
        match self {
            Offsets::Each(_) => row,
            Offsets::List(offsets) => offsets[row] as usize,
        }
    }

    /// Returns the indexes of a row's items.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.at(row)..self.at(row + 1)
    }

    /// Returns the row of each item.
    pub fn parents(&self) -> Vec<u32> {
        match self {
            Offsets::Each(rows) => (0..*rows as u32).collect(),
            Offsets::List(_) => {
                let mut parents = Vec::with_capacity(self.items());
                for row in 0..self.rows() {
                    parents.extend(std::iter::repeat_n(row as u32, self.range(row).len()));
                }
                parents
            }
        }
    }

    /// Returns the row of an item.
    pub fn parent(&self, item: usize) -> usize {
        match self {
            Offsets::Each(_) => item,
            Offsets::List(offsets) => offsets
                .partition_point(|offset| *offset as usize <= item)
                .saturating_sub(1),
        }
    }

    /// Returns the offsets as an Arrow buffer.
    pub fn to_buffer(&self) -> OffsetBuffer<i32> {
        match self {
            Offsets::Each(rows) => OffsetBuffer::new(ScalarBuffer::from_iter(0..=*rows as i32)),
            Offsets::List(offsets) => offsets.clone(),
        }
    }

    /// Combines two levels of offsets: the items of `self` are the rows of `inner`. A row of the result has the items
    /// that `inner` assigns to all items of this row in `self`.
    pub(in crate::fhirpath) fn compose(&self, inner: &Offsets) -> Offsets {
        match (self, inner) {
            (Offsets::Each(_), _) => inner.clone(),
            (_, Offsets::Each(_)) => self.clone(),
            (Offsets::List(outer), Offsets::List(inner)) => {
                Offsets::list(outer.iter().map(|offset| inner[*offset as usize]).collect())
            }
        }
    }
}

/// Items from several columns, in one order. Each part has the items of one column.
#[derive(Debug)]
pub(in crate::fhirpath) struct Mixed {
    pub(in crate::fhirpath) parts: Vec<Items>,
    /// For each item, the index of its part and its index in this part.
    pub(in crate::fhirpath) places: Vec<(u32, u32)>,
}

#[derive(Clone, Debug)]
pub(in crate::fhirpath) enum Body {
    One(Items),
    Mixed(Arc<Mixed>),
}

/// A list of items for each row. The items are of one or several types.
#[derive(Clone, Debug)]
pub struct Collection {
    pub(in crate::fhirpath) offsets: Offsets,
    pub(in crate::fhirpath) body: Body,
}

/// The items of one column in a [`Collection`], row by row. All have the same type.
#[derive(Clone, Debug)]
pub struct Typed {
    /// Assigns the items to rows.
    pub offsets: Offsets,
    /// The items.
    pub items: Items,
}

impl Collection {
    pub(in crate::fhirpath) fn new(offsets: Offsets, items: Items) -> Collection {
        debug_assert_eq!(offsets.items(), items.len());
        Collection {
            offsets,
            body: Body::One(items),
        }
    }

    /// Returns a collection of this many rows without items.
    pub fn empty(rows: usize) -> Collection {
        Collection::new(Offsets::none(rows), Items::none())
    }

    pub(in crate::fhirpath) fn each(items: Items) -> Collection {
        Collection::new(Offsets::Each(items.len()), items)
    }

    /// Returns the number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.offsets.rows()
    }

    /// Returns the number of items in all rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.items()
    }

    /// Whether no row has an item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offsets, which assign the items to rows.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// Returns the indexes of a row's items.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets.range(row)
    }

    /// Returns the items if they are all in one column. `None` if they are in several columns: for example, the items
    /// of a choice or a union, or of a large batch that was evaluated in parts.
    pub fn single(&self) -> Option<&Items> {
        match &self.body {
            Body::One(items) => Some(items),
            Body::Mixed(_) => None,
        }
    }

    /// Returns the column of an item and the item's index in this column. `item` counts the items of all rows.
    #[inline]
    pub fn item(&self, item: usize) -> (&Items, usize) {
        match &self.body {
            Body::One(items) => (items, item),
            Body::Mixed(mixed) => {
                let (part, place) = mixed.places[item];
                (&mixed.parts[part as usize], place as usize)
            }
        }
    }

    /// Returns the items, split by column. So the items of an entry have the same type, but several entries may have
    /// the same type. Each entry has its own offsets. The order of a row's items is lost if they are in several
    /// columns. The call is cheap if there is only one column.
    pub fn typed(&self) -> Vec<Typed> {
        let mixed = match &self.body {
            Body::One(items) => {
                return vec![Typed {
                    offsets: self.offsets.clone(),
                    items: items.clone(),
                }];
            }
            Body::Mixed(mixed) => mixed,
        };
        let mut offsets: Vec<Vec<i32>> = vec![Vec::with_capacity(self.rows() + 1); mixed.parts.len()];
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); mixed.parts.len()];
        for row in 0..self.rows() {
            for (offsets, places) in offsets.iter_mut().zip(&places) {
                offsets.push(places.len() as i32);
            }
            for (part, place) in &mixed.places[self.range(row)] {
                places[*part as usize].push(*place);
            }
        }
        let parts = mixed.parts.iter().zip(offsets).zip(places);
        parts
            .map(|((items, mut offsets), places)| {
                offsets.push(places.len() as i32);
                Typed {
                    offsets: Offsets::list(offsets),
                    items: items.take(places),
                }
            })
            .collect()
    }

    /// Returns the items of these rows only, in the given order of the rows.
    pub fn of_rows(&self, rows: &[u32]) -> Collection {
        let (mut offsets, mut places) = (Vec::with_capacity(rows.len() + 1), Vec::with_capacity(rows.len()));
        offsets.push(0);
        for row in rows {
            places.extend(self.range(*row as usize).map(|item| item as u32));
            offsets.push(places.len() as i32);
        }
        self.take(Offsets::list(offsets), places)
    }

    /// Returns the items at these indexes, in this order. `offsets` assigns them to rows.
    pub(in crate::fhirpath) fn take(&self, offsets: Offsets, places: Vec<u32>) -> Collection {
        match &self.body {
            Body::One(items) => Collection::new(offsets, items.take(places)),
            Body::Mixed(mixed) => {
                let places = places.iter().map(|place| mixed.places[*place as usize]).collect();
                Collection::mixed(offsets, mixed.parts.clone(), places)
            }
        }
    }

    /// Returns a collection of items from several parts. `places` gives for each item the index of its part and its
    /// index in this part. Drops parts without items. If only one part has items, the collection has one column.
    pub(in crate::fhirpath) fn mixed(offsets: Offsets, parts: Vec<Items>, places: Vec<(u32, u32)>) -> Collection {
        let mut used = vec![false; parts.len()];
        for (part, _) in &places {
            used[*part as usize] = true;
        }
        let mut of_used = used.iter().enumerate().filter(|(_, used)| **used).map(|(part, _)| part);
        match (of_used.next(), of_used.next()) {
            (None, _) => Collection::empty(offsets.rows()),
            (Some(only), None) => {
                let places = places.iter().map(|(_, place)| *place).collect();
                Collection::new(offsets, parts[only].take(places))
            }
            _ => {
                let mut renamed = vec![0; parts.len()];
                let mut kept = Vec::with_capacity(parts.len());
                for (at, part) in parts.into_iter().enumerate().filter(|(at, _)| used[*at]) {
                    renamed[at] = kept.len() as u32;
                    kept.push(part);
                }
                let places = places
                    .into_iter()
                    .map(|(part, place)| (renamed[part as usize], place))
                    .collect();
                Collection {
                    offsets,
                    body: Body::Mixed(Arc::new(Mixed { parts: kept, places })),
                }
            }
        }
    }

    /// Returns the columns of the items.
    pub(in crate::fhirpath) fn columns(&self) -> &[Items] {
        match &self.body {
            Body::One(items) => std::slice::from_ref(items),
            Body::Mixed(mixed) => &mixed.parts,
        }
    }

    /// Returns the same items with other rows: each item is a row of its own.
    pub(in crate::fhirpath) fn flat(&self) -> Collection {
        Collection {
            offsets: Offsets::Each(self.len()),
            body: self.body.clone(),
        }
    }

    /// Assigns the items to other rows. The rows of `self` are the items of `outer`, and the result has the rows of
    /// `outer`.
    pub(in crate::fhirpath) fn within(self, outer: &Offsets) -> Collection {
        Collection {
            offsets: outer.compose(&self.offsets),
            body: self.body,
        }
    }
}
