//! The build side of a semi-join: collects the ids that the rows of a plan contain or refer to.

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

/// The number of ids in each batch of rows that `execute` yields.
const BATCH: usize = 8_192;

/// Takes ids from rows.
pub trait Take: Any + fmt::Debug + Send + Sync {
    /// Returns the name of the ids in the text of a plan.
    fn label(&self) -> &str;

    /// Adds the ids of a batch of rows. An error, for example about too many ids, ends the plan.
    fn take(&self, rows: &RecordBatch, ids: &mut IdSet) -> Result<()>;

    /// Returns an error if a plan may not yield these ids, for example because there are too many. `ids` is the merged
    /// set of the partitions so far. It is checked each time the ids of a partition were added.
    fn check(&self, ids: &IdSet) -> Result<()>;
}

/// Collects the ids of its input's rows. Each partition collects its own set, and the sets are merged. The input runs
/// only once, even if several plans contain clones of the operator.
#[derive(Clone, Debug)]
pub struct IdsExec {
    input: Arc<dyn ExecutionPlan>,
    take: Arc<dyn Take>,
    found: Arc<OnceCell<Arc<IdSet>>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl IdsExec {
    /// Creates an operator that collects the ids that `take` finds in the rows of `input`.
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

    /// Returns the ids. The first call runs the input, later calls return the same set.
    pub async fn ids(&self, context: &Arc<TaskContext>) -> Result<Arc<IdSet>> {
        let found = self.found.get_or_try_init(|| self.collect(context)).await?;
        Ok(found.clone())
    }

    /// Returns the `Take` that takes the ids from the rows.
    pub fn take(&self) -> &dyn Take {
        self.take.as_ref()
    }

    /// Returns the name of the ids in the text of a plan.
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

/// Returns the schema with the only column `id`.
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
        // The same input yields the same ids, so this operator is kept with the ids that it has collected.
        if Arc::ptr_eq(&input, &self.input) {
            Ok(self)
        } else {
            Ok(Arc::new(IdsExec::new(input, self.take.clone())))
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    /// Yields the ids as rows, in no particular order. A semi-join does not call this: it takes the set from `ids()`.
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
