//! The end of a consent: its jobs stop, its rows leave the lake, and no rows follow.

use serde_json::json;
use tabularium::consent::{Actor, JobState, Readiness, Usage};
use tabularium::lake::Mode;
use tabularium::sync::carry_out_erasures;

use super::super::world::{Connected, World};

fn erased(world: &World) -> bool {
    world.store().erasures().open(0, 1).unwrap().is_empty()
}

/// The number of files below the lake's data that contain these bytes.
fn files_with(world: &World, bytes: &str) -> usize {
    let files = crate::harness::lake::files_below(&world.server.folder().join("data"));
    let has =
        |path: &std::path::PathBuf| memchr::memmem::find(&std::fs::read(path).unwrap(), bytes.as_bytes()).is_some();
    files.iter().filter(|path| has(path)).count()
}

#[test]
fn revoking_takes_the_rows_out_of_the_lake_and_leaves_others() {
    let world = World::working(3);
    let people: Vec<Connected> = (0..3).map(|person| world.synced("lakeshore", person)).collect();
    let others = world.rows(&people[1]);
    let application = world.server.application_token();
    let patients = world.total("Patient", &application);
    assert_eq!(
        world
            .store()
            .consents()
            .revoke(&people[0].consent, Actor::Application)
            .unwrap(),
        1
    );
    assert_eq!(world.get("/fhir/Patient", &people[0].token).status, 401);
    world.until("the erasure", || erased(&world));
    assert!(world.rows(&people[0]).is_empty());
    assert_eq!(files_with(&world, &people[0].patient), 0);
    assert_eq!(world.rows(&people[1]), others);
    assert_eq!(world.total("Patient", &application), patients - 1);
    assert_eq!(world.get("/fhir/Patient", &people[1].token).status, 200);
    assert_eq!(world.store().credentials().get(&people[0].authorization).unwrap(), None);
    // The second request changes nothing.
    assert_eq!(
        world
            .store()
            .consents()
            .revoke(&people[0].consent, Actor::Application)
            .unwrap(),
        0
    );
}

#[test]
fn many_consents_end_at_once() {
    let world = World::working(6);
    let people: Vec<Connected> = (0..6).map(|person| world.synced("lakeshore", person)).collect();
    world.rest();
    for connected in &people[..5] {
        world
            .store()
            .consents()
            .revoke(&connected.consent, Actor::Application)
            .unwrap();
    }
    let left = world.rows(&people[5]);
    let before = world.lake().snapshot().erasures();
    assert_eq!(
        carry_out_erasures(world.store(), world.lake(), 0, &world.rules())
            .unwrap()
            .done,
        5
    );
    for connected in &people[..5] {
        assert!(world.rows(connected).is_empty());
        assert_eq!(files_with(&world, &connected.patient), 0);
    }
    assert_eq!(world.rows(&people[5]), left);
    // The erasures are recorded one by one and finished together.
    assert_eq!(world.lake().snapshot().erasures(), before + 6);
    assert_eq!(
        carry_out_erasures(world.store(), world.lake(), 0, &world.rules())
            .unwrap()
            .done,
        0
    );
}

#[test]
fn revoking_in_the_middle_of_a_sync_stops_it() {
    let world = World::new(2, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    world.payer.turn("lakeshore", &json!({"slow": 40, "page": 2}));
    world.work();
    let asked = || world.payer.requests("lakeshore")["fhir"].as_u64().unwrap();
    let before = asked();
    world.until("the first pages", || asked() > before + 3);
    assert_eq!(world.job(&connected), JobState::Active);
    world
        .store()
        .consents()
        .revoke(&connected.consent, Actor::Application)
        .unwrap();
    assert_eq!(world.job(&connected), JobState::Failed);
    world.until("the erasure", || erased(&world));
    // The job is not running any more: its spool is gone, and no requests are sent.
    let job = world.store().jobs().of_authorization(&connected.authorization).unwrap()[0]
        .id
        .clone();
    let spool = world.server.folder().join("spool").join(job);
    world.until("the end of the job", || !spool.exists());
    let next = world.connect("cedarway", 1);
    assert_eq!(world.end_of(&next), JobState::Completed);
    assert!(world.rows(&connected).is_empty());
}

#[test]
fn a_job_that_was_stopped_commits_nothing() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    // Another writer holds the lake, so the job has all records and waits.
    let writer = world.lake().writer().unwrap();
    world.work();
    let fetched = || {
        let asked = world.payer.requests("lakeshore");
        asked["fhir"].as_u64().unwrap() > 3
    };
    world.until("the fetching", fetched);
    world
        .store()
        .consents()
        .revoke(&connected.consent, Actor::Application)
        .unwrap();
    drop(writer);
    world.until("the erasure", || erased(&world));
    world.rest();
    assert!(world.rows(&connected).is_empty());
}

#[test]
fn one_time_data_goes_after_its_day() {
    let world = World::working(1);
    let connected = world.connect_as("hilltop", 0, Usage::OneTime);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    world.store().clock().advance(86_399);
    world.store().sweep().unwrap();
    assert!(erased(&world) && !world.rows(&connected).is_empty());
    world.store().clock().advance(1);
    world.store().sweep().unwrap();
    world.until("the erasure", || erased(&world));
    assert!(world.rows(&connected).is_empty());
    assert_eq!(files_with(&world, &connected.patient), 0);
}

#[test]
fn a_first_sync_that_is_not_done_when_one_time_data_goes_is_stopped() {
    // The job stayed open forever. It was restarted at each start, and clients were told to wait for it.
    let world = World::new(1, Mode::Live);
    let connected = world.connect_as("hilltop", 0, Usage::OneTime);
    let readiness = || world.store().consents().presence(&connected.consent).unwrap().readiness;
    assert_eq!(readiness(), Readiness::Syncing { again_at: None });
    world.store().clock().advance(86_400);
    world.store().sweep().unwrap();
    let job = world
        .store()
        .jobs()
        .of_authorization(&connected.authorization)
        .unwrap()
        .remove(0);
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(job.failure.as_deref(), Some("over after its one day"));
    assert_eq!(readiness(), Readiness::Expired);
    world.work();
    world.until("the erasure", || erased(&world));
    assert!(world.rows(&connected).is_empty());
}

#[test]
fn an_erasure_that_a_damaged_file_keeps_from_its_end_stays_asked_for_until_it_is_done() {
    let world = World::working(2);
    let (damaged, other) = (world.synced("lakeshore", 0), world.synced("lakeshore", 1));
    world.rest();
    let files = crate::harness::lake::files_below(&world.server.folder().join("data"));
    let of = |connected: &Connected, path: &std::path::PathBuf| {
        memchr::memmem::find(&std::fs::read(path).unwrap(), connected.patient.as_bytes()).is_some()
    };
    let file = files
        .iter()
        .find(|path| of(&damaged, path) && !of(&other, path))
        .unwrap();
    let whole = std::fs::read(file).unwrap();
    std::fs::write(file, &whole[..whole.len() / 2]).unwrap();
    for connected in [&damaged, &other] {
        world
            .store()
            .consents()
            .revoke(&connected.consent, Actor::Application)
            .unwrap();
    }
    let erased = |connected: &Connected| {
        world
            .audit(connected)
            .iter()
            .any(|line| line.starts_with("records.erased"))
    };
    let recorded = || world.lake().writer().unwrap().unfinished().len();
    // A retry does not record the erasure again.
    for (after, done) in [(0, 1), (0, 0)] {
        let came = carry_out_erasures(world.store(), world.lake(), after, &world.rules()).unwrap();
        assert_eq!((came.done, came.left), (done, 1));
        assert_eq!(recorded(), 1);
    }
    assert!(!erased(&damaged) && erased(&other));
    let last = world.store().erasures().open(0, 9).unwrap()[0].id;
    let later = carry_out_erasures(world.store(), world.lake(), last, &world.rules()).unwrap();
    assert_eq!((later.done, later.left, later.last), (0, 0, last));
    std::fs::write(file, &whole).unwrap();
    // A new worker retries it.
    world.work();
    world.until("the erasure", || erased(&damaged));
    assert_eq!(recorded(), 0);
    assert!(world.rows(&damaged).is_empty());
    assert_eq!(files_with(&world, &damaged.patient), 0);
}
