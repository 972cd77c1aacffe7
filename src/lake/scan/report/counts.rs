//! The work of a scan: files, row groups and rows read and skipped, bytes by leaf, time per step. `explain` shows it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The report of one scan. Its counts grow while the scan runs, and are final when all of the scan's streams have
/// ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// The number of the table's files.
    pub files: usize,
    /// The number of files that were not opened or from which no row was read.
    pub files_pruned: usize,
    /// The number of files that were opened and from which no row was read.
    pub files_opened_in_vain: usize,
    /// The number of row groups in the opened files that have rows of the scan's span.
    pub row_groups: usize,
    /// How many of the row groups in `row_groups` were skipped, because statistics, the scope, deletes or a sort
    /// exclude all of their rows.
    pub row_groups_pruned: usize,
    /// How many row groups were skipped, by reason. Counted only if the scan is watched.
    pub pruned_by: BTreeMap<Arc<str>, usize>,
    /// The pages whose statistics were compared with a condition, by leaf. Counted only if the scan is watched.
    pub pages: BTreeMap<Arc<str>, Pages>,
    /// The number of rows in the row groups that were read.
    pub rows: u64,
    /// How many of `rows` were skipped before any column was decoded, because statistics, the scope, deletes or a sort
    /// exclude them.
    pub rows_pruned: u64,
    /// The number of rows that were not skipped, but did not meet the exact conditions and predicates.
    pub rows_filtered: u64,
    /// The work of each predicate and exact condition, by its label.
    pub steps: BTreeMap<Arc<str>, FilterStep>,
    /// The number of rows that the scan yielded.
    pub rows_out: u64,
    /// The number of bytes read from data files, by leaf. Footers and indexes do not count.
    pub bytes_by_leaf: BTreeMap<String, u64>,
    /// Time to open files, read footers and choose row groups and pages.
    pub prune_time: Duration,
    /// Time to read and decode columns.
    pub read_time: Duration,
    /// Time to evaluate exact conditions and predicates.
    pub filter_time: Duration,
}

/// Counts of pages of one leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// The number of pages whose statistics were compared with a condition on the leaf.
    pub met: usize,
    /// How many of the compared pages have no row that meets the condition. A page is still read if an alternative of
    /// the condition keeps it.
    pub refuted: usize,
}

/// The work of one predicate or exact condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterStep {
    /// The number of rows that were checked.
    pub rows_in: u64,
    /// How many of the checked rows met the condition.
    pub rows_out: u64,
    /// The number of row groups that were checked.
    pub row_groups: usize,
    /// How many of the checked row groups have no matching row.
    pub row_groups_emptied: usize,
    /// The time of the evaluation, summed over all threads.
    pub time: Duration,
}

impl FilterStep {
    fn add(&mut self, other: FilterStep) {
        self.rows_in += other.rows_in;
        self.rows_out += other.rows_out;
        self.row_groups += other.row_groups;
        self.row_groups_emptied += other.row_groups_emptied;
        self.time += other.time;
    }
}

impl ScanReport {
    /// Adds the work of a predicate or an exact condition on a row group. `rows` has the numbers of rows before and
    /// after this work.
    pub(in crate::lake::scan) fn filtered(&mut self, label: &Arc<str>, rows: (usize, usize), time: Duration) {
        let step = FilterStep {
            rows_in: rows.0 as u64,
            rows_out: rows.1 as u64,
            row_groups: 1,
            row_groups_emptied: usize::from(rows.1 == 0),
            time,
        };
        self.filter_time += time;
        match self.steps.get_mut(label) {
            Some(sum) => sum.add(step),
            None => {
                self.steps.insert(label.clone(), step);
            }
        }
    }

    /// Returns how many rows are left of the read row groups after subtracting the skipped, dropped and yielded rows. A
    /// limit or a sort above the scan did not need them.
    pub fn rows_not_needed(&self) -> u64 {
        self.rows
            .saturating_sub(self.rows_pruned + self.rows_filtered + self.rows_out)
    }

    /// Adds the counts of a leaf's pages in one row group to the counts of the leaf.
    pub(in crate::lake::scan) fn paged(&mut self, leaf: &str, pages: Pages) {
        let sum = self.pages.entry(leaf.into()).or_default();
        sum.met += pages.met;
        sum.refuted += pages.refuted;
    }

    /// Returns the number of bytes read.
    pub fn bytes(&self) -> u64 {
        self.bytes_by_leaf.values().sum()
    }

    /// Adds another report to this one.
    pub fn add(&mut self, other: &ScanReport) {
        self.files += other.files;
        self.files_pruned += other.files_pruned;
        self.files_opened_in_vain += other.files_opened_in_vain;
        self.row_groups += other.row_groups;
        self.row_groups_pruned += other.row_groups_pruned;
        self.rows += other.rows;
        self.rows_pruned += other.rows_pruned;
        self.rows_filtered += other.rows_filtered;
        self.rows_out += other.rows_out;
        for (reason, groups) in &other.pruned_by {
            *self.pruned_by.entry(reason.clone()).or_default() += groups;
        }
        for (leaf, pages) in &other.pages {
            self.paged(leaf, *pages);
        }
        for (label, step) in &other.steps {
            self.steps.entry(label.clone()).or_default().add(*step);
        }
        for (leaf, bytes) in &other.bytes_by_leaf {
            *self.bytes_by_leaf.entry(leaf.clone()).or_default() += bytes;
        }
        self.prune_time += other.prune_time;
        self.read_time += other.read_time;
        self.filter_time += other.filter_time;
    }
}
