//! A ViewDefinition that was resolved against R4: every expression is compiled, and every column has its place in the
//! output.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{BooleanArray, BooleanBufferBuilder, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use chrono::{DateTime, Utc};

use super::definition::column::Column;
use super::error::RunError;
use super::evaluation::culprit::{self, ID};
use super::output::Format;
use crate::columns::conditions::{Necessary, Prune};
use crate::fhir::TypeId;
use crate::fhir::storage::LeafSet;
use crate::fhirpath::{Constant, Focus, Program, Work, WorkBudget};

/// A ViewDefinition that can be run. It does not change and can be shared. In all its rows, `now()` is the time at
/// which the definition was read.
#[derive(Clone, Debug)]
pub struct View {
    pub(super) name: Option<String>,
    pub(super) resource: TypeId,
    pub(super) filters: Vec<Filter>,
    pub(super) selects: Vec<Select>,
    /// The values of the constants, by the names that follow `%`.
    pub(super) constants: Arc<HashMap<String, Constant>>,
    pub(super) columns: Vec<Column>,
    pub(super) schema: SchemaRef,
    pub(super) leaves: LeafSet,
    /// The value of `now()` in every row.
    pub(super) now: DateTime<Utc>,
    /// The sum of [`Program::parts`] of all expressions. It decides how much work a run of the view may do.
    pub(super) parts: usize,
    /// The budget of work that a run has in addition to the work that its data allow.
    pub(super) budget: WorkBudget,
    /// The JSON of the ViewDefinition.
    pub(super) definition: Arc<[u8]>,
    /// Whether the scan also reads the ids of resources, so that an error can name a resource.
    pub(super) reads_ids: bool,
    /// The columns whose values are converted to their SQL types when rows are computed, although the rows have the
    /// written values. An error about a value can then name its resource.
    pub(super) converts: Converts,
    /// The columns to which the view is restricted, by their indexes in the definition. `None` stands for all columns.
    pub(super) projected: Option<Arc<[usize]>>,
}

/// The columns whose values are converted to their SQL types when rows are computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Converts {
    /// No column.
    #[default]
    Nothing,
    /// The column with this name.
    Column(String),
    /// The columns with a tag `ansi/type`.
    Tagged,
}

/// The names of elements that expressions may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// FHIRPath's names and, with a warning, JSON's names.
    Both,
    /// FHIRPath's names only.
    FhirPath,
}

/// A `where`.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) at: String,
    pub(super) program: Program,
    /// Conditions that hold for every resource that the `where` keeps. `None` if the `where` can fail, so that it must
    /// be evaluated on every resource.
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
    /// Whether a context without items still yields a row.
    pub(super) or_null: bool,
}

/// How the items of an iteration are found.
#[derive(Clone, Debug)]
pub(super) enum Steps {
    /// The items that an expression yields.
    Each(Program),
    /// The expressions of `repeat`. They are applied to the context, then to each item that was found, and so on.
    Repeat {
        /// The programs that run on the context.
        first: Vec<Program>,
        /// The programs that run on an item that was found.
        next: Vec<Program>,
    },
}

/// A column's expression, and the index of the output column that it fills.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// The place of the expression in the definition.
    pub(super) at: String,
    pub(super) slot: usize,
    pub(super) program: Program,
    /// Whether the expression is `%rowIndex`, whose value is 0 for an iteration without items.
    pub(super) is_row_index: bool,
}

impl View {
    /// Returns the same view with a new budget, for one run.
    pub(super) fn for_run(&self) -> Arc<View> {
        Arc::new(View {
            budget: WorkBudget::default(),
            ..self.clone()
        })
    }

    /// Returns a copy of the view that also reads the ids of the resources, so that an error can name a resource.
    pub(super) fn with_ids(&self) -> Arc<View> {
        let mut view = self.clone();
        view.leaves.insert(ID.to_owned());
        view.reads_ids = true;
        Arc::new(view)
    }

    /// Returns a copy of the view that names the resource if a value of this column does not fit its SQL type.
    pub(super) fn converting(&self, column: &str) -> Arc<View> {
        Arc::new(View {
            converts: Converts::Column(column.to_owned()),
            ..self.clone()
        })
    }

    /// Returns the view for rows of documents in this format. If the format has SQL types, an error about a value that
    /// does not fit the tag of its column names the resource. Rows of a lake need not be prepared, because a run can
    /// read a lake again.
    pub fn for_documents(self: &Arc<View>, format: Format) -> Arc<View> {
        let is_tagged = self.columns.iter().any(Column::has_sql_tag);
        if !is_tagged || !matches!(format, Format::Parquet | Format::ParquetText) {
            return self.clone();
        }
        Arc::new(View {
            converts: Converts::Tagged,
            ..self.as_ref().clone()
        })
    }

    /// Whether the values of this column are converted when rows are computed.
    pub(super) fn converts(&self, column: &Column) -> bool {
        match &self.converts {
            Converts::Nothing => false,
            Converts::Column(name) => column.name == *name,
            Converts::Tagged => column.has_sql_tag(),
        }
    }

    /// Returns a counter for the work of all expressions over a batch.
    pub(super) fn work(&self, batch: &RecordBatch) -> Arc<Work> {
        Work::over(batch, self.parts, &self.budget)
    }

    /// Returns the view's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the type of the resources that the view reads.
    pub fn resource(&self) -> TypeId {
        self.resource
    }

    /// Returns the columns that the view yields, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the Arrow schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the columns of the resource's table that the select tree reads.
    pub fn leaves(&self) -> &LeafSet {
        &self.leaves
    }

    /// Returns the columns of the resource's table that the `where` reads.
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

    /// Returns conditions by which a scan may skip resources that the `where` drops. There are none if the `where`
    /// can fail, because skipping a resource would hide its error.
    pub(super) fn necessary(&self) -> Necessary {
        let parts: Option<Vec<&Necessary>> = self.filters.iter().map(|filter| filter.necessary.as_ref()).collect();
        let parts = parts.unwrap_or_default();
        Necessary {
            prune: Prune::all(parts.iter().map(|part| part.prune.clone())),
            items: parts.iter().flat_map(|part| part.items.clone()).collect(),
            ..Necessary::default()
        }
    }

    /// Returns the view's `where` as written, for plans. `None` if there is none.
    pub fn filter_text(&self) -> Option<String> {
        let texts: Vec<&str> = self.filters.iter().map(|filter| filter.program.text()).collect();
        (!texts.is_empty()).then(|| texts.join(" and "))
    }

    /// Returns for each resource of a batch whether all expressions of the `where` are true.
    pub fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, RunError> {
        let kept = self.keep_within(batch, &self.work(batch));
        kept.map_err(|error| {
            culprit::named(error, self.resource, batch, |part| {
                let work = Work::over(part, self.parts, &WorkBudget::default());
                self.keep_within(part, &work).map(drop)
            })
        })
    }

    /// Evaluates the `where` as [`keep`](View::keep) does, but counts the work in `work`, and does not look for the
    /// resource that causes an error.
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

/// Returns the Arrow schema of untyped rows with these columns.
pub(super) fn schema(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new_with_metadata(
        columns.iter().map(Column::field).collect::<Vec<_>>(),
        HashMap::new(),
    ))
}
