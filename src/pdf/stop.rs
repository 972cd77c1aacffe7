//! Whether a document that is being made is still wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::PdfError;

/// A flag that nobody wants the document any more. Clones share it. The work then ends with [`PdfError::Stopped`] soon
/// after.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nobody wants the document any more.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once somebody asked.
    pub fn check(&self) -> Result<(), PdfError> {
        match self.is_asked() {
            true => Err(PdfError::Stopped),
            false => Ok(()),
        }
    }
}
