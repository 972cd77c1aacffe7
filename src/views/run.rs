//! A view over a lake: one plan from the scan to the rows, with everything that narrows it inside the scan.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::common::{ScalarValue, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, lit};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::ident;
use futures::StreamExt;

use super::error::RunError;
use super::exec::ViewExec;
use super::ordered::{Job, Jobs};
use super::predicate;
use super::stop::Stop;
use super::view::View;
use super::write::Rows;
use crate::fhir::facts;
use crate::fhir::storage::LeafSet;
use crate::lake::scan::{LakeProvider, Planner, Predicate, ROW, ScanRequest, ScopedTable, expression};

/// Which resources a view is made of, within what the scope shows.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Only what is filed under one of these Patients.
    pub patients: Option<Vec<String>>,
    /// Only rows of these owners; for callers who know under which owners the patients' rows lie.
    pub owners: Option<Vec<i64>>,
    /// Only resources updated at this time or later, in microseconds since 1970.
    pub since: Option<i64>,
    /// Only so many resources, counted in the order of the table before the view's `where`.
    pub page: Option<Page>,
}

/// A page of resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Resources before it.
    pub offset: usize,
    /// Resources in it; `None` for all that follow.
    pub count: Option<usize>,
}

/// The most partitions of a plan. A partition is run by one thread after the other, so that rows keep the order of the
/// table: there are more of them than threads.
const PARTITIONS: usize = 256;
/// The system column that says whose compartment a resource is filed in.
const PATIENT: &str = "patient";
/// The system column of `meta.lastUpdated`.
const LAST_UPDATED: &str = "last_updated";
/// The zone of its moments.
const UTC: &str = "UTC";
/// Below this many rows wanted a second thread would only read what nobody wants.
const FEW_ROWS: usize = 10_000;

/// A view, planned over a table.
#[derive(Debug)]
pub struct Run {
    view: Arc<View>,
    plan: Arc<dyn ExecutionPlan>,
    provider: Arc<LakeProvider>,
    context: Arc<TaskContext>,
    limit: Option<usize>,
    stop: Stop,
}

/// The scan below one view or several.
pub(super) struct Planned {
    pub(super) scan: Arc<dyn ExecutionPlan>,
    /// Whether each view's `where` is still to be applied.
    pub(super) filters: bool,
    pub(super) provider: Arc<LakeProvider>,
    pub(super) context: Arc<TaskContext>,
    /// Ends the work from outside.
    pub(super) stop: Stop,
}

impl Planned {
    /// Plans one scan of all that the views read, narrowed by what all of them agree on.
    pub(super) async fn new(
        table: &ScopedTable,
        views: &[Arc<View>],
        resources: &Resources,
    ) -> Result<Planned, RunError> {
        // A page counts resources before any view's own filter, which therefore cannot be the scan's then. The scan of
        // several views can only leave out what none of them keeps.
        let of_scan = resources.page.is_none() && views.iter().all(|view| view.has_filter());
        let filters = views.iter().any(|view| view.has_filter()) && !(of_scan && views.len() == 1);
        let mut asked = resources.asked();
        let mut leaves = LeafSet::new();
        for view in views {
            leaves.extend(view.leaves().iter().cloned());
            if filters {
                leaves.extend(view.filter_leaves());
            }
        }
        if of_scan {
            asked.predicate = Some(predicate::of(views));
        }
        // Rows are on their way for as long as somebody takes them.
        let table = table.held(resources.owners.as_deref());
        let table = table.map_err(DataFusionError::from)?;
        let planner = Planner::new(Some(if resources.page.is_some() { 1 } else { PARTITIONS }), Vec::new());
        let (provider, plan) = asked.plan(&table, &leaves)?;
        let plan = match resources.page {
            Some(Page { offset, count }) => plan.limit(offset, count)?,
            None => plan,
        };
        let planned = planner.plan(&plan.build()?).await?;
        Ok(Planned {
            scan: planned.physical,
            filters,
            provider,
            context: planner.context(),
            stop: Stop::default(),
        })
    }
}

impl Run {
    /// Plans the view over the table of its resource type; at most `limit` rows of it.
    pub async fn new(
        table: &ScopedTable,
        view: Arc<View>,
        resources: &Resources,
        limit: Option<usize>,
    ) -> Result<Run, RunError> {
        let view = view.for_run();
        let Planned {
            scan,
            filters,
            provider,
            context,
            stop,
        } = Planned::new(table, std::slice::from_ref(&view), resources).await?;
        let plan: Arc<dyn ExecutionPlan> = Arc::new(ViewExec::new(view.clone(), scan, filters, stop.clone()));
        Ok(Run {
            view,
            plan,
            provider,
            context,
            limit,
            stop,
        })
    }

    /// The plan, for `explain`. Its partitions follow each other in the order of the table.
    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// A way to end the work from outside, be it that it finds no row and so nobody can refuse one.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// What has been read so far.
    pub fn report(&self) -> crate::lake::scan::ScanReport {
        self.provider.report()
    }

    /// The rows, computed by several threads and taken in the order of the table.
    pub fn rows(&self) -> Rows {
        let (plan, context) = (self.plan.clone(), self.context.clone());
        let partitions = plan.output_partitioning().partition_count();
        let stop = self.stop.clone();
        let jobs: Jobs<RecordBatch> = Box::new((0..partitions).map(move |partition| -> Job<RecordBatch> {
            let (plan, context, stop) = (plan.clone(), context.clone(), stop.clone());
            Box::new(move || {
                let begun = stop.check().and_then(|()| Ok(plan.execute(partition, context)?));
                match begun {
                    // The stream computes when it is polled and waits for nothing.
                    Ok(stream) => Box::new(futures::executor::block_on_stream(stream).map(|batch| Ok(batch?))),
                    Err(error) => Box::new(std::iter::once(Err(error))),
                }
            })
        }));
        Rows::new(self.view.clone(), jobs, self.limit)
    }
}

impl Rows {
    /// How many threads are worth starting for so many rows.
    pub(super) fn threads(limit: Option<usize>) -> usize {
        match limit {
            Some(limit) if limit <= FEW_ROWS => 1,
            _ => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Resources {
    /// How many resources there are, pages not considered and before any view's `where`.
    pub async fn count(&self, table: &ScopedTable) -> Result<usize, RunError> {
        let planner = Planner::new(Some(1), Vec::new());
        let (_, plan) = self.asked().plan(table, &LeafSet::new())?;
        let plan = planner.plan(&plan.build()?).await?.physical;
        let mut batches = plan.execute(0, planner.context())?;
        let mut count = 0;
        while let Some(batch) = batches.next().await {
            count += batch?.num_rows();
        }
        Ok(count)
    }

    /// What is asked of the table.
    fn asked(&self) -> Asked {
        let mut filters = Vec::new();
        if let Some(patients) = &self.patients {
            let patients = patients.iter().map(|patient| lit(patient.as_str()));
            filters.push(ident(PATIENT).in_list(patients.collect(), false));
        }
        if let Some(since) = self.since {
            let since = ScalarValue::TimestampMicrosecond(Some(since), Some(UTC.into()));
            filters.push(ident(LAST_UPDATED).gt_eq(lit(since)));
        }
        Asked {
            owners: self.owners.clone(),
            filters,
            predicate: None,
        }
    }
}

/// What is asked of the rows of a table.
struct Asked {
    owners: Option<Vec<i64>>,
    /// Comparisons of system columns.
    filters: Vec<Expr>,
    predicate: Option<Arc<dyn Predicate>>,
}

impl Asked {
    /// The rows that pass with the columns of these leaves, as the beginning of a plan.
    fn plan(self, table: &ScopedTable, leaves: &LeafSet) -> Result<(Arc<LakeProvider>, LogicalPlanBuilder), RunError> {
        let mut read = leaves.clone();
        let columns = self.filters.iter().flat_map(Expr::column_refs);
        read.extend(columns.map(|column| column.name.clone()));
        if let Some(predicate) = &self.predicate {
            read.extend(predicate.leaves().iter().cloned());
        }
        let provider = table.provider(ScanRequest {
            leaves: read,
            owners: self.owners,
            ..ScanRequest::default()
        });
        let schema = provider.schema();
        let predicate = self.predicate.map(|predicate| expression(predicate, &schema));
        let name = TableReference::bare(facts().get(table.ty()).name);
        let mut plan = LogicalPlanBuilder::scan(name, provider_as_source(provider.clone()), None)?;
        if let Some(filter) = conjunction(self.filters.into_iter().chain(predicate)) {
            plan = plan.filter(filter)?;
        }
        let wanted = table.schema(leaves);
        let mut columns: Vec<Expr> = wanted.fields().iter().map(|field| ident(field.name())).collect();
        if columns.is_empty() {
            // A batch without columns would not say how many rows it has to every operator.
            columns.push(ident(ROW));
        }
        Ok((provider, plan.project(columns)?))
    }
}
