//! Repeated syncs: changed records get a new version, others keep theirs, and nothing is duplicated.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tabularium::consent::{JobState, Usage};
use tabularium::lake::Mode;

use super::super::world::{Connected, World, text};

fn versions(world: &World, connected: &Connected) -> BTreeMap<String, i64> {
    let rows = world.rows(connected).into_iter();
    rows.map(|(identity, row)| (format!("{}/{}", identity.2, identity.3), row.version))
        .collect()
}

#[test]
fn what_comes_again_unchanged_keeps_its_version() {
    let world = World::working(2);
    let connected = world.synced("lakeshore", 0);
    let before = versions(&world, &connected);
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    assert_eq!(world.end_of(&connected), JobState::Completed);
    assert_eq!(versions(&world, &connected), before);

    let user = world.payer.person(0).user;
    let changed = world.payer.bump("lakeshore", &user, None);
    let added = json!({"resourceType": "Coverage", "id": "added", "status": "active",
                       "beneficiary": {"reference": format!("Patient/{}", connected.source_patient)},
                       "payor": [{"display": "somebody"}]});
    world.payer.put("lakeshore", &user, &added);
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let here = |name: &str| {
        let (resource_type, id) = name.split_once('/').unwrap();
        format!(
            "{resource_type}/{}",
            world.lake().synced_id(connected.owner, "lakeshore", resource_type, id)
        )
    };
    let mut expected = before;
    expected.insert(here(&changed), 2);
    expected.insert(here("Coverage/added"), 1);
    assert_eq!(versions(&world, &connected), expected);
}

#[test]
fn while_records_are_fetched_again_the_old_ones_are_there() {
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    world.rest();
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    assert_eq!(world.get("/fhir/Patient", &connected.token).status, 200);
}

#[test]
fn a_failed_sync_of_known_records_leaves_them() {
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    let before = versions(&world, &connected);
    world.payer.turn("lakeshore", &json!({"no_records": true}));
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    assert_eq!(versions(&world, &connected), before);
    assert_eq!(world.get("/fhir/Patient", &connected.token).status, 200);
}

#[test]
fn applications_are_synced_as_often_as_they_ask_for() {
    let world = World::working(2);
    let (lasting, once) = (
        world.connect("lakeshore", 0),
        world.connect_as("hilltop", 1, Usage::OneTime),
    );
    for connected in [&lasting, &once] {
        assert_eq!(world.end_of(connected), JobState::Completed);
    }
    let jobs = |connected: &Connected| {
        world
            .store()
            .jobs()
            .of_authorization(&connected.authorization)
            .unwrap()
            .len()
    };
    let day = 86_400;
    for (frequency, days) in [("daily", 1), ("weekly", 7), ("monthly", 30)] {
        world.sql(
            &format!("UPDATE application SET sync_frequency = '{frequency}' WHERE id = ?1"),
            "local",
        );
        let before = jobs(&lasting);
        world.store().clock().advance(days * day - 1);
        assert_eq!(world.store().jobs().schedule().unwrap(), 0, "{frequency}");
        world.store().clock().advance(1);
        world.until("the scheduled sync", || {
            jobs(&lasting) == before + 1 && !world.job(&lasting).is_open()
        });
        assert_eq!(world.job(&lasting), JobState::Completed);
        // A due job is created only once.
        assert_eq!(world.store().jobs().schedule().unwrap(), 0, "{frequency}");
    }
    assert_eq!(jobs(&once), 1);
    world.sql("UPDATE application SET sync_frequency = 'off' WHERE id = ?1", "local");
    world.store().clock().advance(40 * day);
    assert_eq!(world.store().jobs().schedule().unwrap(), 0);
}

#[test]
fn an_authorizations_records_are_fetched_once_at_a_time() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    let due = world.store().jobs().due(9, 9).unwrap();
    assert_eq!(due.len(), 2);
    assert!(world.store().jobs().begin(&due[0].job).unwrap().is_some());
    assert!(world.store().jobs().begin(&due[1].job).unwrap().is_none());
    assert!(world.store().jobs().due(9, 9).unwrap().is_empty());
    assert!(world.store().jobs().complete(&due[0].job, "").unwrap());
    assert_eq!(world.store().jobs().due(9, 9).unwrap(), due[1..]);
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Completed);
}

#[test]
fn a_worker_takes_up_what_another_left_behind() {
    let world = World::new(2, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    // A killed process leaves this state: a begun job and its spool.
    assert_eq!(world.store().jobs().due(9, 9).unwrap().len(), 1);
    let job = world.store().jobs().of_authorization(&connected.authorization).unwrap()[0]
        .id
        .clone();
    assert!(world.store().jobs().begin(&job).unwrap().is_some());
    assert!(world.store().jobs().begin(&job).unwrap().is_none(), "begun twice");
    let spool = world.server.folder().join("spool").join(&job);
    std::fs::create_dir_all(&spool).unwrap();
    std::fs::write(spool.join("Patient.ndjson"), "{").unwrap();
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Completed);
    assert_eq!(
        world.rows(&connected).len(),
        world.record_of("lakeshore", &connected).len()
    );
    assert!(!spool.exists());
    let mut seen: Vec<String> = world
        .rows(&connected)
        .iter()
        .map(|(_, row)| row.resource.clone())
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), world.rows(&connected).len());
    assert!(!text(&serde_json::from_str(&seen[0]).unwrap(), "id").is_empty());
}

/// The entries of a page of a record, each with mode, address and version, and the path of its `next` link.
fn record_page(world: &World, path: &str, token: &str) -> (Vec<[String; 3]>, Option<String>) {
    let answer = world.get(path, token);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    let page = answer.json();
    let entries = page["entry"].as_array().unwrap().iter().map(|entry| {
        let meta = &entry["resource"]["meta"];
        [&entry["search"]["mode"], &entry["fullUrl"], &meta["versionId"]].map(|part| part.as_str().unwrap().to_owned())
    });
    let links = page["link"].as_array().unwrap();
    let next = links.iter().find(|link| link["relation"] == "next");
    let next = next.map(|link| format!("/fhir/{}", text(link, "url").split_once("/fhir/").unwrap().1));
    (entries.collect(), next)
}

#[test]
fn a_walk_through_a_record_is_of_one_moment_whatever_syncs_bring() {
    let world = World::working(8);
    let connected = world.synced("lakeshore", 0);
    let user = world.payer.person(0).user;
    let whole = |count: usize| {
        let path = format!("/fhir/Patient/$PATIENT_ID/$everything?_count={count}");
        record_page(&world, &path, &connected.token)
    };
    let (before, more) = whole(1_000);
    assert!(more.is_none() && before.len() > 60);
    let (mut found, mut next) = whole(before.len().div_ceil(5));
    let mut pages = 1;
    while let Some(path) = next {
        // A new version of one record, a new record, and another person's record.
        world.payer.bump("lakeshore", &user, None);
        let added = json!({"resourceType": "Coverage", "id": format!("added-{pages}"), "status": "active",
                           "beneficiary": {"reference": format!("Patient/{}", connected.source_patient)},
                           "payor": [{"display": "somebody"}]});
        world.payer.put("lakeshore", &user, &added);
        world
            .store()
            .jobs()
            .create(&connected.authorization, "refresh")
            .unwrap();
        world.synced("lakeshore", pages);
        assert_eq!(world.end_of(&connected), JobState::Completed);
        let (entries, further) = record_page(&world, &path, &connected.token);
        found.extend(entries);
        (next, pages) = (further, pages + 1);
    }
    assert_eq!(pages, 5);
    assert_eq!(found, before, "each once, in its order, as it was when the walk began");
    let (after, _) = whole(1_000);
    let names =
        |entries: &[[String; 3]]| -> BTreeSet<String> { entries.iter().map(|[_, name, _]| name.clone()).collect() };
    let (old, new) = (names(&before), names(&after));
    assert!(new.is_superset(&old));
    assert_eq!(
        new.difference(&old).filter(|name| name.contains("/Coverage/")).count(),
        4
    );
    assert!(
        before.iter().any(|entry| !after.contains(entry)),
        "one has another version"
    );
}
