//! An operator that takes rows in the table's own order. The partitions of its input are consecutive parts of the
//! table. They run one by one, or several of them run ahead on other threads, until there are enough rows.
//!
//! So the rows after the end of a page cost nothing, unless a partition that ran ahead has read them.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::{Stream, StreamExt, TryStreamExt};

use super::super::child::only_child;
use super::super::threads::{Pace, Part, Parts, Prefetch};
use super::limit::Limit;
use crate::lake::scan::LakeScanExec;

/// If at most this many rows are wanted, the first partition runs alone at first. It usually has enough rows, and other
/// threads would only read rows that nobody wants.
const FEW_ROWS: usize = 10_000;

/// Takes rows from its input's partitions, one partition after the other. Its output is one partition.
#[derive(Clone, Debug)]
pub struct OrderedLimitExec {
    input: Arc<dyn ExecutionPlan>,
    limit: Limit,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl OrderedLimitExec {
    /// Creates an operator over an input whose partitions follow each other in the table's order.
    pub fn new(input: Arc<dyn ExecutionPlan>, limit: Limit) -> OrderedLimitExec {
        let input = bounded(input, limit);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        OrderedLimitExec {
            input,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Returns the limit that decides which rows the operator takes.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns the operator's input.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// Returns a copy of this operator over another input with the same rows. Both operators count into the same
    /// metrics.
    pub fn over(&self, input: Arc<dyn ExecutionPlan>) -> OrderedLimitExec {
        OrderedLimitExec { input, ..self.clone() }
    }
}

/// If the input is a scan, limits it to the number of rows that may be wanted from one partition. Any other input is
/// returned unchanged.
fn bounded(input: Arc<dyn ExecutionPlan>, limit: Limit) -> Arc<dyn ExecutionPlan> {
    match (input.downcast_ref::<LakeScanExec>(), limit.of_part()) {
        (Some(scan), Some(max_rows)) => Arc::new(scan.at_most(max_rows)),
        _ => input,
    }
}

impl DisplayAs for OrderedLimitExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "OrderedLimitExec: {}", self.limit)
    }
}

impl ExecutionPlan for OrderedLimitExec {
    fn name(&self) -> &str {
        "OrderedLimitExec"
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

    /// Repartitioning would destroy the order of the rows.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_child(self.name(), children)?;
        Ok(Arc::new(OrderedLimitExec::new(input, self.limit)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("OrderedLimitExec has one partition");
        }
        let (input, limit) = (self.input.clone(), self.limit);
        let begun = MetricBuilder::new(&self.metrics).counter("parts_begun", partition);
        let begin = move |part: usize| begin(&input, part, context.clone(), limit, &begun);
        let count = self.input.output_partitioning().partition_count();
        let parts: Parts<RecordBatch, DataFusionError> = if limit.backwards {
            Box::new((0..count).rev().map(begin))
        } else {
            Box::new((0..count).map(begin))
        };
        let pace = Pace {
            // Most pages end in the first partition. Other threads start only if its rows were not enough.
            first_here: limit.max_rows().is_some_and(|max_rows| max_rows <= FEW_ROWS),
            blocking: false,
        };
        let rows = Limited {
            parts: Some(Prefetch::new(parts, pace)),
            skip: limit.skip,
            left: limit.take.unwrap_or(usize::MAX),
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Starts one partition and returns its batches. For a backwards limit, returns only its last batches, in reverse
/// order.
fn begin(
    input: &Arc<dyn ExecutionPlan>,
    part: usize,
    context: Arc<TaskContext>,
    limit: Limit,
    begun: &Count,
) -> Part<RecordBatch, DataFusionError> {
    begun.add(1);
    match input.execute(part, context) {
        Ok(batches) if limit.backwards => {
            let last = last(batches, limit.max_rows().unwrap_or(usize::MAX));
            let last = futures::stream::once(last).map_ok(|batches| futures::stream::iter(batches.into_iter().map(Ok)));
            Box::pin(last.try_flatten())
        }
        Ok(batches) => batches,
        Err(error) => Box::pin(futures::stream::once(std::future::ready(Err(error)))),
    }
}

/// Reads a partition to its end. Returns its last batches in reverse order, with reversed rows: at least `max_rows`
/// rows, or all rows if the partition has fewer.
async fn last(mut batches: SendableRecordBatchStream, max_rows: usize) -> Result<Vec<RecordBatch>> {
    let mut kept: VecDeque<RecordBatch> = VecDeque::new();
    let mut rows = 0;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        rows += batch.num_rows();
        kept.push_back(batch);
        while let Some(first) = kept.front()
            && rows - first.num_rows() >= max_rows
        {
            rows -= first.num_rows();
            kept.pop_front();
        }
    }
    let reversed = |batch: &RecordBatch| {
        let order = UInt32Array::from_iter_values((0..batch.num_rows() as u32).rev());
        Ok(take_record_batch(batch, &order)?)
    };
    kept.iter().rev().map(reversed).collect()
}

/// The batches of all partitions, without the skipped rows, until enough rows were taken.
struct Limited {
    parts: Option<Prefetch<RecordBatch, DataFusionError>>,
    skip: usize,
    left: usize,
    metrics: BaselineMetrics,
}

impl Limited {
    /// Returns the rows of a batch that the limit takes, and updates `skip` and `left`. `None` if it takes no row of
    /// the batch.
    fn take(&mut self, batch: RecordBatch) -> Option<RecordBatch> {
        let rows = batch.num_rows();
        let from = self.skip.min(rows);
        self.skip -= from;
        let taken = (rows - from).min(self.left);
        self.left -= taken;
        match taken {
            0 => None,
            all if all == rows => Some(batch),
            some => Some(batch.slice(from, some)),
        }
    }
}

impl Stream for Limited {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let rows = self.get_mut();
        loop {
            if rows.left == 0 {
                // All wanted rows were returned. Dropping `parts` stops the partitions that run ahead.
                rows.parts = None;
            }
            let Some(parts) = &mut rows.parts else {
                return Poll::Ready(None);
            };
            let next = match ready!(parts.poll_next_unpin(context)) {
                Some(Ok(batch)) => match rows.take(batch) {
                    Some(taken) => {
                        if rows.left == 0 {
                            rows.parts = None;
                        }
                        rows.metrics.record_output(taken.num_rows());
                        Some(Ok(taken))
                    }
                    None => continue,
                },
                other => {
                    rows.parts = None;
                    other
                }
            };
            return Poll::Ready(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
    use datafusion::datasource::{MemTable, provider_as_source};
    use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
    use datafusion::prelude::ident;
    use futures::executor::block_on;

    use super::super::super::{OrderedLimit, Planned, Planner};
    use super::*;

    /// Builds a scan of a table. `parts` has one list for each partition: the number of rows of each of its batches.
    /// The first column numbers the rows. No test reads the second column.
    fn table(parts: &[&[u32]]) -> LogicalPlan {
        let fields = ["number", "other"].map(|name| Field::new(name, DataType::UInt32, false));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let mut next = 0;
        let mut batch = |rows: &u32| {
            let numbers: Arc<UInt32Array> = Arc::new((next..next + rows).collect());
            next += rows;
            RecordBatch::try_new(schema.clone(), vec![numbers.clone(), numbers]).unwrap()
        };
        let parts = parts.iter().map(|part| part.iter().map(&mut batch).collect()).collect();
        let table = provider_as_source(Arc::new(MemTable::try_new(schema.clone(), parts).unwrap()));
        LogicalPlanBuilder::scan("table", table, None).unwrap().build().unwrap()
    }

    fn planned(table: &LogicalPlan, limit: Limit) -> (Planner, Planned) {
        let planner = Planner::new(Some(4), Vec::new());
        let plan = OrderedLimit::plan(table.clone(), limit);
        let plan = LogicalPlanBuilder::from(plan).project([ident("number")]).unwrap();
        let planned = block_on(planner.plan(&plan.build().unwrap())).unwrap();
        (planner, planned)
    }

    fn rows(table: &LogicalPlan, limit: Limit) -> Vec<u32> {
        let (planner, planned) = planned(table, limit);
        let batches = planned.physical.execute(0, planner.context()).unwrap();
        let batches = super::super::super::Waiting::new(batches).map(Result::unwrap);
        let numbers = batches.map(|batch| batch.column(0).as_primitive::<UInt32Type>().values().to_vec());
        numbers.collect::<Vec<_>>().concat()
    }

    #[test]
    fn any_stretch_of_rows_is_taken_in_order_from_either_end() {
        let parts: [&[u32]; 5] = [&[3, 0, 2], &[], &[1], &[4, 4], &[0]];
        let (table, all) = (table(&parts), 14);
        for backwards in [false, true] {
            let mut order: Vec<u32> = (0..all).collect();
            if backwards {
                order.reverse();
            }
            for skip in 0..=16 {
                for take in (0..=16).map(Some).chain([None, Some(20_000)]) {
                    let limit = Limit { skip, take, backwards };
                    let expected = order.iter().skip(skip).take(take.unwrap_or(usize::MAX));
                    assert_eq!(rows(&table, limit), expected.copied().collect::<Vec<_>>(), "{limit}");
                }
            }
        }
    }

    #[test]
    fn columns_that_nobody_reads_are_left_out_below() {
        let limit = Limit {
            skip: 2,
            take: Some(5),
            backwards: true,
        };
        let (_, planned) = planned(&table(&[&[1], &[1]]), limit);
        expect_test::expect![[r#"
            OrderedLimit: skip=2, take=5, backwards
              TableScan: table projection=[number]
            OrderedLimitExec: skip=2, take=5, backwards
              DataSourceExec: partitions=2, partition_sizes=[1, 1]
        "#]]
        .assert_eq(&planned.to_string());
    }

    #[test]
    fn what_lies_behind_a_whole_page_is_not_begun() {
        let table = table(&[&[5], &[5], &[5]]);
        let limit = Limit {
            skip: 1,
            take: Some(4),
            backwards: false,
        };
        let (planner, planned) = planned(&table, limit);
        let ordered = planned.physical.downcast_ref::<OrderedLimitExec>().unwrap();
        let batches = ordered.execute(0, planner.context()).unwrap();
        assert_eq!(super::super::super::Waiting::new(batches).count(), 1);
        let metrics = ExecutionPlan::metrics(ordered).unwrap();
        assert_eq!(metrics.sum_by_name("parts_begun").unwrap().as_usize(), 1);
    }
}
