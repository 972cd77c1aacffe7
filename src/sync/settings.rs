//! Limits and retries of requests to sources.

use std::time::Duration;

use crate::normalize::NewestKnowledge;

/// The settings of a worker.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The maximum number of concurrent jobs.
    pub jobs: usize,
    /// The maximum number of concurrent requests to one source, by all jobs together.
    pub requests: usize,
    /// How temporary failures are retried.
    pub pace: Pace,
    /// The limits of the data that a job fetches.
    pub limits: SyncLimits,
    /// The terminology and the table of health plans for normalizing records.
    pub knowledge: NewestKnowledge,
}

/// The limits of one patient's data from a source, and of the time to fetch them. They keep a source from filling the
/// disk or delaying others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncLimits {
    /// The maximum number of bytes of records and their attachments. Further attachments stay at the source.
    pub bytes: u64,
    /// The maximum number of records.
    pub records: u64,
    /// The maximum number of bytes of an attachment. A larger attachment stays at the source.
    pub attachment: u64,
    /// The timeout of one attempt of a job.
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

/// How temporary failures are retried. A request is retried after a short time, a job later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time before a request's second try. It doubles before each further try.
    pub first: Duration,
    /// The maximum time before a request's next try. If the source asks to wait longer, a later attempt of the job
    /// makes the request again.
    pub max_wait: Duration,
    /// The maximum number of tries of a request.
    pub tries: u32,
    /// The maximum number of attempts of a job. The last attempt stores all records that it fetched, even if others are
    /// missing.
    pub attempts: u32,
    /// The number of seconds before a job's second attempt. It doubles before each further attempt.
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
