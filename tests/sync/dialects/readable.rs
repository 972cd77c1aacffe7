//! Types that can be read by id but not searched, as in CARIN and US Core.

use serde_json::json;
use tabularium::consent::{JobState, MissingReason, Usage};
use tabularium::lake::Mode;

use super::super::world::{Connected, World};
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
    // No Patient was stored, and 1,067 of 1,301 references led nowhere.
    for statement in [false, true] {
        let world = World::new(1, Mode::Live);
        let knobs = json!({"unsearchable": READ_ONLY, "no_statement": !statement});
        world.payer.turn("lakeshore", &knobs);
        // An earlier release listed such a source's searchable types only.
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
    assert_eq!(gaps[0].resource_type, "Patient");
    assert!(gaps[0].detail.contains("the service made one"), "{}", gaps[0].detail);
    // The source's own Patient replaces the generated one, and never the other way round.
    world.payer.turn("lakeshore", &json!({"unserved": []}));
    again(&world, &connected);
    let own = patient();
    assert!(!is_made(&own) && own["name"][0]["family"] == person.family, "{own}");
    world.payer.turn("lakeshore", &json!({"unserved": ["Patient"]}));
    again(&world, &connected);
    assert_eq!(patient()["name"], own["name"]);
    assert!(!is_made(&patient()));
}

/// The Patient of a consent, and whether the service generated it.
fn patient(world: &World, token: &str) -> (serde_json::Value, bool) {
    let answer = world.get("/fhir/Patient/$PATIENT_ID", token);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let patient = answer.json();
    let system = format!("{}/tags/GeneratedBy", world.base_url());
    let tags = patient["meta"]["tag"].as_array().unwrap();
    let is_made = tags.iter().any(|tag| tag["system"] == system);
    (patient, is_made)
}

/// A person connects a source twice in one session, and the syncs end one after the other.
fn twice(world: &World, knobs: [serde_json::Value; 2]) -> (Connected, String) {
    world.payer.turn("lakeshore", &knobs[0]);
    let first = world.authorize("lakeshore", 0, Usage::Multiple);
    let second = world.add_source(&first.consent, "lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&first);
    for connected in [&first, &second] {
        assert_eq!(
            world.end_of(connected),
            JobState::Completed,
            "{:?}",
            world.audit(connected)
        );
    }
    world.payer.turn("lakeshore", &knobs[1]);
    again(world, &second);
    (first, tokens["access_token"].as_str().unwrap().to_owned())
}

#[test]
fn who_authorizes_again_has_one_patient_which_is_the_sources_own_if_it_ever_gave_it() {
    let (unserved, served) = (json!({"unserved": ["Patient"]}), json!({"unserved": []}));
    // The Patient is generated first. Later the other authorization fetches the source's own.
    let world = World::working(1);
    let (first, token) = twice(&world, [unserved.clone(), served.clone()]);
    let (own, is_made) = patient(&world, &token);
    assert!(!is_made, "{own}");
    assert_eq!(own["id"], json!(first.patient));
    assert_eq!(world.total("Patient", &token), 1);
    let about = format!("/fhir/ExplanationOfBenefit?patient={}&_summary=count", first.patient);
    let claims = world.get(&about, &token).json()["total"].as_u64();
    assert_eq!(claims, Some(world.total("ExplanationOfBenefit", &token)));
    assert!(claims > Some(0));
    // The source's own Patient comes first, and the other authorization gets none. The generated one used to replace
    // it.
    let world = World::working(1);
    world.payer.turn("lakeshore", &served);
    let first = world.authorize("lakeshore", 0, Usage::Multiple);
    let second = world.add_source(&first.consent, "lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&first);
    for connected in [&first, &second] {
        assert_eq!(world.end_of(connected), JobState::Completed);
    }
    // As if the second authorization had never fetched the Patient itself.
    let forget =
        "DELETE FROM sync_count WHERE type = 'Patient' AND job IN (SELECT id FROM sync_job WHERE authorization = ?1)";
    world.sql(forget, &second.authorization);
    world.payer.turn("lakeshore", &unserved);
    again(&world, &second);
    let (kept, is_made) = patient(&world, tokens["access_token"].as_str().unwrap());
    assert!(
        !is_made && kept["name"][0]["family"] == world.payer.person(0).family,
        "{kept}"
    );
}
