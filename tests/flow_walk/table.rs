//! The transition tables as data.

/// A trigger of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    Redirected,
    Granted,
    Refused,
    /// The patient cancelled, closed the window, chose something else, or was idle for 30 minutes.
    Left,
    Finished,
    Exchanged,
    /// The code or public token expires unused.
    Unused,
    /// A technical failure at the source, or a first sync that stored nothing.
    Failed,
    /// The application requests first records again that did not arrive.
    Retried,
    WindowElapsed,
    Revoked,
}

/// Rows of state, trigger, new state. Transitions without a row are illegal.
pub(super) type Moves = &'static [(&'static str, Trigger, &'static str)];

pub(super) const AUTHORIZATION: Moves = &[
    ("CREATED", Trigger::Redirected, "AUTHORIZING"),
    ("AUTHORIZING", Trigger::Granted, "AUTHORIZED"),
    ("AUTHORIZING", Trigger::Refused, "BOUNCED"),
    ("CREATED", Trigger::Left, "ABANDONED"),
    ("AUTHORIZING", Trigger::Left, "ABANDONED"),
    ("AUTHORIZED", Trigger::Exchanged, "EXCHANGED"),
    ("AUTHORIZED", Trigger::Unused, "ABANDONED"),
    ("AUTHORIZING", Trigger::Failed, "ERRORED"),
    ("EXCHANGED", Trigger::Failed, "ERRORED"),
    ("ERRORED", Trigger::Retried, "EXCHANGED"),
    ("EXCHANGED", Trigger::WindowElapsed, "EXPIRED"),
    ("CREATED", Trigger::Revoked, "REVOKED"),
    ("AUTHORIZING", Trigger::Revoked, "REVOKED"),
    ("AUTHORIZED", Trigger::Revoked, "REVOKED"),
    ("EXCHANGED", Trigger::Revoked, "REVOKED"),
    ("ERRORED", Trigger::Revoked, "REVOKED"),
    ("EXPIRED", Trigger::Revoked, "REVOKED"),
];

pub(super) const CONSENT: Moves = &[
    ("CREATED", Trigger::Finished, "AUTHORIZED"),
    ("CREATED", Trigger::Left, "ABANDONED"),
    ("AUTHORIZED", Trigger::Exchanged, "EXCHANGED"),
    ("AUTHORIZED", Trigger::Unused, "ABANDONED"),
    ("CREATED", Trigger::Revoked, "REVOKED"),
    ("AUTHORIZED", Trigger::Revoked, "REVOKED"),
    ("EXCHANGED", Trigger::Revoked, "REVOKED"),
];
