//! A `_count` above the source's maximum.

use serde_json::json;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{again, assert_whole};

#[test]
fn a_source_with_a_maximum_count_gives_all_its_records() {
    // Blue Button accepts at most 50: 1 of 1,116 records was fetched, and the sync was COMPLETED.
    for (knobs, size) in [
        (json!({"max_count": 50}), 50),
        (json!({"max_count": 50, "silent": true, "no_statement": true}), 50),
        (json!({"max_count": 15, "page": 5}), 10),
        (json!({"refuse_count": true, "page": 10}), 0),
    ] {
        let world = World::new(1, Mode::Live);
        world.payer.turn("lakeshore", &knobs);
        world.work();
        let asked = || world.payer.requests("lakeshore")["fhir"].as_u64().unwrap();
        let connected = world.synced("lakeshore", 0);
        let first = asked();
        assert_eq!(
            world.store().dialects().get("lakeshore").unwrap().page_size,
            Some(size),
            "{knobs}"
        );
        // The next sync knows the accepted size.
        again(&world, &connected);
        let second = asked() - first;
        assert!(second < first, "{knobs}: {second} requests after {first}");
        assert_whole(&world, "lakeshore", &connected);
    }
}

#[test]
fn a_maximum_that_has_shrunk_is_found_out_anew() {
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    assert_eq!(world.store().dialects().get("lakeshore").unwrap().page_size, Some(200));
    world.payer.turn("lakeshore", &json!({"max_count": 20, "silent": true}));
    again(&world, &connected);
    assert_eq!(world.store().dialects().get("lakeshore").unwrap().page_size, Some(20));
    assert_whole(&world, "lakeshore", &connected);
}
