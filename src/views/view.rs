//! A ViewDefinition resolved against R4: every expression is compiled, and every column has its place in the output.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{BooleanArray, BooleanBufferBuilder, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use chrono::{DateTime, Utc};

use super::definition::column::Column;
use super::error::RunError;
use super::evaluation::culprit::{self, ID};
use crate::columns::conditions::{Necessary, Prune};
use crate::fhir::TypeId;
use crate::fhir::storage::LeafSet;
use crate::fhirpath::{Constant, Focus, Program, Work, WorkBudget};

/// A ViewDefinition that can be run. Immutable and shared. In all its rows, `now()` is the time at which the definition
/// was read.
#[derive(Clone, Debug)]
pub struct View {
    pub(super) name: Option<String>,
    pub(super) resource: TypeId,
    pub(super) filters: Vec<Filter>,
    pub(super) selects: Vec<Select>,
    /// The values of `%name`.
    pub(super) constants: Arc<HashMap<String, Constant>>,
    pub(super) columns: Vec<Column>,
    pub(super) schema: SchemaRef,
    pub(super) leaves: LeafSet,
    /// The value of `now()` in every row.
    pub(super) now: DateTime<Utc>,
    /// The total size of its expressions.
    pub(super) parts: usize,
    /// The work that a run may do beyond the amount that its data allow.
    pub(super) budget: WorkBudget,
    /// The ViewDefinition from which it was read.
    pub(super) definition: Arc<[u8]>,
    /// Whether a scan reads the ids of its resources, so that an error names one.
    pub(super) reads_ids: bool,
    /// The columns that the view keeps, by their indexes in the definition. `None` for all.
    pub(super) projected: Option<Arc<[usize]>>,
}

/// The element names that expressions may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// FHIRPath's names and, with a warning, JSON's.
    Both,
    /// FHIRPath's alone.
    FhirPath,
}

/// A `where`.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) at: String,
    pub(super) program: Program,
    /// Necessary conditions on the kept resources. `None` if every resource must be evaluated.
    pub(super) necessary: Option<Necessary>,
}

/// A `select`, or a branch of a `unionAll`.
#[derive(Clone, Debug)]
pub(super) struct Select {
    pub(super) iteration: Option<Iteration>,
    pub(super) cells: Vec<Cell>,
    pub(super) selects: Vec<Select>,
    pub(super) union: Vec<Select>,
}

/// The iteration of a `select`.
#[derive(Clone, Debug)]
pub(super) struct Iteration {
    pub(super) at: String,
    pub(super) steps: Steps,
    /// Whether a context without items still gets a row.
    pub(super) or_null: bool,
}

/// How the items are found.
#[derive(Clone, Debug)]
pub(super) enum Steps {
    /// The items that an expression yields.
    Each(Program),
    /// The expressions of `repeat`, applied to the context, then to each item found, and so on.
    Repeat {
        /// The programs on the context.
        first: Vec<Program>,
        /// The programs on an item that was found.
        next: Vec<Program>,
    },
}

/// A column's expression, and the index of its output column.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// The place of the expression in the definition.
    pub(super) at: String,
    pub(super) slot: usize,
    pub(super) program: Program,
    /// Whether the expression is `%rowIndex`. Its value is 0 for an iteration without items.
    pub(super) is_row_index: bool,
}

impl View {
    /// The same view with its own budget for a run.
    pub(super) fn for_run(&self) -> Arc<View> {
        Arc::new(View {
            budget: WorkBudget::default(),
            ..self.clone()
        })
    }

    /// The same view. It also reads the ids of its resources, so that an error names one.
    pub(super) fn with_ids(&self) -> Arc<View> {
        let mut view = self.clone();
        view.leaves.insert(ID.to_owned());
        view.reads_ids = true;
        Arc::new(view)
    }

    /// The work of its expressions over a batch.
    pub(super) fn work(&self, batch: &RecordBatch) -> Arc<Work> {
        Work::over(batch, self.parts, &self.budget)
    }

    /// The view's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The resource type of its rows.
    pub fn resource(&self) -> TypeId {
        self.resource
    }

    /// The columns that the view yields, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns that the view yields, as Arrow types.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns of the resource's table that its select tree reads.
    pub fn leaves(&self) -> &LeafSet {
        &self.leaves
    }

    /// The columns of the resource's table that its `where` reads.
    pub fn filter_leaves(&self) -> LeafSet {
        let ids = self.reads_ids.then(|| ID.to_owned());
        let of_filters = self
            .filters
            .iter()
            .flat_map(|filter| filter.program.leaves().iter().cloned());
        of_filters.chain(ids).collect()
    }

    /// Whether the view has a `where`.
    pub fn has_filter(&self) -> bool {
        !self.filters.is_empty()
    }

    /// Conditions by which a scan may skip resources that its `where` drops. Skipping them must not hide an error.
    pub(super) fn necessary(&self) -> Necessary {
        let parts: Option<Vec<&Necessary>> = self.filters.iter().map(|filter| filter.necessary.as_ref()).collect();
        let parts = parts.unwrap_or_default();
        Necessary {
            prune: Prune::all(parts.iter().map(|part| part.prune.clone())),
            items: parts.iter().flat_map(|part| part.items.clone()).collect(),
            ..Necessary::default()
        }
    }

    /// The view's `where` as written, for plans. `None` if there is none.
    pub fn filter_text(&self) -> Option<String> {
        let texts: Vec<&str> = self.filters.iter().map(|filter| filter.program.text()).collect();
        (!texts.is_empty()).then(|| texts.join(" and "))
    }

    /// The resources of a batch for which all expressions of its `where` are true.
    pub fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, RunError> {
        let kept = self.keep_within(batch, &self.work(batch));
        kept.map_err(|error| {
            culprit::named(error, self.resource, batch, |part| {
                let work = Work::over(part, self.parts, &WorkBudget::default());
                self.keep_within(part, &work).map(drop)
            })
        })
    }

    /// The same, as part of the work over the batch.
    pub(super) fn keep_within(&self, batch: &RecordBatch, work: &Arc<Work>) -> Result<BooleanArray, RunError> {
        let mut kept: Option<BooleanArray> = None;
        for filter in &self.filters {
            let holds = filter.holds(&Focus::root(batch, self.resource).at(self.now).within(work))?;
            kept = Some(match kept {
                None => holds,
                Some(kept) => arrow::compute::and(&kept, &holds)?,
            });
        }
        Ok(kept.unwrap_or_else(|| BooleanArray::from(vec![true; batch.num_rows()])))
    }
}

impl Filter {
    fn holds(&self, focus: &Focus) -> Result<BooleanArray, RunError> {
        let failed = |source| RunError::Expression {
            at: self.at.clone(),
            source,
        };
        let truth = self
            .program
            .evaluate_on(focus)
            .and_then(|evaluation| evaluation.strict())
            .map_err(failed)?;
        let mut bits = BooleanBufferBuilder::new(truth.rows());
        for row in 0..truth.rows() {
            let range = truth.range(row);
            bits.append(match range.len() {
                0 => false,
                1 => {
                    let (items, item) = truth.item(range.start);
                    let no_boolean = || RunError::NotBoolean { at: self.at.clone() };
                    match items.boolean(item) {
                        Some(value) => value,
                        None if items.has_value(item) => return Err(no_boolean()),
                        None => false,
                    }
                }
                _ => return Err(RunError::NotBoolean { at: self.at.clone() }),
            });
        }
        Ok(BooleanArray::new(bits.finish(), None))
    }
}

/// The Arrow schema of columns.
pub(super) fn schema(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new_with_metadata(
        columns.iter().map(Column::field).collect::<Vec<_>>(),
        HashMap::new(),
    ))
}
