//! A view as an operator of a DataFusion plan: its input is resources, and its output is rows in the order of the
//! resources.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::StreamExt;

use super::super::error::RunError;
use super::super::output::stop::Stop;
use super::super::view::View;
use crate::plan::only_child;

/// An operator that evaluates a view's select tree over each batch of resources.
#[derive(Clone, Debug)]
pub struct ViewExec {
    view: Arc<View>,
    input: Arc<dyn ExecutionPlan>,
    /// Whether this operator applies the view's `where`. If not, the scan has applied it or there is none.
    filters: bool,
    stop: Stop,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ViewExec {
    pub(in crate::views) fn new(view: Arc<View>, input: Arc<dyn ExecutionPlan>, filters: bool, stop: Stop) -> ViewExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(view.schema.clone()),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        ViewExec {
            view,
            input,
            filters,
            stop,
            properties,
            metrics,
        }
    }
}

impl ViewExec {
    /// Returns the operator of a view over resources. With `filters`, the operator applies the view's `where`, because
    /// the scan has not applied it.
    pub fn over(view: &View, input: Arc<dyn ExecutionPlan>, filters: bool) -> ViewExec {
        ViewExec::new(view.for_run(), input, filters, Stop::default())
    }

    /// Returns the view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether the operator applies the view's `where`.
    pub fn filters(&self) -> bool {
        self.filters
    }
}

impl DisplayAs for ViewExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("ViewExec: ")?;
        columns_and_leaves(&self.view, self.filters, f)
    }
}

/// Writes the columns that a view yields and the leaves that it reads. With `filters`, also writes its `where`.
pub(in crate::views) fn columns_and_leaves(view: &View, filters: bool, f: &mut fmt::Formatter) -> fmt::Result {
    let columns: Vec<&str> = view.columns().iter().map(|column| column.name.as_str()).collect();
    let leaves: Vec<&str> = view.leaves().iter().map(String::as_str).collect();
    write!(f, "columns=[{}], leaves=[{}]", columns.join(", "), leaves.join(", "))?;
    match view.filter_text().filter(|_| filters) {
        Some(text) => write!(f, ", where=[{text}]"),
        None => Ok(()),
    }
}

impl ExecutionPlan for ViewExec {
    fn name(&self) -> &str {
        "ViewExec"
    }

    fn schema(&self) -> SchemaRef {
        self.view.schema.clone()
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
        let (view, stop) = (self.view.clone(), self.stop.clone());
        Ok(Arc::new(ViewExec::new(view, input, self.filters, stop)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.stop.ends(self.input.execute(partition, context)?);
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (view, filters, stop) = (self.view.clone(), self.filters, self.stop.clone());
        let batches = input.flat_map(move |batch| {
            let metrics = metrics.clone();
            let wanted = stop.check().map_err(RunError::into_plan);
            let (rows, failed) = match wanted.and(batch) {
                Ok(batch) => (Some(view.rows(batch, filters)), None),
                Err(error) => (None, Some(Err(error))),
            };
            let mut rows = rows.into_iter().flatten();
            let computed = std::iter::from_fn(move || {
                let _timer = metrics.elapsed_compute().timer();
                let batch = rows.next()?.map_err(RunError::into_plan);
                metrics.record_output(batch.as_ref().map_or(0, RecordBatch::num_rows));
                Some(batch)
            });
            futures::stream::iter(computed.chain(failed))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
