//! Ends the drawing of pages when their client leaves.

use crate::patient::pdf::Stop;

/// Requests the end of the work when it is dropped with the request.
pub(super) struct Wanted(Stop);

impl Wanted {
    /// A flag for the work, and its owner.
    pub(super) fn begin() -> (Wanted, Stop) {
        let stop = Stop::default();
        (Wanted(stop.clone()), stop)
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.ask();
    }
}
