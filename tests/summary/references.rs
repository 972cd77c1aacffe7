//! References of a record: which targets are included, which become a display, and which are never shown.

use serde_json::{Value, json};

use super::harness::{BASE, Person, loinc, record};

fn result(id: &str, more: Value) -> Value {
    let mut observation = record(
        "Observation",
        id,
        json!({
            "status": "final", "category": [{"coding": [{"code": "laboratory"}]}], "code": loinc(id, id),
            "effectiveDateTime": "2020-01-01", "valueString": "x",
        }),
    );
    observation
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    observation
}

#[test]
fn who_did_it_comes_along_and_the_rest_becomes_a_display() {
    let more = json!({
        "performer": [{"reference": "PractitionerRole/r"}, {"reference": "Practitioner/nowhere"}],
        "specimen": {"reference": "Specimen/s"},
        "device": {"reference": "Device/d"},
        "basedOn": [{"reference": "ServiceRequest/x", "display": "An order"}, {"reference": "ServiceRequest/y"}],
        "encounter": {"reference": "Encounter/e"},
        "focus": [{"reference": "https://elsewhere.example/fhir/Patient/1"}, {"reference": "urn:uuid:1"}],
    });
    let summary = Person::new()
        .with(result("o", more))
        .beside(json!({"resourceType": "PractitionerRole", "id": "r", "practitioner": {"reference": "Practitioner/dr"},
            "organization": {"reference": "Organization/org"}}))
        .beside(json!({"resourceType": "Practitioner", "id": "dr", "name": [{"family": "Who"}]}))
        .beside(json!({"resourceType": "Organization", "id": "org", "name": "Clinic", "partOf": {"reference": "Organization/big"}}))
        .beside(json!({"resourceType": "Organization", "id": "big", "name": "Hospital"}))
        .with(record("Specimen", "s", json!({"type": {"text": "Blood"}})))
        .beside(json!({"resourceType": "Device", "id": "d", "deviceName": [{"name": "Analyser"}]}))
        .with(record("Encounter", "e", json!({"type": [{"text": "Check-up"}]})))
        .summary();
    let observation = summary.get("Observation/o").unwrap();
    let at = |name: &str| json!({"reference": format!("{BASE}/fhir/{name}")});
    assert_eq!(
        observation["performer"],
        json!([at("PractitionerRole/r"), {"display": "Practitioner"}])
    );
    assert_eq!(observation["specimen"], at("Specimen/s"));
    assert_eq!(observation["device"], at("Device/d"));
    assert_eq!(
        observation["basedOn"],
        json!([{"display": "An order"}, {"display": "ServiceRequest"}])
    );
    assert_eq!(observation["encounter"], json!({"display": "Check-up"}));
    assert_eq!(
        observation["focus"],
        json!([{"display": "Patient"}, {"display": "Not in this summary"}])
    );
    assert_eq!(
        summary.get("PractitionerRole/r").unwrap()["practitioner"],
        at("Practitioner/dr")
    );
    assert_eq!(
        summary.get("Organization/org").unwrap()["partOf"],
        json!({"display": "Hospital"})
    );
    assert!(summary.get("Organization/big").is_none() && summary.get("Encounter/e").is_none());
}

#[test]
fn panels_bring_their_members() {
    let members = json!({"hasMember": [{"reference": "Observation/b"}, {"reference": "Observation/wrong"}]});
    let mut wrong = result("wrong", json!({"valueString": "never"}));
    wrong["status"] = json!("entered-in-error");
    let summary = Person::new()
        .with(result("a", members))
        .with(result("b", json!({"hasMember": [{"reference": "Observation/a"}]})))
        .with(wrong)
        .summary();
    let panel = summary.get("Observation/a").unwrap();
    assert_eq!(panel["hasMember"][0]["reference"], format!("{BASE}/fhir/Observation/b"));
    assert_eq!(panel["hasMember"][1], json!({"display": "wrong"}));
    assert!(summary.get("Observation/wrong").is_none());
}

#[test]
fn what_is_about_somebody_else_is_never_shown() {
    // A mother is in the compartment of her child's Observations if she is their performer.
    let other = json!({"subject": {"reference": "Patient/child"}, "performer": [{"reference": "Patient/p"}]});
    let child = json!({"resourceType": "Patient", "id": "child", "name": [{"family": "Secret"}]});
    let absolute = json!({"subject": {"reference": "https://elsewhere.example/fhir/Patient/p"}});
    let document = Person::new()
        .with(result("childs", other.clone()))
        .with(result("elsewhere", absolute))
        .with(result(
            "own",
            json!({"hasMember": [{"reference": "Observation/childs"}], "focus": [{"reference": "Patient/child"}]}),
        ))
        .beside(child);
    let summary = document.summary();
    assert_eq!(summary.names("results"), ["own"]);
    assert!(summary.get("Observation/childs").is_none());
    assert_eq!(summary.of("Patient").len(), 1);
}

#[test]
fn what_is_not_in_the_patients_record_is_in_no_section() {
    let summary = Person::new().beside(result("shared", json!({}))).summary();
    assert_eq!(summary.empty("results"), Some("unavailable"));
}

#[test]
fn the_patients_of_all_sources_are_one() {
    let mut person = Person::new();
    person.patients.push("q".to_owned());
    let other = json!({"resourceType": "Patient", "id": "q", "name": [{"family": "Roe"}], "birthDate": "1970-01-02"});
    let mut first: Value = serde_json::from_str(&person.records[0].0).unwrap();
    first["link"] = json!([{"type": "seealso", "other": {"reference": "Patient/q"}}]);
    person.records[0].0 = first.to_string();
    let summary = person
        .with(other)
        .with(result(
            "a",
            json!({"subject": {"reference": "Patient/q"}, "performer": [{"reference": "Patient/q"}]}),
        ))
        .summary();
    let patient = format!("{BASE}/fhir/Patient/p");
    let observation = summary.get("Observation/a").unwrap();
    assert_eq!(observation["subject"]["reference"], patient);
    assert_eq!(observation["performer"][0]["reference"], patient);
    assert_eq!(summary.get("Patient/p").unwrap().get("link"), None);
}

#[test]
fn a_record_that_names_its_patient_by_words_refers_to_it() {
    let by_words = result("a", json!({"subject": {"display": "Jane Roe"}}));
    let mut by_nobody = result("b", json!({}));
    by_nobody.as_object_mut().unwrap().remove("subject");
    let summary = Person::new().with(by_words).with(by_nobody).summary();
    let patient = format!("{BASE}/fhir/Patient/p");
    let subject = &summary.get("Observation/a").unwrap()["subject"];
    assert_eq!(subject, &json!({"display": "Jane Roe", "reference": patient}));
    assert_eq!(summary.get("Observation/b").unwrap()["subject"]["reference"], patient);
}
