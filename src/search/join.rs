//! Conditions on other resources, answered before the rows are searched: each becomes a set of ids that a reference of
//! the row, or the row's own id, must be in.
//!
//! Other tables are read through the same scope and snapshot as the rows, so a chain finds nothing that its caller
//! could not read, and all pages of a search see the same.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use futures::future::BoxFuture;

use super::criterion::{Condition, Criterion, Join, Test};
use super::engine::Engine;
use super::matcher::Matcher;
use super::near::{Near, criterion, reach, refers_to};
use super::parameter::Compiled;
use super::population::{self, Take};
use super::query::Query;
use super::{SearchError, contained, filter, targets};
use crate::fhir::storage::LeafSet;
use crate::fhir::{TypeId, facts};
use crate::lake::json::Tape;
use crate::lake::scan::{IdSet, ScopedTable};

/// The most resources that a condition on other resources may be met by.
const MAX_JOINED: usize = 5_000_000;

impl Engine {
    /// Answers every condition on other resources among the criteria of a search of `table`, those that lead to few
    /// resources first: what is found there narrows the search of others.
    pub(super) fn settle<'a>(
        &'a self,
        table: &'a ScopedTable,
        criteria: &'a mut [Criterion],
    ) -> BoxFuture<'a, Result<(), SearchError>> {
        Box::pin(async move {
            let joins = criteria.iter().enumerate();
            let mut joins: Vec<(u64, usize)> = joins
                .filter_map(|(at, criterion)| Some((reach(table, criterion)?, at)))
                .collect();
            joins.sort_unstable();
            for (_, at) in joins {
                let near = Near::of(self, table, criteria);
                self.settle_parts(table, near.as_ref(), false, &mut criteria[at..=at])
                    .await?;
            }
            Ok(())
        })
    }

    /// `of_items`: the parts speak of items of the rows rather than of the rows.
    fn settle_parts<'a>(
        &'a self,
        table: &'a ScopedTable,
        near: Option<&'a Near<'a>>,
        of_items: bool,
        parts: &'a mut [Criterion],
    ) -> BoxFuture<'a, Result<(), SearchError>> {
        Box::pin(async move {
            for part in parts {
                match &mut part.condition {
                    Condition::All(parts) | Condition::Any(parts) => {
                        self.settle_parts(table, near, of_items, parts).await?;
                    }
                    Condition::Not(part) => {
                        let part = std::slice::from_mut(part.as_mut());
                        self.settle_parts(table, near, of_items, part).await?;
                    }
                    Condition::Item { holds, .. } => {
                        let holds = std::slice::from_mut(holds.as_mut());
                        self.settle_parts(table, None, true, holds).await?;
                    }
                    Condition::Join(join) => part.condition = self.answer(table, near, of_items, join).await?,
                    Condition::Values { .. }
                    | Condition::Tuples { .. }
                    | Condition::Words { .. }
                    | Condition::Holds(_)
                    | Condition::Inside { .. } => {}
                }
            }
            Ok(())
        })
    }

    async fn answer(
        &self,
        table: &ScopedTable,
        near: Option<&Near<'_>>,
        of_items: bool,
        join: &Join,
    ) -> Result<Condition, SearchError> {
        match join {
            Join::Chain { compiled, targets } => {
                let mut matchers = Vec::with_capacity(targets.len());
                for (ty, criterion) in targets {
                    let other = table.other(*ty);
                    let mut criteria = vec![criterion.clone()];
                    if let Some(near) = near {
                        criteria.extend(near.referred(self, compiled, &other).await?);
                    }
                    matchers.push(refers_to(*ty, self.meeting(&other, &mut criteria).await?));
                    if compiled.follows_urls(*ty) {
                        let borne = self.borne_by(&other, &criteria).await?;
                        matchers.push(Matcher::Canonicals(Arc::new(borne)));
                    }
                }
                let inside = match of_items {
                    true => None,
                    false => self.inside(table, compiled, targets).await?,
                };
                Ok(either(values(compiled, matchers), inside))
            }
            Join::Has {
                source,
                through,
                criterion,
                ids,
            } => {
                let other = table.other(*source);
                let mut criteria = vec![criterion.as_ref().clone()];
                if let Some(near) = near {
                    criteria.extend(near.referring(self, through, &other).await?);
                }
                let mut found = self.referred(&other, through, &mut criteria, table.ty()).await?;
                if through.leads_by_url(table.ty()) {
                    let asked = self.asked_by(&other, through, &criteria).await?;
                    found.merge(self.named(table, &asked).await?.iter().collect());
                    bounded(&found)?;
                }
                Ok(values(ids, vec![Matcher::OneOf(Arc::new(found))]))
            }
            Join::List { lists, ids } => {
                let mut named = IdSet::default();
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

    /// What a chain asks of resources that the row itself contains, where rows of the table contain any: a chain is
    /// evaluated inside of contained resources, too (R4 search, 3.1.1.5.5).
    async fn inside(
        &self,
        table: &ScopedTable,
        compiled: &Arc<Compiled>,
        targets: &[(TypeId, Criterion)],
    ) -> Result<Option<Condition>, SearchError> {
        if compiled.ty != table.ty() || !contained::may_contain(table) {
            return Ok(None);
        }
        let Some((references, only)) = self.programs().inner_references(compiled)? else {
            return Ok(None);
        };
        let mut inside = Vec::with_capacity(targets.len());
        for (ty, criterion) in targets.iter().filter(|(ty, _)| only.is_none_or(|only| only == *ty)) {
            let mut criteria = contained::criteria(std::slice::from_ref(criterion));
            self.settle(&table.other(*ty), &mut criteria).await?;
            inside.extend(criteria.into_iter().map(|criterion| (*ty, criterion)));
        }
        let targets = inside;
        Ok((!targets.is_empty()).then_some(Condition::Inside { references, targets }))
    }

    /// Ids of the rows of a table that meet some criteria.
    pub(super) async fn meeting(&self, table: &ScopedTable, criteria: &mut [Criterion]) -> Result<IdSet, SearchError> {
        self.settle(table, criteria).await?;
        let query = Query::of_criteria(table.ty(), criteria.to_vec());
        let take: Take = Arc::new(|batch, ids| {
            add_ids(batch, ids);
            bounded(ids)
        });
        self.collect(table, &query, LeafSet::from(["id".to_owned()]), take)
            .await
    }

    /// Ids of the resources of type `ty` that the rows of a table refer to which meet some criteria.
    pub(super) async fn referred(
        &self,
        table: &ScopedTable,
        through: &Arc<Compiled>,
        criteria: &mut [Criterion],
        ty: TypeId,
    ) -> Result<IdSet, SearchError> {
        self.settle(table, criteria).await?;
        let query = Query::of_criteria(table.ty(), criteria.to_vec());
        let (through, wanted) = (through.clone(), facts().get(ty).name);
        let leaves = through.program.leaves().clone();
        let take: Take = Arc::new(move |batch, ids| {
            // A person's rows lie together, and most of them refer to that person.
            let mut last = String::new();
            targets::each(&through, batch, |ty, id| {
                if ty == wanted && id != last {
                    ids.insert(id);
                    id.clone_into(&mut last);
                }
            })?;
            bounded(ids)
        });
        self.collect(table, &query, leaves, take).await
    }

    /// Ids that are taken from the rows of a table which meet a query's criteria.
    async fn collect(
        &self,
        table: &ScopedTable,
        query: &Query,
        leaves: LeafSet,
        take: Take,
    ) -> Result<IdSet, SearchError> {
        let bound = self.bound(query, table);
        let mut ids = IdSet::default();
        if !table.has_files() {
            return Ok(ids);
        }
        if bound.person.is_none() {
            ids = population::ids(self.sessions(), table, query, bound.owners, leaves, take).await?;
            bounded(&ids)?;
        } else {
            self.rows(table, query, leaves, |batch| take(batch, &mut ids)).await?;
        }
        Ok(ids)
    }

    /// The resources among which `start` stand, and those under or over them.
    async fn hierarchy(
        &self,
        table: &ScopedTable,
        parent: &Arc<Compiled>,
        start: Vec<String>,
        below: bool,
    ) -> Result<IdSet, SearchError> {
        let (mut all, mut next): (IdSet, IdSet) = (start.iter().collect(), start.iter().collect());
        while !next.is_empty() {
            let mut found = if below {
                let under = criterion(parent, refers_to(table.ty(), next), "under those found before");
                self.meeting(table, &mut [under]).await?
            } else {
                let Some(ids) = self.ids_of(table.ty())? else { break };
                let before = criterion(&ids, Matcher::OneOf(Arc::new(next)), "those found before");
                self.referred(table, parent, &mut [before], table.ty()).await?
            };
            found.subtract(&all);
            all.merge(found.clone());
            bounded(&all)?;
            next = found;
        }
        Ok(all)
    }

    /// Gives the rows of a table that meet a query's criteria, with these columns, batch by batch.
    pub(super) async fn rows(
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

fn values(compiled: &Arc<Compiled>, matchers: Vec<Matcher>) -> Condition {
    Condition::Values {
        compiled: compiled.clone(),
        test: Test::AnyOf { matchers, not: false },
    }
}

fn either(outside: Condition, inside: Option<Condition>) -> Condition {
    let Some(inside) = inside else { return outside };
    let part = |condition, label: &str| Criterion {
        condition,
        label: label.to_owned(),
    };
    Condition::Any(vec![
        part(outside, "refers to a match"),
        part(inside, "contains a match"),
    ])
}

fn bounded(ids: &IdSet) -> Result<(), SearchError> {
    match ids.len() > MAX_JOINED {
        true => Err(SearchError::TooManyJoined(MAX_JOINED)),
        false => Ok(()),
    }
}

fn add_ids(batch: &RecordBatch, ids: &mut IdSet) {
    let column = batch
        .column_by_name("id")
        .and_then(|column| column.as_string_opt::<i32>());
    column.into_iter().flatten().flatten().for_each(|id| {
        ids.insert(id);
    });
}

/// Adds the ids of the resources of the table's type that a List names as its entries.
fn listed(table: &ScopedTable, list: &str, ids: &mut IdSet) -> Result<(), SearchError> {
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
        if let Some(id) = id {
            ids.insert(id.split('/').next().unwrap_or(id));
        }
    }
    Ok(())
}
