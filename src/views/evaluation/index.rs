//! Lists of row numbers. Two special numbers stand for rows without a value.

use std::sync::Arc;

/// Stands in place of a row number if there is no row. The value is null.
pub(in crate::views) const NONE: u32 = u32::MAX;
/// Stands in place of a row number in the row that `forEachOrNull` adds for a context without items. The value is null,
/// but the value of `%rowIndex` is 0.
pub(in crate::views) const NOTHING_FOUND: u32 = u32::MAX - 1;

/// Row numbers, one for each row.
#[derive(Clone, Debug)]
pub(in crate::views) enum Index {
    /// The number of row `i` is `i`.
    Same,
    /// The number of row `i` is item `i` of this list.
    At(Arc<[u32]>),
}

impl Index {
    pub(in crate::views) fn at(numbers: Vec<u32>) -> Index {
        Index::At(numbers.into())
    }

    #[inline]
    pub(in crate::views) fn get(&self, row: usize) -> u32 {
        match self {
            Index::Same => row as u32,
            Index::At(numbers) => numbers[row],
        }
    }

    /// Returns for each row in `outer` the number that `self` has for this row. The two special numbers in `outer` stay
    /// as they are.
    pub(super) fn through(&self, outer: &Arc<[u32]>) -> Index {
        match self {
            Index::Same => Index::At(outer.clone()),
            Index::At(inner) => {
                let of = |row: &u32| {
                    if *row >= NOTHING_FOUND {
                        *row
                    } else {
                        inner[*row as usize]
                    }
                };
                Index::At(outer.iter().map(of).collect())
            }
        }
    }
}
