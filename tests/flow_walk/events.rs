//! What may happen to a flow, drawn at random.

use proptest::prelude::*;
use tabularium::consent::{Door, REFRESH_SECONDS, Resync, Trouble};

use super::{DAY, IDLE};

/// What may happen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
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
    Refresh(Resync),
    Sync(Outcome),
    Revoke,
    Wait(i64),
    Sweep,
}

/// What a source answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// With a refresh token or without.
    Grants {
        lasting: bool,
    },
    Fails(Trouble),
}

/// What becomes of sync jobs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Completed,
    Failed,
    PutOff,
    /// The service is killed and takes them up again.
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

/// How a flow was entered, and what was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) door: Door,
    pub(super) offline: bool,
}

pub(super) fn entry() -> impl Strategy<Value = Entry> {
    let door = prop::sample::select(vec![Door::Oauth, Door::Oauth, Door::Smart, Door::Link]);
    (door, any::<bool>()).prop_map(|(door, offline)| Entry { door, offline })
}
