//! Shares are the parts of a scan's rows that its partitions read. Each share is a range of rows in the table's order.

use std::ops::Range;

use crate::lake::file::{PAGE_ROWS, ROW_GROUP_ROWS};

/// The minimum number of rows of a partition. Fewer rows are not worth a task of their own.
const ROWS_PER_PARTITION: u64 = 16_384;
/// The minimum number of rows of a partition if each row costs much computation.
const COSTLY_ROWS_PER_PARTITION: u64 = 2_048;
/// A scan with at least this many row groups per processor splits no row group, because two partitions that read parts
/// of the same row group would both decode its dictionaries.
const ROW_GROUPS_PER_PROCESSOR: u64 = 2;

/// How the rows of a scan are split into shares.
#[derive(Clone, Copy, Debug)]
pub(in crate::lake::scan) struct Shares {
    rows: u64,
    parts: usize,
    within_groups: bool,
}

/// The rows that one partition reads.
#[derive(Clone, Debug)]
pub(in crate::lake::scan) struct Share {
    /// Positions among the rows of all files of the scan.
    rows: Range<u64>,
    within_groups: bool,
}

impl Shares {
    /// Splits this many rows into at most `parts` shares. If rows cost much computation, shares become smaller, until
    /// there is one for each processor.
    pub(in crate::lake::scan) fn of(rows: u64, parts: usize, are_costly: bool, processors: usize) -> Shares {
        let mut worth = rows / ROWS_PER_PARTITION;
        if are_costly {
            worth = worth.max((rows / COSTLY_ROWS_PER_PARTITION).min(processors as u64));
        }
        Shares {
            rows,
            parts: parts.min(worth as usize).max(1),
            within_groups: rows.div_ceil(ROW_GROUP_ROWS as u64) < ROW_GROUPS_PER_PROCESSOR * processors as u64,
        }
    }

    pub(in crate::lake::scan) fn parts(&self) -> usize {
        self.parts
    }

    pub(in crate::lake::scan) fn within_groups(&self) -> bool {
        self.within_groups
    }

    /// Splits the same rows into `parts` shares. `within_groups` allows a share to end within a row group.
    pub(in crate::lake::scan) fn dealt_out(self, parts: usize, within_groups: bool) -> Shares {
        Shares {
            parts: parts.max(1),
            within_groups,
            ..self
        }
    }

    /// Returns the share of a partition.
    pub(in crate::lake::scan) fn share(&self, part: usize) -> Share {
        let bound = |part: usize| (u128::from(self.rows) * part as u128 / self.parts as u128) as u64;
        Share {
            rows: bound(part)..bound(part + 1),
            within_groups: self.within_groups,
        }
    }
}

impl Share {
    /// Returns the indexes of the files that may have rows of the share. The number beside a file in `files` is the
    /// number of rows in the files before it.
    pub(in crate::lake::scan) fn files<T>(&self, files: &[(T, u64)], rows_of: impl Fn(&T) -> u64) -> Range<usize> {
        let from = files.partition_point(|(file, start)| start + rows_of(file) <= self.rows.start);
        let until = files.partition_point(|(_, start)| *start < self.rows.end);
        from..until.max(from)
    }

    /// Returns the rows of a row group that belong to the share, as positions in the row group. `first` is the position
    /// of the row group's first row among the rows of all files. Shares end at the start of a page, or of a row group
    /// if no row group is split.
    pub(in crate::lake::scan) fn within(&self, first: u64, rows: u32) -> Range<u32> {
        if !self.within_groups {
            return if self.rows.contains(&first) { 0..rows } else { 0..0 };
        }
        let page = |bound: u64| match bound.saturating_sub(first) {
            behind if behind >= u64::from(rows) => rows,
            inside => inside as u32 / PAGE_ROWS as u32 * PAGE_ROWS as u32,
        };
        page(self.rows.start)..page(self.rows.end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each row belongs to exactly one share, and the shares follow each other in the order of the rows.
        #[test]
        fn shares_cover_every_row_once(
            groups in prop::collection::vec(1u32..40_000, 0..9),
            parts in 1usize..40,
            are_costly: bool,
            processors in 1usize..9,
        ) {
            let total: u64 = groups.iter().map(|rows| u64::from(*rows)).sum();
            let shares = Shares::of(total, parts, are_costly, processors);
            let mut read = Vec::new();
            for part in 0..shares.parts() {
                let share = shares.share(part);
                let mut first = 0;
                for rows in &groups {
                    let within = share.within(first, *rows);
                    if !within.is_empty() {
                        read.push(first + u64::from(within.start)..first + u64::from(within.end));
                    }
                    first += u64::from(*rows);
                }
            }
            let mut next = 0;
            for range in read {
                prop_assert_eq!(range.start, next);
                next = range.end;
            }
            prop_assert_eq!(next, total);
        }

        /// The files of a share have all of its rows.
        #[test]
        fn files_of_a_share_have_its_rows(sizes in prop::collection::vec(0u32..50_000, 0..9), parts in 1usize..40) {
            let mut before = 0;
            let files: Vec<(u32, u64)> = sizes
                .iter()
                .map(|rows| {
                    before += u64::from(*rows);
                    (*rows, before - u64::from(*rows))
                })
                .collect();
            let shares = Shares::of(before, parts, true, 2);
            for part in 0..shares.parts() {
                let share = shares.share(part);
                let chosen = share.files(&files, |rows| u64::from(*rows));
                for (at, (rows, start)) in files.iter().enumerate() {
                    prop_assert!(chosen.contains(&at) || share.within(*start, *rows).is_empty());
                }
            }
        }
    }

    #[test]
    fn few_costly_rows_are_worth_every_processor() {
        let parts = |rows, are_costly| Shares::of(rows, 256, are_costly, 4).parts();
        assert_eq!(
            (parts(1_000, true), parts(11_000, true), parts(11_000, false)),
            (1, 4, 1)
        );
        assert_eq!((parts(599_118, true), parts(599_118, false)), (36, 36));
    }

    #[test]
    fn of_many_row_groups_none_is_read_by_two() {
        let shares = Shares::of(40 * ROW_GROUP_ROWS as u64, 256, true, 2);
        for part in 0..shares.parts() {
            let within = shares
                .share(part)
                .within(3 * ROW_GROUP_ROWS as u64, ROW_GROUP_ROWS as u32);
            assert!(within.is_empty() || within == (0..ROW_GROUP_ROWS as u32));
        }
    }
}
