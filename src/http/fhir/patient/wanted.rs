//! Stops the rendering of a PDF when its client disconnects.

use crate::patient::pdf::Stop;

/// Stops the work when this is dropped with its request.
pub(super) struct Wanted(Stop);

impl Wanted {
    /// Returns a guard for the request, and the stop flag for the work. When the guard is dropped, it sets the flag.
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
