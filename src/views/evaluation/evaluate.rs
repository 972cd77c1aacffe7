//! Evaluates a view's select tree over a batch of resources. Each expression runs once for the whole batch, on the
//! items of its context. The result is row numbers. The output copies the values of these rows, portion by portion.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;

use super::super::definition::column::Column;
use super::super::error::RunError;
use super::super::output::fits;
use super::super::view::{Iteration, Select, Steps, View};
use super::budget::{Budget, PORTION_TEXT, TEXT};
use super::culprit;
use super::index::Index;
use super::relation::{Counts, Group, Part, Relation};
use super::repeat;
use super::values::gather;
use crate::fhirpath::{Collection, Focus, Offsets, Program, Work, WorkBudget};

/// The maximum number of rows in a batch of the output.
const BATCH: usize = 8192;

/// The rows of a batch of resources, in portions. If nested lists multiply to very many rows, the resources are
/// evaluated in smaller parts, so that memory stays bounded.
#[derive(Debug)]
pub struct BatchRows {
    view: Arc<View>,
    filters: bool,
    work: Arc<Work>,
    /// Resources that are not evaluated yet. The last batch of the list is evaluated next.
    left: Vec<RecordBatch>,
    /// The rows of some resources, and these resources.
    relation: Option<(Relation, RecordBatch)>,
    /// The error about the row after the returned ones.
    failed: Option<RunError>,
    /// An upper bound for the bytes of text in any row of the relation.
    longest_row: usize,
    at: usize,
}

impl View {
    /// Returns the rows of a batch of the view's resources. `filters` says whether to apply the view's `where` first.
    pub fn rows(self: &Arc<View>, batch: RecordBatch, filters: bool) -> BatchRows {
        BatchRows {
            view: self.clone(),
            filters,
            work: self.work(&batch),
            left: vec![batch],
            relation: None,
            failed: None,
            longest_row: 0,
            at: 0,
        }
    }

    /// Returns the error together with the resource that causes it. The search for this resource does not count as
    /// work of the run.
    fn named(&self, error: RunError, batch: &RecordBatch, filters: bool) -> RunError {
        culprit::named(error, self.resource, batch, |part| {
            let work = Work::over(part, self.parts, &WorkBudget::default());
            self.relation(part, filters, &work).map(drop)
        })
    }

    /// Returns the error about a value that does not fit the SQL type of its column, together with the resource.
    fn named_misfit(&self, error: RunError, batch: &RecordBatch, filters: bool) -> RunError {
        culprit::named(error, self.resource, batch, |part| {
            let work = Work::over(part, self.parts, &WorkBudget::default());
            let relation = self.relation(part, filters, &work)?;
            for (slot, column) in self
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| self.converts(column))
            {
                fits(column, &relation.column(slot, 0..relation.rows())?)?;
            }
            Ok(())
        })
    }

    /// Returns the index of the first row with a value that does not fit the SQL type of its column, and the error.
    /// `None` if there is no such row, and if the view does not convert values when rows are computed.
    fn misfit(&self, rows: &RecordBatch) -> Option<(usize, RunError)> {
        let columns = self.columns.iter().zip(rows.columns());
        let fits_all = |from: usize, length: usize| {
            let mut converted = columns.clone().filter(|(column, _)| self.converts(column));
            converted.try_for_each(|(column, array)| fits(column, &array.slice(from, length)))
        };
        let mut error = fits_all(0, rows.num_rows()).err()?;
        let (mut from, mut length) = (0, rows.num_rows());
        while length > 1 {
            match fits_all(from, length / 2) {
                Err(earlier) => (error, length) = (earlier, length / 2),
                Ok(()) => (from, length) = (from + length / 2, length - length / 2),
            }
        }
        Some((from, error))
    }

    fn relation(&self, batch: &RecordBatch, filters: bool, work: &Arc<Work>) -> Result<Relation, RunError> {
        let kept = if filters && self.has_filter() {
            &filter_record_batch(batch, &self.keep_within(batch, work)?)?
        } else {
            batch
        };
        let evaluator = Evaluator {
            columns: &self.columns,
            budget: Budget::new(),
        };
        let focus = Focus::root(kept, self.resource).at(self.now).within(work);
        let parts = self.selects.iter().map(|select| evaluator.select(select, &focus));
        let relation = Relation::product(focus.len(), parts.collect::<Result<_, _>>()?, &evaluator.budget)?;
        if relation.fits(TEXT) {
            Ok(relation)
        } else {
            Err(RunError::TooMuchText)
        }
    }
}

impl BatchRows {
    /// Evaluates the next resources. `None` after the last.
    fn relation(&mut self) -> Result<Option<(Relation, RecordBatch)>, RunError> {
        while let Some(batch) = self.left.pop() {
            match self.view.relation(&batch, self.filters, &self.work) {
                Err(error) if error.is_of_size() && batch.num_rows() > 1 => {
                    let half = batch.num_rows() / 2;
                    self.left.push(batch.slice(half, batch.num_rows() - half));
                    self.left.push(batch.slice(0, half));
                }
                Err(error) => return Err(self.view.named(error, &batch, self.filters)),
                Ok(relation) => return Ok(Some((relation, batch))),
            }
        }
        Ok(None)
    }

    fn portion(&mut self) -> Result<Option<RecordBatch>, RunError> {
        loop {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let Some((relation, batch)) = &self.relation else {
                self.relation = self.relation()?;
                self.longest_row = self.relation.as_ref().map_or(0, |(rows, _)| rows.longest_row());
                self.at = 0;
                match self.relation {
                    Some(_) => continue,
                    None => return Ok(None),
                }
            };
            let mut rows = self.at..relation.rows().min(self.at + BATCH);
            if rows.is_empty() {
                self.relation = None;
                continue;
            }
            if self.longest_row.saturating_mul(rows.len()) > PORTION_TEXT {
                rows.end = rows.start + relation.fitting(rows.clone(), PORTION_TEXT);
            }
            self.at = rows.end;
            let column = |slot: usize| relation.column(slot, rows.clone());
            let columns = (0..self.view.columns.len())
                .map(column)
                .collect::<Result<Vec<_>, _>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            let rows = RecordBatch::try_new_with_options(self.view.schema.clone(), columns, &options)?;
            let Some((row, error)) = self.view.misfit(&rows) else {
                return Ok(Some(rows));
            };
            // Return the rows before, because the consumer may want no more than these.
            self.failed = Some(self.view.named_misfit(error, batch, self.filters));
            if row > 0 {
                return Ok(Some(rows.slice(0, row)));
            }
        }
    }
}

impl Iterator for BatchRows {
    type Item = Result<RecordBatch, RunError>;

    /// Returns the next rows. After an error, returns `None`.
    fn next(&mut self) -> Option<Self::Item> {
        let portion = self.portion();
        if portion.is_err() {
            self.left.clear();
            self.relation = None;
        }
        portion.transpose()
    }
}

/// Evaluates a select tree.
struct Evaluator<'v> {
    columns: &'v [Column],
    budget: Budget,
}

impl Evaluator<'_> {
    /// Returns a select's rows for each context of the focus.
    fn select(&self, select: &Select, focus: &Focus) -> Result<Relation, RunError> {
        let Some(iteration) = &select.iteration else {
            return self.body(select, focus);
        };
        let (items, counts) = self.enter(iteration, focus)?;
        self.body(select, &items)?
            .lift(&counts, focus.len(), iteration.or_null, &self.budget)
    }

    /// Returns the items of an iteration as contexts, and the number of items of each context of `focus`.
    fn enter(&self, iteration: &Iteration, focus: &Focus) -> Result<(Focus, Counts), RunError> {
        match &iteration.steps {
            Steps::Each(program) => {
                let collection = run(program, focus, &iteration.at, &self.budget)?;
                self.budget.take(collection.len(), 1)?;
                Ok((focus.enter(&collection), counts(collection.offsets())))
            }
            Steps::Repeat { first, next } => repeat::enter(first, next, focus, &iteration.at, &self.budget),
        }
    }

    /// Returns the rows of a select for each context that its iteration yields.
    fn body(&self, select: &Select, focus: &Focus) -> Result<Relation, RunError> {
        let contexts = focus.len();
        self.budget.take(contexts, select.cells.len())?;
        let mut parts = Vec::with_capacity(2 + select.selects.len());
        let mut cells = Vec::with_capacity(select.cells.len());
        for cell in &select.cells {
            let column = &self.columns[cell.slot];
            let evaluation = cell.program.evaluate_at_most(focus, self.budget.values());
            let at = || format!("{}: column '{}'", cell.at, column.name);
            let collection = evaluation
                .and_then(|evaluation| evaluation.strict())
                .map_err(|source| RunError::of_expression(source, at))?;
            let values = gather(column, &collection).map_err(|error| error.placed(&cell.at))?;
            cells.push(Part {
                slot: cell.slot,
                values,
                is_row_index: cell.is_row_index,
            });
        }
        if !cells.is_empty() {
            let groups = vec![Group {
                parts: cells,
                index: Index::Same,
                own: true,
            }];
            parts.push(Relation {
                counts: Counts::One(contexts),
                groups,
            });
        }
        for select in &select.selects {
            parts.push(self.select(select, focus)?);
        }
        if !select.union.is_empty() {
            let branches = select.union.iter().map(|branch| self.select(branch, focus));
            parts.push(Relation::union(
                contexts,
                branches.collect::<Result<_, _>>()?,
                &self.budget,
            )?);
        }
        Relation::product(contexts, parts, &self.budget)
    }
}

/// Returns the items that an expression yields. Fails if the number of items exceeds the maximum number of rows in
/// `budget`.
pub(in crate::views) fn run(
    program: &Program,
    focus: &Focus,
    at: &str,
    budget: &Budget,
) -> Result<Collection, RunError> {
    let evaluation = program.evaluate_at_most(focus, budget.rows());
    evaluation
        .and_then(|evaluation| evaluation.strict())
        .map_err(|source| RunError::of_expression(source, || at.to_owned()))
}

fn counts(offsets: &Offsets) -> Counts {
    match offsets {
        Offsets::Each(rows) => Counts::One(*rows),
        Offsets::List(offsets) => Counts::Starts(offsets.iter().map(|offset| *offset as u32).collect()),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use chrono::Utc;

    use super::*;
    use crate::columns::json::Tape;
    use crate::columns::shred::{Shredder, SystemValues};
    use crate::fhir::facts;

    /// If each batch had its own `now()`, the rows of a long run would disagree on the time.
    #[test]
    fn now_is_one_moment_in_all_batches() {
        let view = r#"{"resourceType": "ViewDefinition", "resource": "Patient", "status": "active",
            "select": [{"column": [{"name": "at", "path": "now()", "type": "dateTime"}]}]}"#;
        let view = Arc::new(View::parse(view.as_bytes()).unwrap());
        let mut shredder = Shredder::new(facts().lookup("Patient").unwrap());
        let mut tape = Tape::new();
        let root = tape.parse(br#"{"resourceType":"Patient","id":"a"}"#).unwrap();
        shredder.push(&SystemValues::outside("a", ""), root).unwrap();
        let batch = shredder.finish().unwrap();
        let now = || {
            let rows = view.rows(batch.clone(), true).next().unwrap().unwrap();
            rows.column(0).as_string::<i32>().value(0).to_owned()
        };
        let (first, begun) = (now(), Utc::now().timestamp_millis());
        while Utc::now().timestamp_millis() <= begun + 1 {}
        assert_eq!(now(), first);
    }
}
