//! Reserves memory for the rows that a window function keeps.
//!
//! `WindowAggExec` keeps all of its input before it yields a row, and DataFusion does not count this memory. The
//! optimizer rule `ReserveWindows` puts a `ReservedExec` below each `WindowAggExec`. The `ReservedExec` reserves memory
//! for every batch that passes, and fails if the pool has no memory left.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{Stream, StreamExt};

use super::super::child::only_child;

/// The number of copies for which memory is reserved. A window function concatenates the batches that it keeps, so for
/// a moment it holds each row twice.
const COPIES: usize = 2;

/// Passes on the rows of its input, and reserves memory for them until its stream is dropped.
#[derive(Clone, Debug)]
pub struct ReservedExec {
    input: Arc<dyn ExecutionPlan>,
}

impl ReservedExec {
    /// Creates an operator that reserves memory for the rows of this input.
    pub fn new(input: Arc<dyn ExecutionPlan>) -> ReservedExec {
        ReservedExec { input }
    }
}

impl DisplayAs for ReservedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ReservedExec")
    }
}

impl ExecutionPlan for ReservedExec {
    fn name(&self) -> &str {
        "ReservedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
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

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_child(self.name(), children)?;
        Ok(Arc::new(ReservedExec::new(input)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let consumer = MemoryConsumer::new(format!("WindowAggExec[{partition}]"));
        Ok(Box::pin(Reserving {
            memory: consumer.register(context.memory_pool()),
            input: self.input.execute(partition, context)?,
        }))
    }
}

struct Reserving {
    input: SendableRecordBatchStream,
    memory: MemoryReservation,
}

impl Stream for Reserving {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(batch) = ready!(self.input.poll_next_unpin(context)) else {
            return Poll::Ready(None);
        };
        Poll::Ready(Some(batch.and_then(|batch| {
            self.memory.try_grow(COPIES * size(&batch)?)?;
            Ok(batch)
        })))
    }
}

/// Returns the number of bytes of a batch's rows. Batches are often slices of one larger batch. Only the bytes of each
/// slice are counted, so that the larger batch is counted once in total.
fn size(batch: &RecordBatch) -> Result<usize> {
    let columns = batch.columns().iter();
    let sizes = columns.map(|column| column.to_data().get_slice_memory_size());
    Ok(sizes.sum::<std::result::Result<usize, _>>()?)
}

impl RecordBatchStream for Reserving {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// Puts a `ReservedExec` below each `WindowAggExec`.
#[derive(Debug)]
pub struct ReserveWindows;

impl PhysicalOptimizerRule for ReserveWindows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let reserved = plan.transform_up(|plan| {
            let Some(window) = plan.downcast_ref::<WindowAggExec>() else {
                return Ok(Transformed::no(plan));
            };
            let input: Arc<dyn ExecutionPlan> = Arc::new(ReservedExec::new(window.input().clone()));
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            plan.replace_children(vec![input], options).map(Transformed::yes)
        })?;
        Ok(reserved.data)
    }

    fn name(&self) -> &str {
        "ReserveWindows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
