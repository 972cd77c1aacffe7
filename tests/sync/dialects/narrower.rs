//! Searches that require a category, an intent or a status.

use serde_json::json;
use tabularium::consent::MissingReason;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{at_source, missing, named};

#[test]
fn searches_that_need_more_are_made_and_what_they_do_not_reach_is_said() {
    let require = json!({"Observation": "category", "MedicationRequest": "intent", "Procedure": "status"});
    for more in [
        json!({}),
        json!({"silent": true, "no_statement": true}),
        json!({"silent": true, "tell_required": true}),
    ] {
        let world = World::new(1, Mode::Live);
        world.payer.turn("riverbend", &json!({"require": require}));
        world.payer.turn("riverbend", &more);
        world.work();
        let connected = world.synced("riverbend", 0);
        for resource_type in ["Observation", "MedicationRequest", "Procedure", "Condition"] {
            let count = at_source(&world, "riverbend", &connected, resource_type);
            assert!(count > 0, "{resource_type}");
            assert_eq!(
                world.total(resource_type, &connected.token),
                count,
                "{resource_type} {more}"
            );
        }
        let gaps = missing(&world, &connected);
        // The searches cover all of R4's values of intent and status, but categories may have others.
        assert_eq!(named(&gaps), [("Observation", None, MissingReason::NotAsked)], "{more}");
        assert!(gaps[0].detail.contains("vital-signs"), "{}", gaps[0].detail);
    }
}

#[test]
fn a_search_that_nothing_helps_is_missing() {
    let world = World::new(1, Mode::Live);
    world.payer.turn(
        "riverbend",
        &json!({"require": {"Observation": "encounter", "Immunization": "encounter"}}),
    );
    world.work();
    let connected = world.synced("riverbend", 0);
    let gaps = missing(&world, &connected);
    let immunization = gaps.iter().find(|one| one.resource_type == "Immunization").unwrap();
    assert_eq!(
        (immunization.reason, immunization.status),
        (MissingReason::NotServed, Some(400))
    );
    assert!(gaps.iter().any(|one| one.resource_type == "Observation"), "{gaps:?}");
    assert!(world.total("Condition", &connected.token) > 0);
}
