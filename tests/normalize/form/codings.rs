//! Systems, codes, displays and mappings.

use serde_json::{Value, json};
use tabularium::normalize::{NoCodes, Rule};

use super::super::harness::{BASE, Consent, Few};

fn normalized(record: Value) -> Value {
    let (after, _) = Consent::new(1).with(0, record).normalize(&Few);
    after.get("x")
}

#[test]
fn the_sources_own_coding_stands_behind_the_normalized_one() {
    let condition = json!({"resourceType": "Condition", "id": "x", "subject": {"display": "somebody"}, "code": {"coding": [
        {"system": "urn:oid:2.16.840.1.113883.6.90", "code": "e119", "userSelected": true},
        {"system": "https://payer.example/codes", "code": "DM2", "display": "diabetes"}]}});
    let after = normalized(condition);
    assert_eq!(
        after["code"],
        json!({"coding": [
            {"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "E11.9",
             "display": "Type 2 diabetes mellitus without complications"},
            {"system": "urn:oid:2.16.840.1.113883.6.90", "code": "e119", "userSelected": true},
            {"system": "https://payer.example/codes", "code": "DM2", "display": "diabetes"}],
            "text": "Type 2 diabetes mellitus without complications"})
    );
}

#[test]
fn a_coding_that_is_no_list_item_keeps_the_sources_own_in_an_extension() {
    let encounter = json!({"resourceType": "Encounter", "id": "x", "status": "finished",
        "class": {"system": "http://hl7.org/fhir/v3/ActCode", "code": "AMB"}});
    assert_eq!(
        normalized(encounter)["class"],
        json!({"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB", "display": "ambulatory",
            "extension": [{"url": format!("{BASE}/StructureDefinition/source-coding"),
                "valueCoding": {"system": "http://hl7.org/fhir/v3/ActCode", "code": "AMB"}}]})
    );
    let observation = json!({"resourceType": "Observation", "id": "x", "status": "final", "code": {"text": "height"},
        "valueQuantity": {"value": 1.80, "system": "urn:oid:2.16.840.1.113883.6.8", "code": "m"}});
    assert_eq!(
        normalized(observation)["valueQuantity"],
        json!({"value": 1.80, "system": "http://unitsofmeasure.org", "code": "m",
            "extension": [{"url": format!("{BASE}/StructureDefinition/source-coding"),
                "valueCoding": {"system": "urn:oid:2.16.840.1.113883.6.8", "code": "m"}}]})
    );
}

#[test]
fn displays_and_texts_are_added_and_never_replaced() {
    let observation =
        |coding: Value| json!({"resourceType": "Observation", "id": "x", "status": "final", "code": coding});
    let height = json!({"system": "http://loinc.org", "code": "8302-2"});
    let named = json!({"system": "http://loinc.org", "code": "8302-2", "display": "Body height"});
    let own = json!({"system": "http://loinc.org", "code": "8302-2", "display": "HEIGHT"});
    for (before, expected) in [
        (
            json!({"coding": [height]}),
            json!({"coding": [named], "text": "Body height"}),
        ),
        (json!({"coding": [own]}), json!({"coding": [own], "text": "HEIGHT"})),
        (
            json!({"coding": [height], "text": "how tall"}),
            json!({"coding": [named], "text": "how tall"}),
        ),
    ] {
        assert_eq!(normalized(observation(before))["code"], expected);
    }
    // White space around a code does not count.
    let spaced = json!({"coding": [{"system": "http://loinc.org", "code": " 8302-2\t"}], "text": "x"});
    assert_eq!(
        normalized(observation(spaced))["code"],
        json!({"coding": [named], "text": "x"})
    );
}

#[test]
fn another_record_of_the_consent_gives_a_display() {
    let procedure = |id: &str, coding: Value| {
        json!({"resourceType": "Procedure", "id": id, "status": "completed", "subject": {"display": "somebody"},
            "code": {"coding": [coding]}})
    };
    let system = "https://payer.example/codes";
    let (after, report) = Consent::new(1)
        .with(0, procedure("x", json!({"system": system, "code": "1"})))
        .with(
            0,
            procedure("y", json!({"system": system, "code": "1", "display": "Consultation"})),
        )
        .with(0, procedure("z", json!({"system": system, "code": "2"})))
        .normalize(&NoCodes);
    assert_eq!(
        after.get("x")["code"],
        json!({"coding": [{"system": system, "code": "1", "display": "Consultation"}], "text": "Consultation"})
    );
    assert_eq!(
        after.get("z")["code"],
        json!({"coding": [{"system": system, "code": "2"}]})
    );
    assert_eq!(report.rules[&Rule::Displays].changed, 3);
    assert_eq!(report.rules[&Rule::Displays].left, 1);
}

#[test]
fn an_ndc_gains_rxnorm() {
    let request = json!({"resourceType": "MedicationRequest", "id": "x", "status": "active", "intent": "order",
        "subject": {"display": "somebody"},
        "medicationCodeableConcept": {"coding": [{"system": "http://hl7.org/fhir/sid/ndc", "code": "0002-8215-01"}], "text": "x"}});
    let expected = json!([
        {"system": "http://hl7.org/fhir/sid/ndc", "code": "00002821501", "display": "Insulin"},
        {"system": "http://hl7.org/fhir/sid/ndc", "code": "0002-8215-01"},
        {"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "311036", "display": "insulin human"}]);
    assert_eq!(normalized(request)["medicationCodeableConcept"]["coding"], expected);
    let mapped = json!({"resourceType": "Medication", "id": "x", "code": {"coding": [
        {"system": "http://hl7.org/fhir/sid/ndc", "code": "00002821501", "display": "Insulin"},
        {"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "5856", "display": "insulin"}], "text": "x"}});
    assert_eq!(normalized(mapped.clone()), mapped);
}
