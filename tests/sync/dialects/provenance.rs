//! Provenance that only comes along with what it is about.

use serde_json::json;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{at_source, missing};

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
