//! Whether a consent's records can be read, as it is cached.

use std::sync::Arc;

/// Whether a consent's records can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They can.
    Ready,
    /// A source's first records are on their way.
    Syncing {
        /// When the source is asked next, if it wants to be left alone until then.
        again_at: Option<i64>,
    },
    /// No source gave any, and none is being asked.
    Nothing,
    /// The records of every source are over. The patient has to authorize again.
    Expired,
    /// The patient had all records erased.
    Expunged,
}

/// Whether a consent's records can be read, and its patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Whether they can be read.
    pub readiness: Readiness,
    /// The Patients whose records are stored or expected, the primary one first.
    pub patients: Arc<[String]>,
    /// Until when this holds, if nothing about jobs changes.
    pub(super) until: i64,
}
