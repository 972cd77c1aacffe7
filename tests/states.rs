//! States and their transitions: random events over real stores, compared with the transition tables, which are data
//! here.

use proptest::prelude::*;
use tabularium::consent::{AuthorizationEvent, AuthorizationState, ConsentEvent, ConsentState, JobEvent, JobState};

/// Rows of state, event, new state. Transitions without a row are illegal.
const CONSENT: &[(&str, &str, &str)] = &[
    ("CREATED", "finished", "AUTHORIZED"),
    ("CREATED", "left", "ABANDONED"),
    ("AUTHORIZED", "exchanged", "EXCHANGED"),
    ("AUTHORIZED", "left unused", "ABANDONED"),
    ("CREATED", "revoked", "REVOKED"),
    ("AUTHORIZED", "revoked", "REVOKED"),
    ("EXCHANGED", "revoked", "REVOKED"),
];

const AUTHORIZATION: &[(&str, &str, &str)] = &[
    ("CREATED", "sent to its source", "AUTHORIZING"),
    ("AUTHORIZING", "granted", "AUTHORIZED"),
    ("AUTHORIZING", "refused", "BOUNCED"),
    ("CREATED", "left", "ABANDONED"),
    ("AUTHORIZING", "left", "ABANDONED"),
    ("AUTHORIZED", "exchanged", "EXCHANGED"),
    ("AUTHORIZED", "left unused", "ABANDONED"),
    ("AUTHORIZING", "failed", "ERRORED"),
    ("EXCHANGED", "failed", "ERRORED"),
    ("ERRORED", "tried again", "EXCHANGED"),
    ("EXCHANGED", "expired", "EXPIRED"),
    ("CREATED", "revoked", "REVOKED"),
    ("AUTHORIZING", "revoked", "REVOKED"),
    ("AUTHORIZED", "revoked", "REVOKED"),
    ("EXCHANGED", "revoked", "REVOKED"),
    ("ERRORED", "revoked", "REVOKED"),
    ("EXPIRED", "revoked", "REVOKED"),
];

const JOB: &[(&str, &str, &str)] = &[
    ("CREATED", "queued", "WAITING"),
    ("WAITING", "started", "ACTIVE"),
    ("ACTIVE", "completed", "COMPLETED"),
    ("ACTIVE", "failed", "FAILED"),
    ("ACTIVE", "returned to the queue", "WAITING"),
    ("CREATED", "stopped", "FAILED"),
    ("WAITING", "stopped", "FAILED"),
    ("ACTIVE", "stopped", "FAILED"),
];

/// Applies `events` and compares each step with `table`.
fn walk<S: Copy, E: Copy, F>(
    table: &[(&str, &str, &str)],
    first: S,
    events: &[E],
    state_name: fn(S) -> &'static str,
    event_name: fn(E) -> &'static str,
    after: fn(S, E) -> Result<S, F>,
) {
    let mut state = first;
    for event in events {
        let (from, happened) = (state_name(state), event_name(*event));
        let expected = table.iter().find(|row| (row.0, row.1) == (from, happened));
        match (after(state, *event), expected) {
            (Ok(next), Some(row)) => {
                assert_eq!(state_name(next), row.2, "{from}, {happened}");
                state = next;
            }
            (Err(_), None) => {}
            (Ok(next), None) => panic!("{from}, {happened}: {} instead of an error", state_name(next)),
            (Err(_), Some(row)) => panic!("{from}, {happened}: an error instead of {}", row.2),
        }
    }
}

proptest! {
    #[test]
    fn consents_move_by_the_table(
        first in prop::sample::select(ConsentState::ALL),
        events in prop::collection::vec(prop::sample::select(ConsentEvent::ALL), 1..12),
    ) {
        walk(CONSENT, first, &events, ConsentState::name, ConsentEvent::name, ConsentState::after);
    }

    #[test]
    fn authorizations_move_by_the_table(
        first in prop::sample::select(AuthorizationState::ALL),
        events in prop::collection::vec(prop::sample::select(AuthorizationEvent::ALL), 1..12),
    ) {
        let name = AuthorizationState::name;
        walk(AUTHORIZATION, first, &events, name, AuthorizationEvent::name, AuthorizationState::after);
    }

    #[test]
    fn jobs_move_by_the_table(
        first in prop::sample::select(JobState::ALL),
        events in prop::collection::vec(prop::sample::select(JobEvent::ALL), 1..12),
    ) {
        walk(JOB, first, &events, JobState::name, JobEvent::name, JobState::after);
    }
}

#[test]
fn every_pair_of_state_and_event_is_decided() {
    for from in AuthorizationState::ALL {
        for event in AuthorizationEvent::ALL {
            let (state, happened) = (AuthorizationState::name, AuthorizationEvent::name);
            walk(
                AUTHORIZATION,
                *from,
                &[*event],
                state,
                happened,
                AuthorizationState::after,
            );
        }
    }
    for (state, event, _) in AUTHORIZATION {
        assert!(AuthorizationState::named(state).is_some(), "{state}");
        assert!(
            AuthorizationEvent::ALL.iter().any(|known| known.name() == *event),
            "{event}"
        );
    }
}

#[test]
fn an_illegal_move_says_what_was_to_happen_to_what() {
    let error = AuthorizationState::Abandoned
        .after(AuthorizationEvent::Granted)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "a patient authorization that is ABANDONED cannot be granted"
    );
}
