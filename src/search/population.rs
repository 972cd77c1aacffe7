//! Searches over many people, as DataFusion plans: scan with the criteria inside, sort to the page, keep locators.
//!
//! The plan carries no resource bytes; the page's rows are fetched by their locators once it is known which they are.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, RecordBatch};
use datafusion::common::DataFusionError;
use datafusion::datasource::provider_as_source;
use datafusion::execution::context::{SessionConfig, SessionContext, SessionState};
use datafusion::functions_aggregate::count::count_all;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, SortExpr};
use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream, execute_stream_partitioned};
use datafusion::prelude::ident;
use futures::StreamExt;
use tokio::task::JoinSet;

use super::criterion::{Condition, Criterion};
use super::matches::Found;
use super::merge::{Keyed, Order};
use super::ordered::{self, Limit};
use super::query::Query;
use super::tag::{Place, Side};
use super::{SearchError, boundary, filter, key_function, pushdown};
use crate::fhir::storage::LeafSet;
use crate::lake::scan::{
    Alternative, FILE, IdSet, Keep, LakeProvider, Locator, Prune, ROW, RowPredicate, ScanRequest, ScopedTable, Stretch,
};

/// The most parts of a table that is walked through.
const MOST_PARTS: usize = 4096;

/// The sessions that plans run in: one for whole scans, one whose plans keep the order of the table, one whose scans come in as
/// many parts as there can be.
pub(super) struct Sessions {
    parallel: SessionContext,
    ordered: SessionContext,
    in_parts: SessionContext,
    /// Whether the scan is told what it can decide without evaluating criteria.
    pushdown: bool,
}

impl Sessions {
    pub(super) fn new() -> Sessions {
        let config = SessionConfig::new();
        Sessions {
            ordered: SessionContext::new_with_config(config.clone().with_target_partitions(1)),
            in_parts: SessionContext::new_with_config(config.clone().with_target_partitions(MOST_PARTS)),
            parallel: SessionContext::new_with_config(config),
            pushdown: true,
        }
    }

    /// The same, but every criterion is evaluated on every row.
    pub(super) fn without_pushdown(self) -> Sessions {
        Sessions {
            pushdown: false,
            ..self
        }
    }

    /// For scans whose parts are walked through one by one.
    pub(super) fn in_parts(&self) -> &SessionContext {
        &self.in_parts
    }

    pub(super) fn pushes_down(&self) -> bool {
        self.pushdown
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

/// The matches of a page, and whether there are more; `owners` narrows the scan where the query names people.
pub(super) async fn page(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
) -> Result<Found, SearchError> {
    let backwards = query.is_backwards();
    let mut locators = match query.sort.is_empty() {
        true => {
            let limit = Limit {
                skip: if query.place.is_some() { 0 } else { query.offset },
                take: if backwards {
                    query.count
                } else {
                    query.count.saturating_add(1)
                },
                backwards,
            };
            let request = of_page(request(sessions, query, owners, LeafSet::new()), table, query)?;
            ordered::matches(sessions, &table.provider(request), limit, &query.trace).await?
        }
        false => {
            let planned = physical(sessions, table, query, owners).await?;
            let batches = collect(planned.plan.clone(), planned.state.task_ctx()).await?;
            query.trace.plan(planned.plan.as_ref());
            let mut locators: Vec<Locator> = batches.iter().flat_map(Locator::of).collect();
            if backwards {
                locators.reverse();
            }
            locators
        }
    };
    // What lies before a match is followed by it at least.
    let more = locators.len() > query.count || backwards && !locators.is_empty();
    locators.truncate(query.count);
    Ok(Found {
        locators,
        more,
        total: None,
    })
}

/// The first `limit` matches with their places in an order.
pub(super) async fn keyed(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
    order: &Order,
    limit: usize,
) -> Result<Vec<Keyed>, SearchError> {
    let provider = table.provider(request(sessions, query, owners, sort_leaves(query)));
    let scan = scan(query, &provider)?;
    let schema = scan.schema().as_arrow().clone();
    let name = |at: usize| format!("__key{at}");
    let keys = query.sort.iter().enumerate();
    let columns = keys.map(|(at, key)| key_function::expression(key, &schema).alias(name(at)));
    let sort_by = query.sort.iter().enumerate().map(|(at, key)| SortExpr {
        expr: ident(name(at)),
        asc: !key.descending,
        nulls_first: false,
    });
    let by_id = SortExpr {
        expr: ident("id"),
        asc: true,
        nulls_first: false,
    };
    let plan = scan
        .project(columns.chain([ident("id"), ident(FILE), ident(ROW)]))?
        .sort_with_limit(sort_by.chain([by_id]), Some(limit))?
        .build()?;
    let state = sessions.parallel.state();
    let plan = state.create_physical_plan(&plan).await?;
    let mut keyed = Vec::new();
    for batch in collect(plan, state.task_ctx()).await? {
        let keys = batch.columns()[..query.sort.len()].to_vec();
        let places = order.places(keys, batch.column(query.sort.len()).clone())?;
        let found = places.into_iter().zip(Locator::of(&batch));
        keyed.extend(found.map(|(key, at)| Keyed { key, at }));
    }
    Ok(keyed)
}

/// The number of matches.
pub(super) async fn count(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
) -> Result<usize, SearchError> {
    let provider = table.provider(request(sessions, query, owners, LeafSet::new()));
    let plan = counted(scan(query, &provider)?)?;
    let state = sessions.parallel.state();
    let plan = state.create_physical_plan(&plan).await?;
    let batches = collect(plan.clone(), state.task_ctx()).await?;
    query.trace.plan(plan.as_ref());
    let count = batches
        .first()
        .and_then(|batch| batch.column(0).as_any().downcast_ref::<Int64Array>().cloned());
    Ok(count
        .filter(|count| !count.is_empty())
        .map_or(0, |count| count.value(0) as usize))
}

/// Gives the rows that meet a query's criteria, with these columns, batch by batch in no order.
pub(super) async fn rows(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
    leaves: LeafSet,
    mut take: impl FnMut(&RecordBatch) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let provider = table.provider(request(sessions, query, owners, leaves));
    let plan = scan(query, &provider)?.build()?;
    let state = sessions.parallel.state();
    let plan = state.create_physical_plan(&plan).await?;
    let mut batches = execute_stream(plan, state.task_ctx())?;
    while let Some(batch) = batches.next().await {
        take(&batch?)?;
    }
    Ok(())
}

/// Adds ids to a set that it takes from a batch of rows.
pub(super) type Take = Arc<dyn Fn(&RecordBatch, &mut IdSet) -> Result<(), SearchError> + Send + Sync>;

/// The ids that `take` finds in the rows that meet a query's criteria, with these columns; every partition collects its own.
pub(super) async fn ids(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
    leaves: LeafSet,
    take: Take,
) -> Result<IdSet, SearchError> {
    let provider = table.provider(request(sessions, query, owners, leaves));
    let plan = scan(query, &provider)?.build()?;
    let state = sessions.parallel.state();
    let plan = state.create_physical_plan(&plan).await?;
    let mut parts = JoinSet::new();
    for mut batches in execute_stream_partitioned(plan, state.task_ctx())? {
        let take = take.clone();
        parts.spawn(async move {
            let mut ids = IdSet::default();
            while let Some(batch) = batches.next().await {
                take(&batch?, &mut ids)?;
            }
            Ok::<IdSet, SearchError>(ids)
        });
    }
    let mut all = IdSet::default();
    while let Some(part) = parts.join_next().await {
        let part = part.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?;
        all.merge(part?);
    }
    Ok(all)
}

/// A page's plan, ready to run.
struct Planned {
    plan: Arc<dyn ExecutionPlan>,
    state: SessionState,
}

/// The physical plan of a page, or of the count where only that is asked for.
async fn physical(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
) -> Result<Planned, SearchError> {
    let sorted = !query.sort.is_empty() && !query.counts_only();
    let leaves = if sorted { sort_leaves(query) } else { LeafSet::new() };
    let request = request(sessions, query, owners, leaves);
    let request = match query.counts_only() {
        true => request,
        false => of_page(request, table, query)?,
    };
    let provider = table.provider(request);
    let scan = scan(query, &provider)?;
    let (session, plan) = if query.counts_only() {
        (&sessions.parallel, counted(scan)?)
    } else {
        (
            if sorted { &sessions.parallel } else { &sessions.ordered },
            paged(scan, query)?,
        )
    };
    let state = session.state();
    let plan = state.create_physical_plan(&plan).await?;
    Ok(Planned { plan, state })
}

fn counted(scan: LogicalPlanBuilder) -> Result<LogicalPlan, SearchError> {
    Ok(scan
        .aggregate(Vec::<datafusion::prelude::Expr>::new(), [count_all()])?
        .build()?)
}

fn paged(scan: LogicalPlanBuilder, query: &Query) -> Result<LogicalPlan, SearchError> {
    let backwards = query.is_backwards();
    let skip = if query.place.is_some() { 0 } else { query.offset };
    let take = query.count + usize::from(!backwards);
    let sorted = if query.sort.is_empty() {
        scan
    } else {
        let schema = scan.schema().as_arrow().clone();
        let keys = query.sort.iter().map(|key| SortExpr {
            expr: key_function::expression(key, &schema),
            asc: key.descending == backwards,
            nulls_first: backwards,
        });
        let by_id = SortExpr {
            expr: ident("id"),
            asc: !backwards,
            nulls_first: backwards,
        };
        scan.sort_with_limit(keys.chain([by_id]), Some(skip + take))?
    };
    let page = sorted.limit(skip, Some(take))?;
    Ok(page.project([ident(FILE), ident(ROW)])?.build()?)
}

fn scan(query: &Query, provider: &Arc<LakeProvider>) -> Result<LogicalPlanBuilder, SearchError> {
    let name = crate::fhir::facts().get(query.ty).name;
    Ok(LogicalPlanBuilder::scan(
        name,
        provider_as_source(provider.clone()),
        None,
    )?)
}

/// The columns that ordering matches reads.
fn sort_leaves(query: &Query) -> LeafSet {
    let keys = query
        .sort
        .iter()
        .flat_map(|key| key.compiled.program.leaves().iter().cloned());
    keys.chain(["id".to_owned()]).collect()
}

/// A scan for what meets the query's criteria.
fn request(sessions: &Sessions, query: &Query, owners: Option<Vec<i64>>, leaves: LeafSet) -> ScanRequest {
    let mut request = ScanRequest {
        owners,
        leaves,
        numbers_suffice: sessions.pushes_down() && !query.criteria.iter().any(Criterion::reads_digits),
        order: query
            .sort
            .first()
            // Backwards the order is another.
            .filter(|_| sessions.pushes_down() && !query.is_backwards())
            .and_then(key_function::order),
        ..ScanRequest::default()
    };
    let mut others = Vec::new();
    let mut necessary = Vec::new();
    for criterion in &query.criteria {
        if sessions.pushes_down() {
            necessary.push(pushdown::necessary(criterion));
        }
        match alternatives(query, criterion) {
            Some(found) if sessions.pushes_down() => match <[Alternative; 1]>::try_from(found) {
                Ok([only]) => request.items.push(only.condition),
                Err(several) => request.either.push(several),
            },
            _ => others.push(criterion.clone()),
        }
    }
    request.prune = Prune::all(necessary);
    if !others.is_empty() {
        request.predicates.push(predicate(others, sessions.pushes_down()));
    }
    request
}

/// The criterion as conditions that the scan decides exactly, one of which must hold, each with the owners that its rows lie under.
fn alternatives(query: &Query, criterion: &Criterion) -> Option<Vec<Alternative>> {
    let parts = match &criterion.condition {
        Condition::Any(parts) => parts.as_slice(),
        _ => std::slice::from_ref(criterion),
    };
    let mut found = Vec::new();
    for part in parts {
        let owners = query.filed.as_ref().and_then(|filed| filed.owners(query.ty, part));
        let exact = pushdown::exact(query.ty, part)?.into_iter();
        found.extend(exact.map(|condition| Alternative {
            condition,
            owners: owners.clone(),
        }));
    }
    (!found.is_empty()).then_some(found)
}

/// The same scan, but only of the rows that lie where the page does.
fn of_page(mut request: ScanRequest, table: &ScopedTable, query: &Query) -> Result<ScanRequest, SearchError> {
    let Some(Place { locator, side, .. }) = query.place else {
        return Ok(request);
    };
    if query.sort.is_empty() {
        request.stretch = match side {
            Side::After => Stretch::after(locator),
            Side::At => Stretch::from(locator),
            Side::Before => Stretch::before(locator),
        };
    } else {
        request.predicates.push(boundary::predicate(
            table,
            &query.sort,
            sort_leaves(query),
            locator,
            side,
        )?);
    }
    Ok(request)
}

fn predicate(criteria: Vec<Criterion>, plain: bool) -> RowPredicate {
    let criteria = Arc::new(criteria);
    let label: Vec<&str> = criteria.iter().map(|criterion| criterion.label.as_str()).collect();
    let label = label.join(" and ").into();
    let leaves = filter::leaves(&criteria);
    let keep: Keep = Arc::new(move |batch: &RecordBatch| {
        let matches = match plain {
            true => filter::matches(&criteria, batch),
            false => filter::matches_by_programs(&criteria, batch),
        };
        matches.map_err(|error| DataFusionError::External(Box::new(error)))
    });
    RowPredicate { leaves, keep, label }
}
