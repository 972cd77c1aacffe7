//! Which people's rows a query can match at all, told from the scope and from the patients that it names.
//!
//! A patient token's query is bound to the token's person. An application's query is bound to the patients it names by a
//! parameter over the very element that rows are filed under: a row with `subject` = `Patient/1` lies under that patient's
//! owner and nowhere else.

use super::criterion::{Criterion, Test};
use super::matcher::Matcher;
use super::query::Query;
use super::value::ReferenceValue;
use crate::fhir::storage::root_column;
use crate::fhir::{TypeId, facts};
use crate::lake::Lake;
use crate::lake::scan::{Person, ScopedTable};

/// What a query is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bound {
    /// One person: the query runs over that person's columns.
    pub(super) person: Option<Person>,
    /// Several: the scan skips all other owners.
    pub(super) owners: Option<Vec<i64>>,
}

/// Whose rows `query` can match in `table`.
pub(super) fn of(query: &Query, table: &ScopedTable, lake: &Lake) -> Bound {
    let scope = table.scope();
    if scope.patient.is_some() {
        return Bound {
            person: Some(Person::OfScope),
            owners: None,
        };
    }
    let Some(patients) = query.criteria.iter().find_map(|criterion| named(query.ty, criterion)) else {
        return Bound::default();
    };
    let mut owners: Vec<i64> = patients
        .iter()
        .flat_map(|id| lake.owners_of(&scope.application, id))
        .collect();
    owners.sort_unstable();
    owners.dedup();
    let person = match (patients.as_slice(), owners.as_slice()) {
        (_, [owner]) => Some(Person::Owner(*owner)),
        ([_], [one, other]) => Some(Person::Either(*one, *other)),
        _ => None,
    };
    Bound {
        person,
        owners: Some(owners).filter(|_| person.is_none()),
    }
}

/// The patients that a criterion restricts matches to; `None` where it does not.
fn named(ty: TypeId, criterion: &Criterion) -> Option<Vec<&str>> {
    let Some((compiled, Test::AnyOf { matchers, not: false })) = criterion.values() else {
        return None;
    };
    let column = root_column(filing_element(ty)?);
    let leaves = compiled.program.leaves();
    if leaves.is_empty()
        || !leaves
            .iter()
            .all(|leaf| leaf.split('.').next() == Some(column.as_ref()))
    {
        return None;
    }
    let patient = facts().lookup("Patient")?;
    let only_patients = || compiled.parameter.targets == [patient] || compiled.parameter.code == "patient";
    matchers
        .iter()
        .map(|matcher| ids(matcher, patient, &only_patients))
        .collect::<Option<Vec<_>>>()
        .map(|ids| ids.concat())
}

fn ids<'m>(matcher: &'m Matcher, patient: TypeId, only_patients: &dyn Fn() -> bool) -> Option<Vec<&'m str>> {
    match matcher {
        Matcher::Reference(ReferenceValue::Relative { ty: Some(ty), id }) if *ty == patient => Some(vec![id.as_str()]),
        Matcher::Reference(ReferenceValue::Relative { ty: None, id }) if only_patients() => Some(vec![id.as_str()]),
        Matcher::RefersTo(targets) if targets.ty == patient => Some(targets.ids.iter().map(String::as_str).collect()),
        _ => None,
    }
}

/// The root element whose Patient reference a row of this type is filed under, where there is only one such and it does not
/// repeat.
fn filing_element(ty: TypeId) -> Option<&'static str> {
    let mut found = None;
    for name in ["subject", "patient", "beneficiary"] {
        let Some(element) = facts().element(ty, name) else {
            continue;
        };
        if element.many || found.is_some() {
            return None;
        }
        found = Some(element.name);
    }
    found
}
