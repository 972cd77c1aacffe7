//! A view's select tree over a batch of resources. Every expression is evaluated once for the whole batch, on the items it
//! stands over; what comes out are row numbers, from which the output is taken in portions.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};

use super::column::Column;
use super::error::RunError;
use super::relation::{Counts, Group, Index, Part, Relation};
use super::repeat;
use super::values::gather;
use super::view::{Iteration, Select, Steps, View};
use crate::fhirpath::{Collection, Focus, Offsets, Program};

/// Rows of the output per batch.
const BATCH: usize = 8192;

/// The rows of a batch of resources, to be taken in portions.
#[derive(Debug)]
pub struct BatchRows {
    view: Arc<View>,
    relation: Relation,
    at: usize,
}

impl View {
    /// The rows of a batch of its resource's table; the view's `where` is not applied, see [`View::keep`].
    pub fn rows(self: &Arc<View>, batch: &RecordBatch) -> Result<BatchRows, RunError> {
        let focus = Focus::root(batch, self.resource);
        let parts = self
            .selects
            .iter()
            .map(|select| evaluate(select, &focus, &self.columns));
        let relation = Relation::product(focus.len(), parts.collect::<Result<_, _>>()?)?;
        Ok(BatchRows {
            view: self.clone(),
            relation,
            at: 0,
        })
    }
}

impl BatchRows {
    /// How many rows there are, those taken included.
    pub fn total(&self) -> usize {
        self.relation.rows()
    }
}

impl Iterator for BatchRows {
    type Item = Result<RecordBatch, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.at..self.relation.rows().min(self.at + BATCH);
        if rows.is_empty() {
            return None;
        }
        self.at = rows.end;
        let column = |slot: usize| self.relation.column(slot, rows.clone());
        let columns = (0..self.view.columns.len()).map(column).collect::<Result<Vec<_>, _>>();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Some(columns.and_then(|columns| {
            Ok(RecordBatch::try_new_with_options(
                self.view.schema.clone(),
                columns,
                &options,
            )?)
        }))
    }
}

/// A select's rows for each context of the focus.
fn evaluate(select: &Select, focus: &Focus, columns: &[Column]) -> Result<Relation, RunError> {
    let Some(iteration) = &select.iteration else {
        return body(select, focus, columns);
    };
    let (items, counts) = enter(iteration, focus)?;
    body(select, &items, columns)?.lift(&counts, focus.len(), iteration.or_null)
}

/// The items that an iteration goes through, and how many each context has.
fn enter(iteration: &Iteration, focus: &Focus) -> Result<(Focus, Counts), RunError> {
    match &iteration.steps {
        Steps::Each(program) => {
            let collection = run(program, focus, &iteration.at)?;
            Ok((focus.enter(&collection), counts(collection.offsets())))
        }
        Steps::Repeat { first, next } => repeat::enter(first, next, focus, &iteration.at),
    }
}

/// What stands inside a select, for each context of its own.
fn body(select: &Select, focus: &Focus, columns: &[Column]) -> Result<Relation, RunError> {
    let contexts = focus.len();
    let mut parts = Vec::with_capacity(2 + select.selects.len());
    let mut cells = Vec::with_capacity(select.cells.len());
    for cell in &select.cells {
        let column = &columns[cell.slot];
        let evaluation = cell
            .program
            .evaluate_on(focus)
            .and_then(|evaluation| evaluation.strict());
        let collection = evaluation.map_err(|source| RunError::Expression {
            at: format!("column '{}'", column.name),
            source,
        })?;
        cells.push(Part {
            slot: cell.slot,
            values: gather(column, &collection)?,
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
        parts.push(evaluate(select, focus, columns)?);
    }
    if !select.union.is_empty() {
        let branches = select.union.iter().map(|branch| evaluate(branch, focus, columns));
        parts.push(Relation::union(contexts, branches.collect::<Result<_, _>>()?)?);
    }
    Relation::product(contexts, parts)
}

pub(super) fn run(program: &Program, focus: &Focus, at: &str) -> Result<Collection, RunError> {
    let evaluation = program.evaluate_on(focus).and_then(|evaluation| evaluation.strict());
    evaluation.map_err(|source| RunError::Expression {
        at: at.to_owned(),
        source,
    })
}

fn counts(offsets: &Offsets) -> Counts {
    match offsets {
        Offsets::Each(rows) => Counts::One(*rows),
        Offsets::List(offsets) => Counts::Starts(offsets.iter().map(|offset| *offset as u32).collect()),
    }
}
