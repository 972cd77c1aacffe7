//! Whether the wall clock may decide that something is removed. It may after two looks some minutes apart that agree:
//! between them the wall clock has moved as far as the monotonic clock. So a clock that is wrong for a moment removes
//! nothing. The first look after a start does not count.
//!
//! This module compares only the two clocks of one process. It does not notice a clock that stays wrong, and does not
//! correct the time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The minimum time between the two looks, by the monotonic clock.
pub const APART: Duration = Duration::from_secs(300);
/// How far the wall clock may differ from the monotonic clock between two looks. A time service that slows the clock
/// down or speeds it up stays below this.
pub const TOLERANCE: Duration = Duration::from_secs(10);

/// The times of both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The time of the wall clock in microseconds since 1970.
    pub wall: i64,
    /// The time of the monotonic clock.
    pub monotonic: Duration,
}

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The wall clock agrees with an earlier look that is far enough back. Its time may remove something.
    Agreed(i64),
    /// The wall clock agrees with the earlier looks, and the first of them is too near.
    TooSoon,
    /// The wall clock has jumped since the earlier looks, by this many microseconds. They no longer count.
    Jumped(i64),
}

/// The looks of one process.
///
/// Invariant: if a look is [`Verdict::Agreed`], then an earlier look was at least [`APART`] before it, and no look
/// from that one on differed from the look that it was compared with by more than [`TOLERANCE`].
#[derive(Clone, Copy, Debug)]
pub struct TwoLooks {
    /// The look with which later ones are compared.
    with: Look,
    has_agreed: bool,
    /// The microseconds by which the wall clock has jumped since a look agreed last.
    jumped: u64,
}

impl TwoLooks {
    /// Begins with a look that does not count.
    pub fn new(first: Look) -> TwoLooks {
        TwoLooks {
            with: first,
            has_agreed: false,
            jumped: 0,
        }
    }

    /// How far the wall clock has jumped, as its looks have noticed, since one of them agreed last. Jumps forward and
    /// back add up.
    pub fn jumped(&self) -> Duration {
        Duration::from_micros(self.jumped)
    }

    /// Takes a look.
    pub fn look(&mut self, look: Look) -> Verdict {
        let passed = look.monotonic.saturating_sub(self.with.monotonic);
        let expected = i64::try_from(passed.as_micros()).unwrap_or(i64::MAX);
        let jumped = look.wall.saturating_sub(self.with.wall).saturating_sub(expected);
        if u128::from(jumped.unsigned_abs()) > TOLERANCE.as_micros() {
            *self = TwoLooks {
                jumped: self.jumped.saturating_add(jumped.unsigned_abs()),
                ..TwoLooks::new(look)
            };
            return Verdict::Jumped(jumped);
        }
        if passed >= APART {
            *self = TwoLooks {
                with: look,
                has_agreed: true,
                jumped: 0,
            };
        }
        if self.has_agreed {
            Verdict::Agreed(look.wall)
        } else {
            Verdict::TooSoon
        }
    }
}

/// The looks of one process, shared by its threads.
#[derive(Debug)]
pub struct Looks(Mutex<TwoLooks>);

impl Looks {
    /// Begins with a look that does not count.
    pub fn new(first: Look) -> Looks {
        Looks(Mutex::new(TwoLooks::new(first)))
    }

    /// How far the wall clock has jumped. See [`TwoLooks::jumped`].
    pub fn jumped(&self) -> Duration {
        self.locked().jumped()
    }

    fn locked(&self) -> MutexGuard<'_, TwoLooks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a look. Returns the wall clock's time in microseconds since 1970 if it may remove something. Logs a jump
    /// of the wall clock. `what` names the things that are not removed meanwhile.
    pub fn settled(&self, look: Look, what: &str) -> Option<i64> {
        let verdict = self.locked().look(look);
        match verdict {
            Verdict::Agreed(now) => Some(now),
            Verdict::TooSoon => None,
            Verdict::Jumped(micros) => {
                let (seconds, minutes) = (micros / 1_000_000, APART.as_secs() / 60);
                tracing::warn!(
                    seconds,
                    "the machine's clock has jumped; {what} stay until it has been steady for {minutes} minutes"
                );
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000;
    const START: i64 = 1_700_000_000 * SECOND;

    fn look(seconds: u64, wrong_by: i64) -> Look {
        Look {
            wall: START + (seconds as i64 + wrong_by) * SECOND,
            monotonic: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn the_second_look_counts_after_some_minutes() {
        let mut looks = TwoLooks::new(look(0, 0));
        assert_eq!(looks.look(look(299, 0)), Verdict::TooSoon);
        assert_eq!(looks.look(look(300, 0)), Verdict::Agreed(START + 300 * SECOND));
        assert_eq!(looks.look(look(301, 0)), Verdict::Agreed(START + 301 * SECOND));
    }

    #[test]
    fn after_a_jump_the_looks_begin_anew() {
        for days in [2, -2] {
            let wrong = days * 86_400;
            let mut looks = TwoLooks::new(look(0, 0));
            assert!(matches!(looks.look(look(600, 0)), Verdict::Agreed(_)));
            assert_eq!(looks.look(look(601, wrong)), Verdict::Jumped(wrong * SECOND));
            assert_eq!(looks.look(look(605, wrong)), Verdict::TooSoon);
            assert_eq!(looks.jumped(), Duration::from_secs(2 * 86_400));
            assert_eq!(looks.look(look(606, 0)), Verdict::Jumped(-wrong * SECOND));
            assert_eq!(looks.look(look(905, 0)), Verdict::TooSoon);
            assert!(matches!(looks.look(look(906, 0)), Verdict::Agreed(_)));
            assert_eq!(looks.jumped(), Duration::ZERO);
        }
    }

    #[test]
    fn a_clock_that_is_slowed_down_agrees() {
        let mut looks = TwoLooks::new(look(0, 0));
        // A time service changes the speed by at most 1/2,000.
        let agreed = (1..20_000u64).filter(|n| {
            let seconds = n * 60;
            matches!(looks.look(look(seconds, -(seconds as i64 / 2_000))), Verdict::Agreed(_))
        });
        assert_eq!(agreed.count(), 19_999 - 4);
    }

    proptest! {
        /// Draws the pauses between looks, and one period in which the clock is wrong. It is shorter than [`APART`].
        #[test]
        fn a_clock_that_is_wrong_once_removes_nothing(
            pauses in prop::collection::vec(1u64..900, 1..60),
            begin in 0u64..20_000,
            length in 0u64..300,
            wrong in prop_oneof![-400_000_000i64..-11, 11i64..400_000_000],
        ) {
            let is_wrong = |at: u64| (begin..begin + length).contains(&at);
            let by = |at| if is_wrong(at) { wrong } else { 0 };
            let mut looks = TwoLooks::new(look(0, by(0)));
            let (mut at, mut right_since) = (0, (!is_wrong(0)).then_some(0));
            for pause in pauses {
                at += pause;
                right_since = right_since.or(Some(at)).filter(|_| !is_wrong(at));
                match looks.look(look(at, by(at))) {
                    Verdict::Agreed(now) => {
                        prop_assert!(!is_wrong(at), "a wrong clock removes");
                        prop_assert_eq!(now, look(at, 0).wall);
                        prop_assert!(right_since.is_some_and(|since| at - since >= 300));
                    }
                    Verdict::TooSoon | Verdict::Jumped(_) => {
                        let steady = right_since.is_some_and(|since| at - since >= 300);
                        prop_assert!(!steady, "a right clock removes again");
                    }
                }
            }
        }
    }
}
