//! Conditions on other resources, answered before the rows are searched: each becomes a set of ids that a reference of the row, or
//! the row's own id, must be in.
//!
//! Other tables are read through the same scope and snapshot as the rows, so a chain finds nothing that its caller could not
//! read, and all pages of a search see the same.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use futures::future::BoxFuture;
use rustc_hash::FxHashSet;

use super::criterion::{Condition, Criterion, Join, Test};
use super::engine::Engine;
use super::matcher::{Matcher, Targets};
use super::parameter::Compiled;
use super::query::Query;
use super::{SearchError, filter, population, targets};
use crate::fhir::storage::LeafSet;
use crate::fhir::{TypeId, facts};
use crate::lake::json::Tape;
use crate::lake::scan::ScopedTable;

/// The most resources that a condition on other resources may be met by.
const MAX_JOINED: usize = 5_000_000;

type Ids = FxHashSet<String>;

impl Engine {
    /// Answers every condition on other resources among the criteria of a search of `table`.
    pub(super) fn settle<'a>(
        &'a self,
        table: &'a ScopedTable,
        criteria: &'a mut [Criterion],
    ) -> BoxFuture<'a, Result<(), SearchError>> {
        Box::pin(async move {
            for criterion in criteria {
                match &mut criterion.condition {
                    Condition::All(parts) | Condition::Any(parts) => self.settle(table, parts).await?,
                    Condition::Not(part) => self.settle(table, std::slice::from_mut(part)).await?,
                    Condition::Join(join) => criterion.condition = self.answer(table, join).await?,
                    Condition::Values { .. } | Condition::Tuples { .. } | Condition::Words { .. } => {}
                }
            }
            Ok(())
        })
    }

    async fn answer(&self, table: &ScopedTable, join: &mut Join) -> Result<Condition, SearchError> {
        match join {
            Join::Chain { compiled, targets } => {
                let mut matchers = Vec::with_capacity(targets.len());
                for (ty, criterion) in targets {
                    let ids = self.meeting(&table.other(*ty), criterion).await?;
                    matchers.push(refers_to(*ty, ids));
                }
                Ok(values(compiled, matchers))
            }
            Join::Has {
                source,
                through,
                criterion,
                ids,
            } => {
                let found = self
                    .referred(&table.other(*source), through, criterion, table.ty())
                    .await?;
                Ok(values(ids, vec![Matcher::OneOf(Arc::new(found))]))
            }
            Join::List { lists, ids } => {
                let mut named = Ids::default();
                for list in lists {
                    listed(table, list, &mut named)?;
                }
                Ok(values(ids, vec![Matcher::OneOf(Arc::new(named))]))
            }
            Join::Hierarchy {
                compiled,
                from,
                parents,
                below,
            } => {
                let mut matchers = Vec::with_capacity(parents.len());
                for (ty, parent) in parents {
                    let start = from.iter().filter(|(of, _)| of == ty).map(|(_, id)| id.clone());
                    let ids = self
                        .hierarchy(&table.other(*ty), parent, start.collect(), *below)
                        .await?;
                    matchers.push(refers_to(*ty, ids));
                }
                Ok(values(compiled, matchers))
            }
        }
    }

    /// Ids of the rows of a table that meet a criterion.
    async fn meeting(&self, table: &ScopedTable, criterion: &mut Criterion) -> Result<Ids, SearchError> {
        self.settle(table, std::slice::from_mut(criterion)).await?;
        let query = Query::of_criteria(table.ty(), vec![criterion.clone()]);
        let mut ids = Ids::default();
        let take = |batch: &RecordBatch| {
            add_ids(batch, &mut ids);
            bounded(&ids)
        };
        self.rows(table, &query, LeafSet::from(["id".to_owned()]), take).await?;
        Ok(ids)
    }

    /// Ids of the resources of type `ty` that the rows of a table refer to which meet a criterion.
    async fn referred(
        &self,
        table: &ScopedTable,
        through: &Compiled,
        criterion: &mut Criterion,
        ty: TypeId,
    ) -> Result<Ids, SearchError> {
        self.settle(table, std::slice::from_mut(criterion)).await?;
        let query = Query::of_criteria(table.ty(), vec![criterion.clone()]);
        let (mut ids, wanted) = (Ids::default(), facts().get(ty).name);
        let take = |batch: &RecordBatch| {
            targets::each(through, batch, |ty, id| {
                if ty == wanted && !ids.contains(id) {
                    ids.insert(id.to_owned());
                }
            })?;
            bounded(&ids)
        };
        self.rows(table, &query, through.program.leaves().clone(), take).await?;
        Ok(ids)
    }

    /// The resources among which `start` stand, and those under or over them.
    async fn hierarchy(
        &self,
        table: &ScopedTable,
        parent: &Arc<Compiled>,
        start: Vec<String>,
        below: bool,
    ) -> Result<Ids, SearchError> {
        let (mut all, mut next): (Ids, Ids) = (start.iter().cloned().collect(), start.into_iter().collect());
        while !next.is_empty() {
            let mut found = if below {
                let label = "under those found before".to_owned();
                let test = Test::AnyOf {
                    matchers: vec![refers_to(table.ty(), next)],
                    not: false,
                };
                let mut criterion = Criterion::of_values(parent.clone(), test, label);
                self.meeting(table, &mut criterion).await?
            } else {
                let Some(ids) = self.ids_of(table.ty())? else { break };
                let test = Test::AnyOf {
                    matchers: vec![Matcher::OneOf(Arc::new(next))],
                    not: false,
                };
                let mut criterion = Criterion::of_values(ids, test, "those found before".to_owned());
                self.referred(table, parent, &mut criterion, table.ty()).await?
            };
            found.retain(|id| !all.contains(id));
            all.extend(found.iter().cloned());
            bounded(&all)?;
            next = found;
        }
        Ok(all)
    }

    /// Gives the rows of a table that meet a query's criteria, with these columns, batch by batch.
    async fn rows(
        &self,
        table: &ScopedTable,
        query: &Query,
        leaves: LeafSet,
        mut take: impl FnMut(&RecordBatch) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let bound = self.bound(query, table);
        let Some(person) = bound.person else {
            return population::rows(self.sessions(), table, query, bound.owners, leaves, take).await;
        };
        let mut wanted = filter::leaves(&query.criteria);
        wanted.extend(leaves);
        let rows = table.person_batch(person, &wanted)?.batch;
        let matches = filter::matches(&query.criteria, &rows)?;
        take(&arrow::compute::filter_record_batch(&rows, &matches)?)
    }
}

fn refers_to(ty: TypeId, ids: Ids) -> Matcher {
    Matcher::RefersTo(Arc::new(Targets { ty, ids }))
}

fn values(compiled: &Arc<Compiled>, matchers: Vec<Matcher>) -> Condition {
    Condition::Values {
        compiled: compiled.clone(),
        test: Test::AnyOf { matchers, not: false },
    }
}

fn bounded(ids: &Ids) -> Result<(), SearchError> {
    match ids.len() > MAX_JOINED {
        true => Err(SearchError::TooManyJoined(MAX_JOINED)),
        false => Ok(()),
    }
}

fn add_ids(batch: &RecordBatch, ids: &mut Ids) {
    let column = batch
        .column_by_name("id")
        .and_then(|column| column.as_string_opt::<i32>());
    ids.extend(column.into_iter().flatten().flatten().map(str::to_owned));
}

/// Adds the ids of the resources of the table's type that a List names as its entries.
fn listed(table: &ScopedTable, list: &str, ids: &mut Ids) -> Result<(), SearchError> {
    let Some(lists) = facts().lookup("List") else {
        return Ok(());
    };
    let Some(row) = table.other(lists).read(list)? else {
        return Ok(());
    };
    let mut tape = Tape::new();
    let root = tape
        .parse(&row.resource)
        .map_err(|error| SearchError::Stored(format!("List/{list}: {error}")))?;
    let prefix = format!("{}/", facts().get(table.ty()).name);
    for entry in root.get("entry").into_iter().flat_map(|entries| entries.items()) {
        if entry.get("deleted").and_then(|deleted| deleted.as_bool()) == Some(true) {
            continue;
        }
        let reference = entry.get("item").and_then(|item| item.get_str("reference"));
        let id = reference
            .as_deref()
            .and_then(|reference| reference.strip_prefix(&prefix));
        ids.extend(id.map(|id| id.split('/').next().unwrap_or(id).to_owned()));
    }
    Ok(())
}
