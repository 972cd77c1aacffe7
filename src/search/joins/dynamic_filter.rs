//! Conditions on other resources that are answered while the search's own plan runs. This file creates the filter that
//! receives the ids of these resources, and decides which rows match the ids.

use std::sync::Arc;

use datafusion::common::Result;

use super::super::SearchError;
use super::super::criteria::criterion::{Condition, Criterion, Join};
use super::super::criteria::matcher::Matcher;
use super::super::criteria::origin::Origin;
use super::super::criteria::{filter, predicate};
use super::super::engine::Engine;
use super::super::parameters::parameter::Compiled;
use super::super::parameters::query::Query;
use super::super::run::contained;
use super::super::run::explain::trace::Trace;
use super::binding::is_of_people;
use super::join::{Ran, values};
use super::join_side::{ThisSide, refers_to};
use crate::columns::conditions::IdSet;
use crate::fhir::TypeId;
use crate::lake::scan::{Predicate, ScopedTable};
use crate::plan::{DynamicFilter, Link};

impl Engine {
    /// Turns the criterion at index `at` into a filter that receives its ids while the search's plan runs. Also returns
    /// the plans that find these ids. Returns `None` if pushdown is off, or if ids alone do not decide the criterion.
    /// Also returns `None` if the search needs the ids before its plan exists: to restrict the scan to people, or
    /// because it reads one person's rows without a plan.
    pub(in crate::search) async fn dynamic_filter(
        &self,
        table: &ScopedTable,
        this_side: Option<&ThisSide<'_>>,
        criteria: &[Criterion],
        at: usize,
        trace: &Trace,
    ) -> Result<Option<(Arc<DynamicFilter>, Ran)>, SearchError> {
        let asked = &criteria[at];
        let Condition::Join(join) = &asked.condition else {
            return Ok(None);
        };
        let link = Reference::of(table.type_id(), join, &asked.label);
        let Some(link) = link.filter(|_| self.sessions().pushes_down()) else {
            return Ok(None);
        };
        let of_none = link.criterion(&[]);
        let looks_inside =
            link.compiled.type_id == table.type_id() && link.to.is_some() && contained::may_contain(table);
        if is_of_people(table.type_id(), &of_none) || looks_inside {
            return Ok(None);
        }
        let others = criteria.iter().filter(|known| !known.has_join()).cloned().collect();
        let known = Query::of_criteria(table.type_id(), others);
        if self.bound(&known, table).person.is_some() {
            return Ok(None);
        }
        let mut ids = Ran::new();
        match join.as_ref() {
            Join::Chain { compiled, targets } => {
                for (type_id, criterion) in targets {
                    let target = (*type_id, criterion);
                    let mut other = self.chained(table, this_side, compiled, target, trace).await?;
                    ids.push(self.meeting(&mut other).await?);
                }
            }
            Join::Has {
                source,
                through,
                criterion,
                ..
            } => {
                let mut other = self
                    .referring_side(table, this_side, through, (*source, criterion), trace)
                    .await?;
                ids.push(self.referred(&mut other, through, table.type_id()).await?);
            }
            Join::List { .. } | Join::Hierarchy { .. } => return Ok(None),
        }
        let link = Reference {
            origin: asked.origin.clone(),
            ..link
        };
        Ok(Some((Arc::new(link.dynamic_filter()), ids)))
    }
}

/// The condition that a row refers to one of the resources that other plans find, or that the row is itself one of
/// them.
#[derive(Debug)]
pub(in crate::search) struct Reference {
    type_id: TypeId,
    compiled: Arc<Compiled>,
    /// The types of the targets, one for each plan that finds ids. `None` if the row's own id must be among the found
    /// ids.
    to: Option<Vec<TypeId>>,
    label: String,
    /// The inputs from which the criterion was resolved. `None` if they are unknown. Then the filter cannot be sent to
    /// another process.
    origin: Option<Arc<Origin>>,
}

impl Reference {
    /// Creates the condition for a join. Returns `None` if ids alone do not decide the join.
    pub(in crate::search) fn of(type_id: TypeId, join: &Join, label: &str) -> Option<Reference> {
        let (compiled, to) = match join {
            Join::Chain { compiled, targets } => {
                let by_url = targets.iter().any(|(type_id, _)| compiled.follows_urls(*type_id));
                let types = targets.iter().map(|(type_id, _)| *type_id).collect();
                (!by_url).then_some((compiled, Some(types)))?
            }
            Join::Has { through, ids, .. } => (!through.leads_by_url(type_id)).then_some((ids, None))?,
            Join::List { .. } | Join::Hierarchy { .. } => return None,
        };
        Some(Reference {
            type_id,
            compiled: compiled.clone(),
            to,
            label: label.to_owned(),
            origin: None,
        })
    }

    /// Returns the inputs from which the criterion was resolved, if known.
    pub(in crate::search) fn origin(&self) -> Option<&Arc<Origin>> {
        self.origin.as_ref()
    }

    /// Sets the inputs from which the criterion was resolved.
    pub(in crate::search) fn with_origin(self, origin: Arc<Origin>) -> Reference {
        Reference {
            origin: Some(origin),
            ..self
        }
    }

    /// Creates the filter that will receive the ids.
    pub(in crate::search) fn dynamic_filter(self) -> DynamicFilter {
        let leaves = filter::leaves(std::slice::from_ref(&self.criterion(&[])));
        DynamicFilter::new(self.label.as_str().into(), leaves, Box::new(self))
    }

    /// Returns the criterion for these sets of ids, one for each plan. A missing set counts as empty.
    fn criterion(&self, ids: &[Arc<IdSet>]) -> Criterion {
        let found = |at: usize| ids.get(at).cloned().unwrap_or_default();
        let matchers = match &self.to {
            Some(types) => types
                .iter()
                .enumerate()
                .map(|(at, type_id)| refers_to(*type_id, found(at)))
                .collect(),
            None => vec![Matcher::OneOf(found(0))],
        };
        Criterion {
            condition: values(&self.compiled, matchers),
            label: self.label.clone(),
            origin: None,
        }
    }
}

impl Link for Reference {
    fn condition(&self, ids: &[Arc<IdSet>]) -> Result<Arc<dyn Predicate>> {
        let query = Query::of_criteria(self.type_id, Vec::new());
        Ok(predicate::one(&query, &self.criterion(ids), true))
    }
}
