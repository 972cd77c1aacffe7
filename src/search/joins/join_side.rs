//! Decides which side of a condition on other resources runs first. If only few rows of the searched table meet the
//! search's own criteria, the searched table runs first. Then the condition is tested only on resources that refer to
//! these rows, or to which these rows refer.

use std::sync::Arc;

use super::super::SearchError;
use super::super::criteria::criterion::{Condition, Criterion, Join, Test};
use super::super::criteria::matcher::{Matcher, Targets};
use super::super::engine::Engine;
use super::super::parameters::parameter::Compiled;
use super::super::parameters::query::Query;
use super::other::Other;
use crate::columns::conditions::IdSet;
use crate::fhir::TypeId;
use crate::lake::scan::ScopedTable;
use crate::plan::{IdsExec, On};

/// The assumed number of one person's rows in a table.
const ROWS_OF_A_PERSON: u64 = 1_000;
/// The searched table runs first if the other table has more than `TIMES` times as many rows as the estimate
/// `ThisSide::rows`.
const TIMES: u64 = 4;
/// The maximum number of ids by which the search of the other table is filtered. With more ids, the filter would skip
/// too few rows.
const MAX_IDS: usize = 65_536;

/// The rows of the searched table, as far as they are known before conditions on other resources are answered.
pub(in crate::search) struct ThisSide<'a> {
    table: &'a ScopedTable,
    /// The criteria that have no condition on other resources.
    known: Vec<Criterion>,
    /// The estimated maximum number of rows that meet the criteria in `known`.
    rows: u64,
}

impl<'a> ThisSide<'a> {
    /// Returns the rows that meet those criteria that have no joins. Returns `None` if every criterion has a join, if
    /// the scope is that of a patient token, or if pushdown is off.
    pub(in crate::search) fn of(
        engine: &Engine,
        table: &'a ScopedTable,
        criteria: &[Criterion],
    ) -> Option<ThisSide<'a>> {
        if table.scope().patient.is_some() || !engine.sessions().pushes_down() {
            return None;
        }
        let known: Vec<Criterion> = criteria.iter().filter(|known| !known.has_join()).cloned().collect();
        if known.is_empty() {
            return None;
        }
        let query = Query::of_criteria(table.type_id(), known);
        let bound = engine.bound(&query, table);
        let of_people = match (bound.person, &bound.owners) {
            (Some(_), _) => ROWS_OF_A_PERSON,
            (None, Some(owners)) => owners.len() as u64 * ROWS_OF_A_PERSON,
            (None, None) => u64::MAX,
        };
        let of_ids = query.criteria.iter().filter_map(ids).min().unwrap_or(usize::MAX) as u64;
        Some(ThisSide {
            table,
            rows: table.stored().min(of_people).min(of_ids),
            known: query.criteria,
        })
    }

    fn is_smaller_than(&self, other: &ScopedTable) -> bool {
        self.rows.saturating_mul(TIMES) < other.stored()
    }

    /// Narrows the search `other` to the resources to which these rows refer, if its table is much larger.
    pub(in crate::search) async fn referred(
        &self,
        engine: &Engine,
        through: &Arc<Compiled>,
        other: &mut Other,
    ) -> Result<(), SearchError> {
        let type_id = other.table.type_id();
        // Canonicals lead to resources by URL, so a set of ids cannot narrow the search to their targets.
        let narrows = self.is_smaller_than(&other.table) && !through.follows_urls(type_id);
        let Some(ids) = engine.ids_of(type_id)?.filter(|_| narrows) else {
            return Ok(());
        };
        let plan = engine.referred(&mut self.first(), through, type_id).await?;
        narrow(engine, plan, other, |found| {
            criterion(&ids, Matcher::OneOf(found), "referred to by the rows searched")
        })
        .await
    }

    /// Narrows the search `other` to the resources that refer to these rows, if its table is much larger.
    pub(in crate::search) async fn referring(
        &self,
        engine: &Engine,
        through: &Arc<Compiled>,
        other: &mut Other,
    ) -> Result<(), SearchError> {
        if !self.is_smaller_than(&other.table) || through.follows_urls(self.table.type_id()) {
            return Ok(());
        }
        let plan = engine.meeting(&mut self.first()).await?;
        narrow(engine, plan, other, |found| {
            criterion(
                through,
                refers_to(self.table.type_id(), found),
                "refers to the rows searched",
            )
        })
        .await
    }

    /// Returns the search of the searched table by the known criteria.
    fn first(&self) -> Other {
        Other::of(self.table.clone(), self.known.clone())
    }
}

/// Runs a plan that finds ids. `asked` makes a criterion from these ids. Adds this criterion to the search `other`,
/// unless there are more than `MAX_IDS` ids.
async fn narrow(
    engine: &Engine,
    plan: Arc<IdsExec>,
    other: &mut Other,
    asked: impl FnOnce(Arc<IdSet>) -> Criterion,
) -> Result<(), SearchError> {
    let found = engine.ids(&plan).await?;
    if found.len() <= MAX_IDS {
        let asked = asked(found);
        other.joins.push(On {
            label: asked.label.as_str().into(),
            ids: vec![plan],
            filter: None,
        });
        other.criteria.push(asked);
    }
    Ok(())
}

/// Returns a matcher for references to a resource of `type_id` whose id is in `ids`.
pub(in crate::search) fn refers_to(type_id: TypeId, ids: Arc<IdSet>) -> Matcher {
    Matcher::RefersTo(Arc::new(Targets { type_id, ids }))
}

/// Returns the criterion that some value of a parameter matches `matcher`.
pub(in crate::search) fn criterion(compiled: &Arc<Compiled>, matcher: Matcher, label: &str) -> Criterion {
    let test = Test::AnyOf {
        matchers: vec![matcher],
        not: false,
    };
    Criterion::of_values(compiled.clone(), test, label.to_owned())
}

/// Returns how many rows the other tables have that a criterion's join reads. If the criterion has several joins,
/// returns the largest number. Returns `None` if it has no join.
pub(in crate::search) fn reach(table: &ScopedTable, criterion: &Criterion) -> Option<u64> {
    match &criterion.condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter().filter_map(|part| reach(table, part)).max(),
        Condition::Not(part) | Condition::Item { holds: part, .. } => reach(table, part),
        Condition::Join(join) => Some(match join.as_ref() {
            Join::Chain { targets, .. } => targets.iter().map(|(type_id, _)| table.other(*type_id).stored()).sum(),
            Join::Has { source, .. } => table.other(*source).stored(),
            Join::Hierarchy { parents, .. } => parents.iter().map(|(type_id, _)| table.other(*type_id).stored()).sum(),
            Join::List { .. } => 0,
        }),
        Condition::Values { .. }
        | Condition::Tuples { .. }
        | Condition::Words { .. }
        | Condition::Holds(_)
        | Condition::Inside { .. }
        | Condition::Dynamic(_) => None,
    }
}

/// Returns the number of ids that a criterion allows. Returns `None` if the criterion is not a condition on ids.
fn ids(criterion: &Criterion) -> Option<usize> {
    let Some((compiled, Test::AnyOf { matchers, not: false })) = criterion.values() else {
        return None;
    };
    let count = |matcher: &Matcher| match matcher {
        Matcher::Id(_) => Some(1),
        Matcher::OneOf(ids) => Some(ids.len()),
        _ => None,
    };
    let is_of_ids = &*compiled.parameter.code == "_id";
    is_of_ids.then(|| matchers.iter().map(count).sum::<Option<usize>>())?
}
