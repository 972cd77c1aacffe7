//! A view over a lake: one plan from the scan to the rows. The scan applies the conditions on resources.

use std::sync::{Arc, LazyLock};

use arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::common::{ScalarValue, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::ident;
use futures::{FutureExt, StreamExt, TryStreamExt};

use super::error::RunError;
use super::naming::Naming;
use super::output::stop::Stop;
use super::output::write::{Batches, Rows};
use super::plan::node::{Tables, ViewNode};
use super::plan::predicate;
use super::view::View;
use crate::fhir::facts;
use crate::fhir::storage::LeafSet;
use crate::lake::scan::{LakeProvider, Predicate, ROW, ScanRequest, ScopedTable, SeenScan, expression};
use crate::plan::{Limit, OrderedLimit, Planned, Planner, scans_of};

/// Conditions on the resources that a view reads, within the scope. `None` stands for no condition.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Only resources that are filed under one of these Patients.
    pub patients: Option<Vec<String>>,
    /// Only rows of these owners. It is for callers that know the owners of the Patients' rows.
    pub owners: Option<Vec<i64>>,
    /// Only resources updated at this time or later, in microseconds since 1970.
    pub since: Option<i64>,
    /// The page of resources, in the order of the table. Resources are counted before the view's `where` is applied.
    pub page: Option<Page>,
}

/// A page of resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The number of resources before the page.
    pub offset: usize,
    /// The number of resources of the page. `None` means all that follow.
    pub count: Option<usize>,
}

/// The maximum number of partitions of a scan. Their rows are returned one partition after the other, in the order of
/// the table. It exceeds the number of threads, so that every thread has work.
const PARTITIONS: usize = 256;
/// The system column with the Patient in whose compartment a resource is filed.
const PATIENT: &str = "patient";
/// The system column of `meta.lastUpdated`.
const LAST_UPDATED: &str = "last_updated";
/// The time zone of [`LAST_UPDATED`].
const UTC: &str = "UTC";

/// A view, planned over a table.
#[derive(Debug)]
pub struct Run {
    view: Arc<View>,
    planned: Planned,
    provider: Arc<LakeProvider>,
    limit: Option<usize>,
    stop: Stop,
    again: Again,
}

/// What a run needs to read its records again after an error.
#[derive(Clone, Debug)]
pub(super) struct Again {
    pub(super) table: ScopedTable,
    pub(super) resources: Resources,
    pub(super) limit: Option<usize>,
    pub(super) stop: Stop,
}

impl Again {
    /// Returns the error of a view together with the resource that causes it. A run reads the ids of resources only
    /// if the view needs them, so this function runs the view once more with ids.
    pub(super) async fn named(&self, view: &Arc<View>, error: RunError) -> RunError {
        if !error.is_of_view() || error.is_named() {
            return error;
        }
        let mut again = view.with_ids();
        if let RunError::SqlType { column, .. } = &error {
            again = again.converting(column);
        }
        let run = Run::stopped_by(&self.table, again, &self.resources, self.limit, self.stop.clone());
        let Ok(run) = run.await else { return error };
        let mut batches = batches(run.planned.physical.as_ref());
        while let Some(batch) = batches.next().await {
            if let Err(found) = batch {
                // The second run may fail for another reason. In that case, return the error of the first run.
                return if found.is_named() { found } else { error };
            }
        }
        error
    }
}

impl Again {
    /// Returns a function that finds the resource that causes an error of a view.
    fn naming(self, view: &Arc<View>) -> Naming {
        let view = view.clone();
        Naming::new(move |error| {
            let (again, view) = (self.clone(), view.clone());
            async move { again.named(&view, error).await }.boxed()
        })
    }
}

/// The plan that reads the resources of one view or of several.
pub(super) struct Below {
    pub(super) plan: LogicalPlan,
    /// Whether the views must apply their `where` themselves.
    pub(super) filters: bool,
    pub(super) provider: Arc<LakeProvider>,
}

impl Below {
    /// Plans one scan of everything that the views read. The plan applies the conditions that are common to all
    /// views, and then the page.
    pub(super) fn new(table: &ScopedTable, views: &[Arc<View>], resources: &Resources) -> Result<Below, RunError> {
        // A page counts resources before any view's `where`, so with a page the scan cannot apply a `where`. A scan for
        // several views can only drop resources that no view keeps, so each view must also apply its own `where`.
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
        // A consumer may read the rows slowly. Hold the files, so that they stay readable.
        let table = table.held(resources.owners.as_deref());
        let table = table.map_err(DataFusionError::from)?;
        let (provider, plan) = asked.plan(&table, &leaves)?;
        let plan = plan.build()?;
        let plan = match resources.page {
            Some(Page { offset, count }) => {
                let page = Limit {
                    skip: offset,
                    take: count,
                    backwards: false,
                };
                OrderedLimit::plan(plan, page)
            }
            None => plan,
        };
        Ok(Below {
            plan,
            filters,
            provider,
        })
    }
}

/// Returns the planner of views. It splits scans into so many partitions that every thread has work.
pub(super) fn planner() -> &'static Planner {
    static PLANNER: LazyLock<Planner> = LazyLock::new(|| Planner::new(Some(PARTITIONS), vec![Arc::new(Tables)]));
    &PLANNER
}

/// Returns the batches of a plan that has one partition.
pub(super) fn batches(plan: &dyn ExecutionPlan) -> Batches<RecordBatch> {
    match plan.execute(0, planner().context()) {
        Ok(batches) => batches.map_err(RunError::from).boxed(),
        Err(error) => futures::stream::iter([Err(error.into())]).boxed(),
    }
}

impl Run {
    /// Plans the view over the table of its resource type. It yields at most `limit` rows.
    pub async fn new(
        table: &ScopedTable,
        view: Arc<View>,
        resources: &Resources,
        limit: Option<usize>,
    ) -> Result<Run, RunError> {
        Run::stopped_by(table, view, resources, limit, Stop::default()).await
    }

    async fn stopped_by(
        table: &ScopedTable,
        view: Arc<View>,
        resources: &Resources,
        limit: Option<usize>,
        stop: Stop,
    ) -> Result<Run, RunError> {
        let view = view.for_run();
        let Below {
            plan,
            filters,
            provider,
        } = Below::new(table, std::slice::from_ref(&view), resources)?;
        let plan = ViewNode::of_one(plan, &view, filters, &stop)?;
        let rows = Limit {
            take: limit,
            ..Limit::default()
        };
        Ok(Run {
            planned: planner().plan(&OrderedLimit::plan(plan, rows)).await?,
            view,
            provider,
            limit,
            again: Again {
                table: table.clone(),
                resources: resources.clone(),
                limit,
                stop: stop.clone(),
            },
            stop,
        })
    }

    /// Returns the plan that runs.
    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.planned.physical
    }

    /// Returns the text for `explain`: the logical and the physical plan, and the filters that the scan applies. After
    /// a run, also the metrics, and what the scan read and skipped. The reasons why it skipped something are known only
    /// if the table is watched.
    pub fn explain(&self) -> String {
        self.planned.explained()
    }

    /// Returns the scans of the run as data for programs.
    pub fn scans(&self) -> Vec<SeenScan> {
        scans_of(self.planned.physical.as_ref())
    }

    /// Returns a handle that stops the work from outside, even if no row is ever yielded.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Returns the report of what the scan has read so far.
    pub fn report(&self) -> crate::lake::scan::ScanReport {
        self.provider.report()
    }

    /// Returns the rows in the order of the table. Several threads compute them.
    pub fn rows(&self) -> Rows {
        let begun = batches(self.planned.physical.as_ref());
        let (view, again) = (self.view.clone(), self.again.clone());
        let rows = futures::stream::unfold(Some(begun), move |begun| {
            let (view, again) = (view.clone(), again.clone());
            async move {
                let mut begun = begun?;
                match begun.next().await? {
                    Ok(batch) => Some((Ok(batch), Some(begun))),
                    Err(error) => {
                        // Drop the first run, so that its threads are free for the second run, which `named` starts.
                        drop(begun);
                        Some((Err(again.named(&view, error).await), None))
                    }
                }
            }
        });
        Rows::new(self.view.clone(), rows.boxed(), self.limit).named_by(self.again.clone().naming(&self.view))
    }

    /// Returns a function that finds the resource that causes an error of a view. It reads all resources of the view in
    /// this table, until one of them causes an error.
    pub fn naming(table: &ScopedTable, view: &Arc<View>) -> Naming {
        let again = Again {
            table: table.clone(),
            resources: Resources::default(),
            limit: None,
            stop: Stop::default(),
        };
        again.naming(view)
    }
}

impl Resources {
    /// Returns the number of resources, without regard to the page and any view's `where`.
    pub async fn count(&self, table: &ScopedTable) -> Result<usize, RunError> {
        // Do not read ahead, because other tasks may wait for the caller's thread. So the plan has a single partition.
        static PLANNER: LazyLock<Planner> = LazyLock::new(|| Planner::new(Some(1), Vec::new()));
        let (_, plan) = self.asked().plan(table, &LeafSet::new())?;
        let plan = PLANNER.plan(&plan.build()?).await?.physical;
        let mut batches = plan.execute(0, PLANNER.context())?;
        let mut count = 0;
        while let Some(batch) = batches.next().await {
            count += batch?.num_rows();
        }
        Ok(count)
    }

    /// Returns the conditions on the rows of the table.
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

/// The conditions on the rows of a table.
struct Asked {
    owners: Option<Vec<i64>>,
    /// Comparisons of system columns.
    filters: Vec<Expr>,
    predicate: Option<Arc<dyn Predicate>>,
}

impl Asked {
    /// Begins a plan. It yields the rows that meet the conditions, with the columns of these leaves. Also returns the
    /// provider that scans the table.
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
            is_costly: true,
            ..ScanRequest::default()
        });
        let schema = provider.schema();
        let predicate = self.predicate.map(|predicate| expression(predicate, &schema));
        let name = TableReference::bare(facts().get(table.type_id()).name);
        let mut plan = LogicalPlanBuilder::scan(name, provider_as_source(provider.clone()), None)?;
        if let Some(filter) = conjunction(self.filters.into_iter().chain(predicate)) {
            plan = plan.filter(filter)?;
        }
        let wanted = table.schema(leaves);
        let mut columns: Vec<Expr> = wanted.fields().iter().map(|field| ident(field.name())).collect();
        if columns.is_empty() {
            // If a batch had no columns, some operators would not know its number of rows. So read the column `ROW`.
            columns.push(ident(ROW));
        }
        Ok((provider, plan.project(columns)?))
    }
}
