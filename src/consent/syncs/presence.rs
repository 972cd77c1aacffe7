//! Whether a consent's records can be read. This file defines the type of the answer, which is also cached.

use std::sync::Arc;

/// Whether a consent's records can be read, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The records can be read.
    Ready,
    /// The first records of a source are being fetched.
    Syncing {
        /// When the source is queried next, if it requested a pause. In seconds since the Unix epoch.
        again_at: Option<i64>,
    },
    /// No source has records, no first sync is running, and no records have expired.
    Nothing,
    /// No source has records any more, and the records of at least one source have expired. The patient must authorize
    /// again.
    Expired,
    /// The erasure of all records of the consent was requested.
    Expunged,
}

/// Whether a consent's records can be read, and whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Whether the records can be read, or why not.
    pub readiness: Readiness,
    /// The ids of the Patients whose records are stored or expected, the primary one first.
    pub patients: Arc<[String]>,
    /// Until when this value may be cached, in seconds since the Unix epoch.
    pub(super) until: i64,
}
