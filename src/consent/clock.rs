//! The service's clock. Tests use a clock that stands still until they advance it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A clock.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A time that changes only on request, in seconds since the Unix epoch.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// Returns a clock that shows `seconds` since the Unix epoch until it is advanced.
    pub fn at(seconds: i64) -> Clock {
        Clock::Set(Arc::new(AtomicI64::new(seconds)))
    }

    /// Returns the current time in seconds since the Unix epoch.
    pub fn now(&self) -> i64 {
        match self {
            Clock::System => chrono::Utc::now().timestamp(),
            Clock::Set(seconds) => seconds.load(Ordering::SeqCst),
        }
    }

    /// Advances a clock that [`Clock::at`] made. Does nothing to the machine's clock.
    pub fn advance(&self, seconds: i64) {
        if let Clock::Set(now) = self {
            now.fetch_add(seconds, Ordering::SeqCst);
        }
    }
}
