//! A sync stores exactly the source's records of a person. Only ids, references and marks differ, and normalization
//! adds to them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tabularium::consent::{Actor, EndpointStatus, JobState};
use tabularium::lake::Mode;

use super::super::world::{Connected, World, text};
use crate::harness::json::lacks;

/// The stored resources of a consent by id, without versions and dates.
fn here(world: &World, connected: &Connected) -> BTreeMap<String, Value> {
    let rows = world.rows(connected).into_iter().map(|(identity, row)| {
        assert_eq!(row.patient.as_deref(), Some(connected.patient.as_str()));
        assert!(row.shared_refs.is_empty());
        let mut resource: Value = serde_json::from_str(&row.resource).unwrap();
        let meta = resource["meta"].as_object_mut().unwrap();
        assert_eq!(meta.remove("versionId").unwrap(), row.version.to_string());
        assert!(meta.remove("lastUpdated").is_some());
        (identity.3, resource)
    });
    rows.collect()
}

fn compare(world: &World, organization: &str, connected: &Connected) {
    let source = world.record_of(organization, connected);
    assert!(source.len() > 20, "{} records", source.len());
    let mut expected: BTreeMap<String, Value> = BTreeMap::new();
    for record in &source {
        let record = world.expected(organization, connected, record);
        expected.insert(text(&record, "id").to_owned(), record);
    }
    let found = here(world, connected);
    for (id, record) in &expected {
        let name = format!("{} of {}", record["resourceType"], record["meta"]["source"]);
        let here = found.get(id).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(lacks(here, record), None, "{name}: {here:#}");
    }
    for (id, record) in &found {
        assert!(
            expected.contains_key(id),
            "{} is not the source's",
            record["meta"]["source"]
        );
    }
}

#[test]
fn a_payers_records_are_all_there_and_as_they_were() {
    let world = World::working(3);
    world.payer.turn("lakeshore", &json!({"page": 7}));
    let connected = world.synced("lakeshore", 1);
    compare(&world, "lakeshore", &connected);
    assert!(
        !world
            .server
            .folder()
            .join("spool")
            .join(job_of(&world, &connected))
            .exists()
    );
}

#[test]
fn a_providers_records_are_all_there_and_as_they_were() {
    let world = World::working(3);
    let connected = world.synced("riverbend", 0);
    compare(&world, "riverbend", &connected);
    let found = here(&world, &connected);
    let referred = |resource_type: &str| {
        found
            .values()
            .filter(|record| record["resourceType"] == resource_type)
            .count()
    };
    assert!(
        referred("Organization") > 0 && referred("Practitioner") > 0,
        "nothing was followed"
    );
}

#[test]
fn records_are_found_over_http_once_they_are_all_there() {
    let world = World::new(2, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    for path in [
        "/fhir/Patient",
        "/fhir/Coverage/x",
        "/fhir/Patient/$PATIENT_ID/Coverage",
        "/fhir/Patient/$PATIENT_ID/$everything",
        "/fhir/Patient/$PATIENT_ID/$summary",
        "/fhir/Patient/$PATIENT_ID/$pdf",
        "/fhir/Patient/$PATIENT_ID/$pdf?_format=zip",
        "/fhir/Nothing",
    ] {
        let answer = world.get(path, &connected.token);
        assert_eq!((answer.status, answer.issue().as_str()), (429, "transient"), "{path}");
        assert_eq!(
            (answer.header("x-retry-after"), answer.header("retry-after")),
            ("3", "3")
        );
    }
    let bearer = format!("Bearer {}", connected.token);
    let link = |content: &str| {
        let asked = json!({"content": content});
        world
            .server
            .post("/rest/health-links", &[("authorization", &bearer)], &asked)
    };
    for content in ["summary", "health-card"] {
        let answer = link(content);
        assert_eq!(answer.status, 429, "{content}: {}", answer.text);
        assert_eq!(
            (answer.header("x-retry-after"), answer.header("retry-after")),
            ("3", "3")
        );
        assert!(answer.json()["message"].is_string(), "{}", answer.text);
    }
    let listed = world.get("/rest/health-links", &connected.token);
    assert_eq!((listed.status, &listed.json()["healthLinks"]), (200, &json!([])));
    assert_eq!(world.get("/fhir/metadata", &connected.token).status, 200);
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let (status, _, file) = world.server.send_bytes(
        "GET",
        "/fhir/Patient/$PATIENT_ID/$pdf",
        &[("authorization", &bearer)],
        &[],
    );
    assert!(status == 200 && file.starts_with(b"%PDF-"), "{status}");
    for content in ["summary", "health-card"] {
        let answer = link(content);
        assert_eq!(answer.status, 201, "{content}: {}", answer.text);
    }
    let patient = world.get("/fhir/Patient/$PATIENT_ID", &connected.token);
    assert_eq!(patient.status, 200, "{}", patient.text);
    assert_eq!(patient.json()["id"], json!(connected.patient));
    let claims = world.get(
        "/fhir/ExplanationOfBenefit?patient=$PATIENT_ID&_total=accurate&_include=ExplanationOfBenefit:provider",
        &connected.token,
    );
    let claims = claims.json();
    let source = world.record_of("lakeshore", &connected);
    let count = source
        .iter()
        .filter(|record| record["resourceType"] == "ExplanationOfBenefit")
        .count();
    assert_eq!(claims["total"], json!(count));
    // The source's identifier finds the Patient too.
    let known = format!(
        "/fhir/Patient?identifier=urn:sandbox:lakeshore|{}",
        connected.source_patient
    );
    assert_eq!(
        world.get(&known, &connected.token).json()["entry"][0]["resource"]["id"],
        json!(connected.patient)
    );
    let tagged = format!(
        "/fhir/Coverage?_tag={}/tags/EndpointId|lakeshore&_summary=count",
        world.base_url()
    );
    assert!(world.get(&tagged, &connected.token).json()["total"].as_u64() > Some(0));
}

#[test]
fn what_the_source_did_not_grant_is_not_asked_for() {
    let world = World::new(2, Mode::Live);
    world.payer.turn("lakeshore", &json!({"withhold": ["Coverage"]}));
    world.work();
    let connected = world.synced("lakeshore", 0);
    assert_eq!(world.total("Coverage", &connected.token), 0);
    assert!(world.total("ExplanationOfBenefit", &connected.token) > 0);
}

#[test]
fn the_audit_log_of_a_consent_tells_what_became_of_its_syncs() {
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    let mut told = world.audit(&connected);
    told.retain(|line| line.starts_with("sync."));
    let at = told
        .iter()
        .position(|line| line.starts_with("sync.normalized "))
        .unwrap();
    let normalized = told.remove(at);
    assert!(
        normalized.contains("MedicationRequest ") && normalized.contains(" made"),
        "{normalized}"
    );
    // The sync's report has the same counts.
    let (data, job) = (world.server.folder(), job_of(&world, &connected));
    let shown = crate::commands::service_commands::json(data, &["sync", "show", &job]);
    let made = shown["rules"]["MedicationRequest"]["made"].as_u64().unwrap();
    assert!(
        made > 0 && normalized.contains(&format!("MedicationRequest {made} made")),
        "{shown}"
    );
    let named = |rule: &str| normalized.contains(&format!("{rule} "));
    assert!(
        shown["rules"].as_object().unwrap().keys().all(|rule| named(rule)),
        "{shown}"
    );
    let said = crate::commands::service_commands::done(data, &["sync", "show", &job]);
    let row = said
        .lines()
        .find(|line| line.trim_start().starts_with("MedicationRequest "))
        .unwrap();
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row, ["MedicationRequest", &made.to_string(), "0", "0", "0"], "{said}");
    let stored = format!("sync.stored {} stored, 0 unchanged", world.all_rows(&connected).len());
    assert_eq!(
        told,
        [
            &stored,
            "sync.completed completed",
            "sync.active started",
            "sync.waiting queued"
        ]
    );
}

fn job_of(world: &World, connected: &Connected) -> String {
    world.store().jobs().of_authorization(&connected.authorization).unwrap()[0]
        .id
        .clone()
}

#[test]
fn the_first_records_that_come_through_an_endpoint_validate_it() {
    let world = World::new(3, Mode::Live);
    let status = |endpoint: &str| world.store().endpoints().get(endpoint).unwrap().unwrap().status;
    let set = |endpoint: &str, status| {
        world
            .store()
            .endpoints()
            .set_status(endpoint, status, Actor::Operator)
            .unwrap();
    };
    let said = |connected: &Connected| {
        let audit = world.audit(connected);
        audit
            .iter()
            .filter(|line| line.starts_with("endpoint.status-set"))
            .cloned()
            .collect::<Vec<_>>()
    };
    for endpoint in ["lakeshore", "cedarway"] {
        set(endpoint, EndpointStatus::Available);
    }
    set("hilltop", EndpointStatus::Unavailable);
    world.payer.turn("cedarway", &json!({"no_records": true}));
    let first = world.connect("lakeshore", 0);
    assert_eq!(status("lakeshore"), EndpointStatus::Available);
    world.work();
    assert_eq!(world.end_of(&first), JobState::Completed);
    assert_eq!(status("lakeshore"), EndpointStatus::UserValidated);
    assert_eq!(said(&first), ["endpoint.status-set lakeshore USER_VALIDATED"]);
    // It happens once, only if records arrive, and only from the first status.
    assert!(said(&world.synced("lakeshore", 1)).is_empty());
    assert_eq!(world.end_of(&world.connect("cedarway", 0)), JobState::Failed);
    assert_eq!(status("cedarway"), EndpointStatus::Available);
    assert!(said(&world.synced("hilltop", 0)).is_empty());
    assert_eq!(status("hilltop"), EndpointStatus::Unavailable);
    assert!(said(&world.synced("riverbend", 0)).is_empty());
    assert_eq!(status("riverbend"), EndpointStatus::Live);
}
