//! The operator that converts a view's rows to their SQL types, for plans that compute with them.

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
use super::super::naming::Naming;
use super::super::view::View;
use crate::plan::only_child;

/// An operator that converts the written values of a view's rows to their columns' SQL types.
#[derive(Clone, Debug)]
pub struct TypedExec {
    view: Arc<View>,
    schema: SchemaRef,
    input: Arc<dyn ExecutionPlan>,
    /// Finds the resource of a value that does not fit its type. `None` if the plan came from another process.
    naming: Option<Naming>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl TypedExec {
    /// Returns the operator over `input`, which yields the rows of the view.
    pub(in crate::views) fn new(view: Arc<View>, input: Arc<dyn ExecutionPlan>, naming: Option<Naming>) -> TypedExec {
        let schema = view.typed_schema();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        TypedExec {
            view,
            schema,
            input,
            naming,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl TypedExec {
    /// Returns the operator over `input`, which yields the rows of the view.
    pub fn over(view: View, input: Arc<dyn ExecutionPlan>) -> TypedExec {
        TypedExec::new(Arc::new(view), input, None)
    }

    /// Returns the view.
    pub fn view(&self) -> &View {
        &self.view
    }
}

impl DisplayAs for TypedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let column =
            |column: &super::super::definition::column::Column| format!("{} {}", column.name, column.sql_type());
        let columns: Vec<String> = self.view.columns().iter().map(column).collect();
        write!(f, "TypedExec: types=[{}]", columns.join(", "))
    }
}

impl ExecutionPlan for TypedExec {
    fn name(&self) -> &str {
        "TypedExec"
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
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

    /// Rows keep their order, but a column sorts by its typed values and not by the written text. So no sort may be
    /// pushed below this operator.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_child(self.name(), children)?;
        Ok(Arc::new(TypedExec::new(self.view.clone(), input, self.naming.clone())))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (view, schema, naming) = (self.view.clone(), self.schema.clone(), self.naming.clone());
        let batches = self.input.execute(partition, context)?.map(move |batch| {
            let _timer = metrics.elapsed_compute().timer();
            let typed = view.typed(&schema, &batch?).map_err(RunError::into_plan)?;
            metrics.record_output(typed.num_rows());
            Ok(typed)
        });
        let batches = batches.then(move |batch: Result<RecordBatch>| {
            let naming = naming.clone().filter(|_| batch.is_err());
            async move {
                match (batch, naming) {
                    (Err(error), Some(naming)) => Err(naming.named(RunError::from(error)).await.into_plan()),
                    (batch, _) => batch,
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
