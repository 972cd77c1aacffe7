//! CapabilityStatements that leave types out.

use serde_json::json;
use tabularium::consent::MissingReason;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{assert_whole, missing};

#[test]
fn types_that_a_statement_leaves_out_are_asked_for_all_the_same() {
    // Their records were missing without a word.
    let world = World::new(1, Mode::Live);
    world.payer.turn(
        "lakeshore",
        &json!({"unlisted": ["Coverage", "Procedure", "Organization"]}),
    );
    world.work();
    let connected = world.synced("lakeshore", 0);
    assert_whole(&world, "lakeshore", &connected);
    assert!(world.total("Coverage", &connected.token) > 0);
    assert!(world.total("Organization", &connected.token) > 0);
}

#[test]
fn a_type_that_only_the_directory_lists_is_missing_where_it_is_refused() {
    let world = World::new(1, Mode::Live);
    let knobs = json!({"unlisted": ["Coverage"], "unserved": ["Coverage"]});
    world.payer.turn("lakeshore", &knobs);
    world.work();
    let connected = world.synced("lakeshore", 0);
    let gaps = missing(&world, &connected);
    let told = gaps.iter().find(|gap| gap.detail.contains("does not list"));
    let told = told.unwrap_or_else(|| panic!("{gaps:?}"));
    assert_eq!(
        (told.ty.as_str(), told.reason, told.status),
        ("Coverage", MissingReason::NotServed, Some(404))
    );
    assert!(gaps.iter().all(|gap| gap.ty == "Coverage"), "{gaps:?}");
}
