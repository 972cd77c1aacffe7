//! Decides whose rows a query can match. The scope decides it, or the patients that the query names.
//!
//! A patient token's query is bound to the token's patient. An application's query is bound to patients if it names
//! them in the element that decides the filing, such as `subject`, or by `_id` in a search of Patients. A row with
//! `subject` = `Patient/1` has that patient's owner and no other. So has the resource `Patient/1` itself.

use std::sync::Arc;

use super::super::criteria::criterion::{Condition, Criterion, Test};
use super::super::criteria::matcher::Matcher;
use super::super::parameters::values::ReferenceValue;
use crate::columns::conditions::IdSet;
use crate::fhir::storage::root_column;
use crate::fhir::{Element, TypeId, facts};
use crate::lake::Lake;
use crate::lake::scan::{Person, ScopedTable};

/// The maximum number of patients for which a scan filters by owner. With more patients, most row groups would have
/// rows of at least one of them, so the filter would skip almost nothing.
const MAX_PEOPLE: usize = 65_536;
/// A scan filters by the owners of several patients only if the table has at least this many rows per patient. All rows
/// of the table count, whatever their owner.
const ROWS_PER_PERSON: u64 = 8;

/// The people to which a query is bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::search) struct Bound {
    /// The person if the query can match rows of only one. The query then runs over that person's columns. `None` if it
    /// can match rows of several people.
    pub(in crate::search) person: Option<Person>,
    /// The owners of several people. The scan skips the rows of all other owners. `None` if the query can match rows of
    /// any owner, or is bound to one person.
    pub(in crate::search) owners: Option<Vec<i64>>,
}

/// Returns the people whose rows of `table` can meet all of these criteria.
pub(in crate::search) fn of(type_id: TypeId, criteria: &[Criterion], table: &ScopedTable, lake: &Lake) -> Bound {
    let scope = table.scope();
    if scope.patient.is_some() {
        return Bound {
            person: Some(Person::OfScope),
            owners: None,
        };
    }
    let named = criteria.iter().filter_map(|criterion| named(type_id, criterion));
    let Some(patients) = named.min_by_key(Named::len).filter(|patients| {
        let few = patients.len() as u64 * ROWS_PER_PERSON <= table.stored();
        patients.len() <= 1 || few && patients.len() <= MAX_PEOPLE
    }) else {
        return Bound::default();
    };
    let mut owners = Vec::with_capacity(patients.len());
    patients.each(|id| owners.extend(lake.owners_of(&scope.application, id)));
    owners.sort_unstable();
    owners.dedup();
    let person = match (patients.len(), owners.as_slice()) {
        (_, [owner]) => Some(Person::Owner(*owner)),
        (1, [one, other]) => Some(Person::Either(*one, *other)),
        _ => None,
    };
    Bound {
        person,
        owners: Some(owners).filter(|_| person.is_none()),
    }
}

/// Returns the id of the only patient whose rows can meet these criteria. Returns `None` if none of the criteria names
/// exactly one patient.
pub(in crate::search) fn only_patient(type_id: TypeId, criteria: &[Criterion]) -> Option<String> {
    let mut named = criteria.iter().filter_map(|criterion| named(type_id, criterion));
    let only = named.find(|patients| patients.len() == 1)?;
    let mut patient = None;
    only.each(|id| patient = Some(id.to_owned()));
    patient
}

/// Whether all rows that meet a criterion are filed under the patients that the criterion names.
pub(in crate::search) fn is_of_people(type_id: TypeId, criterion: &Criterion) -> bool {
    named(type_id, criterion).is_some()
}

/// The patients whose compartments are searched, and the owners of the rows that are filed under these patients.
#[derive(Clone, Debug)]
pub(in crate::search) struct Filed {
    pub(in crate::search) patients: Arc<[String]>,
    pub(in crate::search) owners: Arc<[i64]>,
}

impl Filed {
    pub(in crate::search) fn of(lake: &Lake, application: &str, patients: &[impl AsRef<str>]) -> Filed {
        let ids: Vec<&str> = patients.iter().map(AsRef::as_ref).collect();
        Filed {
            owners: ids.iter().flat_map(|id| lake.owners_of(application, id)).collect(),
            patients: ids.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Returns the owners of these patients' rows if a criterion names only patients among them. Then only rows of
    /// these owners can meet the criterion. Returns `None` for any other criterion.
    pub(in crate::search) fn owners(&self, type_id: TypeId, criterion: &Criterion) -> Option<Arc<[i64]>> {
        let mut is_theirs = true;
        named(type_id, criterion)?.each(|id| is_theirs &= self.patients.iter().any(|patient| patient == id));
        is_theirs.then(|| self.owners.clone())
    }
}

/// The patients that a criterion names, as single ids and as sets of ids.
#[derive(Default)]
struct Named<'q> {
    single: Vec<&'q str>,
    sets: Vec<&'q IdSet>,
}

impl<'q> Named<'q> {
    fn len(&self) -> usize {
        self.single.len() + self.sets.iter().map(|ids| ids.len()).sum::<usize>()
    }

    fn each(&self, mut take: impl FnMut(&str)) {
        self.single.iter().for_each(|id| take(id));
        self.sets.iter().flat_map(|ids| ids.iter()).for_each(|id| take(&id));
    }

    /// Adds the patients that one alternative names. Returns `None` if the alternative may match rows of any patient.
    fn add(mut self, matcher: &'q Matcher, patient: TypeId) -> Option<Named<'q>> {
        match matcher {
            Matcher::Id(id) => self.single.push(id),
            Matcher::OneOf(ids) => self.sets.push(ids),
            Matcher::Reference(ReferenceValue::Relative {
                type_id: Some(type_id),
                id,
            }) if *type_id == patient => self.single.push(id),
            Matcher::RefersTo(targets) if targets.type_id == patient => self.sets.push(&targets.ids),
            _ => return None,
        }
        Some(self)
    }
}

/// Returns the patients that a criterion names in the element that decides the filing. All rows that meet the criterion
/// are filed under one of them. Returns `None` if the criterion names no patients there.
fn named(type_id: TypeId, criterion: &Criterion) -> Option<Named<'_>> {
    let (compiled, matchers) = match &criterion.condition {
        Condition::Values {
            compiled,
            test: Test::AnyOf { matchers, not: false },
        } => (compiled, matchers),
        Condition::All(parts) => {
            return parts
                .iter()
                .filter_map(|part| named(type_id, part))
                .min_by_key(Named::len);
        }
        _ => return None,
    };
    let patient = facts().lookup("Patient")?;
    let is_of_ids = compiled.parameter.code.as_ref() == "_id";
    let under = |matcher: &Matcher| matches!(matcher, Matcher::Id(_) | Matcher::OneOf(_)) == is_of_ids;
    if !matchers.iter().all(under) {
        return None;
    }
    let filed_by = if is_of_ids {
        (type_id == patient).then_some("id")?.into()
    } else {
        root_column(filing_element(type_id, patient)?)
    };
    let leaves = compiled.program.leaves();
    if leaves.is_empty() || leaves.iter().any(|leaf| leaf.split('.').next() != Some(&*filed_by)) {
        return None;
    }
    let mut named = Named::default();
    for matcher in matchers {
        named = named.add(matcher, patient)?;
    }
    Some(named)
}

/// Returns the only element among `subject`, `patient` and `beneficiary` that may refer to a Patient. It decides under
/// which patient a row of this type is filed. Returns `None` if the type has several such elements or none, or if the
/// element repeats.
fn filing_element(type_id: TypeId, patient: TypeId) -> Option<&'static str> {
    let mut found = None;
    for name in ["subject", "patient", "beneficiary"] {
        let names_patients = |element: &&Element| {
            let all = |target: &TypeId| *target == patient || facts().get(*target).name == "Resource";
            !element.choice && (element.targets.is_empty() || element.targets.iter().any(all))
        };
        let Some(element) = facts().element(type_id, name).filter(names_patients) else {
            continue;
        };
        if element.many || found.is_some() {
            return None;
        }
        found = Some(element.name);
    }
    found
}
