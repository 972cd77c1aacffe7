//! Contained resources as matches (`_contained`, `_containedType`; R4 search, 3.1.1.5.5), and as targets of chains.
//!
//! Contained resources are JSON text in the column `contained` of their containers. The search shreds the contained
//! resources of the searched type batch by batch, and tests the criteria on the columns. No resource outside the
//! container can refer to a contained one. So a condition on resources that refer to it (`_has`), or on Lists that have
//! it as an entry (`_list`), never holds.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::row::OwnedRow;
use rustc_hash::FxHashSet;

use super::super::SearchError;
use super::super::bundle::page::Entry;
use super::super::criteria::criterion::{Condition, Criterion, Join, Test};
use super::super::criteria::inside::{Pushed, STEP, is_of, push, texts};
use super::super::criteria::matcher::Matcher;
use super::super::criteria::{filter, sort};
use super::super::engine::Engine;
use super::super::parameters::contained::COLUMN;
use super::super::parameters::query::Query;
use super::merge::Order;
use crate::columns::conditions::IdSet;
use crate::columns::json::{Tape, Value};
use crate::columns::shred::Shredder;
use crate::fhir::storage::LeafSet;
use crate::fhir::{TypeId, facts};
use crate::lake::scan::{Locator, Row, ScopedTable};

/// The maximum number of contained resources that one search may match. Each page sorts all of them.
const MAX_CONTAINED: usize = 1_000_000;

/// A contained resource that matches.
#[derive(Clone, Debug)]
pub(in crate::search) struct Inner {
    /// The sort key of the contained resource. `None` without `_sort`.
    pub(in crate::search) key: Option<OwnedRow>,
    /// The type of the container.
    container: TypeId,
    /// The locator of the container.
    at: Locator,
    /// The index of the contained resource among the objects in the container's `contained`.
    place: u32,
}

impl Inner {
    /// Returns the type and the locator of the container.
    pub(in crate::search) fn container(&self) -> (TypeId, Locator) {
        (self.container, self.at)
    }
}

/// Returns the criteria of a search, adapted to contained resources. In the returned criteria, `_has` and `_list` never
/// hold.
pub(in crate::search) fn criteria(outer: &[Criterion]) -> Vec<Criterion> {
    let one = |criterion: &Criterion| Criterion {
        condition: of_inner(&criterion.condition),
        label: criterion.label.clone(),
        origin: None,
    };
    outer.iter().map(one).collect()
}

fn of_inner(condition: &Condition) -> Condition {
    let boxed = |part: &Criterion| criteria(std::slice::from_ref(part)).pop().map(Box::new);
    match condition {
        Condition::Join(join) if matches!(**join, Join::Has { .. } | Join::List { .. }) => Condition::Any(Vec::new()),
        Condition::All(parts) => Condition::All(criteria(parts)),
        Condition::Any(parts) => Condition::Any(criteria(parts)),
        Condition::Not(part) => boxed(part).map_or_else(|| condition.clone(), Condition::Not),
        other => other.clone(),
    }
}

/// Returns an answered criterion, adapted to contained resources like [`criteria`]. `asked` is the criterion before its
/// conditions on other resources were answered.
pub(in crate::search) fn settled(asked: &Criterion, answered: &Criterion) -> Criterion {
    let all = |asked: &[Criterion], answered: &[Criterion]| -> Vec<Criterion> {
        let pairs = asked.iter().zip(answered);
        pairs.map(|(asked, answered)| settled(asked, answered)).collect()
    };
    let condition = match (&asked.condition, &answered.condition) {
        (Condition::All(asked), Condition::All(answered)) => Condition::All(all(asked, answered)),
        (Condition::Any(asked), Condition::Any(answered)) => Condition::Any(all(asked, answered)),
        (Condition::Not(asked), Condition::Not(answered)) => Condition::Not(Box::new(settled(asked, answered))),
        (asked @ Condition::Join(_), answered) => match of_inner(asked) {
            Condition::Join(_) => answered.clone(),
            never => never,
        },
        (_, answered) => answered.clone(),
    };
    Criterion {
        condition,
        label: answered.label.clone(),
        origin: None,
    }
}

impl Engine {
    /// Returns the contained resources that meet a query's criteria, in the order of the sort keys. Without `_sort`,
    /// they are in the order of the tables and their rows. If the answer shows containers, only the first resource of
    /// each container is returned.
    pub(in crate::search) async fn inner(
        &self,
        table: &ScopedTable,
        query: &Query,
        criteria: Vec<Criterion>,
        order: &Order,
    ) -> Result<Vec<Inner>, SearchError> {
        let mut found = Vec::new();
        for container in facts().resources() {
            let outer = table.other(container);
            if !may_contain(&outer) {
                continue;
            }
            let mut finder = Finder {
                outer: &outer,
                query,
                criteria: &criteria,
                order,
                container,
                shredder: Shredder::new(query.type_id),
                pending: Vec::new(),
                found: &mut found,
            };
            let holds = Criterion {
                condition: Condition::Holds(query.type_id),
                label: format!("contains {}", facts().get(query.type_id).name),
                origin: None,
            };
            let holders = Query::of_criteria(container, vec![holds]).traced(&query.trace);
            let leaves = LeafSet::from([COLUMN.to_owned(), "id".to_owned()]);
            self.rows(&outer, &holders, leaves, |batch| finder.take(batch)).await?;
            finder.flush()?;
        }
        found.sort_by(|one, other| {
            let keys = one.key.cmp(&other.key);
            keys.then_with(|| (one.container, one.at, one.place).cmp(&(other.container, other.at, other.place)))
        });
        if !query.contained.alone {
            let mut seen = FxHashSet::default();
            found.retain(|inner| seen.insert(inner.container()));
        }
        Ok(found)
    }

    /// Removes those contained resources whose containers match the search themselves.
    pub(in crate::search) async fn leave_out_matches(
        &self,
        table: &ScopedTable,
        query: &Query,
        found: &mut Vec<Inner>,
    ) -> Result<(), SearchError> {
        let places: Vec<Locator> = found
            .iter()
            .filter(|inner| inner.container == query.type_id)
            .map(|inner| inner.at)
            .collect();
        let (false, Some(ids)) = (places.is_empty(), self.ids_of(query.type_id)?) else {
            return Ok(());
        };
        let mut named = IdSet::default();
        for places in places.chunks(STEP) {
            for row in table.resources(places)? {
                named.insert(&row.id);
            }
        }
        let among = Test::AnyOf {
            matchers: vec![Matcher::OneOf(Arc::new(named))],
            not: false,
        };
        let mut criteria = query.criteria.clone();
        criteria.push(Criterion::of_values(ids, among, "containers".to_owned()));
        let mut matched = FxHashSet::default();
        let both = Query::of_criteria(query.type_id, criteria).traced(&query.trace);
        let take = |batch: &RecordBatch| {
            matched.extend(Locator::of(batch));
            Ok(())
        };
        self.rows(table, &both, LeafSet::from(["id".to_owned()]), take).await?;
        found.retain(|inner| inner.container != query.type_id || !matched.contains(&inner.at));
        Ok(())
    }

    /// Returns the contained resources, or their containers, as the page shows them.
    pub(in crate::search) fn show(
        &self,
        table: &ScopedTable,
        query: &Query,
        inner: &[&Inner],
    ) -> Result<Vec<Entry>, SearchError> {
        let mut shown = Vec::with_capacity(inner.len());
        let mut tape = Tape::new();
        // Neighbouring matches often have the same container, so each container is fetched once for all of them.
        for run in inner.chunk_by(|one, other| one.container() == other.container()) {
            let type_id = run[0].container;
            let row = table.other(type_id).resources(&[run[0].at])?.pop();
            let row = row.ok_or_else(|| SearchError::Stored("a container is not there".to_owned()))?;
            if !query.contained.alone {
                shown.push(Entry::of(type_id, row));
                continue;
            }
            let broken =
                |reason: &str| SearchError::Stored(format!("{}/{}: {reason}", facts().get(type_id).name, row.id));
            let root = tape.parse(&row.resource).map_err(|error| broken(&error.to_string()))?;
            for inner in run {
                let part = objects(root).nth(inner.place as usize);
                let part = part.ok_or_else(|| broken("a contained resource is not there"))?;
                let local = part.get_str("id").unwrap_or_default().into_owned();
                shown.push(Entry {
                    type_id: query.type_id,
                    row: Row {
                        // No reference to a stored resource has this form, so an include never takes this entry for the
                        // target of a reference.
                        id: format!("{}#{local}", row.id),
                        resource: bytes::Bytes::copy_from_slice(part.raw().as_bytes()),
                        ..row.clone()
                    },
                    place: None,
                    container: Some(type_id),
                });
            }
        }
        Ok(shown)
    }
}

/// Whether a resource of the table may contain other resources.
pub(in crate::search) fn may_contain(table: &ScopedTable) -> bool {
    let leaves = LeafSet::from([COLUMN.to_owned()]);
    table.has_files() && table.schema(&leaves).column_with_name(COLUMN).is_some()
}

/// Returns the objects in a resource's `contained`.
fn objects(root: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let contained = root.get(COLUMN).into_iter().flat_map(|contained| contained.items());
    contained.filter(|part| part.is_object())
}

/// Finds the matches among the contained resources of one table.
struct Finder<'f> {
    /// The table of the containers.
    outer: &'f ScopedTable,
    query: &'f Query,
    criteria: &'f [Criterion],
    order: &'f Order,
    container: TypeId,
    shredder: Shredder,
    /// The resources in the shredder: the locator of the container, the index in `contained`, and the id for the order.
    pending: Vec<(Locator, u32, String)>,
    found: &'f mut Vec<Inner>,
}

impl Finder<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), SearchError> {
        let locators = Locator::of(batch);
        let ids = batch
            .column_by_name("id")
            .and_then(|ids| ids.as_string_opt::<i32>().cloned());
        let Some(ids) = ids else { return Ok(()) };
        let mut tape = Tape::new();
        for (row, at) in locators.iter().enumerate() {
            let Some(texts) = texts(batch, row) else { continue };
            let mut place = 0;
            for text in texts.iter().flatten() {
                let Ok(root) = tape.parse(text.as_bytes()) else {
                    continue;
                };
                if !root.is_object() {
                    continue;
                }
                if is_of(root, self.query.type_id) {
                    let local = root.get_str("id").unwrap_or_default().into_owned();
                    self.add(text, root, &local, (*at, place, format!("{}#{local}", ids.value(row))))?;
                }
                place += 1;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        text: &str,
        root: Value<'_>,
        local: &str,
        place: (Locator, u32, String),
    ) -> Result<(), SearchError> {
        let mut pushed = push(&mut self.shredder, local, text, root);
        if pushed == Pushed::NoRoom {
            self.flush()?;
            pushed = push(&mut self.shredder, local, text, root);
        }
        if pushed == Pushed::There {
            self.pending.push(place);
        }
        if self.pending.len() >= STEP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SearchError> {
        if self.shredder.is_empty() {
            return Ok(());
        }
        let columns = self.shredder.finish()?;
        self.outer.spend(filter::cost_of(self.criteria, &columns))?;
        let pending = std::mem::take(&mut self.pending);
        let holds = filter::matches(self.criteria, &columns)?;
        let mut places = if self.query.sort.is_empty() {
            Vec::new()
        } else {
            let keys = self.query.sort.iter().map(|key| sort::keys(key, &columns));
            let keys = keys.collect::<Result<Vec<_>, _>>()?;
            let ids: ArrayRef = Arc::new(StringArray::from_iter_values(pending.iter().map(|(_, _, id)| id)));
            self.order.places(keys, ids)?
        }
        .into_iter();
        for ((at, place, _), holds) in pending.into_iter().zip(holds.values()) {
            let key = places.next();
            if holds {
                self.found.push(Inner {
                    key,
                    container: self.container,
                    at,
                    place,
                });
            }
        }
        if self.found.len() > MAX_CONTAINED {
            Err(SearchError::TooManyContained(MAX_CONTAINED))
        } else {
            Ok(())
        }
    }
}
