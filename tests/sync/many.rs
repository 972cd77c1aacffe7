//! Many people at once, and a service that is killed while it serves them.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use serde_json::Value;
use tabularium::consent::JobState;
use tabularium::lake::Mode;

use super::journey::{Journey, total};
use super::world::{World, text};

const PEOPLE: u64 = 50;
const ORGANIZATIONS: [&str; 4] = ["lakeshore", "cedarway", "hilltop", "riverbend"];

fn organization(person: u64) -> &'static str {
    ORGANIZATIONS[person as usize % ORGANIZATIONS.len()]
}

/// Compares what some people have in the lake with what their sources have.
fn compare(world: &World, people: &[Value]) {
    for person in [0, 1, 2, 3] {
        let name = organization(person);
        let mut connected = world.connected(&people[person as usize]);
        connected.source_token = world.log_in(name, person).access_token;
        let there = world.record_of(name, &connected).len();
        assert_eq!(world.rows(&connected).len(), there, "{name}");
    }
}

#[test]
fn fifty_people_at_once_go_through_the_pages_and_get_their_records() {
    let world = World::working(PEOPLE);
    let begun = Instant::now();
    let (all, steps) = (Barrier::new(PEOPLE as usize), AtomicUsize::new(0));
    let people: Vec<Value> = std::thread::scope(|scope| {
        let connect = |person: u64| {
            let (world, all, steps) = (&world, &all, &steps);
            scope.spawn(move || {
                all.wait();
                let mut journey = Journey::begin(world, &world.base_url(), organization(person), person);
                let granted = journey.tokens(steps);
                assert_eq!(journey.begun, 1, "person {person} had to begin again");
                granted
            })
        };
        let going: Vec<_> = (0..PEOPLE).map(connect).collect();
        going.into_iter().map(|person| person.join().unwrap()).collect()
    });
    println!("{PEOPLE} people connected in {:?}", begun.elapsed());
    for granted in &people {
        let connected = world.connected(granted);
        let end = world.end_of(&connected);
        assert_eq!(end, JobState::Completed, "{:?}", world.audit(&connected));
    }
    println!("and had their records after {:?}", begun.elapsed());
    for (person, granted) in people.iter().enumerate() {
        assert_eq!(total(&world.base_url(), "Patient", granted), 1, "person {person}");
        // Plans know of claims, and the medical center of visits.
        let more = ["ExplanationOfBenefit", "Encounter"].map(|ty| total(&world.base_url(), ty, granted));
        assert!(more.iter().sum::<u64>() > 0, "person {person}");
    }
    let patients: HashSet<&str> = people.iter().map(|granted| text(granted, "patient")).collect();
    assert_eq!(patients.len(), people.len());
    compare(&world, &people);
}

/// An address that the system gives to nobody who asks for any, so that a service which is started again has it again.
fn lasting_address(chance: &mut impl RngExt) -> String {
    let address = |_| format!("127.0.0.1:{}", chance.random_range(10_000..32_000));
    let mut addresses = (0..100).map(address);
    addresses.find(|address| TcpListener::bind(address).is_ok()).unwrap()
}

/// The program, serving.
struct Service {
    child: Child,
}

impl Service {
    fn start(world: &World, address: &str) -> Service {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tabularium"))
            .args([
                "serve",
                "--base-url",
                &format!("http://{address}"),
                "--allow-private-sources",
                "--syncs",
                "6",
            ])
            .args(["--address-rate-limit", "0", "--listen", address, "--data"])
            .arg(world.server.folder())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It listens by the time it says that it serves.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("Serving "), "{line}");
        Service { child }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Rows of the store whose states do not go together.
fn check_states(world: &World) {
    for (what, sql) in [
        (
            "an exchanged consent without an exchanged source and its job",
            "SELECT count(*) FROM consent WHERE state = 'EXCHANGED' AND owner IS NOT NULL AND NOT EXISTS (
                 SELECT 1 FROM patient_authorization AS auth JOIN sync_job ON sync_job.authorization = auth.id
                 WHERE auth.consent = consent.id AND auth.state = 'EXCHANGED')",
        ),
        (
            "a job of a source that was not exchanged",
            "SELECT count(*) FROM sync_job JOIN patient_authorization AS auth ON auth.id = authorization
             WHERE auth.state NOT IN ('EXCHANGED', 'ERRORED')",
        ),
        (
            "two jobs of one exchange",
            "SELECT count(*) FROM (SELECT 1 FROM sync_job GROUP BY authorization HAVING count(*) > 1)",
        ),
        (
            "a code that is used without an exchanged consent",
            "SELECT count(*) FROM authorization_code JOIN consent ON consent.id = consent
             WHERE (used_at IS NOT NULL) <> (consent.state = 'EXCHANGED')",
        ),
        (
            "an exchange that gave other than one token of each kind",
            "SELECT count(*) FROM consent WHERE state = 'EXCHANGED' AND owner IS NOT NULL
             AND ((SELECT count(*) FROM refresh_token WHERE consent = consent.id) <> 1
                  OR (SELECT count(*) FROM access_token WHERE consent = consent.id) <> 1)",
        ),
        (
            "a source that is authorized, and nothing to fetch its records with",
            "SELECT count(*) FROM patient_authorization AS auth WHERE state = 'AUTHORIZED'
             AND NOT EXISTS (SELECT 1 FROM credential WHERE authorization = auth.id)",
        ),
        (
            "a consent that waits for its exchange without a source and a code that is not used",
            "SELECT count(*) FROM consent WHERE state = 'AUTHORIZED' AND NOT EXISTS (
                 SELECT 1 FROM patient_authorization AS auth JOIN authorization_code AS code ON code.consent = auth.consent
                 WHERE auth.consent = consent.id AND auth.state = 'AUTHORIZED' AND code.used_at IS NULL)",
        ),
        (
            "a source that is further than its consent",
            "SELECT count(*) FROM patient_authorization AS auth JOIN consent ON consent.id = consent
             WHERE consent.state = 'CREATED' AND auth.state NOT IN ('CREATED', 'AUTHORIZING', 'AUTHORIZED', 'ABANDONED', 'ERRORED')",
        ),
        (
            "an end that nobody brought about",
            "SELECT count(*) FROM consent WHERE state NOT IN ('CREATED', 'AUTHORIZED', 'EXCHANGED')",
        ),
        (
            "a job that failed, or a state that is none",
            "SELECT count(*) FROM sync_job WHERE state NOT IN ('CREATED', 'WAITING', 'ACTIVE', 'COMPLETED')",
        ),
    ] {
        assert_eq!(world.count(sql), 0, "{what}");
    }
}

/// How often the service is killed.
const KILLS: usize = 6;
/// How many of these come while people are on their way; the others come while records are fetched.
const KILLS_IN_FLOWS: usize = 4;

#[test]
fn a_killed_service_loses_and_doubles_nothing() {
    let seed = std::hash::RandomState::new().hash_one(0);
    println!("seed {seed}");
    let mut chance = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let world = World::new(PEOPLE, Mode::Live);
    let address = lasting_address(&mut chance);
    let base = format!("http://{address}");
    let (steps, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let completed = || world.count("SELECT count(*) FROM sync_job WHERE state = 'COMPLETED'") as usize;
    let all_finished = || finished.load(Ordering::Relaxed) == PEOPLE as usize;
    std::thread::scope(|scope| {
        let connect = |person: u64| {
            let (world, base, steps, finished) = (&world, &base, &steps, &finished);
            scope.spawn(move || {
                let mut journey = Journey::begin(world, base, organization(person), person);
                let granted = journey.tokens(steps);
                finished.fetch_add(1, Ordering::Relaxed);
                (granted, journey.begun)
            })
        };
        // The first find a service.
        let mut service = Service::start(&world, &address);
        let going: Vec<_> = (0..PEOPLE).map(connect).collect();
        let (mut in_flows, mut in_syncs) = (0, 0);
        for kill in 0..KILLS {
            if kill < KILLS_IN_FLOWS {
                // There are four pages for each.
                let goal = steps.load(Ordering::Relaxed) + chance.random_range(10..50);
                world.until("a flow", || steps.load(Ordering::Relaxed) >= goal || all_finished());
            } else {
                let goal = completed() + chance.random_range(0..12);
                let over = PEOPLE as usize;
                world.until("a sync", || all_finished() && completed() >= goal.min(over));
            }
            std::thread::park_timeout(Duration::from_micros(chance.random_range(0..50_000)));
            service.kill();
            in_flows += i64::from(finished.load(Ordering::Relaxed) < PEOPLE as usize);
            in_syncs += i64::from(world.count("SELECT count(*) FROM sync_job WHERE state = 'ACTIVE'") > 0);
            check_states(&world);
            service = Service::start(&world, &address);
        }
        let (people, begun): (Vec<Value>, Vec<usize>) = going.into_iter().map(|person| person.join().unwrap()).unzip();
        let again = begun.iter().sum::<usize>() - begun.len();
        println!("killed {in_flows} times in flows, {in_syncs} times in syncs; {again} flows were begun again");
        assert!(in_flows > 0);
        let open = "SELECT count(*) FROM sync_job WHERE state IN ('CREATED', 'WAITING', 'ACTIVE')";
        world.until("the end of all syncs", || world.count(open) == 0);
        for (person, granted) in people.iter().enumerate() {
            assert_eq!(total(&base, "Patient", granted), 1, "person {person}");
        }
        drop(service);
        check_states(&world);
        check_records(&world, &people);
    });
}

/// Looks at what a killed service has stored: whoever's flow came to its end has all records, once, and others none.
fn check_records(world: &World, people: &[Value]) {
    let tokens = people
        .iter()
        .flat_map(|granted| [text(granted, "access_token"), text(granted, "refresh_token")]);
    let distinct: HashSet<&str> = tokens.collect();
    assert_eq!(distinct.len(), 2 * people.len(), "a token was given twice");
    world.lake().refresh().unwrap();
    let rows = world.rows_of_owners();
    // An exchange whose answer nobody heard brought records, too.
    let exchanged = world.numbers("SELECT owner FROM consent WHERE state = 'EXCHANGED'");
    assert!(exchanged.len() >= people.len());
    for owner in &exchanged {
        let rows = &rows[owner];
        assert!(rows.len() > 20, "{} rows", rows.len());
        // What was stored twice would be a version of itself, and what was half stored would be missing.
        assert!(rows.iter().all(|row| row.version == 1));
    }
    for owner in world.numbers("SELECT owner FROM consent WHERE state <> 'EXCHANGED'") {
        assert!(!rows.contains_key(&owner));
    }
    compare(world, people);
}
