//! Kills a service between two steps that belong together. A lock on one of its databases holds the service at that
//! moment.

use std::cell::RefCell;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use serde_json::{Value, json};
use tabularium::consent::{Actor, AuthorizationState, JobState};
use tabularium::lake::{LakeWriter, Mode};

use super::super::journey::{Journey, Refreshed, total};
use super::super::world::{Connected, World};
use super::service::{Held, Service, check_files, check_records, check_states, is_erased, lasting_address, see};

/// If a moment is missed, the test retries with the next person.
const PEOPLE: u64 = 8;
const OPEN_ERASURES: &str = "SELECT count(*) FROM erasure WHERE done_at IS NULL";

/// A service that is killed.
struct Stage {
    world: World,
    address: String,
    service: RefCell<Option<Service>>,
}

impl Stage {
    fn new() -> Stage {
        let world = World::new(PEOPLE, Mode::Live);
        world.payer.turn(
            "all",
            &json!({"withhold": ["ExplanationOfBenefit", "Observation"], "attachments": ["pdf", "html"]}),
        );
        let stage = Stage {
            world,
            address: lasting_address(),
            service: RefCell::default(),
        };
        stage.start();
        stage
    }

    fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    fn start(&self) {
        *self.service.borrow_mut() = Some(Service::start(&self.world, &self.address));
    }

    fn kill(&self) {
        self.service.take().unwrap().kill();
    }

    /// Continues after the kill to the end of all work, and checks everything.
    fn finish(&self, looks: &[super::service::Seen]) {
        if self.service.borrow().is_none() {
            self.start();
        }
        let open = "SELECT count(*) FROM sync_job WHERE state IN ('CREATED', 'WAITING', 'ACTIVE')";
        self.world.until("the end of all syncs", || self.world.count(open) == 0);
        self.world
            .until("the erasures", || self.world.count(OPEN_ERASURES) == 0);
        self.kill();
        check_states(&self.world);
        check_records(&self.world, looks);
        check_files(&self.world);
    }

    /// Waits for a short-lived condition without a long sleep.
    fn catch(&self, what: &str, so: impl Fn() -> bool) {
        let begun = std::time::Instant::now();
        while !so() {
            assert!(
                begun.elapsed() < super::super::world::PATIENCE,
                "waited in vain: {what}"
            );
            std::thread::park_timeout(Duration::from_micros(200));
        }
    }

    /// The lake's writer, after waiting for the lock.
    fn writer(&self) -> LakeWriter {
        let taken = RefCell::new(None);
        self.catch("the lake's lock", || {
            *taken.borrow_mut() = self.world.lake().writer().ok();
            taken.borrow().is_some()
        });
        taken.take().unwrap()
    }

    /// Connects a person and waits for their records.
    fn synced(&self, organization: &str, person: u64) -> Connected {
        let connected = self.world.connect(organization, person);
        assert_eq!(self.world.end_of(&connected), JobState::Completed);
        connected
    }
}

/// Tries with one person after another until `hit` returns that the moment was met.
fn until_hit(what: &str, mut hit: impl FnMut(u64) -> bool) {
    assert!((0..PEOPLE).any(&mut hit), "never met: {what}");
}

#[test]
fn killed_between_a_sources_grant_and_its_commit() {
    let stage = Stage::new();
    let base = stage.base();
    until_hit("a grant", |person| {
        let asked = || stage.world.payer.requests("lakeshore")["token"].as_u64().unwrap();
        let before = asked();
        let used = "SELECT count(*) FROM attempt WHERE used_at IS NOT NULL";
        let used_before = stage.world.count(used);
        let journey = Journey::begin(&stage.world, &base, "lakeshore", person);
        std::thread::scope(|scope| {
            let (world, mut journey) = (&stage.world, journey);
            let going = scope.spawn(move || {
                let tokens = journey.tokens(&AtomicUsize::new(0));
                (journey, tokens)
            });
            stage.catch("an answer", || world.count(used) > used_before);
            let held = Held::store(world);
            let hit = held.count("SELECT count(*) FROM patient_authorization WHERE state = 'AUTHORIZING'") > 0;
            stage.catch("the exchange", || asked() > before);
            stage.kill();
            drop(held);
            check_states(world);
            stage.start();
            let (_, tokens) = going.join().unwrap();
            let connected = world.connected(&tokens);
            assert_eq!(world.end_of(&connected), JobState::Completed);
            assert_eq!(total(&base, "Patient", &tokens), 1);
            hit
        })
    });
    stage.finish(&[]);
}

#[test]
fn killed_during_a_commit_of_the_lake() {
    let stage = Stage::new();
    let mut looks = Vec::new();
    until_hit("a commit", |person| {
        let files = || crate::harness::lake::files_below(&stage.world.server.folder().join("data")).len();
        let before = files();
        let connected = stage.world.connect("riverbend", person);
        stage.catch("files", || files() > before);
        let held = Held::catalog(&stage.world);
        let hit = !see(&stage.world).contains_key(&connected.owner);
        stage.kill();
        drop(held);
        check_states(&stage.world);
        let look = see(&stage.world);
        assert_eq!(look.contains_key(&connected.owner), !hit, "a commit that nobody made");
        assert!(!hit || stage.world.job(&connected) == JobState::Active);
        looks.push(look);
        stage.start();
        assert_eq!(stage.world.end_of(&connected), JobState::Completed);
        hit
    });
    stage.finish(&looks);
}

#[test]
fn killed_between_the_lakes_commit_and_the_end_of_the_job() {
    let stage = Stage::new();
    let mut looks = Vec::new();
    until_hit("a sync", |person| {
        let connected = stage.world.connect("riverbend", person);
        stage.catch("a sync", || {
            stage.world.job(&connected) != JobState::Created && stage.world.job(&connected) != JobState::Waiting
        });
        let held = Held::store(&stage.world);
        let hit = held.count("SELECT count(*) FROM sync_job WHERE state = 'ACTIVE'") == 1;
        // The job cannot end while the store is locked, but it does everything else.
        stage.catch("a commit", || see(&stage.world).contains_key(&connected.owner));
        stage.kill();
        drop(held);
        check_states(&stage.world);
        let look = see(&stage.world);
        assert!(look[&connected.owner] > 10, "{look:?}");
        looks.push(look);
        assert!(!hit || stage.world.job(&connected) == JobState::Active);
        stage.start();
        // The job runs again and changes nothing.
        assert_eq!(stage.world.end_of(&connected), JobState::Completed);
        let jobs = stage
            .world
            .store()
            .jobs()
            .of_authorization(&connected.authorization)
            .unwrap();
        assert_eq!((jobs.len(), jobs[0].attempts), (1, if hit { 2 } else { 1 }));
        hit
    });
    stage.finish(&looks);
}

#[test]
fn killed_before_an_erasure_is_recorded() {
    let stage = Stage::new();
    let people = [0, 1].map(|person| stage.synced("lakeshore", person));
    let writer = stage.writer();
    stage
        .world
        .store()
        .consents()
        .revoke(&people[0].consent, Actor::Application)
        .unwrap();
    stage.kill();
    drop(writer);
    check_states(&stage.world);
    assert_eq!(stage.world.count(OPEN_ERASURES), 1);
    stage.finish(&[]);
    assert!(is_erased(&stage.world, &people[0]) && !is_erased(&stage.world, &people[1]));
}

#[test]
fn killed_between_an_erasures_record_and_its_end() {
    let stage = Stage::new();
    let stays = stage.synced("lakeshore", 0);
    let people: Vec<Connected> = (1..PEOPLE).map(|person| stage.synced("cedarway", person)).collect();
    let recorded = "SELECT count(*) FROM tabularium_erasure";
    let mut gone = 0;
    until_hit("an erasure", |person| {
        let Some(connected) = people.get(person as usize) else {
            return false;
        };
        gone += 1;
        let before = stage.world.lake().snapshot().erasures();
        stage
            .world
            .store()
            .consents()
            .revoke(&connected.consent, Actor::Application)
            .unwrap();
        stage.catch("a record", || {
            stage.world.lake().refresh().unwrap();
            stage.world.lake().snapshot().erasures() > before
        });
        let held = Held::catalog(&stage.world);
        let hit = held.count(recorded) > 0;
        stage.kill();
        drop(held);
        check_states(&stage.world);
        // Once the erasure is recorded, the rows are hidden.
        stage.world.lake().refresh().unwrap();
        let shown = stage.world.total("Patient", &stage.world.server.application_token());
        assert_eq!(shown, 1 + people.len() as u64 - gone);
        stage.start();
        stage
            .world
            .until("the erasure", || stage.world.count(OPEN_ERASURES) == 0);
        assert!(is_erased(&stage.world, connected));
        hit
    });
    stage.finish(&[]);
    assert!(!is_erased(&stage.world, &stays));
}

#[test]
fn killed_between_an_erasures_end_and_its_note() {
    let stage = Stage::new();
    let people = [0, 1].map(|person| stage.synced("lakeshore", person));
    let before = stage.world.lake().snapshot().erasures();
    stage
        .world
        .store()
        .consents()
        .revoke(&people[0].consent, Actor::Application)
        .unwrap();
    let held = Held::store(&stage.world);
    let noted = held.count(OPEN_ERASURES) == 0;
    // The erasure is recorded and finished. It removes files, so the test does not read them before the kill.
    stage.catch("the erasure", || {
        stage.world.lake().refresh().unwrap();
        stage.world.lake().snapshot().erasures() == before + 2
    });
    stage.kill();
    drop(held);
    assert!(!see(&stage.world).contains_key(&people[0].owner));
    check_states(&stage.world);
    assert_eq!(stage.world.count(OPEN_ERASURES), i64::from(!noted));
    stage.finish(&[]);
    assert!(is_erased(&stage.world, &people[0]) && !is_erased(&stage.world, &people[1]));
    let audit = stage.world.audit(&people[0]);
    assert_eq!(
        audit.iter().filter(|line| line.starts_with("records.erased")).count(),
        1
    );
}

#[test]
fn killed_while_tokens_are_refreshed() {
    let stage = Stage::new();
    let base = stage.base();
    let begin = |person| {
        let mut journey = Journey::begin(&stage.world, &base, "lakeshore", person);
        let tokens = journey.tokens(&AtomicUsize::new(0));
        (journey, tokens)
    };
    let mut people: Vec<(Journey, Value)> = (0..4).map(begin).collect();
    let used = "SELECT count(*) FROM refresh_token WHERE used_at IS NOT NULL";
    // In the first round no refresh can be completed before the kill; in the second some are.
    for refreshed_first in [false, true] {
        let before = stage.world.count(used);
        let held = Held::store(&stage.world);
        let came: Vec<Refreshed> = std::thread::scope(|scope| {
            let asking: Vec<_> = people
                .iter()
                .map(|(journey, tokens)| scope.spawn(|| journey.refreshed(tokens)))
                .collect();
            if refreshed_first {
                drop(held);
                stage.catch("a refresh", || stage.world.count(used) > before);
                stage.kill();
            } else {
                stage.kill();
                drop(held);
                assert_eq!(stage.world.count(used), before);
            }
            check_states(&stage.world);
            stage.start();
            asking.into_iter().map(|asking| asking.join().unwrap()).collect()
        });
        for ((_, tokens), came) in people.iter_mut().zip(came) {
            match came {
                Refreshed::Granted(new) => {
                    assert_ne!(
                        (&new["access_token"], &new["refresh_token"]),
                        (&tokens["access_token"], &tokens["refresh_token"])
                    );
                    *tokens = new;
                }
                Refreshed::Lost => assert!(refreshed_first, "a refresh token was used without a refresh"),
            }
        }
        check_states(&stage.world);
    }
    let given = "SELECT count(*) - count(DISTINCT jti) FROM access_token";
    assert_eq!(stage.world.count(given), 0);
    stage.finish(&[]);
}

/// A source with single-use refresh tokens sent the next one to a service that was killed. The patient's grant is lost,
/// the job reports it, and the patient can connect again.
#[test]
fn killed_between_a_sources_renewal_and_its_commit() {
    let stage = Stage::new();
    stage.kill();
    let connected = stage.world.connect("lakeshore", 0);
    stage.world.payer.expire("lakeshore");
    let asked = || stage.world.payer.requests("lakeshore")["token"].as_u64().unwrap();
    let before = asked();
    stage.start();
    stage.catch("a sync", || stage.world.job(&connected) == JobState::Active);
    let held = Held::store(&stage.world);
    stage.catch("the renewal", || asked() > before);
    stage.kill();
    drop(held);
    check_states(&stage.world);
    stage.start();
    let end = stage.world.end_of(&connected);
    let state = stage
        .world
        .store()
        .authorizations()
        .of_consent(&connected.consent)
        .unwrap()[0]
        .state;
    let legal = [
        (JobState::Failed, AuthorizationState::Errored),
        (JobState::Completed, AuthorizationState::Exchanged),
    ];
    assert!(legal.contains(&(end, state)), "{end:?} {state:?}");
    assert_eq!(
        see(&stage.world).contains_key(&connected.owner),
        end == JobState::Completed
    );
    stage.synced("lakeshore", 0);
    stage.finish(&[]);
}
