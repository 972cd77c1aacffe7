//! The rules over real records.

use std::collections::BTreeMap;

use serde_json::Value;
use tabularium::columns::json::Tape;
use tabularium::fhir::facts;
use tabularium::normalize::form::check;
use tabularium::normalize::{NoCodes, Report, Rule};

use super::harness::{Consent, Few, json_files, resources};
use crate::harness;

/// Each file is a consent with one source.
fn consents() -> Vec<(String, Consent)> {
    let real = harness::real();
    let mut consents = Vec::new();
    for file in json_files(&real.data) {
        let mut consent = Consent::new(1);
        for resource in resources(&file) {
            consent = consent.with(0, resource);
        }
        consents.push((file.file_name().unwrap().to_string_lossy().into_owned(), consent));
    }
    let records: usize = consents.iter().map(|(_, consent)| consent.records.len()).sum();
    assert!(records > if real.is_whole { 5_000 } else { 100 }, "{records}");
    consents
}

fn faults(text: &str) -> Vec<String> {
    let mut tape = Tape::new();
    let problems = check(tape.parse(text.as_bytes()).unwrap());
    problems.iter().map(ToString::to_string).collect()
}

/// Two of the shared records have an element unknown to R4, as their own description says. They stay unchanged.
const BROKEN: [&str; 2] = [
    "us_quality_core_bundle_patient.json: Media.content.link is no element of R4",
    "uscore_bundle_patient_355.json: Observation.effectivePeriod.stop is no element of R4",
];

/// The records that stay without a required element.
fn left(report: &Report) -> u64 {
    report.rules.get(&Rule::Required).map_or(0, |counts| counts.left)
}

#[test]
fn every_record_is_valid_or_counted() {
    let consents = consents();
    let mut broken = Vec::new();
    let mut report = Report::default();
    for (file, consent) in &consents {
        let (after, counts) = consent.normalize(&Few);
        report.add(&counts);
        for (_, text) in &after.records {
            broken.extend(faults(text).into_iter().map(|fault| format!("{file}: {fault}")));
        }
    }
    broken.sort();
    let expected = if harness::real().is_whole { &BROKEN[..] } else { &[][..] };
    assert_eq!(broken, expected);
    assert_eq!(left(&report), expected.len() as u64);
}

#[test]
fn whatever_required_element_is_left_out_a_placeholder_makes_the_record_valid() {
    let consents = consents();
    let mut left_out = 0;
    for (file, mut consent) in consents {
        consent.records.retain(|(_, text)| faults(text).is_empty());
        for (_, text) in &mut consent.records {
            let mut record: Value = serde_json::from_str(text).unwrap();
            let type_id = facts().lookup(record["resourceType"].as_str().unwrap()).unwrap();
            for element in facts().get(type_id).elements.iter().filter(|element| element.min > 0) {
                let of_element = |name: &str| {
                    facts()
                        .child(type_id, name)
                        .is_some_and(|child| child.element.name == element.name)
                };
                let object = record.as_object_mut().unwrap();
                let before = object.len();
                object.retain(|name, _| !of_element(name.trim_start_matches('_')));
                left_out += before - object.len();
            }
            *text = record.to_string();
        }
        let (after, report) = consent.normalize(&Few);
        for (_, text) in &after.records {
            assert_eq!(faults(text), [] as [&str; 0], "{file}");
        }
        assert_eq!(left(&report), 0);
    }
    let min_left_out = if harness::real().is_whole { 10_000 } else { 200 };
    assert!(left_out > min_left_out, "only {left_out} elements were left out");
}

#[test]
fn twice_is_once_and_order_does_not_matter() {
    let consents = consents();
    for (file, consent) in &consents {
        let (once, _) = consent.normalize(&Few);
        let (twice, _) = once.normalize(&Few);
        for (once, twice) in once.records.iter().zip(&twice.records) {
            assert_eq!(once, twice, "{file}");
        }
        let mut turned = consent.clone();
        turned.records.reverse();
        let (mut turned, _) = turned.normalize(&Few);
        turned.records.reverse();
        assert_eq!(turned.records, once.records, "{file}");
    }
}

/// A rewritten code was listed twice. So each Provenance got another id if a record was read from the lake and not from
/// its source.
#[test]
fn the_same_is_made_of_records_before_and_after_they_are_normalized() {
    let consents = consents();
    let mut made = 0;
    for (file, consent) in &consents {
        let ids = |consent: &Consent| -> Vec<String> {
            let generated = consent.plan(&NoCodes).generated;
            generated.into_iter().map(|generated| generated.id).collect()
        };
        let before = ids(consent);
        made += before.len();
        assert_eq!(ids(&consent.normalize(&NoCodes).0), before, "{file}");
    }
    assert!(made > if harness::real().is_whole { 40 } else { 4 }, "{made}");
}

#[test]
fn nothing_of_a_source_is_lost() {
    let consents = consents();
    for (file, consent) in &consents {
        let (after, _) = consent.normalize(&NoCodes);
        for ((_, before), (_, after)) in consent.records.iter().zip(&after.records) {
            let (before, after) = (leaves(before), leaves(after));
            for (leaf, count) in before {
                // A conditional reference to a resource becomes an identifier.
                let is_conditional = leaf.contains('?') && leaf.contains('|');
                let stands = after.get(&leaf).copied().unwrap_or_default() >= count;
                assert!(stands || is_conditional, "{file}: {leaf}");
            }
        }
    }
}

/// The texts and numbers of a resource with their counts.
pub(super) fn leaves(text: &str) -> BTreeMap<String, usize> {
    fn collect(value: &Value, leaves: &mut BTreeMap<String, usize>) {
        match value {
            Value::Object(object) => object.values().for_each(|value| collect(value, leaves)),
            Value::Array(items) => items.iter().for_each(|value| collect(value, leaves)),
            Value::String(text) => *leaves.entry(text.trim().to_owned()).or_default() += 1,
            other => *leaves.entry(other.to_string()).or_default() += 1,
        }
    }
    let mut found = BTreeMap::new();
    collect(&serde_json::from_str(text).unwrap(), &mut found);
    found
}
