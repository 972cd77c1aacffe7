//! A person whom the source knows under several ids.

use serde_json::{Value, json};
use tabularium::consent::MissingReason;

use super::super::rogue::{ALL, bundle, found, synced};
use super::super::world::{Connected, World};
use super::{again, missing, named};
use crate::harness::rogue::{Rogue, Said};

fn patient(id: &str, links: &[&str]) -> Value {
    let link = |other: &&str| json!({"type": "seealso", "other": {"reference": format!("Patient/{other}")}});
    let links: Vec<Value> = links.iter().map(link).collect();
    json!({"resourceType": "Patient", "id": id, "name": [{"family": "Own"}], "link": links})
}

fn condition(id: &str, patient: &str) -> Value {
    json!({"resourceType": "Condition", "id": id, "subject": {"reference": format!("Patient/{patient}")}})
}

/// A source with these Patients, and with a Condition of each.
fn source(patients: Vec<Value>) -> Rogue {
    Rogue::start(move |asked, _| {
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        let of = |id: &str| patients.iter().find(|one| one["id"] == id);
        if let Some(id) = path.strip_prefix("/fhir/Patient/") {
            return of(id).map_or(Said::status(403), Said::json);
        }
        let asked_for = query.split('&').find_map(|part| part.strip_prefix("patient="));
        match (path, asked_for.and_then(of)) {
            ("/fhir/Condition", Some(patient)) => {
                let id = patient["id"].as_str().unwrap();
                Said::json(&bundle(
                    &[condition(&format!("c-{id}"), id), condition("strangers", "stranger")],
                    None,
                ))
            }
            ("/fhir/Condition", None) => Said::status(403),
            _ => Said::json(&bundle(&[], None)),
        }
    })
}

fn total(world: &World, path: &str, connected: &Connected) -> u64 {
    let answer = world.get(path, &connected.token);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()["total"].as_u64().unwrap()
}

#[test]
fn records_of_linked_patients_are_the_persons() {
    let patients = vec![
        patient("p", &["q"]),
        patient("q", &["p", "r"]),
        patient("r", &[]),
        patient("s", &["p"]),
    ];
    let rogue = source(patients);
    let (world, connected) = synced(&rogue, ALL);
    // `q` is linked, and `r` by `q`. That `s` links to the person is not known, because this source lists no search for
    // it.
    assert_eq!(found(&world, "Patient", &connected).len(), 3);
    assert_eq!(found(&world, "Condition", &connected).len(), 3);
    for path in [
        "/fhir/Condition?patient=$PATIENT_ID&_summary=count",
        "/fhir/Condition?subject=Patient/$PATIENT_ID&_summary=count",
    ] {
        assert_eq!(total(&world, path, &connected), 3, "{path}");
    }
    let whole = world
        .get("/fhir/Patient/$PATIENT_ID/$everything", &connected.token)
        .json();
    let count = |resource_type: &str| {
        let entries = whole["entry"].as_array().unwrap().iter();
        entries
            .filter(|entry| entry["resource"]["resourceType"] == resource_type)
            .count()
    };
    assert_eq!((count("Patient"), count("Condition")), (3, 3));
    // What is another person's stays out, and is told.
    let gaps = missing(&world, &connected);
    assert_eq!(named(&gaps), [("Condition", None, MissingReason::NotTaken)]);
    // The primary Patient is that of the grant.
    let shown = world.get("/oauth/introspect", &connected.token).json();
    assert_eq!(shown["patient"], format!("Patient/{}", connected.patient));
    again(&world, &connected);
    assert_eq!(found(&world, "Condition", &connected).len(), 3);
}

#[test]
fn a_linked_patient_that_is_refused_is_told() {
    let rogue = source(vec![patient("p", &["hidden"])]);
    let (world, connected) = synced(&rogue, ALL);
    let gaps = missing(&world, &connected);
    let part = Some("of a linked Patient");
    assert!(
        named(&gaps).contains(&("Condition", part, MissingReason::Forbidden)),
        "{gaps:?}"
    );
    assert!(
        named(&gaps).contains(&("Patient", part, MissingReason::Forbidden)),
        "{gaps:?}"
    );
    assert_eq!(found(&world, "Condition", &connected).len(), 1);
}

#[test]
fn links_are_followed_to_16_ids() {
    let chain = |at: usize| {
        patient(
            &if at == 0 { "p".to_owned() } else { format!("p{at}") },
            &[&format!("p{}", at + 1), "p"],
        )
    };
    let rogue = source((0..40).map(chain).collect());
    let (world, connected) = synced(&rogue, ALL);
    assert_eq!(found(&world, "Patient", &connected).len(), 16);
    assert_eq!(rogue.count("/fhir/Patient/"), 16);
    let too_many = ("Patient", Some("of a linked Patient"), MissingReason::NotAsked);
    assert!(named(&missing(&world, &connected)).contains(&too_many));
}

#[test]
fn the_patient_may_have_another_id_than_the_grant_says() {
    let rogue = Rogue::start(|asked, _| match asked.path.split('?').next().unwrap() {
        "/fhir/Patient/p" => Said::json(&patient("encrypted", &[])),
        "/fhir/Condition" => Said::json(&bundle(
            &[
                condition("a", "encrypted"),
                condition("b", "p"),
                condition("c", "other"),
            ],
            None,
        )),
        _ => Said::json(&bundle(&[], None)),
    });
    let (world, connected) = synced(&rogue, ALL);
    let patients = found(&world, "Patient", &connected);
    assert_eq!(patients.len(), 1);
    assert_eq!(patients[0]["id"], connected.patient);
    let conditions = found(&world, "Condition", &connected);
    assert_eq!(conditions.len(), 2);
    for condition in conditions {
        assert_eq!(
            condition["subject"]["reference"],
            format!("Patient/{}", connected.patient)
        );
    }
    assert_eq!(
        total(&world, "/fhir/Condition?patient=$PATIENT_ID&_summary=count", &connected),
        2
    );
    again(&world, &connected);
    assert_eq!(found(&world, "Patient", &connected).len(), 1);
}
