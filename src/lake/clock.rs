//! The clock that stamps snapshots and measures retention. Tests set it by hand.

use std::sync::atomic::{AtomicI64, Ordering};

/// A source of the current time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the time in microseconds since 1970-01-01T00:00:00Z.
    fn now(&self) -> i64;
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        chrono::Utc::now().timestamp_micros()
    }
}

/// A clock that moves only if a caller moves it.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Makes a clock that shows `micros` until it is moved.
    pub fn at(micros: i64) -> ManualClock {
        ManualClock(AtomicI64::new(micros))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: std::time::Duration) {
        self.0.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
