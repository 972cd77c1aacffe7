//! Ending a view's work from outside. Rows that nobody takes stop the threads that compute them; where a scan finds
//! no rows there is nothing to refuse, and this says it instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures::Stream;
use futures::stream::poll_fn;

use super::error::RunError;

/// Whether a view's rows are still wanted; clones share it. What is under way ends with [`RunError::Stopped`] soon
/// after.
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

    /// The same batches, which end with an error once somebody asked. A scan pauses every few milliseconds, whether
    /// it finds rows or not, and is asked again through here.
    pub(super) fn ends(
        &self,
        mut batches: SendableRecordBatchStream,
    ) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send + use<> {
        let stop = self.clone();
        let mut ended = false;
        poll_fn(move |context| {
            if ended {
                return Poll::Ready(None);
            }
            match stop.check() {
                Ok(()) => batches.as_mut().poll_next(context),
                Err(error) => {
                    ended = true;
                    Poll::Ready(Some(Err(error.into_plan())))
                }
            }
        })
    }
}
