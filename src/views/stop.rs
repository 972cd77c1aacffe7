//! Ending a view's work from outside. Rows that nobody takes stop the threads that compute them; where a scan finds no rows
//! there is nothing to refuse, and this says it instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::RunError;
use crate::lake::scan::Keep;

/// Whether a view's rows are still wanted; clones share it. What is under way ends with [`RunError::Stopped`] soon after.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nobody wants the rows any more.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once somebody asked.
    pub(super) fn check(&self) -> Result<(), RunError> {
        match self.is_asked() {
            true => Err(RunError::Stopped),
            false => Ok(()),
        }
    }

    /// The same condition on rows, which fails once somebody asked.
    pub(super) fn before(&self, keep: Keep) -> Keep {
        let stop = self.clone();
        Arc::new(move |batch| {
            stop.check().map_err(RunError::into_plan)?;
            keep(batch)
        })
    }
}
