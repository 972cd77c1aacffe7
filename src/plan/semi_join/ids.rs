//! The set of ids from a plan's rows: the build side of a semi-join.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, LazyLock};

use arrow::array::{RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::OnceCell;

use super::super::child::only_child;
use super::super::threads::at_once;
use crate::columns::conditions::IdSet;

/// The number of ids in a batch, if a set is returned as rows.
const BATCH: usize = 8_192;

/// Takes ids from rows.
pub trait Take: Any + fmt::Debug + Send + Sync {
    /// The name of the taken ids in plans.
    fn label(&self) -> &str;

    /// Adds the ids of a batch of rows. An error ends the plan, for example if there are too many ids.
    fn take(&self, rows: &RecordBatch, ids: &mut IdSet) -> Result<()>;

    /// Whether a plan may yield these ids.
    fn check(&self, ids: &IdSet) -> Result<()>;
}

/// Collects the ids of its input's rows. Each partition collects its own set, and the sets are merged. This happens
/// once, even if several plans contain the operator.
#[derive(Clone, Debug)]
pub struct IdsExec {
    input: Arc<dyn ExecutionPlan>,
    take: Arc<dyn Take>,
    found: Arc<OnceCell<Arc<IdSet>>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl IdsExec {
    /// The ids that `take` finds in the rows of a plan.
    pub fn new(input: Arc<dyn ExecutionPlan>, take: Arc<dyn Take>) -> IdsExec {
        static PROPERTIES: LazyLock<Arc<PlanProperties>> = LazyLock::new(|| {
            Arc::new(PlanProperties::new(
                EquivalenceProperties::new(schema()),
                Partitioning::UnknownPartitioning(1),
                EmissionType::Final,
                Boundedness::Bounded,
            ))
        });
        IdsExec {
            input,
            take,
            found: Arc::default(),
            properties: PROPERTIES.clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The ids. The first caller runs the plan.
    pub async fn ids(&self, context: &Arc<TaskContext>) -> Result<Arc<IdSet>> {
        let found = self.found.get_or_try_init(|| self.collect(context)).await?;
        Ok(found.clone())
    }

    /// The function that takes ids from the rows.
    pub fn take(&self) -> &dyn Take {
        self.take.as_ref()
    }

    /// The name of the collected ids in plans.
    pub(super) fn label(&self) -> &str {
        self.take.label()
    }

    async fn collect(&self, context: &Arc<TaskContext>) -> Result<Arc<IdSet>> {
        let metrics = BaselineMetrics::new(&self.metrics, 0);
        let parts = self.input.output_partitioning().partition_count();
        let part = |part| of_part(self.input.clone(), part, context.clone(), self.take.clone());
        let found = at_once((0..parts).map(part)).await;
        let mut all = IdSet::default();
        for part in found.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))? {
            all.merge(part?);
            self.take.check(&all)?;
        }
        metrics.record_output(all.len());
        metrics.done();
        Ok(Arc::new(all))
    }
}

async fn of_part(
    input: Arc<dyn ExecutionPlan>,
    part: usize,
    context: Arc<TaskContext>,
    take: Arc<dyn Take>,
) -> Result<IdSet> {
    let mut rows = input.execute(part, context)?;
    let mut ids = IdSet::default();
    while let Some(batch) = rows.next().await {
        take.take(&batch?, &mut ids)?;
    }
    Ok(ids)
}

/// One column of ids.
pub(super) fn schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> =
        LazyLock::new(|| Arc::new(Schema::new(vec![Field::new("id", DataType::Utf8, false)])));
    SCHEMA.clone()
}

impl DisplayAs for IdsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "IdsExec: {}", self.take.label())
    }
}

impl ExecutionPlan for IdsExec {
    fn name(&self) -> &str {
        "IdsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
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
        let input = only_child(self.name(), children)?;
        // The same input yields the same ids, so keep this operator with its ids.
        if Arc::ptr_eq(&input, &self.input) {
            Ok(self)
        } else {
            Ok(Arc::new(IdsExec::new(input, self.take.clone())))
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    /// The ids as unsorted rows. A semi-join uses the set itself.
    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let plan = self.clone();
        let batches = async move {
            let ids = plan.ids(&context).await?;
            let ids: Vec<String> = ids.iter().map(|id| id.into_owned()).collect();
            let batch = |ids: &[String]| {
                let ids = StringArray::from_iter_values(ids);
                Ok(RecordBatch::try_new(schema(), vec![Arc::new(ids)])?)
            };
            let batches: Vec<Result<RecordBatch>> = ids.chunks(BATCH).map(batch).collect();
            Ok::<_, DataFusionError>(stream::iter(batches))
        };
        let batches = stream::once(batches).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
