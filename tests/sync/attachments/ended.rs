//! The end of a consent: its documents cannot be read in any form, and their bytes are gone.

use serde_json::json;
use tabularium::consent::{Actor, JobState, Usage};

use super::world::{World, again, ask, at_source, files, path, world};
use crate::harness::lake::files_below;

/// The status of each request for a Binary: whole, in part, only the head, conditional, and as a resource.
fn each_way(world: &World, path: &str, token: &str) -> [u16; 6] {
    let ways: [(&str, &[(&str, &str)]); 6] = [
        ("GET", &[]),
        ("HEAD", &[]),
        ("GET", &[("range", "bytes=0-0")]),
        ("HEAD", &[("range", "bytes=0-0")]),
        ("GET", &[("if-none-match", "*")]),
        ("GET", &[("accept", "application/fhir+json")]),
    ];
    ways.map(|(method, headers)| ask(world, method, path, token, headers).0)
}

/// Checks that no file below the data folder, except the store, contains the line of a document that names its owner.
fn assert_gone(world: &World, document: &str) {
    let line = document.lines().find(|line| line.contains("edition")).unwrap();
    let mark = line.split(", edition").next().unwrap();
    for file in files_below(world.server.folder()) {
        let bytes = std::fs::read(&file).unwrap();
        let found = memchr::memmem::find(&bytes, mark.as_bytes());
        assert!(
            found.is_none() || file.ends_with("service.sqlite"),
            "{} is left",
            file.display()
        );
    }
}

#[test]
fn documents_go_with_their_consent() {
    let world = world(2, &json!({}));
    let (own, other) = (world.synced("riverbend", 0), world.synced("riverbend", 1));
    // An older snapshot has an earlier edition.
    world.payer.turn("riverbend", &json!({"attachment_edition": 1}));
    again(&world, &own);
    let path = path(&world, &own, "text");
    let marks = ["text", "pdf"].map(|kind| at_source(&world, &own, kind));
    assert_eq!(files(&world).len(), 15);
    world
        .store()
        .consents()
        .revoke(&own.consent, Actor::Application)
        .unwrap();
    assert_eq!(each_way(&world, &path, &own.token), [401; 6]);
    world.until("the erasure", || {
        world.store().erasures().open(0, 1).unwrap().is_empty()
    });
    assert_eq!(each_way(&world, &path, &world.server.application_token()), [404; 6]);
    assert_eq!(files(&world).len(), 5, "those of the other person");
    for mark in marks {
        assert_gone(&world, &mark);
    }
    let path = self::path(&world, &other, "text");
    assert_eq!(ask(&world, "GET", &path, &other.token, &[]).0, 200);
    assert!(tabularium::lake::check::check(world.server.folder()).unwrap().is_good());
}

#[test]
fn documents_of_one_time_go_after_its_day() {
    let world = world(1, &json!({}));
    let own = world.connect_as("riverbend", 0, Usage::OneTime);
    assert_eq!(world.end_of(&own), JobState::Completed);
    let path = path(&world, &own, "text");
    let mark = at_source(&world, &own, "text");
    let application = || world.server.application_token();
    let readable = [200, 200, 206, 200, 304, 200];
    assert_eq!(each_way(&world, &path, &own.token), readable);
    world.store().clock().advance(86_399);
    world.store().sweep().unwrap();
    assert_eq!(each_way(&world, &path, &application()), readable);
    assert_eq!(files(&world).len(), 5);
    world.store().clock().advance(1);
    world.store().sweep().unwrap();
    assert_eq!(each_way(&world, &path, &own.token), [401; 6]);
    world.until("the erasure", || {
        world.store().erasures().open(0, 1).unwrap().is_empty()
    });
    assert_eq!(each_way(&world, &path, &application()), [404; 6]);
    assert_eq!(files(&world).len(), 0);
    assert_gone(&world, &mark);
    assert!(tabularium::lake::check::check(world.server.folder()).unwrap().is_good());
}
