//! What fails beside stored records is asked for again by jobs of their own, and by nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tabularium::consent::{JobState, MissingReason};

use super::super::rogue::{ALL, bundle, condition, found, synced};
use super::super::world::{Connected, World};
use super::{again, missing, named, shown};
use crate::harness::rogue::{Rogue, Said};

/// A source that answers 500 for Observations and for the Practitioner to which a Condition refers, until `sound` is
/// set.
fn source(sound: Arc<AtomicBool>) -> Rogue {
    Rogue::start(move |asked, _| {
        let fails = !sound.load(Ordering::SeqCst);
        match asked.path.split('?').next().unwrap() {
            "/fhir/Patient/p" => Said::json(&json!({"resourceType": "Patient", "id": "p"})),
            "/fhir/Condition" => {
                let mut one = condition("a");
                one["recorder"] = json!({"reference": "Practitioner/d"});
                Said::json(&bundle(&[one], None))
            }
            "/fhir/Observation" | "/fhir/Practitioner/d" if fails => Said::status(500),
            "/fhir/Observation" => {
                let observation = json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"},
                    "subject": {"reference": "Patient/p"}});
                Said::json(&bundle(&[observation], None))
            }
            "/fhir/Practitioner/d" => {
                Said::json(&json!({"resourceType": "Practitioner", "id": "d", "name": [{"family": "Own"}]}))
            }
            _ => Said::json(&bundle(&[], None)),
        }
    })
}

/// Waits for the end of this number of retries.
fn wait_for(world: &World, connected: &Connected, retries: usize) {
    world.until("the end of a retry", || {
        let ended = world
            .retries(connected)
            .iter()
            .filter(|job| !job.state.is_open())
            .count();
        ended == retries
    });
}

#[test]
fn what_failed_beside_stored_records_is_asked_for_again_alone() {
    let sound = Arc::new(AtomicBool::new(false));
    let rogue = source(sound.clone());
    let (world, connected) = synced(&rogue, ALL);
    let jobs = world.store().jobs().of_authorization(&connected.authorization).unwrap();
    assert_eq!((jobs.len(), jobs[1].attempts), (2, 1), "the first round is stored");
    assert_eq!(found(&world, "Condition", &connected).len(), 1);
    let gaps = missing(&world, &connected);
    assert_eq!(
        named(&gaps),
        [
            ("Observation", None, MissingReason::Failed),
            ("Practitioner", None, MissingReason::Failed)
        ]
    );
    // Applications are told what is still tried, and the state of the sync stays.
    let before = shown(&world, &connected);
    assert_eq!(before["sync"]["state"], "COMPLETED");
    assert_eq!(
        before["sync"]["retry"]["resourceTypes"],
        json!(["Observation", "Practitioner"])
    );
    let introspected = world.get("/oauth/introspect", &connected.token).json();
    assert_eq!(introspected["sync"]["retry"], before["sync"]["retry"]);
    let now = world.store().clock().now();
    let next = before["sync"]["retry"]["nextAt"].as_i64().unwrap() - now;
    assert!((50..=60).contains(&next), "{next}");
    // Each further retry waits longer, and asks only for what failed.
    let asked = rogue.count("/fhir/Condition");
    for (number, wait) in [(1, 61), (2, 301), (3, 1_801)] {
        world.store().clock().advance(wait);
        wait_for(&world, &connected, number);
        assert_eq!(named(&missing(&world, &connected)), named(&gaps), "{number}");
    }
    assert_eq!(rogue.count("/fhir/Condition"), asked);
    sound.store(true, Ordering::SeqCst);
    world.store().clock().advance(7_201);
    wait_for(&world, &connected, 4);
    assert_eq!(missing(&world, &connected), []);
    assert_eq!(found(&world, "Observation", &connected).len(), 1);
    assert_eq!(found(&world, "Practitioner", &connected).len(), 1);
    assert_eq!(rogue.count("/fhir/Condition"), asked);
    let after = shown(&world, &connected);
    assert_eq!(after["sync"]["state"], "COMPLETED");
    assert_eq!(after["sync"]["lastSyncedAt"], before["sync"]["lastSyncedAt"]);
    assert!(after["sync"].get("retry").is_none() && after.get("syncIssues").is_none());
    let audit = world.audit(&connected).join("\n");
    assert!(
        audit.contains("sync.retried in 60 s: Observation, Practitioner"),
        "{audit}"
    );
}

#[test]
fn after_four_retries_the_next_sync_asks() {
    let sound = Arc::new(AtomicBool::new(false));
    let rogue = source(sound.clone());
    let (world, connected) = synced(&rogue, ALL);
    for (number, wait) in [(1, 61), (2, 301), (3, 1_801), (4, 7_201)] {
        world.store().clock().advance(wait);
        wait_for(&world, &connected, number);
    }
    assert_eq!(world.retries(&connected).len(), 4);
    assert_eq!(missing(&world, &connected).len(), 2);
    assert!(shown(&world, &connected)["sync"].get("retry").is_none());
    // A new sync stops retries that wait.
    again(&world, &connected);
    assert_eq!(world.retries(&connected).len(), 5);
    sound.store(true, Ordering::SeqCst);
    again(&world, &connected);
    let retries = world.retries(&connected);
    assert_eq!((retries.len(), retries[0].state), (5, JobState::Failed));
    assert_eq!(missing(&world, &connected), []);
    assert_eq!(found(&world, "Observation", &connected).len(), 1);
}

#[test]
fn all_records_that_refer_to_a_failed_attachment_are_read_again() {
    let sound = Arc::new(AtomicBool::new(false));
    let is_sound = sound.clone();
    let rogue = Rogue::start(move |asked, _| {
        let record = |id: &str| {
            let mut one = condition(id);
            one["evidence"] = json!([{"detail": [{"reference": "Binary/b"}]}]);
            one
        };
        let path = asked.path.split('?').next().unwrap();
        match path {
            "/fhir/Patient/p" => Said::json(&json!({"resourceType": "Patient", "id": "p"})),
            "/fhir/Condition" => Said::json(&bundle(&[record("a"), record("c")], None)),
            "/fhir/Binary/b" if is_sound.load(Ordering::SeqCst) => Said::text("text/plain", "the file"),
            "/fhir/Binary/b" => Said::status(500),
            "/fhir/Condition/a" | "/fhir/Condition/c" => Said::json(&record(&path["/fhir/Condition/".len()..])),
            _ => Said::json(&bundle(&[], None)),
        }
    });
    let (world, connected) = synced(&rogue, ALL);
    assert_eq!(
        named(&missing(&world, &connected)),
        [("Binary", None, MissingReason::Failed)]
    );
    sound.store(true, Ordering::SeqCst);
    world.store().clock().advance(61);
    wait_for(&world, &connected, 1);
    assert_eq!(missing(&world, &connected), []);
    for id in ["a", "c"] {
        assert_eq!(rogue.count(&format!("/fhir/Condition/{id}")), 1, "{id}");
    }
    assert_eq!(rogue.count("/fhir/Condition?"), 1);
    let binary = found(&world, "Condition", &connected)[0]["evidence"][0]["detail"][0]["reference"].clone();
    let answer = world.get(&format!("/fhir/{}", binary.as_str().unwrap()), &connected.token);
    assert_eq!((answer.status, answer.text.as_str()), (200, "the file"));
}

#[test]
fn a_retry_ends_with_the_consent() {
    let rogue = source(Arc::default());
    let (world, connected) = synced(&rogue, ALL);
    let asked = rogue.asked().len();
    world
        .store()
        .consents()
        .revoke(&connected.consent, tabularium::consent::Actor::Operator)
        .unwrap();
    world.store().clock().advance(61);
    wait_for(&world, &connected, 1);
    assert_eq!(world.retries(&connected)[0].state, JobState::Failed);
    assert_eq!(rogue.asked().len(), asked);
}
