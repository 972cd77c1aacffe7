//! Bounds the work of one answer. Work is counted in rows and resources that are read or tested, never in time. So the
//! same request over the same snapshot succeeds or fails in the same way on every machine.
//!
//! A budget also ends an answer that nobody wants any more: each piece of work first looks at the [`Stop`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::error::ScanError;

/// The work that all reads of one answer may do together.
#[derive(Debug)]
pub struct Budget {
    left: AtomicU64,
    stop: Stop,
}

impl Budget {
    /// Makes a budget for this much work. Its reads end when `stop` is asked.
    pub fn new(work: u64, stop: Stop) -> Budget {
        Budget {
            left: AtomicU64::new(work),
            stop,
        }
    }

    /// Takes work from the budget. Call this before the work is done. Returns an error if too little is left, or if the
    /// answer is not wanted any more.
    pub fn spend(&self, work: u64) -> Result<(), ScanError> {
        if self.stop.is_asked() {
            return Err(ScanError::Stopped);
        }
        let take = |left: u64| Some(left.saturating_sub(work));
        let (Ok(left) | Err(left)) = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        if left < work { Err(ScanError::TooCostly) } else { Ok(()) }
    }
}

/// Asks an answer to stop. Clones ask the same answer. The answer stops at its next piece of work.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the answer to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the answer was asked to stop.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_once() {
        let budget = Budget::new(10, Stop::default());
        budget.spend(4).unwrap();
        budget.spend(6).unwrap();
        assert!(matches!(budget.spend(1), Err(ScanError::TooCostly)));
        assert!(matches!(
            Budget::new(10, Stop::default()).spend(11),
            Err(ScanError::TooCostly)
        ));
    }

    #[test]
    fn an_answer_that_was_asked_to_stop_gets_no_more_work() {
        let stop = Stop::default();
        let budget = Budget::new(10, stop.clone());
        budget.spend(1).unwrap();
        stop.ask();
        assert!(matches!(budget.spend(1), Err(ScanError::Stopped)));
    }
}
