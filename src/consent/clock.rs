//! The current time for the service. Tests stop it and move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The source of the present time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A time that changes only on request, in seconds since the Unix epoch.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that shows `seconds` since the Unix epoch.
    pub fn at(seconds: i64) -> Clock {
        Clock::Set(Arc::new(AtomicI64::new(seconds)))
    }

    /// Seconds since the Unix epoch.
    pub fn now(&self) -> i64 {
        match self {
            Clock::System => chrono::Utc::now().timestamp(),
            Clock::Set(seconds) => seconds.load(Ordering::SeqCst),
        }
    }

    /// Moves a clock made by [`Clock::at`]. It has no effect on the machine's clock.
    pub fn advance(&self, seconds: i64) {
        if let Clock::Set(now) = self {
            now.fetch_add(seconds, Ordering::SeqCst);
        }
    }
}
