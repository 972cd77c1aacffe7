//! A view over a lake: one plan from the scan to the rows, with everything that narrows it inside the scan.

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::kernels::cmp;
use arrow::datatypes::TimestampMicrosecondType;
use datafusion::catalog::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::context::{SessionConfig, SessionState};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;

use super::error::RunError;
use super::exec::ViewExec;
use super::ordered::{Job, Jobs};
use super::stop::Stop;
use super::view::View;
use super::write::Rows;
use crate::fhir::storage::LeafSet;
use crate::fhirpath::Necessary;
use crate::lake::scan::{FILE, Keep, LakeProvider, Prune, ROW, RowPredicate, ScanRequest, ScopedTable};

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

/// The most partitions of a plan. A partition is run by one thread after the other, so that rows keep the order of the table:
/// there are more of them than threads.
const PARTITIONS: usize = 256;
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
        let mut request = resources.request();
        for view in views {
            request.leaves.extend(view.leaves().iter().cloned());
            if filters {
                request.leaves.extend(view.filter_leaves());
            }
        }
        if of_scan {
            let mut necessary: Vec<Necessary> = views.iter().map(|view| view.necessary()).collect();
            if let [only] = necessary.as_mut_slice() {
                request.items.append(&mut only.items);
            }
            let prune = Prune::any(necessary.into_iter().map(|part| part.prune));
            request.prune = Prune::all([request.prune, prune]);
            request.predicates.push(match views {
                [view] => filter(view.clone()),
                views => any_filter(views),
            });
        }
        let stop = Stop::default();
        for predicate in &mut request.predicates {
            predicate.keep = stop.before(predicate.keep.clone());
        }
        let state = session(if resources.page.is_some() { 1 } else { PARTITIONS });
        // Rows are on their way for as long as somebody takes them.
        let table = table.held(request.owners.as_deref());
        let table = table.map_err(DataFusionError::from)?;
        let provider = table.provider(request);
        let mut plan = scan(&provider, &state).await?;
        if let Some(Page { offset, count }) = resources.page {
            plan = Arc::new(GlobalLimitExec::new(plan, offset, count));
        }
        Ok(Planned {
            scan: plan,
            filters,
            provider,
            context: state.task_ctx(),
            stop,
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
        let state = session(1);
        let provider = table.provider(self.request());
        let plan = scan(&provider, &state).await?;
        let mut batches = plan.execute(0, state.task_ctx())?;
        let mut count = 0;
        while let Some(batch) = batches.next().await {
            count += batch?.num_rows();
        }
        Ok(count)
    }

    /// The scan that gives them.
    fn request(&self) -> ScanRequest {
        let mut request = ScanRequest {
            owners: self.owners.clone(),
            ..ScanRequest::default()
        };
        let mut prune = Vec::new();
        if let Some(patients) = &self.patients {
            prune.push(Prune::Text {
                leaf: "patient".into(),
                any_of: patients.iter().map(|patient| patient.as_str().into()).collect(),
            });
            request.predicates.push(of_patients(patients.clone()));
        }
        if let Some(since) = self.since {
            prune.push(Prune::Range {
                leaf: "last_updated".into(),
                from: Some(since.into()),
                to: None,
            });
            request.predicates.push(updated_since(since));
        }
        if !prune.is_empty() {
            request.prune = Prune::And(prune);
        }
        request
    }
}

fn of_patients(patients: Vec<String>) -> RowPredicate {
    let label = format!("patient in ({})", patients.len()).into();
    let wanted: std::collections::HashSet<String> = patients.into_iter().collect();
    let keep: Keep = Arc::new(move |batch: &RecordBatch| {
        let Some(column) = batch.column_by_name("patient") else {
            return Ok(BooleanArray::from(vec![false; batch.num_rows()]));
        };
        let column = arrow::compute::cast(column, &arrow::datatypes::DataType::Utf8)?;
        let texts = column.as_string::<i32>();
        Ok(texts
            .iter()
            .map(|text| Some(text.is_some_and(|text| wanted.contains(text))))
            .collect())
    });
    RowPredicate {
        leaves: LeafSet::from(["patient".to_owned()]),
        keep,
        label,
    }
}

fn updated_since(since: i64) -> RowPredicate {
    let keep: Keep = Arc::new(move |batch: &RecordBatch| {
        let column = batch.column_by_name("last_updated");
        let Some(times) = column.and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>()) else {
            return Ok(BooleanArray::from(vec![false; batch.num_rows()]));
        };
        let since = arrow::array::TimestampMicrosecondArray::new_scalar(since);
        let plain = times.clone().with_timezone_opt(None::<Arc<str>>);
        Ok(cmp::gt_eq(&plain, &since)?)
    });
    RowPredicate {
        leaves: LeafSet::from(["last_updated".to_owned()]),
        keep,
        label: "last_updated >= _since".into(),
    }
}

/// A view's `where` as a condition inside the scan.
fn filter(view: Arc<View>) -> RowPredicate {
    RowPredicate {
        leaves: view.filter_leaves(),
        label: label(&view).into(),
        keep: Arc::new(move |batch: &RecordBatch| view.keep(batch).map_err(RunError::into_plan)),
    }
}

/// That some view's `where` holds. A view whose `where` is in error keeps the rows, so that the error is met as its own.
fn any_filter(views: &[Arc<View>]) -> RowPredicate {
    let labels: Vec<String> = views.iter().map(|view| label(view)).collect();
    let leaves = views.iter().flat_map(|view| view.filter_leaves()).collect();
    let views = views.to_vec();
    let keep: Keep = Arc::new(move |batch: &RecordBatch| {
        let mut kept = BooleanArray::from(vec![false; batch.num_rows()]);
        for view in &views {
            match view.keep(batch) {
                Ok(keeps) => kept = arrow::compute::or(&kept, &keeps)?,
                Err(_) => return Ok(BooleanArray::from(vec![true; batch.num_rows()])),
            }
        }
        Ok(kept)
    });
    RowPredicate {
        leaves,
        keep,
        label: labels.join(" or ").into(),
    }
}

fn label(view: &View) -> String {
    format!("where {}", view.filter_text().unwrap_or_default())
}

fn session(partitions: usize) -> SessionState {
    let config = SessionConfig::new().with_target_partitions(partitions);
    SessionStateBuilder::new().with_config(config).build()
}

/// The scan of the clipped columns, without locators where there are others.
async fn scan(provider: &Arc<LakeProvider>, state: &SessionState) -> Result<Arc<dyn ExecutionPlan>, RunError> {
    let schema = provider.schema();
    let mut columns: Vec<usize> = (0..schema.fields().len())
        .filter(|at| !matches!(schema.field(*at).name().as_str(), FILE | ROW))
        .collect();
    if columns.is_empty() {
        // A batch without columns would not say how many rows it has to every operator.
        columns.extend(schema.index_of(ROW).ok());
    }
    Ok(provider.scan(state, Some(&columns), &[], None).await?)
}
