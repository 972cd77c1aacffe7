//! An organization's records of one person, called a holding: the resources of the organization's types, the resources
//! to which they refer, and the changes of a test.
//!
//! Invariant: a holding has only rows of its person and shared rows. Other people's Patients are not part of it, even
//! if a row refers to one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::super::office::organization::{Kind, Organization};
use super::super::office::people::{People, Person};
use super::additions::Additions;
use super::row::Row;
use super::shelf::Shelf;

/// The records of a holding: first the person's own rows, then the shared rows.
#[derive(Debug, Default)]
pub(in crate::sandbox::payer) struct Holding {
    pub(in crate::sandbox::payer) rows: Vec<Arc<Row>>,
    places: HashMap<String, usize>,
}

impl Holding {
    /// Returns the resource with this type and id.
    pub(in crate::sandbox::payer) fn get(&self, resource_type: &str, id: &str) -> Option<&Arc<Row>> {
        self.places
            .get(&format!("{resource_type}/{id}"))
            .map(|at| &self.rows[*at])
    }

    /// Returns a copy of this holding to which these rows are added. They must be the person's own rows, because they
    /// come first.
    pub(in crate::sandbox::payer) fn with(&self, more: Vec<Arc<Row>>) -> Holding {
        Holding::from_rows(more.into_iter().chain(self.rows.iter().cloned()).collect())
    }

    /// Returns the approximate size in memory in bytes.
    pub(in crate::sandbox::payer) fn weight(&self) -> u64 {
        self.rows.iter().map(|row| row.json.len() as u64 + 300).sum()
    }

    /// Collects the organization's records of a person.
    pub(in crate::sandbox::payer) fn of(
        organization: &Organization,
        person: &Person,
        people: &People,
        shelf: &Shelf,
        additions: Option<&Additions>,
    ) -> Holding {
        let records = people.records(person.index);
        let mut own: Vec<Arc<Row>> = records.iter().map(|record| Arc::new(Row::written(record))).collect();
        if let Some(additions) = additions {
            additions.apply(&mut own);
        }
        let places: HashMap<String, usize> = own.iter().enumerate().map(|(at, row)| (row.reference(), at)).collect();
        let seen_at = organization.facility().map(|at| (at, person.facilities()));
        let mut kept: Vec<bool> = own.iter().map(|row| holds(organization, seen_at, row)).collect();
        let mut shared = Vec::new();
        let mut met = HashSet::new();
        let mut open: Vec<Arc<Row>> = own
            .iter()
            .zip(&kept)
            .filter(|(_, kept)| **kept)
            .map(|(row, _)| row.clone())
            .collect();
        while let Some(row) = open.pop() {
            for reference in row.references() {
                if let Some(at) = places.get(reference) {
                    if !std::mem::replace(&mut kept[*at], true) {
                        open.push(own[*at].clone());
                    }
                } else if met.insert(reference.to_owned())
                    && let Some(found) = shelf.get(people.population(), reference)
                {
                    shared.push(found.clone());
                    open.push(found);
                }
            }
        }
        // Sorts by reference, so that the order does not depend on the order in which references were followed.
        shared.sort_unstable_by_key(|row| row.reference());
        let own = own.into_iter().zip(kept).filter_map(|(row, kept)| kept.then_some(row));
        Holding::from_rows(own.chain(shared).collect())
    }

    fn from_rows(rows: Vec<Arc<Row>>) -> Holding {
        let places = rows.iter().enumerate().map(|(at, row)| (row.reference(), at)).collect();
        Holding { rows, places }
    }
}

/// Whether the organization has a resource even if no other resource refers to it.
///
/// `seen_at` is set for a facility: its index, and the number of facilities that have seen the person. Each visit
/// belongs to one of these facilities. A resource without a visit belongs to all of them.
fn holds(organization: &Organization, seen_at: Option<(u64, u64)>, row: &Row) -> bool {
    if !organization.holds.contains(&row.resource_type.as_str()) {
        return false;
    }
    let Some((facility, facilities)) = seen_at.filter(|_| organization.kind == Kind::Facility) else {
        return true;
    };
    let visit = match row.resource_type.as_str() {
        "Encounter" => Some(row.id.as_str()),
        _ => row
            .references()
            .find_map(|reference| reference.strip_prefix("Encounter/")),
    };
    let number = visit.map(|visit| visit.bytes().map(u64::from).sum::<u64>());
    facility < facilities && number.is_none_or(|number| number % facilities == facility)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::payer::office::organization::{ORGANIZATIONS, SHARED};

    #[test]
    fn an_organization_holds_the_types_it_declares_and_nobody_elses_patient() {
        let (people, shelf) = (People::new(1, 12), Shelf::default());
        for organization in ORGANIZATIONS {
            for index in 0..12 {
                let person = people.person(index).unwrap();
                let holding = Holding::of(organization, &person, &people, &shelf, None);
                let declared = organization.types();
                for row in &holding.rows {
                    let resource_type = row.resource_type.as_str();
                    assert!(
                        declared.contains(&resource_type),
                        "{} holds {resource_type}",
                        organization.id
                    );
                    assert!(resource_type != "Patient" || row.id == person.patient);
                }
                let patients = holding.rows.iter().filter(|row| row.resource_type == "Patient").count();
                let known = organization.facility().is_none_or(|at| at < person.facilities());
                assert_eq!(patients, usize::from(known), "{} {}", organization.id, person.user);
                assert!(known || holding.rows.is_empty());
            }
        }
    }

    #[test]
    fn references_lead_within_the_holding_or_to_somebody_else() {
        let (people, shelf) = (People::new(1, 12), Shelf::default());
        for organization in ORGANIZATIONS {
            let person = people.person(2).unwrap();
            let holding = Holding::of(organization, &person, &people, &shelf, None);
            for reference in holding.rows.iter().flat_map(|row| row.references()) {
                let (resource_type, id) = reference.split_once('/').unwrap();
                assert!(
                    holding.get(resource_type, id).is_some() || resource_type == "Patient",
                    "{reference}"
                );
            }
            assert!(
                holding
                    .rows
                    .iter()
                    .any(|row| SHARED.contains(&row.resource_type.as_str()))
            );
        }
    }

    #[test]
    fn facilities_share_visits_out() {
        let (people, shelf) = (People::new(1, 12), Shelf::default());
        let person = people.person(2).unwrap();
        assert_eq!(person.facilities(), 3);
        let visits = |id: &str| -> HashSet<String> {
            let organization = Organization::named(id).unwrap();
            let holding = Holding::of(organization, &person, &people, &shelf, None);
            let rows = holding.rows.iter().filter(|row| row.resource_type == "Encounter");
            rows.map(|row| row.id.clone()).collect()
        };
        let all = visits("riverbend");
        let each = ["northfield", "eastgate", "oldmill"].map(visits);
        let together: HashSet<String> = each.iter().flatten().cloned().collect();
        assert_eq!(together, all);
        assert!(each.iter().all(|one| one.len() < all.len()));
    }
}
