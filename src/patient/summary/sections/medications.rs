//! Current and planned medicines, one row per drug and dosage.

use std::cmp::Reverse;

use super::super::record::{Chart, Entry};
use super::super::shared::common::{cell, is_made, status, who};
use super::super::shared::{Row, Section};
use crate::columns::json::Value;
use crate::normalize::Rule;
use crate::patient::concept::Groups;
use crate::patient::follow::target;
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "medications",
    code: "10160-0",
    display: "History of Medication use Narrative",
    title: "Medication Summary",
    columns: &["Medication", "Dosage", "Route", "Status", "Date", "Prescriber"],
    nothing: "No information about medication is available.",
    rows,
};

const REQUESTED: &[&str] = &["active", "on-hold", "unknown"];
const STATED: &[&str] = &["active", "intended", "on-hold", "unknown"];
const DISPENSED: &[&str] = &["preparation", "in-progress", "on-hold", "unknown"];

/// Elements with the date on which a medicine was ordered, taken or dispensed. The first element that a record has
/// decides its date.
const DATES: &[&str] = &[
    "authoredOn",
    "effectiveDateTime",
    "effectivePeriod",
    "dateAsserted",
    "whenHandedOver",
    "whenPrepared",
];

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let requests = chart.own("MedicationRequest").filter(|at| {
        let entry = &chart.entries[*at];
        let is_not_to_be = entry.get("doNotPerform").and_then(|value| value.as_bool()) == Some(true);
        entry.is_one("status", REQUESTED) && !is_not_to_be
    });
    let statements = chart
        .own("MedicationStatement")
        .filter(|at| chart.entries[*at].is_one("status", STATED));
    let dispenses = chart
        .own("MedicationDispense")
        .filter(|at| chart.entries[*at].is_one("status", DISPENSED));
    let mut kept: Vec<usize> = requests.chain(statements).chain(dispenses).collect();
    kept.sort_by_cached_key(|at| {
        let entry = &chart.entries[*at];
        let is_made = is_made(entry, Rule::MedicationRequest);
        let date = entry.when(DATES).map(|when| when.start);
        (is_dispense(entry), is_made, Reverse(date), entry.type_name, entry.id)
    });
    one_per_drug_and_dosage(chart, &kept)
        .into_iter()
        .map(|at| row(chart, at))
        .collect()
}

fn is_dispense(entry: &Entry<'_>) -> bool {
    entry.type_name == "MedicationDispense"
}

/// Returns one record for each drug and dosage: the first one in `records`. A record without a dosage is left out if a
/// request or a statement for the same drug has a dosage. A dispense is left out if any record for the same drug comes
/// before it. Dispenses are the last records of `records`.
fn one_per_drug_and_dosage(chart: &Chart<'_>, records: &[usize]) -> Vec<usize> {
    let mut groups = Groups::default();
    for at in records {
        groups.add(drug(chart, &chart.entries[*at]));
    }
    let dosages: Vec<Option<String>> = records.iter().map(|at| dosage(&chart.entries[*at])).collect();
    let same_drug = |one: usize, other: usize| groups.root(one) == groups.root(other);
    let is_shown = |place: &usize| {
        let place = *place;
        let others = (0..records.len()).filter(|other| *other != place && same_drug(*other, place));
        for other in others {
            let is_before = other < place;
            let covers = match (&dosages[place], &dosages[other]) {
                _ if is_dispense(&chart.entries[records[place]]) => is_before,
                (None, Some(_)) => !is_dispense(&chart.entries[records[other]]),
                (own, other) => is_before && own == other,
            };
            if covers {
                return false;
            }
        }
        true
    };
    (0..records.len())
        .filter(is_shown)
        .map(|place| records[place])
        .collect()
}

fn dosages<'t>(entry: &Entry<'t>) -> Option<Value<'t>> {
    entry.get("dosageInstruction").or_else(|| entry.get("dosage"))
}

fn dosage(entry: &Entry<'_>) -> Option<String> {
    words::dosage(dosages(entry)).map(|text| text.to_lowercase())
}

/// Returns the drug of a record: its concept, or the code of the Medication to which it refers.
fn drug<'t>(chart: &Chart<'t>, entry: &Entry<'t>) -> Option<Value<'t>> {
    entry
        .get("medicationCodeableConcept")
        .or_else(|| target(chart, entry.json, entry.get("medicationReference")?)?.get("code"))
}

fn row(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let known = drug(chart, entry).and_then(words::concept);
    let display = || who(chart, entry, entry.get("medicationReference"));
    let date = entry.get("effectivePeriod").and_then(words::period);
    let prescriber = entry.get("requester").or_else(|| entry.get("informationSource"));
    let cells = vec![
        known.or_else(display).unwrap_or_else(|| "Unknown".to_owned()),
        cell(words::dosage(dosages(entry))),
        cell(words::route(dosages(entry))),
        status(entry, "status"),
        date.unwrap_or_else(|| super::super::shared::common::day(entry, DATES)),
        cell(who(chart, entry, prescriber)),
    ];
    Row { entry: at, cells }
}
