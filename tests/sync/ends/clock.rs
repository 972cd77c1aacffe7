//! A clock that is wrong for a moment ends no consent and erases no record.

use serde_json::Value;
use tabularium::consent::{AuthorizationState, JobState, Usage};
use tabularium::lake::Mode;

use super::super::world::{Connected, World};

const DAY: i64 = 86_400;

fn is_asked_to_erase(world: &World, connected: &Connected) -> bool {
    let authorization = world.store().authorizations().get(&connected.authorization).unwrap();
    authorization.unwrap().data_erased_at.is_some()
}

/// A server two days ahead for five seconds erased one-day records for good.
#[test]
fn a_clock_that_is_wrong_for_five_seconds_erases_nothing() {
    for wrong in [2 * DAY, -2 * DAY] {
        let world = World::working(1);
        let connected = world.connect_as("hilltop", 0, Usage::OneTime);
        assert_eq!(world.end_of(&connected), JobState::Completed);
        let rows = world.rows(&connected);
        let clock = world.store().clock();
        clock.advance(600);
        world.store().sweep().unwrap();
        clock.jump(wrong);
        for _ in 0..5 {
            world.store().sweep().unwrap();
            clock.advance(1);
        }
        clock.jump(-wrong);
        world.store().sweep().unwrap();
        assert!(!is_asked_to_erase(&world, &connected), "{wrong}");
        assert_eq!(world.rows(&connected), rows);
        let authorization = world
            .store()
            .authorizations()
            .get(&connected.authorization)
            .unwrap()
            .unwrap();
        assert_eq!(authorization.state, AuthorizationState::Exchanged);
        // The day ends as before.
        clock.advance(DAY - 700);
        world.store().sweep().unwrap();
        assert!(!is_asked_to_erase(&world, &connected), "{wrong}");
        clock.advance(100);
        world.store().sweep().unwrap();
        assert!(is_asked_to_erase(&world, &connected), "{wrong}");
        world.until("the erasure", || {
            world.store().erasures().open(0, 1).unwrap().is_empty()
        });
        assert!(world.rows(&connected).is_empty());
    }
}

#[test]
fn after_a_start_nothing_is_erased_for_some_minutes() {
    let world = World::working(1);
    let connected = world.connect_as("hilltop", 0, Usage::OneTime);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let now = world.store().clock().now() + 2 * DAY;
    let clock = tabularium::consent::Clock::at(now);
    let again = tabularium::consent::Store::open(world.server.folder(), clock.clone()).unwrap();
    for minutes in 0..5 {
        assert_eq!(again.sweep().unwrap().emptied, 0, "{minutes}");
        clock.advance(60);
    }
    assert_eq!(again.sweep().unwrap().emptied, 1);
}

/// A client that repeats a request of which it got no answer had to be authorized by its patient again.
#[test]
fn a_retry_across_a_jump_of_the_clock_ends_no_access() {
    for wrong in [2 * DAY, -2 * DAY] {
        let world = World::working(1);
        let connected = world.authorize("lakeshore", 0, Usage::Multiple);
        let first = world.tokens(&connected);
        assert_eq!(world.end_of(&connected), JobState::Completed);
        let clock = world.store().clock();
        clock.advance(600);
        world.store().sweep().unwrap();
        let refresh = |tokens: &Value| world.refresh("/oauth/token", tokens);
        let second = refresh(&first);
        assert_eq!(second.status, 200, "{}", second.text);
        clock.jump(wrong);
        assert_eq!(refresh(&first).status, 400, "{wrong}");
        clock.jump(-wrong);
        world.store().sweep().unwrap();
        let third = refresh(&second.json());
        assert_eq!(third.status, 200, "{wrong}: {}", third.text);
        // When the clock has been steady for some minutes, a token that comes again ends the family as ever.
        clock.advance(301);
        assert_eq!(refresh(&first).status, 400, "{wrong}");
        assert_eq!(refresh(&third.json()).status, 400, "{wrong}");
    }
}

/// While the clock is ahead, records of one day seem to be over. They must be there again as soon as it is right.
#[test]
fn records_are_there_again_as_soon_as_the_clock_is_right() {
    let world = World::working(1);
    let connected = world.connect_as("hilltop", 0, Usage::OneTime);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let found = |jump: i64| {
        world.store().clock().jump(jump);
        let presence = world.store().consents().presence(&connected.consent).unwrap();
        presence.patients.len()
    };
    assert_eq!([found(0), found(2 * DAY), found(-2 * DAY)], [1, 0, 1]);
}

/// A clock that was ten years ahead for a moment stopped the scheduled syncs and the retries for ten years.
#[test]
fn what_a_clock_that_was_ahead_has_put_off_goes_on() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect_as("lakeshore", 0, Usage::Multiple);
    let later = world.store().clock().now() + 3_650 * DAY;
    let file = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    let sql = "UPDATE sync_job SET state = 'COMPLETED', created_at = ?1, finished_at = ?1 WHERE authorization = ?2";
    file.execute(sql, rusqlite::params![later, connected.authorization])
        .unwrap();
    file.execute("UPDATE application SET sync_frequency = 'daily'", [])
        .unwrap();
    assert_eq!(
        world.store().jobs().schedule().unwrap(),
        0,
        "the first look does not count"
    );
    world.store().clock().advance(600);
    assert_eq!(world.store().jobs().schedule().unwrap(), 1);
    assert_eq!(world.store().jobs().schedule().unwrap(), 0);
    let sql = "UPDATE sync_job SET state = 'WAITING', not_before = ?1 WHERE state = 'CREATED'";
    file.execute(sql, [later]).unwrap();
    assert_eq!(world.store().jobs().due(9, 9).unwrap().len(), 1);
}
