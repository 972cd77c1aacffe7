//! Random events of a flow.

use proptest::prelude::*;
use tabularium::consent::{Door, REFRESH_SECONDS, Resync, Trouble};

use super::{DAY, IDLE};

/// An event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The next step of a successful flow, with an endpoint to choose.
    Onward(usize),
    Choose(usize),
    /// The patient agrees and is sent to the endpoint of the page.
    Depart,
    /// The patient sends a form of an older page with this endpoint.
    DepartTo(usize),
    /// The endpoint of the page is unreachable.
    DepartFailed,
    /// The patient comes back from one of the last redirects.
    Return(usize, Answer),
    GoElsewhere,
    Visit,
    Finish,
    Cancel,
    Exchange,
    Refresh(Resync),
    Sync(Outcome),
    Revoke,
    Wait(i64),
    Sweep,
}

/// A source's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A grant with or without a refresh token.
    Grants {
        lasting: bool,
    },
    Fails(Trouble),
}

/// The result of sync jobs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Completed,
    Failed,
    PutOff,
    /// The service is killed and resumes the jobs.
    Killed,
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let wait = prop::sample::select(vec![1, 11, IDLE - 1, IDLE, DAY, DAY, REFRESH_SECONDS]);
    let answer = prop_oneof![
        4 => Just(Answer::Grants { lasting: true }),
        1 => Just(Answer::Grants { lasting: false }),
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
        3 => prop::sample::select(vec![Resync::Never, Resync::Multiple]).prop_map(Event::Refresh),
        4 => outcome.prop_map(Event::Sync),
        2 => Just(Event::Revoke),
        4 => wait.prop_map(Event::Wait),
        4 => Just(Event::Sweep),
    ]
}

/// The entry point of a flow, and its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) door: Door,
    pub(super) offline: bool,
}

pub(super) fn entry() -> impl Strategy<Value = Entry> {
    let door = prop::sample::select(vec![Door::Oauth, Door::Oauth, Door::Smart, Door::Link]);
    (door, any::<bool>()).prop_map(|(door, offline)| Entry { door, offline })
}
