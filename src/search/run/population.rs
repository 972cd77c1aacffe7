//! Searches over many people, as DataFusion plans. A plan scans the table with the criteria as the filter, sorts the
//! rows in the order of the page, and yields their locators.
//!
//! The plan reads no resource texts. The resources of the page are fetched by their locators after the plan has run.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, RecordBatch};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, SortExpr};
use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream};
use datafusion::prelude::ident;
use futures::StreamExt;

use super::super::SearchError;
use super::super::criteria::criterion::Criterion;
use super::super::criteria::{key_function, predicate};
use super::super::paging::boundary;
use super::super::paging::page_token::{PagePosition, Side};
use super::super::parameters::query::Query;
use super::counted;
use super::matches::Found;
use super::merge::{Keyed, Order};
use super::sessions::Sessions;
use super::sorted;
use crate::fhir::facts;
use crate::fhir::storage::LeafSet;
use crate::lake::scan::{FILE, LakeProvider, Locator, Predicate, ROW, ScanRequest, ScopedTable, Span, expression};
use crate::plan::{Limit, On, OrderedLimitExec, Planner, SemiJoin};

/// Returns the matches of a page, and whether further matches follow. If the query names people, `owners` restricts the
/// scan to their rows.
pub(in crate::search) async fn page(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
) -> Result<Found, SearchError> {
    let backwards = query.is_backwards();
    let plan = page_plan(sessions, table, query, owners).await?;
    let batches = collect(plan.clone(), planner_of_page(sessions, query).context()).await?;
    query.trace.plan(&plan);
    let mut locators: Vec<Locator> = batches.iter().flat_map(Locator::of).collect();
    if backwards {
        locators.reverse();
    }
    // A page that was read backwards ends before the match at its position, so at least that match follows.
    let more = locators.len() > query.count || backwards && !locators.is_empty();
    locators.truncate(query.count);
    Ok(Found {
        locators,
        more,
        total: None,
    })
}

/// Returns the plan of a page. It yields the locators of the page's matches. For a page that is read forwards, it also
/// yields the next match, if there is one.
pub(in crate::search) async fn page_plan(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
) -> Result<Arc<dyn ExecutionPlan>, SearchError> {
    let scan = Scan::of_page(sessions, table, query, owners)?;
    let planner = planner_of_page(sessions, query);
    if query.sort.is_empty() {
        scan.in_order(planner, query).await
    } else {
        scan.sorted(planner, query).await
    }
}

fn planner_of_page<'s>(sessions: &'s Sessions, query: &Query) -> &'s Planner {
    if query.sort.is_empty() {
        sessions.in_parts()
    } else {
        sessions.parallel()
    }
}

/// Returns the first `limit` matches in the order `order`, with their sort keys.
pub(in crate::search) async fn keyed(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
    order: &Order,
    limit: usize,
) -> Result<Vec<Keyed>, SearchError> {
    let scan = Scan::of(sessions, table, query, owners, &sort_leaves(query)).plan(query)?;
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
    let planned = sessions.parallel().plan(&plan).await?;
    let mut keyed = Vec::new();
    for batch in collect(planned.physical.clone(), sessions.parallel().context()).await? {
        let keys = batch.columns()[..query.sort.len()].to_vec();
        let places = order.places(keys, batch.column(query.sort.len()).clone())?;
        let found = places.into_iter().zip(Locator::of(&batch));
        keyed.extend(found.map(|(key, at)| Keyed { key, at }));
    }
    query.trace.planned(&planned);
    Ok(keyed)
}

/// Returns the number of matches.
pub(in crate::search) async fn count(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
) -> Result<usize, SearchError> {
    let plan = count_plan(sessions, table, query, owners).await?;
    let batches = collect(plan.clone(), sessions.parallel().context()).await?;
    query.trace.plan(&plan);
    let count = batches
        .first()
        .and_then(|batch| batch.column(0).as_any().downcast_ref::<Int64Array>().cloned());
    Ok(count
        .filter(|count| !count.is_empty())
        .map_or(0, |count| count.value(0) as usize))
}

/// Returns the plan that counts the matches.
pub(in crate::search) async fn count_plan(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
) -> Result<Arc<dyn ExecutionPlan>, SearchError> {
    let scan = Scan::of(sessions, table, query, owners, &LeafSet::new());
    let rows = scan.columns_planned(sessions.parallel(), std::iter::empty(), None);
    counted::count(rows.await?)
}

/// Calls `take` with the rows that meet a query's criteria, batch by batch and in no particular order. The batches have
/// the columns of `leaves`, and the locators.
pub(in crate::search) async fn rows(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
    leaves: LeafSet,
    mut take: impl FnMut(&RecordBatch) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let scan = Scan::of(sessions, table, query, owners, &leaves);
    let schema = table.schema(&leaves);
    let columns = schema.fields().iter().map(|field| field.name().as_str());
    let plan = scan
        .columns_planned(sessions.parallel(), columns.chain([FILE, ROW]), None)
        .await?;
    let mut batches = execute_stream(plan.clone(), sessions.parallel().context())?;
    while let Some(batch) = batches.next().await {
        take(&batch?)?;
    }
    query.trace.plan(&plan);
    Ok(())
}

/// Returns a plan for the rows that meet a query's criteria. The rows have the columns of `leaves`. A semi-join runs
/// this plan first and takes its set of ids or references from the rows.
pub(in crate::search) async fn side(
    sessions: &Sessions,
    table: &ScopedTable,
    query: &Query,
    owners: Option<Vec<i64>>,
    leaves: &LeafSet,
) -> Result<Arc<dyn ExecutionPlan>, SearchError> {
    let schema = table.schema(leaves);
    let columns = schema.fields().iter().map(|field| field.name().as_str());
    let scan = Scan::of(sessions, table, query, owners, leaves);
    scan.columns_planned(sessions.parallel(), columns, None).await
}

/// Returns the leaves that the sort keys read, and `id`.
fn sort_leaves(query: &Query) -> LeafSet {
    let keys = query
        .sort
        .iter()
        .flat_map(|key| key.compiled.program.leaves().iter().cloned());
    keys.chain(["id".to_owned()]).collect()
}

/// A scan of a table, with a query's criteria as filters.
pub(in crate::search) struct Scan {
    provider: Arc<LakeProvider>,
    filters: Vec<Expr>,
    /// The semi-joins of the query. Each one finds the ids with which a dynamic filter compares the rows.
    joins: Vec<On>,
}

impl Scan {
    /// Creates a scan that yields these leaves, and the leaves that the criteria read.
    fn of(sessions: &Sessions, table: &ScopedTable, query: &Query, owners: Option<Vec<i64>>, leaves: &LeafSet) -> Scan {
        let predicates = predicate::of(query, sessions.pushes_down());
        Scan::filtered(
            table,
            query,
            predicates,
            request(sessions, query, owners, leaves.clone()),
        )
    }

    /// Creates the scan of a page. It yields only rows on the page's side of the position in the page token. For a
    /// sorted page, it yields the leaves of the sort keys.
    fn of_page(
        sessions: &Sessions,
        table: &ScopedTable,
        query: &Query,
        owners: Option<Vec<i64>>,
    ) -> Result<Scan, SearchError> {
        let leaves = if query.sort.is_empty() {
            LeafSet::new()
        } else {
            sort_leaves(query)
        };
        let mut predicates = predicate::of(query, sessions.pushes_down());
        let mut request = request(sessions, query, owners, leaves.clone());
        match query.place {
            Some(PagePosition { locator, side, .. }) if query.sort.is_empty() => {
                request.span = match side {
                    Side::After => Span::after(locator),
                    Side::At => Span::from(locator),
                    Side::Before => Span::before(locator),
                };
            }
            Some(PagePosition { locator, side, .. }) => {
                predicates.push(boundary::predicate(table, &query.sort, leaves, locator, side)?);
            }
            None => {}
        }
        Ok(Scan::filtered(table, query, predicates, request))
    }

    fn filtered(
        table: &ScopedTable,
        query: &Query,
        predicates: Vec<Arc<dyn Predicate>>,
        mut request: ScanRequest,
    ) -> Scan {
        for predicate in &predicates {
            request.leaves.extend(predicate.leaves().iter().cloned());
        }
        let provider = table.provider(request);
        let schema = provider.schema();
        let filters = predicates.into_iter().map(|predicate| expression(predicate, &schema));
        Scan {
            filters: filters.collect(),
            joins: query.joins.clone(),
            provider,
        }
    }

    /// Returns a plan for the locators of a page in the table's order. The plan is built without the planner, because
    /// it always has the same form: a scan with filters, and a limit. Planning would take longer than finding most
    /// pages.
    async fn in_order(&self, planner: &Planner, query: &Query) -> Result<Arc<dyn ExecutionPlan>, SearchError> {
        let backwards = query.is_backwards();
        let page = Limit {
            skip: if query.place.is_some() { 0 } else { query.offset },
            take: Some(query.count.saturating_add(usize::from(!backwards))),
            backwards,
        };
        let rows = self
            .columns_planned(planner, [FILE, ROW].into_iter(), page.of_part())
            .await?;
        Ok(Arc::new(OrderedLimitExec::new(rows, page)))
    }

    /// Returns a plan for the rows that pass the filters, with these columns. Each partition yields at most `limit`
    /// rows. The plan is built without the planner, because the scan applies all filters itself.
    pub(in crate::search) async fn columns_planned(
        &self,
        planner: &Planner,
        columns: impl Iterator<Item = &str>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, SearchError> {
        let schema = self.provider.schema();
        let places = columns.map(|column| schema.index_of(column));
        let places = places.collect::<Result<Vec<usize>, _>>()?;
        let rows = self.provider.scan(planner.state(), Some(&places), &self.filters, limit);
        Ok(On::over_physical(&self.joins, rows.await?))
    }

    /// Returns a plan for the locators of a page in the order of the sort keys.
    async fn sorted(&self, planner: &Planner, query: &Query) -> Result<Arc<dyn ExecutionPlan>, SearchError> {
        let backwards = query.is_backwards();
        let schema = self.provider.schema();
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
        let columns = schema.fields().iter().map(|field| field.name().as_str());
        let is_read =
            |column: &&str| ["id", FILE, ROW].contains(column) || query.sort.iter().any(|key| key.reads(column));
        let rows = self.columns_planned(planner, columns.filter(is_read), None).await?;
        let skip = if query.place.is_some() { 0 } else { query.offset };
        let take = query.count + usize::from(!backwards);
        sorted::page(planner, rows, keys.chain([by_id]).collect(), skip, take)
    }

    /// Returns the rows that pass the filters, as the beginning of a logical plan.
    fn plan(self, query: &Query) -> Result<LogicalPlanBuilder, SearchError> {
        let name = TableReference::bare(facts().get(query.type_id).name);
        let scan = LogicalPlanBuilder::scan(name, provider_as_source(self.provider), None)?;
        let filtered = match conjunction(self.filters) {
            Some(filter) => scan.filter(filter)?,
            None => scan,
        };
        Ok(if self.joins.is_empty() {
            filtered
        } else {
            SemiJoin::over(&self.joins, filtered.build()?)?.into()
        })
    }
}

/// Returns the options of a scan, except its filters.
fn request(sessions: &Sessions, query: &Query, owners: Option<Vec<i64>>, leaves: LeafSet) -> ScanRequest {
    ScanRequest {
        owners,
        leaves,
        numbers_suffice: sessions.pushes_down() && !query.criteria.iter().any(Criterion::reads_digits),
        order: query
            .sort
            .first()
            // The plan of a backwards page sorts in reverse. The scan cannot read in this order, so it is not told an
            // order.
            .filter(|_| sessions.pushes_down() && !query.is_backwards())
            .and_then(key_function::order),
        ..ScanRequest::default()
    }
}
