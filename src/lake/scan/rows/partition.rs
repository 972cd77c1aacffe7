//! Reads one partition of a scan batch by batch. For each row group it skips rows by statistics, applies the scope,
//! evaluates the predicates on their columns, and decodes the other columns for the remaining rows.
//!
//! The code is synchronous. `exec` makes a stream of it that yields to the runtime between steps.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;

use super::super::cache::file::OpenFile;
use super::super::conditions::pruning::prune_noting;
use super::super::conditions::ranges::Ranges;
use super::super::conditions::row_pruning::RowPruning;
use super::super::decode::columns;
use super::super::error::ScanError;
use super::super::report::account::Entries;
use super::super::report::counts::ScanReport;
use super::order::Sorted;
use super::resolved::Scan;
use super::row_group::{BATCH, Filtering, Group, Portion};
use super::share::Share;
use super::span::Ends;
use super::top_k::{Ranking, TopKFilter};
use crate::lake::snapshot::DataFile;

/// The maximum number of files of a share whose row groups are read in the order of the sort, the best first. All these
/// files are open at the same time. A share with more files is read in the table's order.
const MAX_RANKED: usize = 256;

/// The work of opening one part of a row group, whether a row of it is read or not.
const PER_GROUP: u64 = 16;
/// Decoding a column of this many rows counts as one unit of work.
pub(in crate::lake::scan) const ROWS_OF_A_READ: u64 = 4;

/// The result of a step.
pub(in crate::lake::scan) enum Step {
    /// A batch of rows.
    Batch(RecordBatch),
    /// No batch is ready yet: a row group was begun, or a portion of its rows was filtered.
    Begun,
    /// No rows are left.
    End,
}

/// The rows of one share of a scan, read step by step.
pub(in crate::lake::scan) struct Rows {
    scan: Arc<Scan>,
    ends: Ends,
    files: std::vec::IntoIter<(Arc<DataFile>, u64)>,
    share: Share,
    sorted: Option<Sorted>,
    top_k: Option<TopKFilter>,
    ranking: Ranking,
    /// The remaining row groups of the share, the best last. `None` before the first row group is read, and if the row
    /// groups are read in the table's order.
    ranked: Option<Vec<FileSlot>>,
    open: Option<(Arc<DataFile>, Arc<OpenFile>, Vec<Part>)>,
    filtering: Option<Filtering>,
    portion: Portion,
    row_pruning: RowPruning,
    current: Option<Group>,
    /// The number of rows that may still be returned.
    left: usize,
    done: Entries,
}

/// A part of a row group: its rows that belong to the share and to the scan's span.
struct Part {
    group: usize,
    /// The rows, as positions in the row group.
    rows: Range<u32>,
    /// Whether this share has the first rows of the row group. If so, it counts the row group in the report.
    is_first: bool,
}

/// A part of a row group, with its file.
type FileSlot = (Arc<DataFile>, Arc<OpenFile>, Part);

impl Rows {
    /// Prepares to read at most `limit` rows of a share. If `sorted` is given, row groups that may have better rows are
    /// read earlier. `top_k` drops rows that the sort above the scan cannot put first.
    pub(in crate::lake::scan) fn new(
        scan: Arc<Scan>,
        share: Share,
        limit: Option<usize>,
        sorted: Option<Sorted>,
        top_k: Option<TopKFilter>,
    ) -> Rows {
        let ends = scan.ends();
        let files = scan.files();
        let files: Vec<_> = files[share.files(files, |file| file.rows)].to_vec();
        Rows {
            scan,
            ends,
            files: files.into_iter(),
            share,
            sorted,
            top_k,
            ranking: Ranking::default(),
            ranked: None,
            open: None,
            filtering: None,
            portion: Portion::default(),
            row_pruning: RowPruning::default(),
            current: None,
            left: limit.unwrap_or(usize::MAX),
            done: Entries::default(),
        }
    }

    /// Does one step: returns a batch, filters a portion of rows, or begins the next row group. After the end or an
    /// error, every further call returns [`Step::End`].
    pub(in crate::lake::scan) fn step(&mut self) -> Result<Step, ScanError> {
        let step = self.next_step();
        if !matches!(step, Ok(Step::Batch(_) | Step::Begun)) {
            self.left = 0;
        }
        step
    }

    fn next_step(&mut self) -> Result<Step, ScanError> {
        if self.left == 0 {
            return Ok(Step::End);
        }
        if let Some(group) = &mut self.current {
            let started = Instant::now();
            let batch = group.next(&self.scan)?;
            self.done.report.read_time += started.elapsed();
            if let Some(batch) = batch {
                let batch = batch.slice(0, batch.num_rows().min(self.left));
                self.left -= batch.num_rows();
                self.done.report.rows_out += batch.num_rows() as u64;
                return Ok(Step::Batch(batch));
            }
            self.finish_group();
        }
        if let Some(mut filtering) = self.filtering.take() {
            if filtering.step(&self.scan, &mut self.portion, &mut self.done.report)? {
                self.current = Some(self.hand_out(filtering)?);
            } else {
                self.filtering = Some(filtering);
            }
            return Ok(Step::Begun);
        }
        let Some((data, file, part)) = self.next_group()? else {
            return Ok(Step::End);
        };
        self.filtering = self.start(&data, file, part)?;
        Ok(Step::Begun)
    }

    /// Drops the current row group, and adds the bytes that were read of it to the report.
    pub(in crate::lake::scan) fn finish_group(&mut self) {
        if let Some(group) = self.current.take() {
            self.done.bytes(&group.file, &group.read);
        }
        if let Some(filtering) = self.filtering.take() {
            self.done.bytes(&filtering.file, &filtering.read);
        }
    }

    /// Returns the report so far, without the bytes of the current row group.
    pub(in crate::lake::scan) fn report(&self) -> &ScanReport {
        &self.done.report
    }

    /// Returns the part that is read next. If there is a sort and the share has at most [`MAX_RANKED`] files, this is
    /// the part whose row group may have the best rows. Otherwise it is the next part in the table's order.
    fn next_group(&mut self) -> Result<Option<FileSlot>, ScanError> {
        if let Some(ranked) = &mut self.ranked {
            return Ok(ranked.pop());
        }
        if let Some(order) = self.sorted.as_ref().map(|sorted| sorted.order.clone())
            && self.files.len() <= MAX_RANKED
        {
            let mut ranked = Vec::new();
            while let Some(place) = self.next_in_table()? {
                ranked.push((order.best(&place.1, place.2.group), place));
            }
            ranked.sort_by_key(|(best, _)| *best);
            let ranked = self.ranked.insert(ranked.into_iter().map(|(_, place)| place).collect());
            return Ok(ranked.pop());
        }
        self.next_in_table()
    }

    fn next_in_table(&mut self) -> Result<Option<FileSlot>, ScanError> {
        loop {
            if let Some((data, file, parts)) = &mut self.open
                && let Some(part) = parts.pop()
            {
                return Ok(Some((data.clone(), file.clone(), part)));
            }
            let Some((data, start)) = self.files.next() else {
                return Ok(None);
            };
            let started = Instant::now();
            let file = self.scan.table.open(&data)?;
            self.done.open(data.id);
            let mut parts = Vec::new();
            for (group, place) in file.groups().iter().enumerate().rev() {
                let share = self.share.within(start + u64::from(place.first), place.rows);
                let ends = self.ends.within(&data, place.first, place.rows);
                let rows = share.start.max(ends.start)..share.end.min(ends.end);
                if !rows.is_empty() {
                    // If several shares read parts of a row group, only the first one counts it.
                    let is_first = rows.start == ends.start;
                    self.done.report.row_groups += usize::from(is_first);
                    parts.push(Part { group, rows, is_first });
                }
            }
            self.done.report.prune_time += started.elapsed();
            self.open = Some((data, file, parts));
        }
    }

    /// Finds the rows of a part that the scan must read, by statistics and by the scope, and begins to filter them.
    /// `None` if the scan must read no row of the part.
    fn start(&mut self, data: &DataFile, file: Arc<OpenFile>, part: Part) -> Result<Option<Filtering>, ScanError> {
        let Part {
            group,
            rows: part,
            is_first,
        } = part;
        let scan = self.scan.clone();
        let started = Instant::now();
        let is_watched = scan.table.watch().is_some();
        // If several shares read parts of a row group, only the first one counts its pages.
        let mut report = (is_watched && is_first).then_some(&mut self.done.report);
        let mut rows = prune_noting(&file, group, &scan.prune, &mut report);
        let mut outdone = false;
        if let Some(sorted) = &self.sorted
            && let Some(needed) = sorted.needed()
        {
            let left = rows.intersect(&sorted.rows(&file, group, needed));
            outdone = left.is_empty() && !rows.is_empty();
            rows = left;
        }
        if !rows.is_empty() {
            let visible = scan.table.visible(data, &file, group, scan.owners.as_ref())?;
            rows = rows.intersect(&visible);
            let mut within = Ranges::default();
            within.push(part.clone());
            rows = rows.intersect(&within);
        }
        let count = rows.count();
        let report = &mut self.done.report;
        report.prune_time += started.elapsed();
        scan.table.spend(PER_GROUP + count as u64 / ROWS_OF_A_READ)?;
        if count == 0 {
            report.row_groups_pruned += usize::from(is_first);
            if is_watched {
                let reason = if outdone {
                    "the sort has better rows already".into()
                } else {
                    scan.refuted_by(data, &file, group)?
                };
                *self.done.report.pruned_by.entry(reason).or_default() += 1;
            }
            return Ok(None);
        }
        report.rows += part.len() as u64;
        report.rows_pruned += (part.len() - count) as u64;
        self.done.touch(data.id);
        Filtering::begin(&scan, &file, group, rows, &mut self.row_pruning, &mut self.done.report).map(Some)
    }

    /// Makes the [`Group`] that returns the rows that passed the predicates. If there is a `top_k`, first drops the
    /// rows that the sort above the scan cannot put first.
    fn hand_out(&mut self, filtered: Filtering) -> Result<Group, ScanError> {
        let Filtering {
            file,
            group,
            read,
            mut rows,
            mut early,
            ..
        } = filtered;
        let mut rest = &self.scan.rest;
        if let Some(top_k) = self.top_k.as_ref().filter(|_| !rows.is_empty()) {
            let (started, count) = (Instant::now(), rows.count());
            (rows, early) = top_k.keep(&mut self.ranking, (&file, group), rows, early, &read)?;
            let report = &mut self.done.report;
            report.filtered(top_k.label(), (count, rows.count()), started.elapsed());
            rest = top_k.rest();
        }
        rows.truncate(self.left);
        let leaves = rest.leaves(file.fields(), file.sizes());
        let late = if rows.is_empty() || leaves.is_empty() {
            None
        } else {
            Some(columns::reader(&file, group, &leaves, &rows, BATCH, &read)?)
        };
        let first_row = file.groups()[group].first;
        Ok(Group {
            file,
            first_row,
            rows: rows.rows().collect(),
            at: 0,
            early,
            late,
            read,
        })
    }
}

impl Drop for Rows {
    /// Adds the report to the scan's account. If the consumer stopped in the middle of a row group, the bytes that were
    /// read of it are included.
    fn drop(&mut self) {
        self.finish_group();
        self.scan.account.add(&self.done);
    }
}
