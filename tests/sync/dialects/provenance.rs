//! Provenance that is only available as an include.

use serde_json::json;
use tabularium::consent::MissingReason;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{at_source, missing, named};

#[test]
fn provenance_is_asked_for_along_with_its_targets() {
    let world = World::new(1, Mode::Live);
    world.payer.turn("riverbend", &json!({"provenance_along": true}));
    world.work();
    let connected = world.synced("riverbend", 0);
    assert_eq!(missing(&world, &connected), []);
    let count = at_source(&world, "riverbend", &connected, "Provenance");
    assert!(count > 0);
    assert_eq!(world.total("Provenance", &connected.token), count);
}

#[test]
fn a_source_that_refuses_provenance_along_gives_its_records_without() {
    // A 403 lost each type, and a 400 caused narrower searches with the same parameter.
    for (knobs, status, reason) in [
        (json!({"refuse_along": 400}), 400, MissingReason::NotServed),
        (json!({"refuse_along": 403}), 403, MissingReason::Forbidden),
        (
            json!({"refuse_along": 400, "silent": true, "max_count": 20}),
            400,
            MissingReason::NotServed,
        ),
        (
            json!({"refuse_along": 400, "require": {"Observation": "category"}}),
            400,
            MissingReason::NotServed,
        ),
    ] {
        let world = World::new(1, Mode::Live);
        world.payer.turn("riverbend", &json!({"provenance_along": true}));
        world.payer.turn("riverbend", &knobs);
        world.work();
        let connected = world.synced("riverbend", 0);
        let gaps = missing(&world, &connected);
        let of_provenance: Vec<_> = gaps.iter().filter(|gap| gap.resource_type == "Provenance").collect();
        assert_eq!(of_provenance.len(), 1, "{knobs} {gaps:?}");
        assert_eq!(
            (of_provenance[0].status, of_provenance[0].reason),
            (Some(status), reason)
        );
        assert!(of_provenance[0].detail.contains("Condition"), "{gaps:?}");
        for resource_type in ["Condition", "Observation", "Immunization"] {
            let count = at_source(&world, "riverbend", &connected, resource_type);
            assert!(count > 0, "{resource_type}");
            assert_eq!(
                world.total(resource_type, &connected.token),
                count,
                "{resource_type} {knobs} {gaps:?}"
            );
        }
        let others: Vec<_> = gaps
            .iter()
            .filter(|gap| gap.resource_type != "Provenance")
            .cloned()
            .collect();
        let required = knobs.get("require").is_some();
        let expected = required.then_some(("Observation", None, MissingReason::NotAsked));
        assert_eq!(named(&others), expected.into_iter().collect::<Vec<_>>(), "{knobs}");
    }
}
