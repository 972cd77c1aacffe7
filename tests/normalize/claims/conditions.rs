//! Condition from claims.

use serde_json::{Value, json};

use super::super::world::{World, hl7};
use super::encounters::{bill, service, world};
use crate::harness::{excerpt, shared};

const ICD: &str = "http://hl7.org/fhir/sid/icd-10-cm";

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn each_diagnosis_of_carin_is_a_condition_of_its_encounter() {
    let data = shared().join("data");
    let made = World::of(&data, &["carin/ig-2.0.0/ExplanationOfBenefit-EOBOutpatient2.json"]).run();
    let expected = |code: &str| {
        json!({
            "verificationStatus": hl7("condition-ver-status", "confirmed", "Confirmed"),
            "category": [hl7("condition-category", "encounter-diagnosis", "Encounter Diagnosis")],
            "code": {"coding": [{"system": ICD, "code": code}]},
            "subject": {"reference": "Patient/Patient1"},
            "encounter": {"reference": "Encounter/2020-09-29"},
            "recordedDate": "2020-10-10T00:00:00-04:00"
        })
    };
    // I95.1 is both the principal and another diagnosis, so there is one Condition.
    assert_eq!(made.of("Condition"), ["I73.9", "I95.1", "L97.529"].map(expected));
}

#[test]
fn a_reason_for_a_visit_is_provisional() {
    let made = World::of(&excerpt(), &["carin/ig-2.0.0/ExplanationOfBenefit-EOBOutpatient1.json"]).run();
    let condition = made.only("Condition");
    assert_eq!(condition["code"]["coding"][0]["code"], "S06.0X1A");
    assert_eq!(
        condition["verificationStatus"],
        hl7("condition-ver-status", "provisional", "Provisional")
    );
    let role = &made.only("Encounter")["diagnosis"][0]["use"];
    assert_eq!(*role, hl7("diagnosis-role", "CC", "Chief complaint"));
}

fn diagnoses(codes: &[(&str, &str)]) -> Value {
    let one = |(at, (system, code)): (usize, &(&str, &str))| json!({"sequence": at + 1, "diagnosisCodeableConcept": {"coding": [{"system": system, "code": code}]}});
    codes.iter().enumerate().map(one).collect()
}

#[test]
fn codes_get_their_dots_and_external_causes_are_kept() {
    let mut claim = service("1", "2024-01-01", "11", "99213");
    claim["diagnosis"] = diagnoses(&[
        (ICD, "S060X1A"),
        ("http://hl7.org/fhir/sid/icd-9-cm", "25000"),
        (ICD, "W01.0XXA"),
        (ICD, "Z0000"),
    ]);
    let made = world([claim]).run();
    let codes: Vec<Value> = made
        .of("Condition")
        .iter()
        .map(|condition| condition["code"]["coding"][0]["code"].clone())
        .collect();
    assert_eq!(codes, ["250.00", "S06.0X1A", "W01.0XXA", "Z00.00"]);
}

#[test]
fn a_line_points_to_the_diagnoses_of_its_visit() {
    let mut claim = service("1", "2024-01-01", "11", "99213");
    claim["diagnosis"] = diagnoses(&[(ICD, "I10"), (ICD, "E11.9"), (ICD, "Z00.00")]);
    let mut second = claim["item"][0].clone();
    second["servicedDate"] = "2024-01-08".into();
    second["diagnosisSequence"] = json!([2]);
    claim["item"][0]["diagnosisSequence"] = json!([1, 2]);
    claim["item"].as_array_mut().unwrap().push(second);
    let mut told = Vec::new();
    for condition in world([claim]).run().of("Condition") {
        told.push(format!(
            "{} {}",
            condition["code"]["coding"][0]["code"], condition["encounter"]["reference"]
        ));
    }
    told.sort();
    // Nothing refers to the third diagnosis, so it belongs to the first visit.
    assert_eq!(
        told,
        [
            r#""E11.9" "Encounter/2024-01-01""#,
            r#""E11.9" "Encounter/2024-01-08""#,
            r#""I10" "Encounter/2024-01-01""#,
            r#""Z00.00" "Encounter/2024-01-01""#,
        ]
    );
}

#[test]
fn a_sources_condition_of_the_encounter_is_kept_alone() {
    let own = |category: &str| {
        json!({
            "resourceType": "Condition", "id": "own", "subject": {"reference": "Patient/p"}, "encounter": {"reference": "Encounter/own"},
            "category": [{"coding": [{"code": category}]}], "code": {"coding": [{"system": ICD, "code": "I10"}]}
        })
    };
    let mut claim = bill("1", "0131", "2024-01-01", "2024-01-01");
    claim["item"][0]["encounter"] = json!([{"reference": "Encounter/own"}]);
    let encounter = json!({
        "resourceType": "Encounter", "id": "own", "status": "finished", "class": {"code": "AMB"}, "subject": {"reference": "Patient/p"}
    });
    let mut world = world([claim, encounter, own("encounter-diagnosis")]);
    assert_eq!(world.run().counts().len(), 0);
    world.records[2].1 = own("problem-list-item");
    assert_eq!(
        world.run().only("Condition")["encounter"],
        json!({"reference": "Encounter/own"})
    );
}

#[test]
fn claims_that_do_not_count_give_nothing() {
    let mut cancelled = service("1", "2024-01-01", "11", "99213");
    cancelled["status"] = "cancelled".into();
    let mut failed = service("2", "2024-01-01", "11", "99213");
    failed["outcome"] = "error".into();
    assert_eq!(world([cancelled, failed]).run().counts().len(), 0);
}
