//! Random flows through the store's own operations, with a controlled clock. After each event, all consents and patient
//! authorizations must have the states of the transition tables, which are data here. A refused step must change
//! nothing.

mod events;
mod grants;
mod room;
mod steps;
mod table;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sha2::Digest;
use tabularium::consent::{Authorization, Consent, Display, Door, FlowError, FlowRequest, Hints, SessionKey, Way};

use self::events::{Entry, Event, entry, event};
use self::room::{PLACES, Room};
use self::table::{AUTHORIZATION, CONSENT, Trigger};
use crate::harness::consented::REDIRECT_URI;

const VERIFIER: &str = "the-verifier-of-an-application-that-is-long-enough";
const IDLE: i64 = 1_800;
const DAY: i64 = 86_400;

/// The expected state of a patient authorization.
#[derive(Clone, Debug)]
struct Source {
    endpoint: usize,
    state: &'static str,
    /// All its states so far.
    been: Vec<&'static str>,
    lasting: bool,
    synced: bool,
    /// The number of its jobs, and whether the last one is unfinished.
    jobs: usize,
    open: bool,
    /// When one-time data is erased; `None` after that.
    data_until: Option<i64>,
}

/// A flow with its expected state.
struct Walk<'r> {
    room: &'r Room,
    entry: Entry,
    key: SessionKey,
    id: String,
    consent: &'static str,
    sources: Vec<Source>,
    touched: i64,
    /// The endpoint of the current page, if the patient can be sent there.
    page: Option<usize>,
    at_hub: bool,
    /// Redirects: state, endpoint, authorization, and whether the patient came back.
    attempts: Vec<(String, usize, usize, bool)>,
    code: Option<(String, i64)>,
    code_used: Option<i64>,
    refresh: Option<(String, i64)>,
    refresh_until: Option<i64>,
    family_ended: bool,
}

impl<'r> Walk<'r> {
    fn begin(room: &'r Room, entry: Entry) -> Walk<'r> {
        let challenge = URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(VERIFIER));
        let request = FlowRequest {
            door: entry.door,
            client: room.caller.client.id.to_string(),
            redirect_uri: (entry.door != Door::Link).then(|| REDIRECT_URI.to_owned()),
            state: None,
            challenge: Some(challenge),
            offline: entry.offline,
            external_id: Some("user-1".to_owned()),
            endpoint: None,
            way: Way::Search,
            hints: Hints::default(),
            display: Display::Page,
            holder: None,
            fingerprint: String::new(),
        };
        let owner_of = |id: &str| room.lake.owner_of_consent(id);
        let begun = room
            .store
            .flows()
            .begin(&room.caller.client, &request, owner_of)
            .unwrap();
        // The browser opens the first page at once.
        room.store.flows().visit(begun.flow.key).unwrap();
        Walk {
            room,
            entry,
            key: SessionKey::of(&begun.cookie),
            id: begun.flow.consent.id,
            consent: "CREATED",
            sources: Vec::new(),
            touched: room.store.clock().now(),
            page: None,
            at_hub: false,
            attempts: Vec::new(),
            code: None,
            code_used: None,
            refresh: None,
            refresh_until: None,
            family_ended: false,
        }
    }

    fn now(&self) -> i64 {
        self.room.store.clock().now()
    }

    /// Whether the session is open.
    fn is_open(&self) -> bool {
        self.consent == "CREATED" && self.now() < self.touched + IDLE
    }

    fn move_consent(&mut self, trigger: Trigger) {
        assert!(
            self.room.fire("consent", CONSENT, &mut self.consent, trigger),
            "{trigger:?} of {}",
            self.consent
        );
    }

    /// Moves an authorization if the table has a row for the trigger.
    fn move_source(&mut self, at: usize, trigger: Trigger) -> bool {
        let source = &mut self.sources[at];
        let moved = self
            .room
            .fire("authorization", AUTHORIZATION, &mut source.state, trigger);
        if moved {
            source.been.push(source.state);
        }
        moved
    }

    /// Moves all authorizations except one, if the table has a row for the trigger. Returns the number moved.
    fn move_sources(&mut self, trigger: Trigger, but: Option<usize>) -> u64 {
        let all = 0..self.sources.len();
        all.filter(|at| Some(*at) != but && self.move_source(*at, trigger))
            .count() as u64
    }

    fn add_source(&mut self, endpoint: usize) -> usize {
        self.sources.push(Source {
            endpoint,
            state: "CREATED",
            been: vec!["CREATED"],
            lasting: self.entry.offline && PLACES[endpoint].refreshable,
            synced: false,
            jobs: 0,
            open: false,
            data_until: None,
        });
        self.sources.len() - 1
    }

    /// Sends the patient to an endpoint and leaves what they chose otherwise.
    fn send(&mut self, endpoint: usize) -> usize {
        let waiting = |source: &Source| source.endpoint == endpoint && source.state == "CREATED";
        let chosen = self.sources.iter().position(waiting);
        self.move_sources(Trigger::Left, chosen);
        let at = chosen.unwrap_or_else(|| self.add_source(endpoint));
        assert!(self.move_source(at, Trigger::Redirected));
        at
    }

    fn has(&self, state: &str) -> bool {
        self.sources.iter().any(|source| source.state == state)
    }

    /// Compares the result of a step with whether it is allowed. A successful step extends the session.
    fn stepped<T>(&mut self, outcome: Result<T, FlowError>, admitted: bool) -> Option<T> {
        match outcome {
            Ok(done) => {
                assert!(self.is_open() && admitted, "a step that may not be taken");
                self.touched = self.now();
                Some(done)
            }
            Err(FlowError::Over) => {
                assert!(!self.is_open());
                None
            }
            Err(FlowError::Stale) => {
                assert!(self.is_open() && !admitted);
                None
            }
            Err(FlowError::Store(error)) => panic!("{error}"),
        }
    }

    fn stored(&self) -> (Consent, Vec<Authorization>) {
        let store = &self.room.store;
        (
            store.consents().get(&self.id).unwrap().unwrap(),
            store.authorizations().of_consent(&self.id).unwrap(),
        )
    }

    /// Compares the store with the expected state.
    fn check(&self) {
        let (consent, authorizations) = self.stored();
        assert_eq!(consent.state.name(), self.consent);
        let states = authorizations
            .iter()
            .map(|one| (one.endpoint.as_str(), one.state.name()));
        let expected = self.sources.iter();
        let expected = expected.map(|one| (self.room.endpoints[one.endpoint].as_str(), one.state));
        assert_eq!(states.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        for (one, source) in authorizations.iter().zip(&self.sources) {
            for (state, time) in [
                ("AUTHORIZED", one.authorized_at),
                ("EXCHANGED", one.exchanged_at),
                ("REVOKED", one.revoked_at),
                ("EXPIRED", one.expired_at),
            ] {
                assert_eq!(time.is_some(), source.been.contains(&state), "{state} of {one:?}");
            }
            let over = one.data_erased_at.is_some() || source.data_until.is_some_and(|until| until <= self.now());
            assert_eq!(one.is_active(self.now()), source.state == "EXCHANGED" && !over);
            // The source's grant decides the usage.
            let lasting = one.usage == tabularium::consent::Usage::Multiple;
            assert_eq!(lasting, source.lasting, "{one:?}");
            let jobs = self.room.store.jobs().of_authorization(&one.id).unwrap();
            assert_eq!(
                jobs.len(),
                source.jobs,
                "an exchange makes one job, and so does each sync asked for"
            );
            let open = jobs.iter().any(|job| job.state.is_open());
            assert_eq!(open, source.open && source.state == "EXCHANGED", "{source:?}");
            // If an authorization ended after an exchange, its records are erased. A failed one has no records.
            let ended = matches!(source.state, "REVOKED" | "EXPIRED") && one.exchanged_at.is_some();
            assert!(!ended || one.data_erased_at.is_some());
        }
    }
}

fn walk(room: &Room, entry: Entry, events: &[Event]) {
    let mut walk = Walk::begin(room, entry);
    walk.check();
    for event in events {
        let (before, model) = (walk.stored(), (walk.consent, walk.sources.len()));
        let states: Vec<_> = walk.sources.iter().map(|source| source.state).collect();
        let event = walk.resolved(*event);
        walk.happens(event);
        walk.check();
        let same = model == (walk.consent, walk.sources.len())
            && states.iter().eq(walk.sources.iter().map(|source| &source.state));
        // Refreshes and erasures store a time. All other events without a transition change nothing.
        if same && !matches!(event, Event::Refresh(_) | Event::Sweep | Event::Visit) {
            assert_eq!(walk.stored(), before, "{event:?}");
        }
    }
}

fn walks() -> impl Strategy<Value = (Entry, Vec<Event>)> {
    (entry(), prop::collection::vec(event(), 1..40))
}

#[test]
fn whatever_happens_in_a_flow_its_states_move_by_the_table() {
    let room = Room::new();
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(40)
    });
    let outcome = runner.run(&walks(), |(entry, events)| {
        walk(&room, entry, &events);
        Ok(())
    });
    outcome.unwrap();
}

/// The walks are always the same, so that the coverage does not depend on chance.
#[test]
fn walks_meet_every_move_of_the_table() {
    let room = Room::new();
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(150)
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&walks(), |(entry, events)| {
        walk(&room, entry, &events);
        Ok(())
    });
    outcome.unwrap();
    let met = room.met.borrow();
    for (what, table) in [("authorization", AUTHORIZATION), ("consent", CONSENT)] {
        for (at, row) in table.iter().enumerate() {
            assert!(met.contains(&(what, at)), "no walk met {what} {row:?}");
        }
    }
}
