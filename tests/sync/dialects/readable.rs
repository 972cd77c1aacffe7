//! Types that can be read by id and not searched, as CARIN and US Core have them.

use serde_json::json;
use tabularium::consent::MissingReason;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{again, assert_whole, missing, named};

const READ_ONLY: [&str; 8] = [
    "InsurancePlan",
    "Location",
    "Medication",
    "Organization",
    "Patient",
    "Practitioner",
    "PractitionerRole",
    "Procedure",
];

#[test]
fn what_can_only_be_read_is_read_where_records_refer_to_it() {
    // No Patient came, and 1,067 of 1,301 references led nowhere.
    for statement in [false, true] {
        let world = World::new(1, Mode::Live);
        let knobs = json!({"unsearchable": READ_ONLY, "no_statement": !statement});
        world.payer.turn("lakeshore", &knobs);
        // As an earlier release listed such a source: by what can be searched.
        let listed = "UPDATE endpoint SET resources = '[\"Coverage\",\"ExplanationOfBenefit\"]' WHERE id = ?1";
        world.sql(listed, "lakeshore");
        world.work();
        let connected = world.synced("lakeshore", 0);
        assert_whole(&world, "lakeshore", &connected);
        assert_eq!(world.total("Patient", &connected.token), 1);
        assert!(world.total("Organization", &connected.token) > 0);
    }
}

#[test]
fn a_reference_to_what_is_not_there_is_said() {
    let world = World::new(1, Mode::Live);
    let person = world.payer.person(0);
    let coverage = json!({"resourceType": "Coverage", "id": "lonely", "status": "active",
        "beneficiary": {"reference": format!("Patient/{}", person.patient)},
        "payor": [{"reference": "Organization/none"}, {"reference": "Organization/none-either"}]});
    world.payer.put("lakeshore", &person.user, &coverage);
    world.work();
    let connected = world.synced("lakeshore", 0);
    let gaps = missing(&world, &connected);
    assert_eq!(named(&gaps), [("Organization", None, MissingReason::NotFound)]);
    assert_eq!((gaps[0].records, gaps[0].status), (Some(2), Some(404)));
}

#[test]
fn a_source_without_a_patient_gets_one_until_it_gives_its_own() {
    let world = World::new(1, Mode::Live);
    world.payer.turn("lakeshore", &json!({"unserved": ["Patient"]}));
    let person = world.payer.person(0);
    let claim = json!({"resourceType": "ExplanationOfBenefit", "id": "inside", "status": "active", "use": "claim",
        "outcome": "complete", "patient": {"reference": "#me"}, "created": "2026-01-01", "type": {"text": "x"},
        "insurer": {"display": "x"}, "provider": {"display": "x"}, "insurance": [],
        "contained": [{"resourceType": "Patient", "id": "me", "name": [{"family": "Inside"}], "birthDate": "1970-01-01"}]});
    world.payer.put("lakeshore", &person.user, &claim);
    world.work();
    let connected = world.synced("lakeshore", 0);
    let patient = || {
        let answer = world.get("/fhir/Patient/$PATIENT_ID", &connected.token);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    };
    let is_made = |patient: &serde_json::Value| {
        let tags = patient["meta"]["tag"].as_array().unwrap();
        let system = format!("{}/tags/GeneratedBy", world.base_url());
        tags.iter()
            .any(|tag| tag["system"] == system && tag["code"] == "patient")
    };
    let made = patient();
    assert!(is_made(&made), "{made}");
    assert_eq!(
        (&made["name"][0]["family"], &made["birthDate"]),
        (&json!("Inside"), &json!("1970-01-01"))
    );
    let gaps = missing(&world, &connected);
    assert_eq!(gaps[0].ty, "Patient");
    assert!(gaps[0].detail.contains("the service made one"), "{}", gaps[0].detail);
    // Its own takes the place of ours, and ours never that of its own.
    world.payer.turn("lakeshore", &json!({"unserved": []}));
    again(&world, &connected);
    let own = patient();
    assert!(!is_made(&own) && own["name"][0]["family"] == person.family, "{own}");
    world.payer.turn("lakeshore", &json!({"unserved": ["Patient"]}));
    again(&world, &connected);
    assert_eq!(patient()["name"], own["name"]);
    assert!(!is_made(&patient()));
}
