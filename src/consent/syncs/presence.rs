//! The types that state whether a consent's records can be read. The file `readiness` computes and caches their values.

use std::sync::Arc;

use super::missing::MissingReason;

/// Whether a consent's records can be read, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The records can be read.
    Ready,
    /// The first sync of a source is in the queue or is running, and its records are waited for.
    Syncing {
        /// When the source is queried next, if its job was postponed. In seconds since the Unix epoch.
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

/// Records that a source has, as far as the service knows, and that cannot be read here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The resource type. `None` means all types.
    pub resource_type: Option<String>,
    /// The name of the source.
    pub source: String,
    /// What is missing and why, in words without contents of records.
    pub detail: String,
    /// Why it is missing. `None` if the source was not asked yet.
    pub reason: Option<MissingReason>,
}

/// Whether a consent's records can be read, and whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Whether the records can be read, or why not.
    pub readiness: Readiness,
    /// The ids of the Patients whose records are stored or expected, the primary one first.
    pub patients: Arc<[String]>,
    /// What the records lack. Empty if nothing is known to be missing.
    pub incomplete: Arc<[Incomplete]>,
    /// Until when this value may be cached, in seconds since the Unix epoch.
    pub(super) until: i64,
}
