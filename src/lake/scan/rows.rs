//! The rows of a scan's share of a table, batch by batch: prune, apply the scope, decode the predicates' columns, decode the
//! rest for the rows that are left. Synchronous; `exec` turns it into a stream.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::account::{Account, Entries};
use super::adapt::adapt;
use super::clip::Clip;
use super::columns;
use super::error::ScanError;
use super::file::{OpenFile, ReadBytes};
use super::items::ItemMatch;
use super::locator::{FILE, ROW};
use super::order::{Order, Sorted};
use super::owner_set::OwnerSet;
use super::prune::Prune;
use super::pruning::{prune, refutation};
use super::ranges::Ranges;
use super::report::ScanReport;
use super::request::{RowPredicate, ScanRequest};
use super::stretch::{Ends, Stretch};
use super::table::ScopedTable;
use crate::fhir::storage::{LeafSet, NUMBER};
use crate::lake::picture::DataFile;

/// Files of a share that are held open at once so that their row groups can be read in the order of a sort.
const MOST_RANKED: usize = 256;

/// Rows per batch handed out.
const BATCH: usize = 8192;

/// A scan, resolved against a table's layout.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) table: ScopedTable,
    /// What batches have: clipped columns and locators, in the order asked for.
    pub(super) schema: SchemaRef,
    /// Columns decoded for predicates; with the leaves that the output wants of the same roots.
    first: Clip,
    /// The output's other columns.
    rest: Clip,
    predicates: Vec<(SchemaRef, RowPredicate)>,
    items: Vec<ItemMatch>,
    pub(super) prune: Prune,
    numbers_suffice: bool,
    pub(super) order: Option<Order>,
    owners: Option<OwnerSet>,
    either: Vec<Vec<ItemMatch>>,
    stretch: Stretch,
    files: OnceLock<Vec<(Arc<DataFile>, u64)>>,
    pub(super) account: Account,
}

impl Scan {
    /// `schema` names the output's columns; `output` has the same, less the locators.
    pub(super) fn new(table: ScopedTable, schema: SchemaRef, output: &Clip, request: ScanRequest) -> Scan {
        let ScanRequest {
            leaves: output_leaves,
            predicates,
            mut items,
            either,
            prune,
            numbers_suffice,
            order,
            owners,
            stretch,
        } = request;
        // Ids are looked up, and leave few rows to the others.
        items.sort_by_key(|condition| condition.ids().is_none());
        let early: LeafSet = predicates
            .iter()
            .flat_map(|predicate| predicate.leaves.iter().cloned())
            .collect();
        // What the output wants of the roots that predicates read is decoded with them.
        let roots = table.clip(&early);
        let both = table.clip(&early.iter().chain(&output_leaves).cloned().collect());
        let is_output = |name: &str| output.schema().index_of(name).is_ok();
        let first = both
            .retain(|name| is_output(name) && roots.schema().index_of(name).is_ok())
            .join(&roots.retain(|name| !is_output(name)));
        let rest = output.retain(|name| first.schema().index_of(name).is_err());
        let predicates = predicates
            .into_iter()
            .map(|predicate| (table.schema(&predicate.leaves), predicate))
            .collect();
        Scan {
            table,
            schema,
            first,
            rest,
            predicates,
            items,
            prune,
            numbers_suffice,
            order,
            owners: owners.map(|owners| OwnerSet::of(&owners)),
            either,
            stretch,
            files: OnceLock::new(),
            account: Account::default(),
        }
    }

    /// Whether every live row of the table that the scope shows comes out.
    pub(super) fn is_total(&self) -> bool {
        let conditions = self.predicates.is_empty() && self.items.is_empty() && self.either.is_empty();
        conditions && self.prune == Prune::Keep && self.owners.is_none() && self.stretch == Stretch::default()
    }

    /// The files that may hold rows of it, in the table's order, each with how many rows those before it have.
    pub(super) fn files(&self) -> &[(Arc<DataFile>, u64)] {
        self.files.get_or_init(|| {
            let mut before = 0;
            let place = |file: Arc<DataFile>| {
                let start = before;
                before += file.rows;
                (file, start)
            };
            self.chosen().into_iter().map(place).collect()
        })
    }

    /// How many rows those files have.
    pub(super) fn most_rows(&self) -> u64 {
        self.files().last().map_or(0, |(file, start)| start + file.rows)
    }

    fn chosen(&self) -> Vec<Arc<DataFile>> {
        let mut files = match (&self.owners, &self.table.scope.patient) {
            (Some(owners), _) => self.table.files_of(owners.all()),
            (None, Some(patient)) => self
                .table
                .files_of(&[patient.owners.as_slice(), &[crate::lake::owner::SHARED]].concat()),
            (None, None) => self.table.files().to_vec(),
        };
        let ends = self.ends();
        files.retain(|file| ends.meets(file));
        files
    }

    fn ends(&self) -> Ends {
        Ends::of(&self.stretch, &self.table)
    }

    /// The owners that it is narrowed to.
    pub(super) fn owners(&self) -> Option<&[i64]> {
        self.owners.as_ref().map(OwnerSet::all)
    }

    /// Why nothing of a row group is left.
    fn refuted_by(&self, data: &DataFile, file: &Arc<OpenFile>, group: usize) -> Result<Arc<str>, ScanError> {
        if let Some(reason) = refutation(file, group, &self.prune) {
            return Ok(reason);
        }
        let hidden = self.table.visible(data, file, group, self.owners.as_ref())?.is_empty();
        Ok(match (hidden, self.owners.is_some()) {
            (true, true) => "no row of the owners asked for".into(),
            (true, false) => "no row within the scope".into(),
            (false, _) => "several conditions together".into(),
        })
    }

    /// The labels of its predicates, for `explain`.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        let items = self
            .items
            .iter()
            .chain(self.either.iter().flatten())
            .map(|condition| &*condition.label);
        items.chain(self.predicates.iter().map(|(_, predicate)| &*predicate.label))
    }
}

/// An iterator over one share of a scan's rows.
pub(super) struct Rows {
    scan: Arc<Scan>,
    ends: Ends,
    files: std::vec::IntoIter<(Arc<DataFile>, u64)>,
    /// The table's rows that are this share's, counted over all files.
    share: Range<u64>,
    sorted: Option<Sorted>,
    /// All row groups of the share, the best last, where they are read by a sort's order.
    ranked: Option<Vec<Place>>,
    open: Option<(Arc<DataFile>, Arc<OpenFile>, Vec<usize>)>,
    current: Option<Group>,
    /// Rows still wanted.
    left: usize,
    done: Entries,
}

/// A row group of a file.
type Place = (Arc<DataFile>, Arc<OpenFile>, usize);

/// A row group being handed out.
struct Group {
    file: Arc<OpenFile>,
    /// Position in the file of the group's first row.
    first_row: u32,
    rows: Vec<u32>,
    at: usize,
    early: RecordBatch,
    late: Option<ParquetRecordBatchReader>,
    read: Arc<ReadBytes>,
}

impl Rows {
    /// Share `part` of `parts`, at most `limit` rows of it; in the order of a sort, if there is one.
    pub(super) fn new(
        scan: Arc<Scan>,
        part: usize,
        parts: usize,
        limit: Option<usize>,
        sorted: Option<Sorted>,
    ) -> Rows {
        let ends = scan.ends();
        let total = scan.most_rows();
        let bound = |part: usize| (u128::from(total) * part as u128 / parts.max(1) as u128) as u64;
        let share = bound(part)..bound(part + 1);
        let files = scan.files();
        let from = files.partition_point(|(file, start)| start + file.rows <= share.start);
        let until = files.partition_point(|(_, start)| *start < share.end);
        let files: Vec<_> = files[from..until.max(from)].to_vec();
        Rows {
            scan,
            ends,
            files: files.into_iter(),
            share,
            sorted,
            ranked: None,
            open: None,
            current: None,
            left: limit.unwrap_or(usize::MAX),
            done: Entries::default(),
        }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ScanError> {
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            if let Some(group) = &mut self.current {
                let started = Instant::now();
                let batch = group.next(&self.scan)?;
                self.done.report.read_time += started.elapsed();
                if let Some(batch) = batch {
                    let batch = batch.slice(0, batch.num_rows().min(self.left));
                    self.left -= batch.num_rows();
                    self.done.report.rows_out += batch.num_rows() as u64;
                    return Ok(Some(batch));
                }
                self.finish_group();
            }
            let Some((data, file, group)) = self.next_group()? else {
                return Ok(None);
            };
            self.current = self.start(&data, file, group)?;
        }
    }

    /// Lets go of the row group being read.
    pub(super) fn finish_group(&mut self) {
        if let Some(group) = self.current.take() {
            self.done.bytes(&group.file, &group.read);
        }
    }

    /// What was done so far, a row group being read not counted.
    pub(super) fn report(&self) -> &ScanReport {
        &self.done.report
    }

    /// The next row group of this share: the best of those that are left where there is an order and the files are not too many
    /// to hold open, else the next in the table's order.
    fn next_group(&mut self) -> Result<Option<Place>, ScanError> {
        if let Some(ranked) = &mut self.ranked {
            return Ok(ranked.pop());
        }
        if let Some(order) = self.sorted.as_ref().map(|sorted| sorted.order.clone())
            && self.files.len() <= MOST_RANKED
        {
            let mut ranked = Vec::new();
            while let Some(place) = self.next_in_table()? {
                ranked.push((order.best(&place.1, place.2), place));
            }
            ranked.sort_by_key(|(best, _)| *best);
            let ranked = self.ranked.insert(ranked.into_iter().map(|(_, place)| place).collect());
            return Ok(ranked.pop());
        }
        self.next_in_table()
    }

    fn next_in_table(&mut self) -> Result<Option<Place>, ScanError> {
        loop {
            if let Some((data, file, groups)) = &mut self.open
                && let Some(group) = groups.pop()
            {
                return Ok(Some((data.clone(), file.clone(), group)));
            }
            let Some((data, start)) = self.files.next() else {
                return Ok(None);
            };
            let started = Instant::now();
            let file = self.scan.table.open(&data)?;
            self.done.open(data.id);
            // A row group is its first row's share's.
            let mine = |group: &usize| {
                let group = &file.groups()[*group];
                self.share.contains(&(start + u64::from(group.first)))
                    && !self.ends.within(&data, group.first, group.rows).is_empty()
            };
            let groups: Vec<usize> = (0..file.groups().len()).rev().filter(mine).collect();
            self.done.report.row_groups += groups.len();
            self.done.report.prune_time += started.elapsed();
            self.open = Some((data, file, groups));
        }
    }

    /// Chooses the rows of a row group and begins to read them; `None` if none is left.
    fn start(&mut self, data: &DataFile, file: Arc<OpenFile>, group: usize) -> Result<Option<Group>, ScanError> {
        let scan = self.scan.clone();
        let started = Instant::now();
        let mut rows = prune(&file, group, &scan.prune);
        if let Some(sorted) = &self.sorted
            && let Some(needed) = sorted.needed()
        {
            rows = rows.intersect(&sorted.rows(&file, group, needed));
        }
        if !rows.is_empty() {
            let visible = scan.table.visible(data, &file, group, scan.owners.as_ref())?;
            rows = rows.intersect(&visible);
            let mut within = Ranges::default();
            within.push(
                self.ends
                    .within(data, file.groups()[group].first, file.groups()[group].rows),
            );
            rows = rows.intersect(&within);
        }
        let (place, count) = (&file.groups()[group], rows.count());
        let report = &mut self.done.report;
        report.prune_time += started.elapsed();
        if count == 0 {
            report.row_groups_pruned += 1;
            if scan.table.watch().is_some() {
                let reason = scan.refuted_by(data, &file, group)?;
                *self.done.report.pruned_by.entry(reason).or_default() += 1;
            }
            return Ok(None);
        }
        report.rows += u64::from(place.rows);
        report.rows_pruned += u64::from(place.rows) - count as u64;
        self.done.touch(data.id);
        let read = ReadBytes::new(&file);
        let (early, mut rows) = filter(&scan, &file, group, rows, &read, &mut self.done.report)?;
        rows.truncate(self.left);
        let leaves = scan.rest.leaves(file.fields(), file.sizes());
        let late = match rows.is_empty() || leaves.is_empty() {
            true => None,
            false => Some(columns::reader(&file, group, &leaves, &rows, BATCH, &read)?),
        };
        let (first_row, rows) = (place.first, rows.rows().collect());
        Ok(Some(Group {
            file,
            first_row,
            rows,
            at: 0,
            early,
            late,
            read,
        }))
    }
}

/// Reads the predicates' columns and drops the rows they refuse.
fn filter(
    scan: &Scan,
    file: &Arc<OpenFile>,
    group: usize,
    mut rows: Ranges,
    read: &Arc<ReadBytes>,
    report: &mut ScanReport,
) -> Result<(RecordBatch, Ranges), ScanError> {
    let before = rows.count();
    for condition in &scan.items {
        if !rows.is_empty() {
            let (started, count) = (Instant::now(), rows.count());
            rows = condition.matching(&scan.table, file, group, &rows, read)?;
            report.filtered(&condition.label, (count, rows.count()), started.elapsed());
        }
    }
    for conditions in &scan.either {
        let (started, count) = (Instant::now(), rows.count());
        let mut found = Ranges::default();
        for condition in conditions.iter().filter(|_| !rows.is_empty()) {
            found = found.union(&condition.matching(&scan.table, file, group, &rows, read)?);
        }
        rows = found;
        if let Some(first) = conditions.first() {
            report.filtered(&first.label, (count, rows.count()), started.elapsed());
        }
    }
    let started = Instant::now();
    let mut leaves = scan.first.leaves(file.fields(), file.sizes());
    if scan.numbers_suffice {
        leaves.retain(|leaf| !is_spared(file, group, *leaf));
    }
    let mut early = columns::read_leaves(file, group, &scan.first, &leaves, &rows, read)?;
    report.read_time += started.elapsed();
    for (schema, predicate) in &scan.predicates {
        if rows.is_empty() {
            break;
        }
        let (started, count) = (Instant::now(), rows.count());
        let mask = definite((predicate.keep)(&adapt(&early, schema)?)?);
        if mask.len() != early.num_rows() {
            return Err(ScanError::Columns(arrow::error::ArrowError::ComputeError(format!(
                "a row filter answered for {} of {} rows",
                mask.len(),
                early.num_rows()
            ))));
        }
        if mask.true_count() < mask.len() {
            rows = rows.filter(&mask);
            early = filter_record_batch(&early, &mask)?;
        }
        report.filtered(&predicate.label, (count, rows.count()), started.elapsed());
    }
    report.rows_filtered += (before - rows.count()) as u64;
    Ok((early, rows))
}

/// Whether a leaf is the text of decimals that all have their number beside them in a row group: where as many of either are
/// null, none has only a text.
fn is_spared(file: &OpenFile, group: usize, leaf: usize) -> bool {
    let nulls = |leaf: usize| {
        let statistics = file.metadata().row_group(group).column(leaf).statistics();
        statistics.and_then(|statistics| statistics.null_count_opt())
    };
    let number = file.leaf(&format!("{}{NUMBER}", file.paths()[leaf]));
    number.is_some_and(|number| nulls(leaf).is_some() && nulls(leaf) == nulls(number))
}

/// With null as false.
fn definite(mask: BooleanArray) -> BooleanArray {
    match mask.nulls() {
        Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
        None => mask,
    }
}

impl Group {
    fn next(&mut self, scan: &Scan) -> Result<Option<RecordBatch>, ScanError> {
        if self.at >= self.rows.len() {
            return Ok(None);
        }
        let late = match &mut self.late {
            Some(reader) => Some(
                reader
                    .next()
                    .ok_or_else(|| self.file.missing("rows that its footer counts"))??,
            ),
            None => None,
        };
        let count = late
            .as_ref()
            .map_or(BATCH.min(self.rows.len() - self.at), RecordBatch::num_rows);
        let late = late.map(|batch| adapt(&batch, scan.rest.schema())).transpose()?;
        let early = self.early.slice(self.at, count.min(self.early.num_rows() - self.at));
        let rows = &self.rows[self.at..self.at + count];
        self.at += count;
        let columns = scan.schema.fields().iter().map(|field| -> Result<ArrayRef, ScanError> {
            let name = field.name().as_str();
            Ok(match name {
                FILE => Arc::new(Int64Array::from_value(self.file.id as i64, count)),
                ROW => Arc::new(UInt32Array::from_iter_values(
                    rows.iter().map(|row| self.first_row + row),
                )),
                _ => match (
                    early.column_by_name(name),
                    late.as_ref().and_then(|late| late.column_by_name(name)),
                ) {
                    (Some(column), _) => super::adapt::adapt_array(column, field)?,
                    (None, Some(column)) => column.clone(),
                    (None, None) => arrow::array::new_null_array(field.data_type(), count),
                },
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(Some(RecordBatch::try_new_with_options(
            scan.schema.clone(),
            columns,
            &options,
        )?))
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch().transpose();
        if matches!(next, Some(Err(_)) | None) {
            self.left = 0;
        }
        next
    }
}

impl Drop for Rows {
    /// A consumer that has enough stops in the middle of a row group; what was read still counts.
    fn drop(&mut self) {
        self.finish_group();
        self.scan.account.add(&self.done);
    }
}
