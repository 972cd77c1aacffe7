//! How hard sources are asked.

use std::time::Duration;

/// What a worker is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Jobs that run at once.
    pub jobs: usize,
    /// Requests that one source is sent at once, by all jobs together.
    pub requests: usize,
    /// How failures that may pass are met.
    pub pace: Pace,
}

/// How failures that may pass are met: a request is tried again after a while, a job later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Before a request's second try; twice as long before each further one.
    pub first: Duration,
    /// A source that wants to be left alone for longer is asked by a later attempt of the job.
    pub most: Duration,
    /// Tries of a request.
    pub tries: u32,
    /// Attempts of a job. The last one stores what could be had.
    pub attempts: u32,
    /// Seconds before a job's second attempt; twice as long before each further one.
    pub again: i64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            first: Duration::from_millis(500),
            most: Duration::from_secs(20),
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
        }
    }
}
