//! The forms in which sources write the address of a next page.

use serde_json::json;
use tabularium::consent::{Actor, MissingReason};
use tabularium::lake::Mode;

use super::super::world::World;
use super::{again, assert_whole, missing};

#[test]
fn next_pages_are_found_however_they_are_written() {
    for next in ["under", "path", "query", "http"] {
        let world = World::new(1, Mode::Live);
        world.payer.turn("lakeshore", &json!({"page": 3, "next": next}));
        world.work();
        let connected = world.synced("lakeshore", 0);
        world.payer.turn("lakeshore", &json!({"next": "under"}));
        assert_whole(&world, "lakeshore", &connected);
    }
}

#[test]
fn next_pages_at_another_host_are_said_and_followed_once_the_operator_says_so() {
    let world = World::new(1, Mode::Live);
    world.payer.turn("lakeshore", &json!({"page": 3, "next": "host"}));
    world.work();
    let connected = world.synced("lakeshore", 0);
    let gaps = missing(&world, &connected);
    let claims = gaps
        .iter()
        .find(|one| one.resource_type == "ExplanationOfBenefit")
        .unwrap();
    assert_eq!(claims.reason, MissingReason::Failed);
    let origin = world.payer.base.replace("127.0.0.1", "localhost");
    assert!(
        claims.detail.contains(&origin) && claims.detail.contains("--pages-at"),
        "{}",
        claims.detail
    );
    let elsewhere = || world.store().dialects().get("lakeshore").unwrap().elsewhere;
    assert_eq!(elsewhere().as_deref(), Some(origin.as_str()));
    let data = world.server.folder();
    let check = ["endpoint", "check", "lakeshore", "--allow-private-sources"];
    let said = crate::commands::service_commands::done(data, &check);
    assert!(said.contains(&format!("--pages-at {origin}")), "{said}");
    world
        .store()
        .endpoints()
        .set_pages("lakeshore", &[origin], Actor::Operator)
        .unwrap();
    assert_eq!(elsewhere(), None);
    again(&world, &connected);
    world.payer.turn("lakeshore", &json!({"next": "under"}));
    assert_whole(&world, "lakeshore", &connected);
}
