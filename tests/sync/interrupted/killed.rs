//! A service killed at random points while many people connect sources, refresh tokens and end consents.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tabularium::consent::Actor;
use tabularium::lake::Mode;

use super::super::brought::many::organization;
use super::super::journey::{Journey, Refreshed, total};
use super::super::world::{Connected, World, text};
use super::service::{Seen, Service, check_files, check_records, check_states, is_erased, lasting_address, see};
use crate::harness::kills;

const PEOPLE: u64 = 50;
/// The number of kills during flows, during syncs, and during erasures.
const KILLS_IN_FLOWS: usize = 5;
const KILLS_IN_SYNCS: usize = 3;
const KILLS_IN_ERASURES: usize = 2;
/// The number of consents that end before each of the last kills.
const ENDED: usize = 5;

/// A service that is killed repeatedly, and the state of the lake after each kill.
struct Victim<'w> {
    world: &'w World,
    address: String,
    service: Option<Service>,
    chance: ChaCha8Rng,
    looks: Vec<Seen>,
}

impl Victim<'_> {
    /// Kills the service after a random short time, inspects its data, and restarts it.
    fn kill(&mut self) {
        let moment = Duration::from_micros(self.chance.random_range(0..50_000));
        std::thread::park_timeout(moment);
        self.service.take().unwrap().kill();
        check_states(self.world);
        self.looks.push(see(self.world));
        self.service = Some(Service::start(self.world, &self.address));
    }
}

#[test]
fn a_killed_service_loses_and_doubles_nothing() {
    let world = World::new(PEOPLE, Mode::Live);
    // Few records each, so that most time is spent in steps that a kill may interrupt.
    let withheld = json!({"withhold": ["ExplanationOfBenefit", "Observation"], "attachments": ["pdf", "html"]});
    world.payer.turn("all", &withheld);
    let address = lasting_address();
    let base = format!("http://{address}");
    let (steps, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let completed = || world.count("SELECT count(*) FROM sync_job WHERE state = 'COMPLETED'") as usize;
    let all_finished = || finished.load(Ordering::Relaxed) == PEOPLE as usize;
    let mut victim = Victim {
        world: &world,
        service: Some(Service::start(&world, &address)),
        address,
        chance: kills::chance(15),
        looks: Vec::new(),
    };
    let people: Vec<Gone> = std::thread::scope(|scope| {
        let connect = |person: u64| {
            let (world, base, steps, finished) = (&world, &base, &steps, &finished);
            scope.spawn(move || {
                let gone = go(Journey::begin(world, base, organization(person), person), steps);
                finished.fetch_add(1, Ordering::Relaxed);
                gone
            })
        };
        let going: Vec<_> = (0..PEOPLE).map(connect).collect();
        let (mut in_flows, mut in_syncs) = (0, 0);
        for kill in 0..KILLS_IN_FLOWS + KILLS_IN_SYNCS {
            if kill < KILLS_IN_FLOWS {
                // Each person takes about four pages and a refresh.
                let goal = steps.load(Ordering::Relaxed) + victim.chance.random_range(10..50);
                world.until("a flow", || steps.load(Ordering::Relaxed) >= goal || all_finished());
            } else {
                let goal = (completed() + victim.chance.random_range(0..8)).min(PEOPLE as usize);
                world.until("a sync", || all_finished() && completed() >= goal);
            }
            in_flows += usize::from(!all_finished());
            in_syncs += usize::from(world.count("SELECT count(*) FROM sync_job WHERE state = 'ACTIVE'") > 0);
            victim.kill();
        }
        println!("killed {in_flows} times in flows, {in_syncs} times in syncs");
        assert!(in_flows > 0);
        going.into_iter().map(|person| person.join().unwrap()).collect()
    });
    let again = people.iter().map(|gone| gone.begun - 1).sum::<usize>();
    let lost = people.iter().filter(|gone| gone.lost_refresh).count();
    println!("{again} flows were begun again, {lost} answers to a refresh were lost");
    let open = "SELECT count(*) FROM sync_job WHERE state IN ('CREATED', 'WAITING', 'ACTIVE')";
    world.until("the end of all syncs", || world.count(open) == 0);
    // If a refresh was lost and the service started slowly, the token family has ended.
    for gone in people.iter().filter(|gone| !gone.lost_refresh) {
        assert_eq!(total(&base, "Patient", &gone.tokens), 1);
    }
    assert_eq!(
        world.count("SELECT count(*) FROM sync_job WHERE state <> 'COMPLETED'"),
        0
    );
    check_tokens(&world, &people);
    victim.looks.push(see(&world));
    check_records(&world, &victim.looks);

    // Complete records stay complete while others are erased.
    let ends: Vec<Connected> = people[..ENDED * KILLS_IN_ERASURES]
        .iter()
        .map(|gone| world.connected(&gone.tokens))
        .collect();
    for some in ends.chunks(ENDED) {
        for connected in some {
            assert_eq!(
                world
                    .store()
                    .consents()
                    .revoke(&connected.consent, Actor::Application)
                    .unwrap(),
                1
            );
        }
        victim.kill();
    }
    world.until("the erasures", || {
        world.count("SELECT count(*) FROM erasure WHERE done_at IS NULL") == 0
    });
    drop(victim.service.take());
    check_states(&world);
    for connected in &ends {
        assert!(is_erased(&world, connected));
        for look in &mut victim.looks {
            look.remove(&connected.owner);
        }
    }
    check_records(&world, &victim.looks);
    check_files(&world);
}

/// A person with a finished flow.
struct Gone {
    tokens: Value,
    /// All tokens that the application received for the person.
    given: Vec<String>,
    /// How often the application started the flow.
    begun: usize,
    /// Whether a used refresh token's response was lost.
    lost_refresh: bool,
}

/// Goes through the flow to tokens, and refreshes them.
fn go(mut journey: Journey, steps: &AtomicUsize) -> Gone {
    let mut gone = Gone {
        tokens: journey.tokens(steps),
        given: Vec::new(),
        begun: journey.begun,
        lost_refresh: false,
    };
    gone.take();
    match journey.refreshed(&gone.tokens) {
        Refreshed::Granted(tokens) => {
            gone.tokens = tokens;
            gone.take();
        }
        Refreshed::Lost => gone.lost_refresh = true,
    }
    steps.fetch_add(1, Ordering::Relaxed);
    gone
}

impl Gone {
    fn take(&mut self) {
        for name in ["access_token", "refresh_token"] {
            self.given.push(text(&self.tokens, name).to_owned());
        }
    }
}

/// Checks that no token was issued twice, and that the store's number of grants fits the received and the lost ones.
fn check_tokens(world: &World, people: &[Gone]) {
    let given: Vec<&String> = people.iter().flat_map(|gone| &gone.given).collect();
    let distinct: HashSet<&String> = given.iter().copied().collect();
    assert_eq!(distinct.len(), given.len(), "a token was given twice");
    let stored = world.count("SELECT count(*) FROM refresh_token") as usize;
    let lost: usize = people
        .iter()
        .map(|gone| gone.begun - 1 + usize::from(gone.lost_refresh))
        .sum();
    let heard = given.len() / 2;
    // A restarted flow may have been aborted before its code was exchanged.
    assert!(
        (heard..=heard + lost).contains(&stored),
        "{stored} grants, of which {heard} were heard of"
    );
}
