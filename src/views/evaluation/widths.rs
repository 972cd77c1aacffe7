//! Computes the bytes of text in rows from row numbers and lengths, without copying text. A text that occurs once in
//! a resource may occur in very many rows.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;

use super::index::{NONE, NOTHING_FOUND};
use super::relation::Relation;

impl Relation {
    /// Returns an upper bound for the bytes of text in any row.
    pub(in crate::views) fn longest_row(&self) -> usize {
        let parts = self.groups.iter().flat_map(|group| &group.parts);
        parts.map(|part| longest(&part.values.source)).sum()
    }

    /// Returns how many of `rows`, from the first on, fit into this many bytes of text. Returns at least 1 if there are
    /// any rows.
    pub(in crate::views) fn fitting(&self, rows: Range<usize>, bytes: usize) -> usize {
        let mut left = bytes;
        for row in rows.clone() {
            match left.checked_sub(self.width(row)) {
                Some(rest) => left = rest,
                None => return (row - rows.start).max(1),
            }
        }
        rows.len()
    }

    /// Whether the text of all rows fits into this many bytes.
    pub(in crate::views) fn fits(&self, bytes: usize) -> bool {
        let rows = self.rows();
        if self.longest_row().saturating_mul(rows) <= bytes {
            return true;
        }
        let mut left = bytes;
        (0..rows).all(|row| match left.checked_sub(self.width(row)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
    }

    fn width(&self, row: usize) -> usize {
        let mut bytes = 0;
        for group in &self.groups {
            let at = group.index.get(row);
            if at == NONE || at == NOTHING_FOUND {
                continue;
            }
            for part in &group.parts {
                let slot = part.values.slots.get(at as usize);
                if slot != NONE {
                    bytes += width(&part.values.source, slot as usize);
                }
            }
        }
        bytes
    }
}

/// Returns the bytes of text of a value.
fn width(values: &ArrayRef, slot: usize) -> usize {
    match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().value_length(slot) as usize,
        DataType::List(_) => {
            let list = values.as_list::<i32>();
            let bounds = list.value_offsets();
            let Some(texts) = list.values().as_string_opt::<i32>() else {
                return 0;
            };
            let offsets = texts.value_offsets();
            (offsets[bounds[slot + 1] as usize] - offsets[bounds[slot] as usize]) as usize
        }
        _ => 0,
    }
}

fn longest(values: &ArrayRef) -> usize {
    match values.data_type() {
        DataType::Utf8 | DataType::List(_) => (0..values.len()).map(|slot| width(values, slot)).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ListArray, StringArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::Field;

    use super::super::index::Index;
    use super::super::relation::{Counts, Group, Part};
    use super::super::values::Gathered;
    use super::*;

    fn part(slot: usize, source: ArrayRef, slots: Index) -> Part {
        let values = Gathered { source, slots };
        Part {
            slot,
            values,
            is_row_index: false,
        }
    }

    /// Returns five rows with 3, 0, 3, 5 and 1 bytes, in a column of texts and a column of lists of texts.
    fn relation() -> Relation {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("aa"), None, Some("b")]));
        let items: ArrayRef = Arc::new(StringArray::from(vec!["c", "dd", "e"]));
        let field = Arc::new(Field::new("element", DataType::Utf8, true));
        let lists: ArrayRef = Arc::new(ListArray::new(
            field,
            OffsetBuffer::new(vec![0, 1, 3, 3].into()),
            items,
            None,
        ));
        let index = Index::at(vec![0, NONE, 0, 1, 2]);
        let groups = vec![Group {
            parts: vec![part(0, texts, Index::at(vec![0, 0, 2])), part(1, lists, Index::Same)],
            index,
            own: true,
        }];
        Relation {
            counts: Counts::One(5),
            groups,
        }
    }

    #[test]
    fn text_is_counted_for_each_row_that_it_stands_in() {
        let relation = relation();
        assert_eq!(
            (0..5).map(|row| relation.width(row)).collect::<Vec<_>>(),
            [3, 0, 3, 5, 1]
        );
        assert_eq!(relation.longest_row(), 5);
        assert!(relation.fits(12) && !relation.fits(11));
        assert_eq!(relation.fitting(0..5, 12), 5);
        assert_eq!(relation.fitting(0..5, 6), 3);
        assert_eq!(relation.fitting(3..5, 2), 1);
        assert_eq!(relation.fitting(5..5, 2), 0);
    }
}
