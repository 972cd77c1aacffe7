//! Finds the files whose owner ranges contain an owner, without looking at every file: a table may have 100,000.
//!
//! The index is a segment tree over the files, ordered by their lowest owner. Each inner node has the highest owner
//! below it.

use std::ops::RangeInclusive;

/// The owner ranges of a table's files.
#[derive(Debug, Default)]
pub(super) struct OwnerIndex {
    /// The lowest owner of each file, ascending.
    starts: Vec<i64>,
    /// A complete binary tree of highest owners. The leaves start at index `leaves`. Node `n` is the parent of the
    /// nodes `2n` and `2n + 1`.
    max_ends: Vec<i64>,
    leaves: usize,
}

impl OwnerIndex {
    /// Builds the index. `ranges` must ascend by their start.
    pub(super) fn new<'a>(ranges: impl ExactSizeIterator<Item = &'a RangeInclusive<i64>>) -> OwnerIndex {
        let leaves = ranges.len().next_power_of_two();
        let mut starts = Vec::with_capacity(ranges.len());
        let mut max_ends = vec![i64::MIN; 2 * leaves];
        for (at, range) in ranges.enumerate() {
            starts.push(*range.start());
            max_ends[leaves + at] = *range.end();
        }
        for node in (1..leaves).rev() {
            max_ends[node] = max_ends[2 * node].max(max_ends[2 * node + 1]);
        }
        OwnerIndex {
            starts,
            max_ends,
            leaves,
        }
    }

    /// Returns the indexes of the ranges that contain `owner`, ascending.
    pub(super) fn holding(&self, owner: i64) -> Vec<usize> {
        let end = self.starts.partition_point(|start| *start <= owner);
        let mut found = Vec::new();
        let mut open = if end == 0 {
            Vec::new()
        } else {
            vec![(1, 0, self.leaves)]
        };
        while let Some((node, from, width)) = open.pop() {
            if from >= end || self.max_ends[node] < owner {
                continue;
            }
            if width == 1 {
                found.push(from);
                continue;
            }
            let half = width / 2;
            open.push((2 * node + 1, from + half, half));
            open.push((2 * node, from, half));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_looking_at_every_range(
            mut ranges in prop::collection::vec((0i64..60, 0i64..20).prop_map(|(start, len)| start..=start + len), 0..40),
            owner in -5i64..90,
        ) {
            ranges.sort_by_key(|range| *range.start());
            let index = OwnerIndex::new(ranges.iter());
            let expected: Vec<usize> = (0..ranges.len()).filter(|at| ranges[*at].contains(&owner)).collect();
            prop_assert_eq!(index.holding(owner), expected);
        }
    }

    #[test]
    fn extremes_are_found() {
        let ranges = [i64::MIN..=i64::MAX, 0..=i64::MAX];
        let index = OwnerIndex::new(ranges.iter());
        assert_eq!(index.holding(i64::MAX), [0, 1]);
        assert_eq!(index.holding(i64::MIN), [0]);
        assert!(OwnerIndex::new([].iter()).holding(0).is_empty());
    }
}
