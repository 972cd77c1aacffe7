//! The service's clock. Tests use a clock that stands still until they advance it.

use std::sync::Arc;
use std::time::Duration;

use crate::lake::clock::{Clock as _, Look, ManualClock, SystemClock};

const MICROS: i64 = 1_000_000;

/// A clock.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A clock that moves only on request.
    Set(Arc<ManualClock>),
}

impl Clock {
    /// Returns a clock that shows `seconds` since the Unix epoch until it is advanced.
    pub fn at(seconds: i64) -> Clock {
        Clock::Set(Arc::new(ManualClock::at(seconds * MICROS)))
    }

    /// Returns the current time in seconds since the Unix epoch.
    pub fn now(&self) -> i64 {
        self.look().wall.div_euclid(MICROS)
    }

    /// Returns the times of the wall clock and of the monotonic clock.
    pub fn look(&self) -> Look {
        match self {
            Clock::System => SystemClock.look(),
            Clock::Set(clock) => clock.look(),
        }
    }

    /// Lets time pass on a clock that [`Clock::at`] made. Does nothing to the machine's clock.
    pub fn advance(&self, seconds: i64) {
        if let Clock::Set(clock) = self {
            clock.advance(Duration::from_secs(seconds.unsigned_abs()));
        }
    }

    /// Sets a clock that [`Clock::at`] made forward or back, while no time passes. Does nothing to the machine's clock.
    pub fn jump(&self, seconds: i64) {
        if let Clock::Set(clock) = self {
            clock.jump(seconds);
        }
    }
}
