//! Sums up the work of a scan's partitions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;

use super::super::cache::file::{OpenFile, ReadBytes};
use super::counts::ScanReport;

/// The work of one or several partitions.
#[derive(Clone, Debug, Default)]
pub(in crate::lake::scan) struct Entries {
    pub(in crate::lake::scan) report: ScanReport,
    /// The ids of the files that were opened.
    opened: FxHashSet<u64>,
    /// The ids of the files from which rows were read.
    touched: FxHashSet<u64>,
}

impl Entries {
    /// Records that a file was opened.
    pub(in crate::lake::scan) fn open(&mut self, file: u64) {
        self.opened.insert(file);
    }

    /// Records that rows are read from a file.
    pub(in crate::lake::scan) fn touch(&mut self, file: u64) {
        self.touched.insert(file);
    }

    /// Adds the number of bytes that were read of each leaf of a file.
    pub(in crate::lake::scan) fn bytes(&mut self, file: &OpenFile, read: &ReadBytes) {
        for (leaf, bytes) in read.by_leaf(file) {
            *self.report.bytes_by_leaf.entry(leaf.to_owned()).or_default() += bytes;
        }
    }
}

/// The sum of the work of a scan's partitions. All partitions add to the same value.
#[derive(Debug, Default)]
pub(in crate::lake::scan) struct Account(Mutex<Entries>);

impl Account {
    /// Adds the work of a partition.
    pub(in crate::lake::scan) fn add(&self, entries: &Entries) {
        let mut sum = self.entries();
        sum.report.add(&entries.report);
        sum.opened.extend(&entries.opened);
        sum.touched.extend(&entries.touched);
    }

    /// Returns the report so far. `files` is the number of the table's files.
    pub(in crate::lake::scan) fn report(&self, files: usize) -> ScanReport {
        let entries = self.entries();
        let mut report = entries.report.clone();
        report.files = files;
        report.files_pruned = files - entries.touched.len().min(files);
        report.files_opened_in_vain = entries.opened.difference(&entries.touched).count();
        report
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
