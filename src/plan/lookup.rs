//! An operator without inputs that yields rows from a lookup instead of a scan.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::stream;

/// Finds a few rows without a scan.
pub trait Lookup: Any + fmt::Debug + Send + Sync {
    /// Returns the name of the lookup in the text of a plan.
    fn label(&self) -> &str;

    /// Returns the schema of the rows.
    fn schema(&self) -> SchemaRef;

    /// Finds the rows.
    fn rows(&self) -> Result<RecordBatch>;
}

/// Yields the rows of a lookup as one batch.
#[derive(Debug)]
pub struct LookupExec {
    lookup: Arc<dyn Lookup>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl LookupExec {
    /// Creates an operator that yields the rows of this lookup.
    pub fn new(lookup: Arc<dyn Lookup>) -> LookupExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(lookup.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        LookupExec {
            lookup,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Returns the lookup that the operator runs.
    pub fn lookup(&self) -> &dyn Lookup {
        self.lookup.as_ref()
    }
}

impl DisplayAs for LookupExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "LookupExec: {}", self.lookup.label())
    }
}

impl ExecutionPlan for LookupExec {
    fn name(&self) -> &str {
        "LookupExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() {
            Ok(self)
        } else {
            internal_err!("LookupExec has no children")
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let lookup = self.lookup.clone();
        let rows = stream::once(async move {
            let _timer = metrics.elapsed_compute().timer();
            let rows = lookup.rows()?;
            metrics.record_output(rows.num_rows());
            Ok(rows)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
