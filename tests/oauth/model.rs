//! Codes, refresh tokens and time in any order, compared with a model of RFC 9700 and the documents.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tabularium::consent::{Actor, Caller, Clock, Granted, Resync, Store, Tokens};

use crate::harness::consented::{App, Finished, Flow, REDIRECT_URI};
use crate::harness::records;
use crate::harness::server::START;

/// An event.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The code is sent.
    Exchange,
    /// One of the issued refresh tokens is sent.
    Refresh(usize),
    /// Time passes.
    Wait(i64),
    /// Timeouts are applied.
    Sweep,
    /// The patient revokes.
    Revoke,
}

fn event() -> impl Strategy<Value = Event> {
    let wait = prop::sample::select(vec![1, 9, 11, 1_799, 1_800, 40_000, 86_400, 7_775_999, 7_776_000]);
    prop_oneof![
        3 => Just(Event::Exchange),
        8 => any::<prop::sample::Index>().prop_map(|at| Event::Refresh(at.index(1_000))),
        4 => wait.prop_map(Event::Wait),
        1 => Just(Event::Sweep),
        1 => Just(Event::Revoke),
    ]
}

#[derive(Default)]
struct Model {
    code_used: Option<i64>,
    /// The issued refresh tokens: text, expiry, time of use.
    refresh: Vec<(String, i64, Option<i64>)>,
    /// The issued access tokens: text and expiry.
    access: Vec<(String, i64)>,
    /// Whether the family was ended, or the consent revoked.
    ended: bool,
    revoked: bool,
}

impl Model {
    fn given(&mut self, granted: &Granted, now: i64) {
        let (refresh, seconds) = granted.refresh.clone().unwrap();
        assert_eq!(seconds, 7_776_000);
        self.refresh.push((refresh, now + seconds, None));
        self.access.push((granted.access.token.clone(), now + 86_400));
    }
}

struct Room {
    store: std::sync::Arc<Store>,
    tokens: Tokens,
    caller: Caller,
}

fn play(room: &Room, finished: &Finished, events: &[Event]) {
    let Room { store, tokens, caller } = room;
    // A public client may name itself or not; the same tokens are valid.
    let named = Some(caller).filter(|_| events.len().is_multiple_of(2));
    let mut model = Model::default();
    let issued = store.clock().now();
    for event in events {
        let now = store.clock().now();
        match *event {
            Event::Wait(seconds) => store.clock().advance(seconds),
            Event::Sweep => drop(store.sweep().unwrap()),
            Event::Revoke => {
                let count = store.consents().revoke(&finished.consent, Actor::Patient).unwrap();
                let abandoned = model.code_used.is_none() && now >= issued + 1_800;
                assert!(count == u64::from(!model.revoked) || abandoned && count == 0);
                model.revoked = true;
            }
            Event::Exchange => {
                let got = tokens.exchange_code(caller, &finished.code, REDIRECT_URI, &finished.verifier);
                let good = model.code_used.is_none() && now < issued + 1_800 && !model.revoked;
                assert_eq!(got.is_ok(), good, "{:?}", got.err());
                match got {
                    Ok(granted) => {
                        model.code_used = Some(now);
                        model.given(&granted, now);
                    }
                    Err(_) => model.ended |= model.code_used.is_some_and(|used| now - used > 10),
                }
            }
            Event::Refresh(at) if model.refresh.is_empty() => {
                assert!(tokens.refresh(named, &format!("rt_{at}"), Resync::Never).is_err());
            }
            Event::Refresh(at) => {
                let at = at % model.refresh.len();
                let (text, end, used) = model.refresh[at].clone();
                let got = tokens.refresh(named, &text, Resync::Never);
                let good = used.is_none() && now < end && !model.ended && !model.revoked;
                assert_eq!(got.is_ok(), good, "{:?}", got.err());
                match got {
                    Ok(granted) => {
                        model.refresh[at].2 = Some(now);
                        model.given(&granted, now);
                    }
                    Err(_) => model.ended |= used.is_some_and(|used| now - used > 10),
                }
            }
        }
        let now = store.clock().now();
        for (token, end) in &model.access {
            let good = now < *end && !model.ended && !model.revoked;
            assert_eq!(tokens.verify(token).is_ok(), good, "after {event:?}");
            assert_eq!(tokens.inspect(token).unwrap().active, good);
        }
        let unused = model.refresh.iter().filter(|(_, _, used)| used.is_none()).count();
        assert!(unused <= 1, "of a family one refresh token is good");
    }
}

#[test]
fn whatever_the_order_a_family_has_one_good_refresh_token_and_ends_when_a_secret_comes_again() {
    let (folder, lake) = records::lake();
    let store = std::sync::Arc::new(Store::open(folder.path(), Clock::at(START)).unwrap());
    let tokens = Tokens::new(store.clone(), lake.clone(), "https://records.example");
    let app = App::register(&store, "app");
    let caller = store.clients().authenticate(&app.test.publishable, None).unwrap();
    let room = Room { store, tokens, caller };
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(60)
    });
    let events = prop::collection::vec(event(), 1..25);
    let outcome = runner.run(&events, |events| {
        let finished = Flow::of(&app).finish_in(&room.store, &lake);
        play(&room, &finished, &events);
        Ok(())
    });
    outcome.unwrap();
}
