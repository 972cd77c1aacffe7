//! Answers conditions on other resources by semi-joins. Each condition becomes a set of ids. A reference of the row, or
//! the row's own id, must be in the set.
//!
//! The plans that find ids run stage by stage. The number of ids that a plan finds decides how the next stage runs:
//! which of the two tables is searched first, whose rows the search can match, and whether a plan runs or one person's
//! columns are searched. If none of this depends on the ids, the plan that reads the rows finds them itself and filters
//! its scan.
//!
//! Other tables are read through the same scope and snapshot. So a chain finds nothing that its caller could not read,
//! and all pages of a search see the same data.

use std::borrow::Cow;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::super::SearchError;
use super::super::criteria::criterion::{Condition, Criterion, Join, Test};
use super::super::criteria::matcher::Matcher;
use super::super::engine::Engine;
use super::super::parameters::parameter::{Compiled, InnerReferences};
use super::super::run::contained;
use super::super::run::explain::trace::Trace;
use super::join_side::{ThisSide, criterion, reach, refers_to};
use super::other::{Other, bounded};
use crate::columns::conditions::IdSet;
use crate::fhir::TypeId;
use crate::lake::scan::{Predicate, ScopedTable};
use crate::plan::{IdsExec, On};

/// The context in which the conditions of one criterion are answered.
struct Asked<'a> {
    this_side: Option<&'a ThisSide<'a>>,
    /// Whether the conditions are tested on items of an element instead of on rows. If so, a chain does not look into
    /// contained resources.
    of_items: bool,
    /// Records the plans that resolve canonicals. It does not record the plans that find ids, because the semi-joins
    /// have them.
    trace: &'a Trace,
}

/// The plans that find the ids for a condition. They have run, except those of a dynamic filter.
pub(in crate::search) type Ran = Vec<Arc<IdsExec>>;

impl Engine {
    /// Answers every condition on other resources among the criteria of a search of `table`. Conditions that read few
    /// resources are answered first, because their results narrow the others. Returns the semi-joins, which have the
    /// plans that ran, so that the plans of the search can show them. The trace records the plans that resolve
    /// canonicals.
    pub(in crate::search) fn settle<'a>(
        &'a self,
        table: &'a ScopedTable,
        criteria: &'a mut [Criterion],
        trace: &'a Trace,
    ) -> BoxFuture<'a, Result<Vec<On>, SearchError>> {
        self.answer_all(table, criteria, false, trace)
    }

    /// Answers conditions like [`settle`](Self::settle). If there is only one condition, it may become a dynamic
    /// filter, which is answered when the search's own plan runs. The plan must then contain the returned semi-joins.
    pub(in crate::search) fn join<'a>(
        &'a self,
        table: &'a ScopedTable,
        criteria: &'a mut [Criterion],
        trace: &'a Trace,
    ) -> BoxFuture<'a, Result<Vec<On>, SearchError>> {
        self.answer_all(table, criteria, true, trace)
    }

    fn answer_all<'a>(
        &'a self,
        table: &'a ScopedTable,
        criteria: &'a mut [Criterion],
        in_plan: bool,
        trace: &'a Trace,
    ) -> BoxFuture<'a, Result<Vec<On>, SearchError>> {
        Box::pin(async move {
            let joins = criteria.iter().enumerate();
            let mut joins: Vec<(u64, usize)> = joins
                .filter_map(|(at, criterion)| Some((reach(table, criterion)?, at)))
                .collect();
            joins.sort_unstable();
            // Several conditions are answered one after the other before the plan exists, because the result of one
            // narrows the next. So only a single condition can be left to the plan.
            let alone = in_plan && joins.len() == 1;
            let mut answered = Vec::with_capacity(joins.len());
            for (_, at) in joins {
                let this_side = ThisSide::of(self, table, criteria);
                let left_to_plan = if alone {
                    let this_side = this_side.as_ref();
                    self.dynamic_filter(table, this_side, criteria, at, trace).await?
                } else {
                    None
                };
                if let Some((filter, ids)) = left_to_plan {
                    answered.push(On {
                        label: filter.label().clone(),
                        ids,
                        filter: Some(filter.clone()),
                    });
                    criteria[at].condition = Condition::Dynamic(filter);
                    continue;
                }
                let asked = Asked {
                    this_side: this_side.as_ref(),
                    of_items: false,
                    trace,
                };
                let mut ids = Ran::new();
                self.settle_parts(table, &asked, &mut criteria[at..=at], &mut ids)
                    .await?;
                if !ids.is_empty() {
                    let label = criteria[at].label.as_str().into();
                    answered.push(On {
                        label,
                        ids,
                        filter: None,
                    });
                }
            }
            Ok(answered)
        })
    }

    fn settle_parts<'a>(
        &'a self,
        table: &'a ScopedTable,
        asked: &'a Asked<'a>,
        parts: &'a mut [Criterion],
        ran: &'a mut Ran,
    ) -> BoxFuture<'a, Result<(), SearchError>> {
        Box::pin(async move {
            for part in parts {
                match &mut part.condition {
                    Condition::All(parts) | Condition::Any(parts) => {
                        self.settle_parts(table, asked, parts, ran).await?;
                    }
                    Condition::Not(part) => {
                        let part = std::slice::from_mut(part.as_mut());
                        self.settle_parts(table, asked, part, ran).await?;
                    }
                    Condition::Item { holds, .. } => {
                        let holds = std::slice::from_mut(holds.as_mut());
                        let of_items = Asked {
                            this_side: None,
                            of_items: true,
                            trace: asked.trace,
                        };
                        self.settle_parts(table, &of_items, holds, ran).await?;
                    }
                    Condition::Join(join) => part.condition = self.answer(table, asked, join, ran).await?,
                    Condition::Values { .. }
                    | Condition::Tuples { .. }
                    | Condition::Words { .. }
                    | Condition::Holds(_)
                    | Condition::Inside { .. }
                    | Condition::Dynamic(_) => {}
                }
            }
            Ok(())
        })
    }

    async fn answer(
        &self,
        table: &ScopedTable,
        asked: &Asked<'_>,
        join: &Join,
        ran: &mut Ran,
    ) -> Result<Condition, SearchError> {
        match join {
            Join::Chain { compiled, targets } => {
                let inside = if asked.of_items {
                    None
                } else {
                    self.looks_inside(table, compiled)?
                };
                let mut matchers = Vec::with_capacity(targets.len());
                let mut contained = Vec::new();
                for (type_id, criterion) in targets {
                    let mut criterion = Cow::Borrowed(criterion);
                    if inside
                        .as_ref()
                        .is_some_and(|(_, only)| only.is_none_or(|only| only == *type_id))
                    {
                        // The condition is tested on rows and on contained resources. Answer what is nested in it once
                        // for both: otherwise each step of a chain would double the work.
                        let mut settled = [criterion.clone().into_owned()];
                        let joins = self.settle(&table.other(*type_id), &mut settled, asked.trace).await?;
                        ran.extend(joins.into_iter().flat_map(|on| on.ids));
                        let [settled] = settled;
                        contained.push((*type_id, contained::settled(&criterion, &settled)));
                        criterion = Cow::Owned(settled);
                    }
                    let (this_side, target) = (asked.this_side, (*type_id, criterion.as_ref()));
                    let mut other = self.chained(table, this_side, compiled, target, asked.trace).await?;
                    let plan = self.meeting(&mut other).await?;
                    matchers.push(refers_to(*type_id, self.ids(&plan).await?));
                    ran.push(plan);
                    if compiled.follows_urls(*type_id) {
                        let borne = self.borne_by(&other.table, &other.criteria, asked.trace).await?;
                        matchers.push(Matcher::Canonicals(Arc::new(borne)));
                    }
                }
                let inside = inside.filter(|_| !contained.is_empty());
                let inside = inside.map(|(references, _)| Condition::Inside {
                    references,
                    targets: contained,
                });
                Ok(either(values(compiled, matchers), inside))
            }
            Join::Has {
                source,
                through,
                criterion,
                ids,
            } => {
                let mut other = self
                    .referring_side(table, asked.this_side, through, (*source, criterion), asked.trace)
                    .await?;
                let plan = self.referred(&mut other, through, table.type_id()).await?;
                let mut found = self.ids(&plan).await?;
                ran.push(plan);
                if through.leads_by_url(table.type_id()) {
                    let (other, trace) = (&other, asked.trace);
                    let canonicals = self.asked_by(&other.table, through, &other.criteria, trace).await?;
                    let mut all = IdSet::clone(&found);
                    all.merge(self.named(table, &canonicals, trace).await?.iter().collect());
                    bounded(&all)?;
                    found = Arc::new(all);
                }
                Ok(values(ids, vec![Matcher::OneOf(found)]))
            }
            Join::List { lists, ids } => {
                let mut named = IdSet::default();
                for list in lists {
                    let plan = Arc::new(self.listed(table, list));
                    let found = self.ids(&plan).await?;
                    named.merge(IdSet::clone(&found));
                    ran.push(plan);
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
                for (type_id, parent) in parents {
                    let start = from.iter().filter(|(of, _)| of == type_id).map(|(_, id)| id.clone());
                    let ids = self
                        .hierarchy(&table.other(*type_id), parent, start.collect(), *below, ran)
                        .await?;
                    matchers.push(refers_to(*type_id, Arc::new(ids)));
                }
                Ok(values(compiled, matchers))
            }
        }
    }

    /// Returns the search of one target type of a chain. If the type's table is much larger than the rows of
    /// `this_side`, the search finds only targets of these rows.
    pub(in crate::search) async fn chained(
        &self,
        table: &ScopedTable,
        this_side: Option<&ThisSide<'_>>,
        compiled: &Arc<Compiled>,
        (type_id, criterion): (TypeId, &Criterion),
        trace: &Trace,
    ) -> Result<Other, SearchError> {
        let mut other = Other::of(table.other(type_id), vec![criterion.clone()]).traced(trace);
        if let Some(this_side) = this_side {
            this_side.referred(self, compiled, &mut other).await?;
        }
        Ok(other)
    }

    /// Returns the search of the resources that refer to rows of `table`. If their table is much larger than the rows
    /// of `this_side`, the search finds only resources that refer to these rows.
    pub(in crate::search) async fn referring_side(
        &self,
        table: &ScopedTable,
        this_side: Option<&ThisSide<'_>>,
        through: &Arc<Compiled>,
        (source, criterion): (TypeId, &Criterion),
        trace: &Trace,
    ) -> Result<Other, SearchError> {
        let mut other = Other::of(table.other(source), vec![criterion.clone()]).traced(trace);
        if let Some(this_side) = this_side {
            this_side.referring(self, through, &mut other).await?;
        }
        Ok(other)
    }

    /// Returns how a chain looks into the resources that a row contains (R4 search, 3.1.1.5.5): the references to them,
    /// and their type if only one is possible. Returns `None` if no row of the table can contain a target.
    fn looks_inside(
        &self,
        table: &ScopedTable,
        compiled: &Arc<Compiled>,
    ) -> Result<Option<InnerReferences>, SearchError> {
        if compiled.type_id != table.type_id() || !contained::may_contain(table) {
            return Ok(None);
        }
        self.programs().inner_references(compiled)
    }

    /// Returns the ids in `start`, and the ids of all resources below them in the hierarchy or, without `below`, above
    /// them.
    async fn hierarchy(
        &self,
        table: &ScopedTable,
        parent: &Arc<Compiled>,
        start: Vec<String>,
        below: bool,
        ran: &mut Ran,
    ) -> Result<IdSet, SearchError> {
        let (mut all, mut next): (IdSet, IdSet) = (start.iter().collect(), start.iter().collect());
        while !next.is_empty() {
            let next_ids = Arc::new(next);
            let plan = if below {
                let under = criterion(parent, refers_to(table.type_id(), next_ids), "under those found before");
                self.meeting(&mut Other::of(table.clone(), vec![under])).await?
            } else {
                let Some(ids) = self.ids_of(table.type_id())? else {
                    break;
                };
                let before = criterion(&ids, Matcher::OneOf(next_ids), "those found before");
                let mut found_before = Other::of(table.clone(), vec![before]);
                self.referred(&mut found_before, parent, table.type_id()).await?
            };
            let found = self.ids(&plan).await?;
            let mut found = IdSet::clone(&found);
            ran.push(plan);
            found.subtract(&all);
            all.merge(found.clone());
            bounded(&all)?;
            next = found;
        }
        Ok(all)
    }
}

/// Returns the condition that some value of a parameter matches one of these matchers.
pub(in crate::search) fn values(compiled: &Arc<Compiled>, matchers: Vec<Matcher>) -> Condition {
    Condition::Values {
        compiled: compiled.clone(),
        test: Test::AnyOf { matchers, not: false },
    }
}

pub(in crate::search) fn either(outside: Condition, inside: Option<Condition>) -> Condition {
    let Some(inside) = inside else { return outside };
    let part = |condition, label: &str| Criterion {
        condition,
        label: label.to_owned(),
        origin: None,
    };
    Condition::Any(vec![
        part(outside, "refers to a match"),
        part(inside, "contains a match"),
    ])
}
