//! Sources of the current time. Tests set theirs by hand.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::two_looks::Look;

/// A source of the current time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the time in microseconds since 1970-01-01T00:00:00Z. Somebody may set this time, so it can jump.
    fn now(&self) -> i64;

    /// Returns the time since a moment that stays the same as long as the process runs. Nobody can set this time.
    fn monotonic(&self) -> Duration;

    /// Returns both times.
    fn look(&self) -> Look {
        Look {
            wall: self.now(),
            monotonic: self.monotonic(),
        }
    }
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        chrono::Utc::now().timestamp_micros()
    }

    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// A clock that moves only if a caller moves it.
#[derive(Debug, Default)]
pub struct ManualClock {
    wall: AtomicI64,
    /// Microseconds since the clock was made.
    monotonic: AtomicI64,
}

impl ManualClock {
    /// Makes a clock that shows `micros` until it is moved.
    pub fn at(micros: i64) -> ManualClock {
        ManualClock {
            wall: AtomicI64::new(micros),
            monotonic: AtomicI64::new(0),
        }
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let micros = by.as_micros() as i64;
        self.monotonic.fetch_add(micros, Ordering::SeqCst);
        self.wall.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets the clock forward or back by this many seconds, while no time passes.
    pub fn jump(&self, seconds: i64) {
        self.wall.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.wall.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.monotonic.load(Ordering::SeqCst).unsigned_abs())
    }
}
