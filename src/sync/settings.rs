//! How hard sources are asked.

use std::time::Duration;

use crate::normalize::NewestKnowledge;

/// The settings of a worker.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Jobs that run at once.
    pub jobs: usize,
    /// Requests that one source is sent at once, by all jobs together.
    pub requests: usize,
    /// How failures that may pass are met.
    pub pace: Pace,
    /// How much is taken.
    pub limits: SyncLimits,
    /// The terminology and the table of health plans that records are normalized by.
    pub knowledge: NewestKnowledge,
}

/// How much a source may give for one patient, and how long it may take, so that none fills the disk or keeps others
/// waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncLimits {
    /// Bytes of records and their attachments. What exceeds it stays at the source.
    pub bytes: u64,
    /// Records.
    pub records: u64,
    /// Bytes of one attachment. A larger one stays at the source.
    pub attachment: u64,
    /// For one attempt of a job.
    pub time: Duration,
}

impl Default for SyncLimits {
    fn default() -> SyncLimits {
        SyncLimits {
            bytes: 4 << 30,
            records: 1_000_000,
            attachment: 64 << 20,
            time: Duration::from_secs(2 * 3_600),
        }
    }
}

/// How failures that may pass are met: a request is tried again after a while, a job later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Before a request's second try; twice as long before each further one.
    pub first: Duration,
    /// A source that wants to be left alone for longer is asked by a later attempt of the job.
    pub max_wait: Duration,
    /// Tries of a request.
    pub tries: u32,
    /// Attempts of a job. The last one stores whatever was fetched.
    pub attempts: u32,
    /// Seconds before a job's second attempt; twice as long before each further one.
    pub again: i64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            first: Duration::from_millis(500),
            max_wait: Duration::from_secs(20),
            tries: 4,
            attempts: 6,
            again: 5,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            jobs: 8,
            requests: 4,
            pace: Pace::default(),
            limits: SyncLimits::default(),
            knowledge: NewestKnowledge::default(),
        }
    }
}
