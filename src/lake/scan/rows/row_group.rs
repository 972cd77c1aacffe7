//! The rows of a row group that meet the conditions, with their columns, batch by batch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, BooleanArray, BooleanBufferBuilder, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array,
};
use arrow::compute::filter_record_batch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::super::cache::file::{OpenFile, ReadBytes};
use super::super::conditions::pruning::has_all_numbers;
use super::super::conditions::ranges::Ranges;
use super::super::conditions::row_pruning::RowPruning;
use super::super::decode::adapt::{adapt, adapt_array};
use super::super::decode::columns;
use super::super::error::ScanError;
use super::super::lookup::locator::{FILE, ROW};
use super::super::report::counts::ScanReport;
use super::partition::ROWS_OF_A_READ;
use super::resolved::Scan;
use crate::fhir::storage::NUMBER;

/// The maximum number of rows per returned batch.
pub(in crate::lake::scan) const BATCH: usize = 8192;

/// A row group whose rows are being returned.
pub(in crate::lake::scan) struct Group {
    pub(in crate::lake::scan) file: Arc<OpenFile>,
    /// The position in the file of the group's first row.
    pub(in crate::lake::scan) first_row: u32,
    pub(in crate::lake::scan) rows: Vec<u32>,
    pub(in crate::lake::scan) at: usize,
    pub(in crate::lake::scan) early: RecordBatch,
    pub(in crate::lake::scan) late: Option<ParquetRecordBatchReader>,
    pub(in crate::lake::scan) read: Arc<ReadBytes>,
}

impl Group {
    pub(in crate::lake::scan) fn next(&mut self, scan: &Scan) -> Result<Option<RecordBatch>, ScanError> {
        if self.at >= self.rows.len() {
            return Ok(None);
        }
        let late = match &mut self.late {
            Some(reader) => Some(
                reader
                    .next()
                    .ok_or_else(|| self.file.missing("rows that its footer counts"))?
                    .map_err(self.file.parquet())?,
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
                    (Some(column), _) => adapt_array(column, field)?,
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

/// A row group whose predicates are being evaluated. Each step evaluates one predicate on a portion of the rows,
/// because a predicate may take long.
pub(in crate::lake::scan) struct Filtering {
    pub(in crate::lake::scan) file: Arc<OpenFile>,
    pub(in crate::lake::scan) group: usize,
    pub(in crate::lake::scan) read: Arc<ReadBytes>,
    /// The rows that no condition has dropped yet. `early` has their decoded columns.
    pub(in crate::lake::scan) rows: Ranges,
    pub(in crate::lake::scan) early: RecordBatch,
    /// The index of the predicate that is being evaluated. `mask` has its results so far, and `time` the time that it
    /// has taken so far.
    at: usize,
    mask: BooleanBufferBuilder,
    time: Duration,
    /// The number of rows before any condition was decided.
    before: usize,
}

impl Filtering {
    /// Checks the exact conditions. Then checks the conditions of the statistics on dictionary codes, if this is likely
    /// to save time. Drops the rows that fail. If this check has decided the predicates, they are not evaluated.
    /// Otherwise decodes the columns that they read.
    pub(in crate::lake::scan) fn begin(
        scan: &Scan,
        file: &Arc<OpenFile>,
        group: usize,
        mut rows: Ranges,
        row_pruning: &mut RowPruning,
        report: &mut ScanReport,
    ) -> Result<Filtering, ScanError> {
        let read = ReadBytes::new(file);
        let before = rows.count();
        for condition in &scan.items {
            if !rows.is_empty() {
                let (started, count) = (Instant::now(), rows.count());
                scan.table.spend(count as u64 / ROWS_OF_A_READ)?;
                rows = scan.table.matching(condition, file, group, &rows, &read)?;
                report.filtered(&condition.label, (count, rows.count()), started.elapsed());
            }
        }
        for choices in &scan.either {
            let (started, count) = (Instant::now(), rows.count());
            let mut found = Ranges::default();
            for choice in choices.iter().filter(|choice| choice.may_hold(file, group)) {
                if !rows.is_empty() {
                    scan.table.spend(count as u64 / ROWS_OF_A_READ)?;
                    found = found.union(&scan.table.matching(&choice.condition, file, group, &rows, &read)?);
                }
            }
            rows = found;
            let mut labels: Vec<&str> = choices.iter().map(|choice| &*choice.condition.label).collect();
            labels.dedup();
            if !labels.is_empty() {
                report.filtered(&labels.join(" or ").into(), (count, rows.count()), started.elapsed());
            }
        }
        let mut is_decided = false;
        let (condition, suffices) = match &scan.sufficient {
            Some(sufficient) => (sufficient.condition(), true),
            None => (&scan.prune, false),
        };
        let all = file.groups()[group].rows;
        if !scan.predicates.is_empty() && !rows.is_empty() && row_pruning.pays(rows.count(), all, suffices) {
            let (started, count) = (Instant::now(), rows.count());
            let checked = row_pruning.keep(&rows, (condition, suffices), file, group, &read);
            if let Some(checked) = checked.map_err(file.parquet())? {
                (rows, is_decided) = (checked.rows, checked.is_exact);
                report.filtered(&scan.row_pruning_label, (count, rows.count()), started.elapsed());
            }
        }
        let started = Instant::now();
        let first = if is_decided { &scan.first_of_output } else { &scan.first };
        let mut leaves = first.leaves(file.fields(), file.sizes());
        if scan.numbers_suffice {
            leaves.retain(|leaf| !is_spared(file, group, *leaf));
        }
        let early = columns::read_leaves(file, group, first, &leaves, &rows, &read)?;
        report.read_time += started.elapsed();
        Ok(Filtering {
            file: file.clone(),
            group,
            read,
            mask: BooleanBufferBuilder::new(early.num_rows()),
            rows,
            early,
            at: if is_decided { scan.predicates.len() } else { 0 },
            time: Duration::ZERO,
            before,
        })
    }

    /// Evaluates the current predicate on the next portion of rows. Returns `true` if all predicates are done or no row
    /// is left. Such a call evaluates nothing.
    pub(in crate::lake::scan) fn step(
        &mut self,
        scan: &Scan,
        portion: &mut Portion,
        report: &mut ScanReport,
    ) -> Result<bool, ScanError> {
        let Some((schema, predicate)) = scan.predicates.get(self.at).filter(|_| !self.rows.is_empty()) else {
            report.rows_filtered += (self.before - self.rows.count()) as u64;
            return Ok(true);
        };
        let started = Instant::now();
        let from = self.mask.len();
        let count = portion.0.min(self.early.num_rows() - from);
        scan.table.spend((count as u64).saturating_mul(predicate.cost()))?;
        let mask = definite(predicate.keep(&adapt(&self.early.slice(from, count), schema)?)?);
        if mask.len() != count {
            return Err(ScanError::Columns(arrow::error::ArrowError::ComputeError(format!(
                "a row filter answered for {} of {count} rows",
                mask.len(),
            ))));
        }
        self.mask.append_buffer(mask.values());
        if self.mask.len() == self.early.num_rows() {
            let mask = BooleanArray::new(self.mask.finish(), None);
            let count = self.rows.count();
            if mask.true_count() < mask.len() {
                self.rows = self.rows.filter(&mask);
                self.early = filter_record_batch(&needed(&self.early, scan, self.at + 1)?, &mask)?;
            }
            let time = std::mem::take(&mut self.time) + started.elapsed();
            report.filtered(predicate.label(), (count, self.rows.count()), time);
            self.at += 1;
        } else {
            self.time += started.elapsed();
        }
        portion.learn(count, started.elapsed());
        Ok(false)
    }
}

/// The number of rows per step of a predicate. It grows while the predicate is quick, so that a quick predicate soon
/// gets all rows of a row group in one step.
#[derive(Clone, Copy)]
pub(in crate::lake::scan) struct Portion(usize);

impl Default for Portion {
    fn default() -> Portion {
        Portion(512)
    }
}

impl Portion {
    /// Adapts the number of rows per step to the time that a portion took.
    fn learn(&mut self, rows: usize, took: Duration) {
        if took > Duration::from_millis(10) {
            self.0 = (rows / 2).max(16);
        } else if took < Duration::from_millis(2) && rows == self.0 {
            self.0 = self.0.saturating_mul(4);
        }
    }
}

/// Returns the columns of a batch that are still needed: those of the output, and those that the predicates from index
/// `next` on read.
fn needed(batch: &RecordBatch, scan: &Scan, next: usize) -> Result<RecordBatch, ScanError> {
    let schemas = scan.predicates[next..].iter().map(|(schema, _)| schema);
    let schemas: Vec<_> = schemas.chain([&scan.schema]).collect();
    let is_needed = |name: &str| schemas.iter().any(|schema| schema.index_of(name).is_ok());
    let columns = batch.schema_ref().fields().iter().enumerate();
    let columns: Vec<usize> = columns
        .filter(|(_, field)| is_needed(field.name()))
        .map(|(at, _)| at)
        .collect();
    Ok(batch.project(&columns)?)
}

/// Whether a leaf need not be decoded, because numbers suffice. The leaf has the texts of decimals, and every decimal
/// of the row group also has a number in the leaf's companion.
fn is_spared(file: &OpenFile, group: usize, leaf: usize) -> bool {
    let number = format!("{}{NUMBER}", file.paths()[leaf]);
    file.leaf(&number).is_some() && has_all_numbers(file, group, &number)
}

/// Returns the mask with `false` in place of null.
fn definite(mask: BooleanArray) -> BooleanArray {
    match mask.nulls() {
        Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
        None => mask,
    }
}
