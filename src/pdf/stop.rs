//! A flag that stops the work on a document.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::PdfError;

/// A flag that tells the work on a document to stop. Clones share the flag. The work then soon ends with
/// [`PdfError::Stopped`].
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Sets the flag.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error if the flag is set.
    pub fn check(&self) -> Result<(), PdfError> {
        if self.is_asked() {
            Err(PdfError::Stopped)
        } else {
            Ok(())
        }
    }
}
