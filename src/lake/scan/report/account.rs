//! Sums up the work of a scan's partitions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;

use super::super::cache::file::{OpenFile, ReadBytes};
use super::counts::ScanReport;

/// The work of one partition or of several.
#[derive(Clone, Debug, Default)]
pub(in crate::lake::scan) struct Entries {
    pub(in crate::lake::scan) report: ScanReport,
    /// Files that were opened.
    opened: FxHashSet<u64>,
    /// Files from which rows were read.
    touched: FxHashSet<u64>,
}

impl Entries {
    /// Records that a file was opened.
    pub(in crate::lake::scan) fn open(&mut self, file: u64) {
        self.opened.insert(file);
    }

    /// Records that rows of a file are read.
    pub(in crate::lake::scan) fn touch(&mut self, file: u64) {
        self.touched.insert(file);
    }

    /// Adds the bytes read of a file.
    pub(in crate::lake::scan) fn bytes(&mut self, file: &OpenFile, read: &ReadBytes) {
        for (leaf, bytes) in read.by_leaf(file) {
            *self.report.bytes_by_leaf.entry(leaf.to_owned()).or_default() += bytes;
        }
    }
}

/// The report of one scan, shared by its partitions.
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

    /// The report so far, for a table with this many files.
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
