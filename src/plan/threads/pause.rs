//! Pauses of work that computes for long without waiting for anything.

use std::time::{Duration, Instant};

/// The time after which a pause gives up the thread.
const STRETCH: Duration = Duration::from_micros(500);

/// Lets other tasks run on the thread of a task that computes for long. A task that was aborted ends in a pause.
#[derive(Debug)]
pub struct Pause {
    /// The time when the task last gave up its thread.
    since: Instant,
}

impl Default for Pause {
    fn default() -> Pause {
        Pause { since: Instant::now() }
    }
}

impl Pause {
    /// Gives up the thread if the task has run for half a millisecond. Call it between pieces of work.
    pub async fn take(&mut self) {
        if self.since.elapsed() >= STRETCH {
            tokio::task::yield_now().await;
            self.since = Instant::now();
        }
    }
}
