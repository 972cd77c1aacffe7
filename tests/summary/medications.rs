//! Current medicines, one row per drug and dosage.

use serde_json::{Value, json};

use super::harness::{Person, concept, record};

const RXNORM: &str = "http://www.nlm.nih.gov/research/umls/rxnorm";

fn request(id: &str, drug: &str, status: &str, date: &str, dosage: Option<&str>) -> Value {
    let mut record = record(
        "MedicationRequest",
        id,
        json!({
            "status": status, "intent": "order", "authoredOn": date,
            "medicationCodeableConcept": concept(RXNORM, drug, &format!("Drug {drug}")),
        }),
    );
    if let Some(dosage) = dosage {
        record["dosageInstruction"] = json!([{"text": dosage, "route": {"text": "Oral"}}]);
    }
    record
}

fn dispense(id: &str, drug: &str, status: &str, date: &str) -> Value {
    let more = json!({
        "status": status, "whenHandedOver": date,
        "medicationCodeableConcept": concept(RXNORM, drug, &format!("Drug {drug}")),
    });
    record("MedicationDispense", id, more)
}

fn statement(id: &str, drug: &str, status: &str) -> Value {
    let more = json!({"status": status, "medicationCodeableConcept": concept(RXNORM, drug, &format!("Drug {drug}"))});
    record("MedicationStatement", id, more)
}

#[test]
fn what_is_not_taken_is_left_out() {
    let mut person = Person::new();
    for (at, status) in [
        "active",
        "on-hold",
        "unknown",
        "completed",
        "stopped",
        "cancelled",
        "draft",
        "entered-in-error",
    ]
    .iter()
    .enumerate()
    {
        person = person.with(request(
            &format!("r{at}"),
            &format!("r-{status}"),
            status,
            "2020-01-01",
            None,
        ));
    }
    for (at, status) in [
        "active",
        "intended",
        "on-hold",
        "unknown",
        "completed",
        "not-taken",
        "stopped",
    ]
    .iter()
    .enumerate()
    {
        person = person.with(statement(&format!("s{at}"), &format!("s-{status}"), status));
    }
    let mut forbidden = request("no", "forbidden", "active", "2020-01-01", None);
    forbidden["doNotPerform"] = json!(true);
    let mut names = person.with(forbidden).summary().names("medications");
    names.sort();
    let kept = [
        "r-active",
        "r-on-hold",
        "r-unknown",
        "s-active",
        "s-intended",
        "s-on-hold",
        "s-unknown",
    ];
    assert_eq!(names, kept.map(|drug| format!("Drug {drug}")));
}

#[test]
fn there_is_one_row_for_a_drug_and_dosage() {
    let summary = Person::new()
        .with(request("a", "1", "active", "2020-01-01", Some("1 tablet")))
        .with(request("b", "1", "active", "2021-01-01", Some("1 Tablet")))
        .with(request("c", "1", "active", "2019-01-01", Some("2 tablets")))
        .with(request("d", "1", "active", "2022-01-01", None))
        .with(request("e", "2", "active", "2018-01-01", None))
        .with(statement("f", "2", "active"))
        .summary();
    assert_eq!(
        summary.rows("medications"),
        [
            ["Drug 1", "1 Tablet", "Oral", "active", "2021-01-01", ""],
            ["Drug 1", "2 tablets", "Oral", "active", "2019-01-01", ""],
            ["Drug 2", "", "", "active", "2018-01-01", ""],
        ]
    );
}

#[test]
fn a_dispense_is_shown_where_no_prescription_is_known() {
    let summary = Person::new()
        .with(dispense("a", "1", "in-progress", "2020-01-01"))
        .with(dispense("b", "1", "in-progress", "2020-03-01"))
        .with(dispense("c", "2", "completed", "2020-03-01"))
        .with(dispense("d", "3", "on-hold", "2020-03-01"))
        .with(request("e", "3", "active", "2019-01-01", None))
        .summary();
    let ids: Vec<&Value> = summary
        .entries("medications")
        .iter()
        .map(|entry| &entry["id"])
        .collect();
    assert_eq!(ids, ["e", "b"]);
}

#[test]
fn a_medication_that_is_referred_to_comes_along_and_is_the_same_drug() {
    let medication =
        json!({"resourceType": "Medication", "id": "m", "code": concept(RXNORM, "1", "Drug 1 by its own name")});
    let mut referring = request("a", "", "active", "2022-01-01", None);
    referring.as_object_mut().unwrap().remove("medicationCodeableConcept");
    referring["medicationReference"] = json!({"reference": "Medication/m"});
    let summary = Person::new()
        .with(referring)
        .beside(medication)
        .with(request("b", "1", "active", "2021-01-01", None))
        .summary();
    assert_eq!(summary.names("medications"), ["Drug 1 by its own name"]);
    let entry = summary.entries("medications")[0];
    assert_eq!(
        entry["medicationReference"]["reference"],
        "https://records.example/fhir/Medication/m"
    );
    let medication = summary.get("Medication/m").unwrap();
    assert_eq!(
        medication["meta"]["profile"],
        json!(["http://hl7.org/fhir/uv/ips/StructureDefinition/Medication-uv-ips"])
    );
}

#[test]
fn a_medication_inside_of_a_record_is_read() {
    let mut inside = request("a", "", "active", "2022-01-01", None);
    inside.as_object_mut().unwrap().remove("medicationCodeableConcept");
    inside["contained"] = json!([{"resourceType": "Medication", "id": "m", "code": {"text": "Aspirin"}}]);
    inside["medicationReference"] = json!({"reference": "#m"});
    let summary = Person::new().with(inside).summary();
    assert_eq!(summary.names("medications"), ["Aspirin"]);
    assert_eq!(
        summary.entries("medications")[0]["medicationReference"]["reference"],
        "#m"
    );
}

#[test]
fn a_prescription_made_from_claims_yields_to_a_sources_own() {
    let mut made = request("made", "1", "active", "2023-01-01", None);
    made["meta"] =
        json!({"tag": [{"system": "https://records.example/tags/GeneratedBy", "code": "MedicationRequest"}]});
    let summary = Person::new()
        .with(made)
        .with(request("own", "1", "active", "2020-01-01", None))
        .summary();
    assert_eq!(summary.entries("medications")[0]["id"], "own");
    assert_eq!(summary.entries("medications").len(), 1);
}
