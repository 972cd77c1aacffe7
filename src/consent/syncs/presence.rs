//! Whether a consent's records can be read, in the form of the cache.

use std::sync::Arc;

/// Whether a consent's records can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The records can be read.
    Ready,
    /// A source's first records are being fetched.
    Syncing {
        /// When the source is queried next, if it requested a pause.
        again_at: Option<i64>,
    },
    /// No source returned any, and none is being queried.
    Nothing,
    /// The records of every source have expired. The patient must authorize again.
    Expired,
    /// The patient had all records erased.
    Expunged,
}

/// Whether a consent's records can be read, and its patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Whether the records can be read.
    pub readiness: Readiness,
    /// The Patients whose records are stored or expected, the primary one first.
    pub patients: Arc<[String]>,
    /// How long this holds if no job changes.
    pub(super) until: i64,
}
