//! Flows walked at random through the store's own operations, with the clock in hand. After every event each consent and each patient
//! authorization stands where the tables of moves, kept here as data, say; what is refused has changed nothing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sha2::Digest;
use tabularium::consent::{
    Actor, Authorization, Caller, Clock, Consent, Credential, Departure, Display, Door, Ended, FlowError, FlowRequest,
    Grant, GrantError, Granted, Hints, REFRESH_SECONDS, Resync, Returned, SessionKey, SourceGrant, Step, Store, Tokens,
    Trouble, Way,
};
use tabularium::lake::Lake;

use crate::harness::consented::{App, PAYER, Place, REDIRECT_URI};
use crate::harness::records;
use crate::harness::server::START;

const VERIFIER: &str = "the-verifier-of-an-application-that-is-long-enough";
const IDLE: i64 = 1_800;
const DAY: i64 = 86_400;

/// What moves a consent or a patient authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    Redirected,
    Granted,
    Refused,
    /// Cancelled, closed, left for something else, or 30 minutes idle.
    Left,
    Finished,
    Exchanged,
    /// The code or public token expires unused.
    Unused,
    /// A technical failure at the source, or a first sync that stored nothing.
    Failed,
    WindowElapsed,
    Revoked,
}

/// From, trigger, to. What is not listed does not happen.
type Moves = &'static [(&'static str, Trigger, &'static str)];

const AUTHORIZATION: Moves = &[
    ("CREATED", Trigger::Redirected, "AUTHORIZING"),
    ("AUTHORIZING", Trigger::Granted, "AUTHORIZED"),
    ("AUTHORIZING", Trigger::Refused, "BOUNCED"),
    ("CREATED", Trigger::Left, "ABANDONED"),
    ("AUTHORIZING", Trigger::Left, "ABANDONED"),
    ("AUTHORIZED", Trigger::Exchanged, "EXCHANGED"),
    ("AUTHORIZED", Trigger::Unused, "ABANDONED"),
    ("AUTHORIZING", Trigger::Failed, "ERRORED"),
    ("EXCHANGED", Trigger::Failed, "ERRORED"),
    ("EXCHANGED", Trigger::WindowElapsed, "EXPIRED"),
    ("CREATED", Trigger::Revoked, "REVOKED"),
    ("AUTHORIZING", Trigger::Revoked, "REVOKED"),
    ("AUTHORIZED", Trigger::Revoked, "REVOKED"),
    ("EXCHANGED", Trigger::Revoked, "REVOKED"),
    ("ERRORED", Trigger::Revoked, "REVOKED"),
    ("EXPIRED", Trigger::Revoked, "REVOKED"),
];

const CONSENT: Moves = &[
    ("CREATED", Trigger::Finished, "AUTHORIZED"),
    ("CREATED", Trigger::Left, "ABANDONED"),
    ("AUTHORIZED", Trigger::Exchanged, "EXCHANGED"),
    ("AUTHORIZED", Trigger::Unused, "ABANDONED"),
    ("CREATED", Trigger::Revoked, "REVOKED"),
    ("AUTHORIZED", Trigger::Revoked, "REVOKED"),
    ("EXCHANGED", Trigger::Revoked, "REVOKED"),
];

/// What may happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// What comes next where nothing goes wrong; with an endpoint to choose.
    Onward(usize),
    Choose(usize),
    /// The patient agrees and is sent to the endpoint of the page.
    Depart,
    /// A form of an older page sends them to this one.
    DepartTo(usize),
    /// The endpoint of the page cannot be reached.
    DepartFailed,
    /// They come back from so many redirects ago.
    Return(usize, Answer),
    GoElsewhere,
    Visit,
    Finish,
    Cancel,
    Exchange,
    Refresh,
    Sync(Outcome),
    Revoke,
    Wait(i64),
    Sweep,
}

/// What a source answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Grants,
    Fails(Trouble),
}

/// What becomes of sync jobs.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    Completed,
    Failed,
    PutOff,
    /// The service is killed and takes them up again.
    Killed,
}

fn event() -> impl Strategy<Value = Event> {
    let wait = prop::sample::select(vec![1, 11, IDLE - 1, IDLE, DAY, DAY, REFRESH_SECONDS]);
    let answer = prop_oneof![
        5 => Just(Answer::Grants),
        1 => Just(Answer::Fails(Trouble::Refused)),
        1 => Just(Answer::Fails(Trouble::NoPatient)),
        1 => Just(Answer::Fails(Trouble::Down)),
    ];
    let ago = prop_oneof![6 => Just(0usize), 1 => 1..4usize];
    let outcome = prop::sample::select(vec![
        Outcome::Completed,
        Outcome::Failed,
        Outcome::PutOff,
        Outcome::Killed,
    ]);
    prop_oneof![
        30 => (0..3usize).prop_map(Event::Onward),
        3 => (0..3usize).prop_map(Event::Choose),
        3 => Just(Event::Depart),
        1 => (0..3usize).prop_map(Event::DepartTo),
        2 => Just(Event::DepartFailed),
        6 => (ago, answer).prop_map(|(ago, answer)| Event::Return(ago, answer)),
        1 => Just(Event::GoElsewhere),
        1 => Just(Event::Visit),
        2 => Just(Event::Finish),
        1 => Just(Event::Cancel),
        2 => Just(Event::Exchange),
        2 => Just(Event::Refresh),
        4 => outcome.prop_map(Event::Sync),
        2 => Just(Event::Revoke),
        4 => wait.prop_map(Event::Wait),
        4 => Just(Event::Sweep),
    ]
}

/// How a flow was entered, and what was asked for.
#[derive(Clone, Copy, Debug)]
struct Entry {
    door: Door,
    offline: bool,
}

fn entry() -> impl Strategy<Value = Entry> {
    let door = prop::sample::select(vec![Door::Oauth, Door::Oauth, Door::Smart, Door::Link]);
    (door, any::<bool>()).prop_map(|(door, offline)| Entry { door, offline })
}

/// The endpoints, of which the second cannot be refreshed.
const PLACES: [Place; 3] = [
    PAYER,
    Place {
        name: "once",
        refreshable: false,
        ..PAYER
    },
    Place {
        name: "clinic",
        ..PAYER
    },
];

/// What walks share.
struct Room {
    store: Arc<Store>,
    tokens: Tokens,
    lake: Lake,
    caller: Caller,
    endpoints: Vec<String>,
    /// Rows of the tables that were met, by what they are of.
    met: RefCell<BTreeSet<(&'static str, usize)>>,
    _folder: tempfile::TempDir,
}

impl Room {
    fn new() -> Room {
        let (folder, lake) = records::lake();
        let store = Arc::new(Store::open(folder.path(), Clock::at(START)).unwrap());
        let app = App::register(&store, "app");
        Room {
            tokens: Tokens::new(store.clone(), lake.clone(), "https://records.example"),
            caller: store
                .authenticate(&app.test.publishable, Some(&app.test.secret))
                .unwrap(),
            endpoints: PLACES.iter().map(|place| place.save(&store)).collect(),
            store,
            lake,
            met: RefCell::default(),
            _folder: folder,
        }
    }

    fn departure(&self, at: usize) -> Departure<'_> {
        Departure {
            endpoint: &self.endpoints[at],
            ty: PLACES[at].ty,
            refreshable: PLACES[at].refreshable,
        }
    }

    /// Moves a state if the table has a row for it.
    fn fire(&self, what: &'static str, table: Moves, state: &mut &'static str, trigger: Trigger) -> bool {
        let row = table.iter().position(|row| (row.0, row.1) == (*state, trigger));
        if let Some(row) = row {
            *state = table[row].2;
            self.met.borrow_mut().insert((what, row));
        }
        row.is_some()
    }
}

/// A patient authorization as it must be.
#[derive(Clone, Debug)]
struct Source {
    endpoint: usize,
    state: &'static str,
    /// All states so far.
    been: Vec<&'static str>,
    lasting: bool,
    synced: bool,
    /// When one-time data goes, until it has.
    data_until: Option<i64>,
}

/// A flow, and what must have become of it.
struct Walk<'r> {
    room: &'r Room,
    entry: Entry,
    key: SessionKey,
    id: String,
    consent: &'static str,
    sources: Vec<Source>,
    touched: i64,
    /// The endpoint of the page, where the patient may be sent.
    page: Option<usize>,
    at_hub: bool,
    /// Redirects: state, endpoint, authorization, whether somebody came back.
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
        let begun = room.store.begin_flow(&room.caller.client, &request, owner_of).unwrap();
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

    /// Whether the patient may take steps.
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

    /// Moves an authorization if the table has a row for it.
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

    /// Moves all authorizations that the table has a row for, but one; says how many.
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
            data_until: None,
        });
        self.sources.len() - 1
    }

    /// The patient is sent to an endpoint: what was chosen otherwise is left.
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

    /// Holds the outcome of a step against whether it may be taken; a step that is taken is a sign of life.
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

    /// What an event means where the walk stands.
    fn resolved(&self, event: Event) -> Event {
        let Event::Onward(endpoint) = event else { return event };
        let last = self.attempts.last();
        let away = last.is_some_and(|(_, _, at, back)| !back && self.sources[*at].state == "AUTHORIZING");
        match self.consent {
            "CREATED" if self.at_hub => Event::Finish,
            "CREATED" if away => Event::Return(0, Answer::Grants),
            "CREATED" if self.page.is_some() => Event::Depart,
            "CREATED" => Event::Choose(endpoint),
            "AUTHORIZED" => Event::Exchange,
            _ => Event::Refresh,
        }
    }

    fn happens(&mut self, event: Event) {
        let store = self.room.store.clone();
        let now = self.now();
        match self.resolved(event) {
            Event::Onward(_) => {}
            Event::Wait(seconds) => store.clock().advance(seconds),
            Event::Sweep => {
                store.sweep().unwrap();
                self.swept();
            }
            Event::Visit => {
                store.visit_flow(self.key).unwrap();
                match self.is_open() {
                    true => self.touched = now,
                    // Who comes too late finds the flow ended, and with it whatever else is overdue.
                    false if self.consent == "CREATED" => self.swept(),
                    false => {}
                }
            }
            Event::Choose(endpoint) => {
                let chosen = |source: &Source| source.endpoint == endpoint && source.state == "AUTHORIZED";
                let admitted = !self.sources.iter().any(chosen);
                let outcome = store.choose_source(self.key, &self.room.departure(endpoint));
                if self.stepped(outcome, admitted).is_some() {
                    self.move_sources(Trigger::Left, None);
                    self.add_source(endpoint);
                    (self.page, self.at_hub) = (Some(endpoint), false);
                }
            }
            Event::Depart => self.depart(self.page.unwrap_or(0)),
            Event::DepartTo(endpoint) => self.depart(endpoint),
            Event::DepartFailed => {
                // Only the endpoint of the page is ever asked.
                let Some(endpoint) = self.page else { return };
                let outcome = store.depart_failed(self.key, &self.room.departure(endpoint));
                if self.stepped(outcome, true).is_some() {
                    let at = self.send(endpoint);
                    assert!(self.move_source(at, Trigger::Failed));
                }
            }
            Event::Return(..) if self.attempts.is_empty() => {}
            Event::Return(ago, answer) => self.come_back(self.attempts.len() - 1 - ago % self.attempts.len(), answer),
            Event::GoElsewhere => {
                let outcome = store.go_to(self.key, Step::Choose);
                if self.stepped(outcome, true).is_some() {
                    self.move_sources(Trigger::Left, None);
                    (self.page, self.at_hub) = (None, false);
                }
            }
            Event::Finish => {
                let outcome = store.finish_flow(self.key);
                if let Some((_, ended)) = self.stepped(outcome, true) {
                    self.move_sources(Trigger::Left, None);
                    match (self.has("AUTHORIZED"), ended) {
                        (false, Ended::NoSource) => self.move_consent(Trigger::Left),
                        (true, Ended::Code(code) | Ended::PublicToken(code)) => {
                            self.move_consent(Trigger::Finished);
                            self.code = Some((code, now + IDLE));
                        }
                        (_, ended) => panic!("ended with {ended:?}"),
                    }
                }
            }
            Event::Cancel => {
                let outcome = store.cancel_flow(self.key);
                if self.stepped(outcome, true).is_some() {
                    self.move_sources(Trigger::Left, None);
                    // What sources granted is given back, and then nothing is authorized.
                    for at in 0..self.sources.len() {
                        if self.sources[at].state == "AUTHORIZED" {
                            self.move_source(at, Trigger::Revoked);
                        }
                    }
                    self.move_consent(Trigger::Left);
                }
            }
            Event::Exchange => self.exchange(),
            Event::Refresh => self.refresh(),
            Event::Sync(outcome) => self.sync(outcome),
            Event::Revoke => {
                let count = store.revoke_consent(&self.id, Actor::Application).unwrap();
                let revoked = CONSENT
                    .iter()
                    .any(|row| (row.0, row.1) == (self.consent, Trigger::Revoked));
                let expected = match revoked {
                    true => {
                        self.move_consent(Trigger::Revoked);
                        self.move_sources(Trigger::Revoked, None)
                    }
                    false => 0,
                };
                assert_eq!(count, expected);
            }
        }
    }

    fn depart(&mut self, endpoint: usize) {
        let state = uuid::Uuid::new_v4().to_string();
        let store = self.room.store.clone();
        let outcome = store.depart(self.key, &self.room.departure(endpoint), &state, b"verifier");
        if self.stepped(outcome, self.page == Some(endpoint)).is_some() {
            let at = self.send(endpoint);
            self.attempts.push((state, endpoint, at, false));
            self.at_hub = false;
        }
    }

    fn come_back(&mut self, attempt: usize, answer: Answer) {
        let store = self.room.store.clone();
        let (state, endpoint, at, used) = self.attempts[attempt].clone();
        let from = Returned::Endpoint(&self.room.endpoints[endpoint]);
        let outcome = store.take_attempt(self.key, &state, from);
        let Some((_, taken)) = self.stepped(outcome, !used) else {
            return;
        };
        self.attempts[attempt].3 = true;
        let id = taken.authorization.unwrap();
        assert_eq!(store.authorizations(&self.id).unwrap()[at].id, id);
        let admitted = self.sources[at].state == "AUTHORIZING";
        match answer {
            Answer::Grants => {
                let outcome = store.source_granted(self.key, &id, &granted(&id));
                if self.stepped(outcome, admitted).is_some() {
                    assert!(self.move_source(at, Trigger::Granted));
                    (self.page, self.at_hub) = (None, true);
                }
            }
            Answer::Fails(trouble) => {
                let outcome = store.source_failed(self.key, &id, trouble);
                if self.stepped(outcome, admitted).is_some() {
                    let trigger = match trouble {
                        Trouble::Refused | Trouble::NoPatient => Trigger::Refused,
                        Trouble::Down => Trigger::Failed,
                    };
                    assert!(self.move_source(at, trigger));
                    if !self.at_hub {
                        self.page = Some(endpoint);
                    }
                }
            }
        }
    }

    fn exchange(&mut self) {
        let now = self.now();
        let Some((code, until)) = self.code.clone() else { return };
        let (tokens, caller) = (&self.room.tokens, &self.room.caller);
        let outcome = match self.entry.door {
            Door::Link => tokens.exchange_public_token(&caller.client, &code),
            Door::Oauth | Door::Smart => tokens.exchange_code(caller, &code, REDIRECT_URI, VERIFIER),
        };
        let good = self.code_used.is_none() && self.consent == "AUTHORIZED" && now < until;
        assert_eq!(outcome.is_ok(), good, "{outcome:?}");
        let Some(granted) = given(outcome) else {
            self.family_ended |= self.code_used.is_some_and(|used| now - used > 10);
            return;
        };
        self.code_used = Some(now);
        self.move_consent(Trigger::Exchanged);
        self.move_sources(Trigger::Exchanged, None);
        for source in self.sources.iter_mut().filter(|source| source.state == "EXCHANGED") {
            source.data_until = (!source.lasting).then_some(now + DAY);
        }
        let lasting = |source: &Source| source.state == "EXCHANGED" && source.lasting;
        let refreshes = self.entry.door != Door::Link || self.sources.iter().any(lasting);
        assert_eq!(granted.refresh.is_some(), refreshes);
        self.refreshable(&granted);
    }

    fn refresh(&mut self) {
        let now = self.now();
        let Some((token, until)) = self.refresh.clone() else {
            return;
        };
        let outcome = self.room.tokens.refresh(&self.room.caller, &token, Resync::Never);
        let stands = self.consent == "EXCHANGED" && (self.has("EXCHANGED") || self.has("ERRORED"));
        assert_eq!(
            outcome.is_ok(),
            stands && now < until && !self.family_ended,
            "{outcome:?}"
        );
        if let Some(granted) = given(outcome) {
            self.refreshable(&granted);
        }
    }

    fn refreshable(&mut self, granted: &Granted) {
        if let Some((token, seconds)) = &granted.refresh {
            assert_eq!(*seconds, REFRESH_SECONDS);
            let until = self.now() + seconds;
            self.refresh = Some((token.clone(), until));
            self.refresh_until = Some(until);
        }
    }

    /// The jobs of this walk whose turn it is.
    fn sync(&mut self, outcome: Outcome) {
        let store = &self.room.store;
        let authorizations = store.authorizations(&self.id).unwrap();
        let due: Vec<String> = store
            .due_jobs(100_000)
            .unwrap()
            .into_iter()
            .map(|due| due.job)
            .collect();
        let mut failed = Vec::new();
        for (at, authorization) in authorizations.iter().enumerate() {
            let jobs = store.jobs_of(&authorization.id).unwrap();
            for job in jobs.iter().filter(|job| due.contains(&job.id)) {
                assert_eq!(
                    self.sources[at].state, "EXCHANGED",
                    "an ended authorization has an open job"
                );
                assert!(store.begin_job(&job.id).unwrap().is_some());
                match outcome {
                    Outcome::Completed => {
                        assert!(store.complete_job(&job.id, "{}").unwrap());
                        self.sources[at].synced = true;
                    }
                    Outcome::Failed => {
                        assert!(store.fail_job(&job.id, "nothing came").unwrap());
                        failed.push(at);
                    }
                    Outcome::PutOff => assert!(store.return_job(&job.id, self.now() + 60, "later").unwrap()),
                    Outcome::Killed => assert_eq!(store.take_up_jobs().unwrap(), 1),
                }
            }
        }
        for at in failed {
            if !self.sources[at].synced {
                assert!(self.move_source(at, Trigger::Failed));
            }
        }
    }

    /// What time alone brings about.
    fn swept(&mut self) {
        let now = self.now();
        if self.consent == "CREATED" && self.touched + IDLE <= now {
            self.move_sources(Trigger::Left, None);
            // Nobody will fetch a code for what was granted.
            self.move_sources(Trigger::Unused, None);
            self.move_consent(Trigger::Left);
        }
        if self.consent == "AUTHORIZED" && self.code.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.move_sources(Trigger::Unused, None);
            self.move_consent(Trigger::Unused);
        }
        for at in 0..self.sources.len() {
            let over = self.sources[at].data_until.is_some_and(|until| until <= now);
            if over && self.sources[at].state == "EXCHANGED" {
                self.sources[at].data_until = None;
                if self.entry.door != Door::Oauth {
                    assert!(self.move_source(at, Trigger::WindowElapsed));
                }
            }
        }
        if self.consent == "EXCHANGED" && self.refresh_until.is_some_and(|until| until <= now) {
            self.move_sources(Trigger::WindowElapsed, None);
        }
    }

    fn stored(&self) -> (Consent, Vec<Authorization>) {
        let store = &self.room.store;
        (
            store.consent(&self.id).unwrap().unwrap(),
            store.authorizations(&self.id).unwrap(),
        )
    }

    /// Everything stands where it must.
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
            assert_eq!(one.is_active(), source.state == "EXCHANGED");
            let jobs = self.room.store.jobs_of(&one.id).unwrap();
            assert_eq!(
                jobs.len(),
                usize::from(one.exchanged_at.is_some()),
                "an exchange makes one job"
            );
            let open = jobs.iter().any(|job| job.state.is_open());
            assert!(
                !open || source.state == "EXCHANGED",
                "an ended authorization has an open job"
            );
            // What ended after an exchange takes its records along; what failed has none.
            let ended = matches!(source.state, "REVOKED" | "EXPIRED") && one.exchanged_at.is_some();
            assert!(!ended || one.data_erased_at.is_some());
        }
    }
}

/// What a source grants.
fn granted(id: &str) -> SourceGrant<'_> {
    static CREDENTIAL: std::sync::LazyLock<Credential> = std::sync::LazyLock::new(|| Credential {
        access_token: "access".to_owned(),
        refresh_token: Some("refresh".to_owned()),
        expires_at: None,
    });
    SourceGrant {
        grant: Grant {
            patient: id,
            source_patient: "at-the-source",
            scope_requested: "patient/*.read",
            scope_granted: "patient/*.read",
            refreshable: true,
            max_auth_until: None,
        },
        credential: &CREDENTIAL,
    }
}

/// What was granted; a refusal is one for a reason, not a failure of the store.
fn given(outcome: Result<Granted, GrantError>) -> Option<Granted> {
    match outcome {
        Ok(granted) => Some(granted),
        Err(GrantError::Store(error)) => panic!("{error}"),
        Err(_) => None,
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
        // Refreshes and erasures note a time; everything else that moves nothing changes nothing.
        if same && !matches!(event, Event::Refresh | Event::Sweep | Event::Visit) {
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

/// The same walks each time, so that what they meet does not hang on chance.
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
