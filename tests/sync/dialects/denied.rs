//! 401 for one type, with access that the source takes for all others.

use serde_json::json;
use tabularium::consent::{AuthorizationState, JobState, MissingReason};
use tabularium::lake::Mode;

use super::super::rogue::{ALL, bundle, condition, connect, found, settings, synced};
use super::super::world::World;
use super::{missing, named};
use crate::harness::rogue::{Rogue, Said};

/// A source whose Patient, and whose Conditions, are answered with these statuses. It refuses Observations by 401.
fn source(patient: u16, conditions: u16) -> Rogue {
    Rogue::start(move |asked, _| match asked.path.split('?').next().unwrap() {
        "/fhir/Patient/p" if patient == 200 => Said::json(&json!({"resourceType": "Patient", "id": "p"})),
        path if path.starts_with("/fhir/Patient") => Said::status(patient),
        "/fhir/Condition" if conditions == 200 => Said::json(&bundle(&[condition("a"), condition("b")], None)),
        "/fhir/Condition" => Said::status(conditions),
        "/fhir/Account" | "/fhir/Group" | "/fhir/Practitioner" => Said::status(404),
        _ => Said::status(401),
    })
}

#[test]
fn one_type_that_is_refused_by_401_is_not_the_end() {
    let rogue = source(200, 200);
    let (world, connected) = synced(&rogue, ALL);
    assert_eq!(found(&world, "Condition", &connected).len(), 2);
    let gaps = missing(&world, &connected);
    assert!(
        named(&gaps).contains(&("Observation", None, MissingReason::Forbidden)),
        "{gaps:?}"
    );
    assert!(world.retries(&connected).is_empty());
}

#[test]
fn access_has_ended_when_the_patient_is_refused_and_nothing_was_answered() {
    for (patient, conditions, ended) in [(401, 401, true), (401, 200, false), (404, 401, false)] {
        let rogue = source(patient, conditions);
        let world = World::new(1, Mode::Live);
        let connected = connect(&world, &rogue, ALL);
        world.work_at(settings());
        let state = world.end_of(&connected);
        let stored = conditions == 200;
        assert_eq!(
            state == JobState::Completed,
            stored,
            "{patient} {conditions}: {:?}",
            world.audit(&connected)
        );
        let authorization = world
            .store()
            .authorizations()
            .get(&connected.authorization)
            .unwrap()
            .unwrap();
        assert_eq!(authorization.state == AuthorizationState::Errored, !stored);
        // The credential goes only with the access.
        let kept = world
            .store()
            .credentials()
            .get(&connected.authorization)
            .unwrap()
            .is_some();
        assert_eq!(kept, !ended, "{patient} {conditions}");
    }
}
