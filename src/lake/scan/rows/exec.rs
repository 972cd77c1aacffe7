//! The scan as a leaf node of a DataFusion plan. A stream reads files synchronously while it is polled: files are local
//! and usually in the page cache, and the runtimes that run plans are meant for such work.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err, stats::Precision};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::Stream;

use super::super::report::counts::ScanReport;
use super::super::report::watch::SeenScan;
use super::super::table::ScopedTable;
use super::clip::leaves;
use super::order::Sorted;
use super::partition::{Rows, Step};
use super::request::ScanRequest;
use super::resolved::{Scan, Unsettled};
use super::share::Shares;
use super::span::Span;
use super::top_k::{TopK, TopKFilter};
use crate::columns::conditions::Prune;
use crate::parallel::processors;

/// The maximum number of columns that a plan shows.
const COLUMNS_SHOWN: usize = 60;

/// The plan node that reads the rows of a table that its scope shows.
#[derive(Clone, Debug)]
pub struct LakeScanExec {
    scan: Arc<Scan>,
    asked: Asked,
    /// The parts from which the scan is made again when reading begins, with the late predicates' conditions. `None` if
    /// the scan has no late predicates.
    unsettled: Option<Arc<Unsettled>>,
    shares: Shares,
    limit: Option<usize>,
    sorted: Option<Sorted>,
    top_k: Option<TopK>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The arguments with which a scan was planned. Planning the same table with them again gives the same scan.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The request. It has no filters.
    pub request: Arc<ScanRequest>,
    /// Those filters of the plan that the scan itself applies.
    pub filters: Arc<[Expr]>,
}

impl LakeScanExec {
    pub(in crate::lake::scan) fn new(
        scan: Arc<Scan>,
        asked: Asked,
        unsettled: Option<Unsettled>,
        target_partitions: usize,
        limit: Option<usize>,
    ) -> LakeScanExec {
        let shares = Shares::of(scan.max_rows(), target_partitions, scan.is_costly, processors());
        LakeScanExec {
            properties: properties(&scan, &shares),
            metrics: ExecutionPlanMetricsSet::new(),
            scan,
            asked,
            unsettled: unsettled.map(Arc::new),
            shares,
            limit,
            sorted: None,
            top_k: None,
        }
    }

    /// Returns the table that the scan reads.
    pub fn table(&self) -> &ScopedTable {
        &self.scan.table
    }

    /// Returns the arguments with which the scan was planned.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Returns how the scan's rows are divided into partitions: the number of partitions, and whether a partition may
    /// end within a row group.
    pub fn dealt_out(&self) -> (usize, bool) {
        (self.shares.parts(), self.shares.within_groups())
    }

    /// Returns the same scan with its rows divided in another way. A codec uses this to divide them as another machine
    /// did.
    pub fn dealing_out(self, parts: usize, within_groups: bool) -> LakeScanExec {
        let shares = self.shares.dealt_out(parts, within_groups);
        LakeScanExec {
            properties: properties(&self.scan, &shares),
            shares,
            ..self
        }
    }

    /// Returns the maximum number of rows that each partition yields. `None` if there is no limit.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Whether the scan knows the sort above it: its dynamic filter or its first key.
    pub fn is_told(&self) -> bool {
        self.sorted.is_some() || self.top_k.is_some()
    }

    /// Returns the same scan under a sort that keeps the first `fetch` rows. `key` is the first key of the sort.
    pub fn with_top_k(&self, key: &PhysicalSortExpr, fetch: usize) -> LakeScanExec {
        let key = key.clone();
        LakeScanExec {
            top_k: Some(TopK { key, fetch }),
            ..self.clone()
        }
    }

    /// Returns the same scan with at most this many rows per partition. A limit that is lower stays.
    pub fn at_most(&self, rows: usize) -> LakeScanExec {
        let limit = Some(self.limit.map_or(rows, |limit| limit.min(rows)));
        LakeScanExec { limit, ..self.clone() }
    }

    /// Returns the report so far. It is final when all streams have ended.
    pub fn report(&self) -> ScanReport {
        self.scan.account.report(self.scan.table.files().len())
    }

    /// Returns the scan with its report, for `explain`. `None` if no partition has begun.
    pub fn seen(&self) -> Option<SeenScan> {
        // A partition registers its metrics when it begins. So without metrics no partition has begun.
        self.metrics.clone_inner().iter().next()?;
        let begun = self.unsettled.as_ref().and_then(|unsettled| unsettled.begun());
        Some(SeenScan {
            report: self.report(),
            ..begun.unwrap_or(&self.scan).seen()
        })
    }
}

fn properties(scan: &Scan, shares: &Shares) -> Arc<PlanProperties> {
    let properties = PlanProperties::new(
        EquivalenceProperties::new(scan.schema.clone()),
        Partitioning::UnknownPartitioning(shares.parts()),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    Arc::new(properties.with_scheduling_type(SchedulingType::NonCooperative))
}

impl DisplayAs for LakeScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let mut columns = Vec::new();
        for field in self.scan.schema.fields() {
            leaves("", field, &mut columns);
        }
        let more = columns.len().saturating_sub(COLUMNS_SHOWN);
        columns.truncate(COLUMNS_SHOWN);
        if more > 0 {
            columns.push(format!("{more} more"));
        }
        write!(f, "LakeScanExec: columns=[{}]", columns.join(", "))?;
        // If the scan has run, show the conditions with which it ran.
        let begun = self.unsettled.as_ref().and_then(|unsettled| unsettled.begun());
        let scan = begun.unwrap_or(&self.scan);
        if scan.prune != Prune::Keep {
            write!(f, ", prune=[{}]", scan.prune)?;
        }
        let items = scan.items_shown();
        if !items.is_empty() {
            write!(f, ", items=[{}]", items.join("; "))?;
        }
        let predicates = scan.predicates_shown();
        if !predicates.is_empty() {
            write!(f, ", predicates=[{}]", predicates.join("; "))?;
        }
        if self.scan.span() != Span::default() {
            write!(f, ", part={}", self.scan.span())?;
        }
        if self.sorted.is_some() {
            write!(f, ", order=best first")?;
        }
        if let Some(top_k) = &self.top_k {
            write!(f, ", {top_k}")?;
        }
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for LakeScanExec {
    fn name(&self) -> &str {
        "LakeScanExec"
    }

    fn schema(&self) -> SchemaRef {
        self.scan.schema.clone()
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
            internal_err!("LakeScanExec has no children")
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    /// Stores the dynamic filter of a sort above the scan, if the request has an order. The scan uses the filter to
    /// skip rows. DataFusion is told that the filter is not applied, so the sort still checks every row that the scan
    /// yields.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters: Vec<_> = result
            .parent_filters
            .iter()
            .map(|parent| parent.filter.clone())
            .collect();
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters.len()]);
        let dynamic = filters
            .into_iter()
            .find(|filter| filter.is::<DynamicFilterPhysicalExpr>());
        Ok(match (phase, dynamic, &self.scan.order) {
            (FilterPushdownPhase::Post, Some(filter), Some(order)) => {
                let sorted = Some(Sorted {
                    order: order.clone(),
                    filter,
                });
                propagation.with_updated_node(Arc::new(LakeScanExec { sorted, ..self.clone() }))
            }
            _ => propagation,
        })
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let scan = match &self.unsettled {
            Some(unsettled) => unsettled.settle(&self.scan),
            None => &self.scan,
        };
        let rows = Rows::new(
            scan.clone(),
            self.shares.share(partition),
            self.limit,
            self.sorted.clone(),
            self.top_k.as_ref().and_then(|top_k| TopKFilter::of(scan, top_k)),
        );
        let batches = Batches {
            rows,
            metrics: Metrics::new(&self.metrics, partition),
            since: Instant::now(),
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        if partition.is_none() && self.scan.is_total() {
            let rows = self.scan.table.table.as_ref().map_or(0, |table| table.rows) as usize;
            statistics.num_rows = Precision::Inexact(rows.min(self.limit.unwrap_or(usize::MAX)));
        }
        Ok(Arc::new(statistics))
    }

    /// Returns `false`, because a limit cannot be pushed below a scan. If this returned `true`, DataFusion would
    /// consider the limit and its offset applied, and drop both.
    fn supports_limit_pushdown(&self) -> bool {
        false
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        // Each partition applies the limit separately. So with several partitions, the limit must stay above the scan.
        (self.shares.parts() <= 1)
            .then(|| -> Arc<dyn ExecutionPlan> { Arc::new(LakeScanExec { limit, ..self.clone() }) })
    }

    fn fetch(&self) -> Option<usize> {
        self.limit.filter(|_| self.shares.parts() <= 1)
    }
}

/// The time after which a stream yields to the runtime. Then other tasks run on the thread, and a cancelled search
/// stops.
const STRETCH: Duration = Duration::from_millis(5);

/// The stream of a partition's batches, with DataFusion's metrics.
struct Batches {
    rows: Rows,
    metrics: Metrics,
    /// The time when the stream last yielded to the runtime.
    since: Instant,
}

impl Stream for Batches {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let begun = Instant::now();
        let polled = loop {
            if self.since.elapsed() >= STRETCH {
                self.since = Instant::now();
                context.waker().wake_by_ref();
                break Poll::Pending;
            }
            break Poll::Ready(match self.rows.step() {
                Ok(Step::Begun) => continue,
                Ok(Step::Batch(batch)) => {
                    self.metrics.baseline.record_output(batch.num_rows());
                    Some(Ok(batch))
                }
                Ok(Step::End) => None,
                Err(error) => Some(Err(error.into())),
            });
        };
        self.metrics.baseline.elapsed_compute().add_elapsed(begun);
        polled
    }
}

/// The counts of a partition's report as DataFusion metrics, under the names that plans show.
struct Metrics {
    baseline: BaselineMetrics,
    row_groups: Count,
    row_groups_pruned: Count,
    rows_pruned: Count,
    rows_filtered: Count,
    bytes: Count,
}

impl Metrics {
    fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Metrics {
        let count = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        Metrics {
            baseline: BaselineMetrics::new(set, partition),
            row_groups: count("row_groups"),
            row_groups_pruned: count("row_groups_pruned"),
            rows_pruned: count("rows_pruned"),
            rows_filtered: count("rows_filtered"),
            bytes: count("bytes_read"),
        }
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.rows.finish_group();
        let report = self.rows.report();
        self.metrics.row_groups.add(report.row_groups);
        self.metrics.row_groups_pruned.add(report.row_groups_pruned);
        self.metrics.rows_pruned.add(report.rows_pruned as usize);
        self.metrics.rows_filtered.add(report.rows_filtered as usize);
        self.metrics.bytes.add(report.bytes() as usize);
    }
}
