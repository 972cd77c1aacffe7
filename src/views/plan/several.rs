//! Several views as one operator of a DataFusion plan. Every batch of resources passes through each view's select
//! tree on the thread that read it.
//!
//! A row of the output is the result of one view for some resources: the view's index, and its rows as a list in the
//! view's own column. If the run has a consumer that reads the errors of views, an error of one view does not end the
//! stream: the row has the index of the stored error. Otherwise the error ends the stream.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch, RecordBatchOptions, StructArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, UInt32Type};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::StreamExt;

use super::super::error::RunError;
use super::super::view::View;
use super::exec::columns_and_leaves;
use crate::plan::only_child;

/// The number of columns before those of the views. They hold the view's index and the index of its error, if any.
const BEFORE: usize = 2;

/// A result of one view, with the view's index. An error concerns only that view.
pub(in crate::views) type OfView<T> = (usize, Result<T, RunError>);

/// For each view, whether it needs no more rows.
pub(in crate::views) type Stopped = Arc<[AtomicBool]>;

/// Returns a flag for each view, not set.
pub(in crate::views) fn none_stopped(views: usize) -> Stopped {
    (0..views).map(|_| AtomicBool::new(false)).collect()
}

/// Returns the rows of the views at the indexes `places` over a batch of resources, one view after the other. As soon
/// as `wants` is false for a view, leaves out its further rows.
pub(in crate::views) fn fan(
    views: Arc<[Arc<View>]>,
    places: Arc<[usize]>,
    batch: RecordBatch,
    filters: bool,
    wants: impl Fn(usize) -> bool + Clone,
) -> impl Iterator<Item = OfView<RecordBatch>> {
    (0..places.len()).flat_map(move |at| {
        let (place, wants) = (places[at], wants.clone());
        let rows = wants(place).then(|| views[place].rows(batch.clone(), filters));
        rows.into_iter()
            .flatten()
            .take_while(move |_| wants(place))
            .map(move |rows| (place, rows))
    })
}

/// Returns a function that says whether a view needs more rows. A view needs more rows unless its flag in `stopped` is
/// set.
pub(in crate::views) fn wants(stopped: Stopped) -> impl Fn(usize) -> bool + Clone {
    move |place| !stopped[place].load(Ordering::Relaxed)
}

/// Returns the schema of the operator's output. The column of a view is named by the index of the view (`rows0`),
/// because several views may have the same name or none.
pub(in crate::views) fn schema(views: &[Arc<View>]) -> SchemaRef {
    let before = [
        Arc::new(Field::new("view", DataType::UInt32, false)),
        Arc::new(Field::new("error", DataType::UInt32, true)),
    ];
    let lists = views.iter().enumerate().map(|(place, view)| {
        let list = DataType::List(item(view));
        Arc::new(Field::new(format!("rows{place}"), list, true))
    });
    Arc::new(Schema::new(before.into_iter().chain(lists).collect::<Vec<FieldRef>>()))
}

fn item(view: &View) -> FieldRef {
    let rows = DataType::Struct(view.schema.fields().clone());
    Arc::new(Field::new_list_field(rows, false))
}

/// An operator that evaluates the select trees of several views over each batch of resources.
#[derive(Clone, Debug)]
pub struct ViewsExec {
    views: Arc<[Arc<View>]>,
    input: Arc<dyn ExecutionPlan>,
    /// Whether this operator applies each view's `where`. If not, the scan has applied it or no view has one.
    filters: bool,
    /// The maximum number of rows of each view. Each partition yields at most this many. The consumer applies the limit
    /// to all partitions together.
    limit: Option<usize>,
    /// The state of a run with a consumer that reads the errors of views. If `None`, the error of a view ends the
    /// stream.
    outcome: Option<Arc<Outcome>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The state of one run, which its consumer shares.
#[derive(Debug)]
pub(in crate::views) struct Outcome {
    /// The consumer sets the flag of a view that needs no more rows. Threads then leave out the view.
    pub(in crate::views) stopped: Stopped,
    errors: Mutex<Vec<Option<RunError>>>,
}

impl Outcome {
    fn new(views: usize) -> Arc<Outcome> {
        Arc::new(Outcome {
            stopped: none_stopped(views),
            errors: Mutex::default(),
        })
    }

    /// Stores an error and returns its index.
    fn keep(&self, error: RunError) -> u32 {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.push(Some(error));
        (errors.len() - 1) as u32
    }

    fn error(&self, at: u32) -> RunError {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors
            .get_mut(at as usize)
            .and_then(Option::take)
            .unwrap_or(RunError::Worker)
    }

    /// Returns the results in a batch of the operator's output, each with the index of its view.
    pub(in crate::views) fn rows(&self, batch: &RecordBatch, views: &[Arc<View>]) -> Vec<OfView<RecordBatch>> {
        let (places, errors) = (batch.column(0).as_primitive::<UInt32Type>(), batch.column(1));
        let errors = errors.as_primitive::<UInt32Type>();
        let of_row = |row: usize| {
            let view = places.value(row) as usize;
            let rows = if errors.is_valid(row) {
                Err(self.error(errors.value(row)))
            } else {
                taken_out(batch.column(BEFORE + view), row, &views[view].schema)
            };
            (view, rows)
        };
        (0..batch.num_rows()).map(of_row).collect()
    }
}

/// Returns the rows in the list at `row`.
fn taken_out(lists: &ArrayRef, row: usize, schema: &SchemaRef) -> Result<RecordBatch, RunError> {
    let rows = lists.as_list::<i32>().value(row);
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let columns = rows.as_struct().columns().to_vec();
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

impl ViewsExec {
    pub(in crate::views) fn new(
        views: Arc<[Arc<View>]>,
        input: Arc<dyn ExecutionPlan>,
        filters: bool,
        limit: Option<usize>,
    ) -> ViewsExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema(&views)),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        ViewsExec {
            outcome: None,
            views,
            input,
            filters,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Returns the same operator for a run with a consumer that reads the errors of views, and the state of that run.
    pub(in crate::views) fn begun(&self) -> (ViewsExec, Arc<Outcome>) {
        let outcome = Outcome::new(self.views.len());
        let begun = ViewsExec {
            outcome: Some(outcome.clone()),
            ..self.clone()
        };
        (begun, outcome)
    }
}

impl ViewsExec {
    /// Returns the operator of views over resources. With `filters`, the operator applies each view's `where`, because
    /// the scan has not applied it.
    pub fn over(views: &[View], input: Arc<dyn ExecutionPlan>, filters: bool, limit: Option<usize>) -> ViewsExec {
        ViewsExec::new(views.iter().map(View::for_run).collect(), input, filters, limit)
    }

    /// Returns the views.
    pub fn views(&self) -> impl Iterator<Item = &View> {
        self.views.iter().map(AsRef::as_ref)
    }

    /// Whether the operator applies each view's `where`.
    pub fn filters(&self) -> bool {
        self.filters
    }

    /// Returns the maximum number of rows of each view in one partition.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }
}

impl DisplayAs for ViewsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("ViewsExec: ")?;
        for (place, view) in self.views.iter().enumerate() {
            let between = if place == 0 { "" } else { ", " };
            write!(f, "{between}{}=[", label(place, view))?;
            columns_and_leaves(view, self.filters, f)?;
            f.write_str("]")?;
        }
        match self.limit {
            Some(limit) => write!(f, ", limit={limit} each"),
            None => Ok(()),
        }
    }
}

/// Returns a view's name or, if it has none, its index.
pub(in crate::views) fn label(place: usize, view: &View) -> String {
    view.name().map_or_else(|| place.to_string(), str::to_owned)
}

impl ExecutionPlan for ViewsExec {
    fn name(&self) -> &str {
        "ViewsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_child(self.name(), children)?;
        let views = self.views.clone();
        Ok(Arc::new(ViewsExec::new(views, input, self.filters, self.limit)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let of_view = |(place, view): (usize, &Arc<View>)| {
            let name = format!("rows_of_{}", label(place, view));
            MetricBuilder::new(&self.metrics).counter(name, partition)
        };
        let counts: Arc<[Count]> = self.views.iter().enumerate().map(of_view).collect();
        let places: Arc<[usize]> = (0..self.views.len()).collect();
        let (views, filters) = (self.views.clone(), self.filters);
        let lists = Lists::new(self.schema(), self.outcome.clone());
        let stopped = match &self.outcome {
            Some(outcome) => outcome.stopped.clone(),
            None => none_stopped(self.views.len()),
        };
        let left = Left::new(self.views.len(), self.limit);
        let (of_consumer, of_partition) = (wants(stopped), left.clone());
        let wants = move |place| of_consumer(place) && of_partition.wants(place);
        let needed = (left.clone(), views.len());
        let input = input.take_while(move |_| std::future::ready((0..needed.1).any(|place| needed.0.wants(place))));
        let batches = input.flat_map(move |batch| {
            let (rows, failed) = match batch {
                Ok(batch) => {
                    let rows = fan(views.clone(), places.clone(), batch, filters, wants.clone());
                    (Some(rows), None)
                }
                Err(error) => (None, Some(Err(error))),
            };
            let mut rows = rows.into_iter().flatten();
            let (lists, metrics, counts, left) = (lists.clone(), metrics.clone(), counts.clone(), left.clone());
            let computed = std::iter::from_fn(move || {
                let _timer = metrics.elapsed_compute().timer();
                let (place, rows) = rows.next()?;
                let rows = rows.map(|rows| left.take(place, rows));
                counts[place].add(rows.as_ref().map_or(0, RecordBatch::num_rows));
                metrics.record_output(1);
                Some(lists.row(place, rows))
            });
            futures::stream::iter(computed.chain(failed))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// For each view, the number of rows that a partition may still yield. Only the stream of the partition changes these
/// numbers.
#[derive(Clone)]
struct Left(Arc<[AtomicUsize]>);

impl Left {
    fn new(views: usize, limit: Option<usize>) -> Left {
        let limit = limit.unwrap_or(usize::MAX);
        Left((0..views).map(|_| AtomicUsize::new(limit)).collect())
    }

    fn wants(&self, view: usize) -> bool {
        self.0[view].load(Ordering::Relaxed) > 0
    }

    /// Returns as many of a view's rows as the limit still allows, and counts them.
    fn take(&self, view: usize, rows: RecordBatch) -> RecordBatch {
        let left = self.0[view].load(Ordering::Relaxed);
        let wanted = rows.num_rows().min(left);
        self.0[view].store(left - wanted, Ordering::Relaxed);
        rows.slice(0, wanted)
    }
}

/// Builds the rows of the operator's output.
#[derive(Clone)]
struct Lists {
    schema: SchemaRef,
    /// A null for each column. A row has these nulls in the columns of the other views.
    nothing: Arc<[ArrayRef]>,
    outcome: Option<Arc<Outcome>>,
}

impl Lists {
    fn new(schema: SchemaRef, outcome: Option<Arc<Outcome>>) -> Lists {
        let nothing = |field: &FieldRef| arrow::array::new_null_array(field.data_type(), 1);
        Lists {
            nothing: schema.fields().iter().map(nothing).collect(),
            schema,
            outcome,
        }
    }

    /// Returns the row with the result of one view for some resources. If the run has no consumer that reads the
    /// errors of views, returns the view's error instead.
    fn row(&self, view: usize, rows: Result<RecordBatch, RunError>) -> Result<RecordBatch> {
        let mut columns = self.nothing.to_vec();
        columns[0] = Arc::new(UInt32Array::from_value(view as u32, 1));
        match (rows, &self.outcome) {
            (Ok(rows), _) => columns[BEFORE + view] = list(rows, self.schema.field(BEFORE + view))?,
            (Err(error), Some(outcome)) => columns[1] = Arc::new(UInt32Array::from_value(outcome.keep(error), 1)),
            (Err(error), None) => return Err(error.into_plan()),
        }
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

/// Returns rows as a single list.
fn list(rows: RecordBatch, field: &Field) -> Result<ArrayRef> {
    let DataType::List(item) = field.data_type() else {
        return internal_err!("rows of a view are a list");
    };
    let (fields, length) = (rows.schema_ref().fields().clone(), rows.num_rows());
    let rows = StructArray::try_new_with_length(fields, rows.columns().to_vec(), None, length)?;
    let offsets = OffsetBuffer::from_lengths([length]);
    Ok(Arc::new(ListArray::try_new(
        item.clone(),
        offsets,
        Arc::new(rows),
        None,
    )?))
}
