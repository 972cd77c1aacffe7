//! One category is forbidden, as with granular scopes.

use serde_json::json;
use tabularium::consent::MissingReason;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{at_source, missing};

#[test]
fn of_a_type_with_a_forbidden_category_the_others_are_kept() {
    // All 577 Observations were dropped.
    let world = World::new(1, Mode::Live);
    world
        .payer
        .turn("riverbend", &json!({"forbid": {"Observation": ["laboratory"]}}));
    world.work();
    let connected = world.synced("riverbend", 0);
    let gaps = missing(&world, &connected);
    world.payer.turn("riverbend", &json!({"forbid": {}}));
    let count = |code: &str| {
        let records = world.record_of("riverbend", &connected);
        let of = |one: &&serde_json::Value| {
            one["resourceType"] == "Observation" && one["category"][0]["coding"][0]["code"] == code
        };
        records.iter().filter(of).count() as u64
    };
    let (all, forbidden) = (
        at_source(&world, "riverbend", &connected, "Observation"),
        count("laboratory"),
    );
    assert!(forbidden > 0 && forbidden < all);
    assert_eq!(
        world.total("Observation", &connected.token),
        all - forbidden,
        "{gaps:?}"
    );
    let part = gaps
        .iter()
        .find(|one| one.part.as_deref() == Some("category=laboratory"));
    let part = part.unwrap_or_else(|| panic!("{gaps:?}"));
    assert_eq!((part.reason, part.status), (MissingReason::Forbidden, Some(403)));
    assert!(gaps.iter().all(|one| one.resource_type == "Observation"), "{gaps:?}");
}

#[test]
fn a_type_whose_every_category_is_forbidden_is_said_once() {
    let world = World::new(1, Mode::Live);
    let all = ["problem-list-item", "encounter-diagnosis", "health-concern"];
    let knobs = json!({"forbid": {"Condition": all}, "require": {"Condition": "category"}, "no_statement": true});
    world.payer.turn("riverbend", &knobs);
    world.work();
    let connected = world.synced("riverbend", 0);
    let gaps = missing(&world, &connected);
    assert!(
        gaps.iter()
            .any(|one| one.resource_type == "Condition" && one.part.is_none()),
        "{gaps:?}"
    );
    assert!(world.total("Observation", &connected.token) > 0);
}
