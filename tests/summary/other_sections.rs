//! Immunizations, procedures, devices, plans, functional status, advance directives.

use serde_json::{Value, json};

use super::harness::{Person, concept, loinc, record};

fn coded(code: &str) -> Value {
    concept("http://snomed.info/sct", code, &format!("Code {code}"))
}

#[test]
fn immunizations_that_were_given_are_shown_once_newest_first() {
    let given = |id: &str, status: &str, day: &str| {
        let more = json!({
            "status": status, "occurrenceDateTime": day, "vaccineCode": coded("1"), "lotNumber": format!("lot {id}"),
            "protocolApplied": [{"doseNumberPositiveInt": 2, "seriesDosesString": "3"}],
        });
        record("Immunization", id, more)
    };
    let summary = Person::new()
        .with(given("a", "completed", "2019-01-01"))
        .with(given("b", "completed", "2020-01-01T10:00:00Z"))
        .with(given("c", "completed", "2020-01-01"))
        .with(given("d", "not-done", "2021-01-01"))
        .summary();
    let rows = summary.rows("immunizations");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0], ["Code 1", "2020-01-01", "2 of 3", "lot b", "", ""]);
    assert_eq!(rows[1][1], "2019-01-01");
}

#[test]
fn procedures_that_were_done_are_shown_once_newest_first() {
    let done = |id: &str, status: &str, code: &str, day: &str| {
        record(
            "Procedure",
            id,
            json!({"status": status, "code": coded(code), "performedDateTime": day}),
        )
    };
    let mut made = done("made", "completed", "2", "2021-01-01T00:00:00Z");
    made["meta"] = json!({"tag": [{"system": "https://x/tags/GeneratedBy", "code": "Procedure"}]});
    let summary = Person::new()
        .with(done("a", "completed", "1", "2019-01-01"))
        .with(made)
        .with(done("c", "completed", "2", "2021-01-01"))
        .with(done("d", "in-progress", "3", "2022-01-01"))
        .with(done("e", "not-done", "4", "2022-01-01"))
        .with(done("f", "entered-in-error", "5", "2022-01-01"))
        .summary();
    let ids: Vec<&Value> = summary.entries("procedures").iter().map(|entry| &entry["id"]).collect();
    assert_eq!(ids, ["d", "c", "a"]);
}

#[test]
fn a_device_without_a_statement_gets_one() {
    let device = |id: &str, status: &str, udi: &str| {
        let more = json!({
            "status": status, "type": coded(id), "udiCarrier": [{"carrierHRF": udi}],
        });
        record("Device", id, more)
    };
    let statement = |id: &str, status: &str, device: &str| {
        let more = json!({
            "status": status, "device": {"reference": format!("Device/{device}")}, "bodySite": {"text": "Left hip"},
            "timingDateTime": "2015-01-01",
        });
        record("DeviceUseStatement", id, more)
    };
    let summary = Person::new()
        .with(device("hip", "active", "U1"))
        .with(statement("s", "active", "hip"))
        .with(device("pacemaker", "active", "U2"))
        .with(device("again", "active", "U2"))
        .with(device("gone", "inactive", "U3"))
        .with(device("over", "active", "U4"))
        .with(statement("t", "completed", "over"))
        .summary();
    assert_eq!(
        summary.rows("devices"),
        [
            ["Code hip", "Left hip", "active", "2015-01-01", "U1"],
            ["Code again", "", "active", "", "U2"],
        ]
    );
    let entries = summary.entries("devices");
    assert_eq!(entries[0]["id"], "s");
    assert_eq!(entries[1]["resourceType"], "DeviceUseStatement");
    assert_eq!(
        entries[1]["device"]["reference"],
        "https://records.example/fhir/Device/again"
    );
    assert_eq!(entries[1]["_timingDateTime"]["extension"][0]["valueCode"], "unknown");
}

#[test]
fn goals_come_with_their_plan_or_with_one_that_the_summary_makes() {
    let goal = |id: &str, status: &str| {
        let target = json!([{"detailQuantity": {"value": 7, "unit": "%"}, "dueDate": "2027-01-01"}]);
        record(
            "Goal",
            id,
            json!({"lifecycleStatus": status, "description": {"text": id}, "target": target}),
        )
    };
    let plan = |id: &str, status: &str| {
        let more = json!({
            "status": status, "intent": "plan", "category": [{"coding": [{"code": "assess-plan"}]}, {"text": "Diet"}],
            "period": {"start": "2020-01-01"},
            "goal": [{"reference": "Goal/planned"}, {"reference": "Goal/over", "display": "An old goal"}],
        });
        record("CarePlan", id, more)
    };
    let summary = Person::new()
        .with(plan("a", "active"))
        .with(plan("b", "completed"))
        .with(goal("planned", "active"))
        .with(goal("alone", "active"))
        .with(goal("over", "completed"))
        .summary();
    assert_eq!(summary.names("planofcare"), ["Diet", "alone", "planned"]);
    assert_eq!(summary.rows("planofcare")[1][4], "7% by 2027-01-01");
    let entries = summary.entries("planofcare");
    assert_eq!(entries.len(), 2);
    assert_eq!(
        entries[0]["goal"][0]["reference"],
        "https://records.example/fhir/Goal/planned"
    );
    assert_eq!(entries[0]["goal"][1], json!({"display": "An old goal"}));
    assert_eq!(entries[1]["title"], "Goals");
    assert_eq!(
        entries[1]["goal"],
        json!([{"reference": "https://records.example/fhir/Goal/alone"}])
    );
}

#[test]
fn functional_status_is_of_conditions_impressions_and_observations() {
    let category = json!([{"coding": [{"code": "functional-status"}]}]);
    let condition = json!({"code": coded("1"), "category": category, "onsetDateTime": "2001"});
    let finding = json!({
        "status": "final", "code": loinc("2", "Gait"), "category": category, "valueString": "steady",
        "effectiveDateTime": "2020-01-01",
    });
    let impression = json!({"status": "completed", "description": "Assessment", "summary": "Walks with a stick", "date": "2021-01-01"});
    let summary = Person::new()
        .with(record("Condition", "c", condition))
        .with(record("Observation", "o", finding))
        .with(record("ClinicalImpression", "i", impression))
        .summary();
    assert_eq!(
        summary.rows("functionalstatus"),
        [
            ["Code 1", "", "", "2001"],
            ["Assessment", "Walks with a stick", "completed", "2021-01-01"],
            ["Gait", "steady", "final", "2020-01-01"],
        ]
    );
    assert_eq!(summary.empty("problems"), Some("unavailable"));
    let made = summary.entries("functionalstatus")[2];
    assert_eq!(made["resourceType"], "ClinicalImpression");
    assert_eq!(
        made["finding"][0]["itemReference"]["reference"],
        "https://records.example/fhir/Observation/o"
    );
}

#[test]
fn advance_directives_are_consents_and_documents_of_that_kind() {
    let consent = |id: &str, status: &str, category: &str| {
        let more = json!({
            "status": status, "scope": {"coding": [{"code": "treatment"}], "text": "Treatment"}, "dateTime": "2020-01-01",
            "category": [{"coding": [{"code": category}], "text": category}],
        });
        record("Consent", id, more)
    };
    let document = |id: &str, status: &str, code: &str| {
        let more = json!({
            "status": status, "type": loinc(code, &format!("Document {code}")), "date": "2019-01-01T00:00:00Z",
            "content": [{"attachment": {"title": "x"}}],
        });
        record("DocumentReference", id, more)
    };
    let summary = Person::new()
        .with(consent("a", "active", "dnr"))
        .with(consent("b", "inactive", "acd"))
        .with(consent("c", "active", "research"))
        .with(document("d", "current", "86533-7"))
        .with(document("e", "superseded", "42348-3"))
        .with(document("f", "current", "34117-2"))
        .with(document("g", "current", "92664-2"))
        .summary();
    assert_eq!(
        summary.names("advancedirectives"),
        ["dnr", "Document 86533-7", "Document 92664-2"]
    );
}
