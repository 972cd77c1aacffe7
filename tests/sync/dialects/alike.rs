//! A source that refuses everything for the same reason is not asked repeatedly.

use serde_json::json;
use tabularium::consent::MissingReason;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{missing, named};

/// The searched types of people's own records at the source.
const SEARCHED: [&str; 14] = [
    "AllergyIntolerance",
    "CarePlan",
    "CareTeam",
    "Condition",
    "Device",
    "DiagnosticReport",
    "DocumentReference",
    "Encounter",
    "Goal",
    "Immunization",
    "MedicationRequest",
    "Observation",
    "Procedure",
    "Provenance",
];

#[test]
fn a_source_that_refuses_every_search_is_soon_left_alone() {
    // The source used to get several hundred narrower searches, with pages of each size.
    for knobs in [
        json!({"refuse_searches": 400}),
        json!({"refuse_searches": 400, "silent": true, "no_statement": true}),
        json!({"refuse_searches": 403, "silent": true}),
    ] {
        let world = World::new(1, Mode::Live);
        world.payer.turn("riverbend", &knobs);
        world.work();
        let connected = world.synced("riverbend", 0);
        let gaps = missing(&world, &connected);
        let reason = if knobs["refuse_searches"] == 403 {
            MissingReason::Forbidden
        } else {
            MissingReason::NotServed
        };
        let expected: Vec<_> = SEARCHED
            .iter()
            .map(|resource_type| (*resource_type, None, reason))
            .collect();
        assert_eq!(named(&gaps), expected, "{knobs}");
        let asked = world.payer.requests("riverbend")["fhir"].as_u64().unwrap();
        assert!(asked <= 80, "{asked} requests: {knobs}");
    }
}

#[test]
fn what_helps_no_type_is_not_tried_for_every_type() {
    let world = World::new(1, Mode::Live);
    // An unpredictable parameter.
    let require: serde_json::Map<_, _> = SEARCHED
        .iter()
        .filter(|resource_type| **resource_type != "Immunization")
        .map(|resource_type| ((*resource_type).to_owned(), json!("encounter")))
        .collect();
    world
        .payer
        .turn("riverbend", &json!({"require": require, "silent": true}));
    world.work();
    let connected = world.synced("riverbend", 0);
    let gaps = missing(&world, &connected);
    assert_eq!(gaps.len(), SEARCHED.len() - 1, "{gaps:?}");
    assert!(world.total("Immunization", &connected.token) > 0);
    let asked = world.payer.requests("riverbend")["fhir"].as_u64().unwrap();
    assert!(asked <= 130, "{asked} requests");
}
