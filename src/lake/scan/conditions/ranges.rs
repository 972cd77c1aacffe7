//! A set of rows of a row group, as ascending, disjoint ranges. A scan begins with all rows and removes those that
//! statistics, deletes, the scope or predicates exclude.

use std::ops::Range;

use arrow::array::{Array, BooleanArray};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

/// Positions of rows within a row group. The ranges ascend and are disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lake::scan) struct Ranges(Vec<Range<u32>>);

impl Ranges {
    pub(in crate::lake::scan) fn all(rows: u32) -> Ranges {
        Ranges::default().with(0..rows)
    }

    /// Makes ranges from single positions, which must ascend.
    pub(in crate::lake::scan) fn of(positions: impl IntoIterator<Item = u32>) -> Ranges {
        positions
            .into_iter()
            .fold(Ranges::default(), |ranges, at| ranges.with(at..at + 1))
    }

    /// Adds a range of rows. It must not begin before the last range of this set begins.
    pub(in crate::lake::scan) fn push(&mut self, range: Range<u32>) {
        match self.0.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => self.0.push(range),
        }
    }

    fn with(mut self, range: Range<u32>) -> Ranges {
        self.push(range);
        self
    }

    pub(in crate::lake::scan) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::lake::scan) fn count(&self) -> usize {
        self.0.iter().map(|range| range.len()).sum()
    }

    pub(in crate::lake::scan) fn iter(&self) -> impl Iterator<Item = &Range<u32>> {
        self.0.iter()
    }

    pub(in crate::lake::scan) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().cloned().flatten()
    }

    pub(in crate::lake::scan) fn intersect(&self, other: &Ranges) -> Ranges {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Ranges::default();
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            both.push(a.start.max(b.start)..a.end.min(b.end));
            if a.end <= b.end {
                left.next()
            } else {
                right.next()
            };
        }
        both
    }

    pub(in crate::lake::scan) fn union(&self, other: &Ranges) -> Ranges {
        let mut all: Vec<Range<u32>> = self.0.iter().chain(&other.0).cloned().collect();
        all.sort_by_key(|range| range.start);
        all.into_iter().fold(Ranges::default(), Ranges::with)
    }

    /// Returns these rows without the positions `gone`, which must ascend.
    pub(in crate::lake::scan) fn without(&self, gone: &[u32]) -> Ranges {
        let mut left = Ranges::default();
        for range in &self.0 {
            let mut start = range.start;
            let first = gone.partition_point(|at| *at < range.start);
            for at in gone[first..].iter().take_while(|at| **at < range.end) {
                left.push(start..*at);
                start = at + 1;
            }
            left.push(start..range.end);
        }
        left
    }

    /// Returns the rows for which the mask is true. The mask has one value per row of this set. Null counts as false.
    pub(in crate::lake::scan) fn filter(&self, mask: &BooleanArray) -> Ranges {
        let mut kept = Ranges::default();
        let mut at = 0;
        for range in &self.0 {
            let count = range.len().min(mask.len() - at);
            if count < 64 {
                let hits = (0..count).filter(|row| mask.is_valid(at + row) && mask.value(at + row));
                hits.for_each(|row| kept.push(range.start + row as u32..range.start + row as u32 + 1));
            } else {
                let here = mask.slice(at, count);
                let hits = match here.nulls() {
                    Some(nulls) => here.values() & nulls.inner(),
                    None => here.values().clone(),
                };
                hits.set_slices()
                    .for_each(|(from, to)| kept.push(range.start + from as u32..range.start + to as u32));
            }
            at += count;
        }
        kept
    }

    /// Keeps only the first `count` rows.
    pub(in crate::lake::scan) fn truncate(&mut self, mut count: usize) {
        self.0.retain_mut(|range| {
            let take = range.len().min(count);
            range.end = range.start + take as u32;
            count -= take;
            take > 0
        });
    }

    /// Returns the same rows as a selection for the Parquet reader.
    pub(in crate::lake::scan) fn selection(&self) -> RowSelection {
        let mut selectors = Vec::with_capacity(2 * self.0.len());
        let mut at = 0;
        for range in &self.0 {
            if range.start > at {
                selectors.push(RowSelector::skip((range.start - at) as usize));
            }
            selectors.push(RowSelector::select(range.len()));
            at = range.end;
        }
        RowSelection::from(selectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set() -> impl Strategy<Value = BTreeSet<u32>> {
        prop::collection::btree_set(0u32..40, 0..40)
    }

    fn rows(ranges: &Ranges) -> BTreeSet<u32> {
        ranges.rows().collect()
    }

    proptest! {
        #[test]
        fn ranges_are_sets(left in set(), right in set(), count in 0usize..45) {
            let (a, b) = (Ranges::of(left.iter().copied()), Ranges::of(right.iter().copied()));
            prop_assert_eq!(a.count(), left.len());
            prop_assert_eq!(rows(&a.intersect(&b)), &left & &right);
            prop_assert_eq!(rows(&a.union(&b)), &left | &right);
            let gone: Vec<u32> = right.iter().copied().collect();
            prop_assert_eq!(rows(&a.without(&gone)), &left - &right);
            let mask: BooleanArray = left.iter().map(|row| Some(right.contains(row))).collect();
            prop_assert_eq!(rows(&a.filter(&mask)), &left & &right);
            let mut cut = a.clone();
            cut.truncate(count);
            prop_assert_eq!(rows(&cut), left.iter().copied().take(count).collect::<BTreeSet<_>>());
            prop_assert_eq!(a.selection().row_count(), left.len());
        }
    }
}
