//! Stops a view's work from outside. Threads that compute rows stop when their consumer stops reading. A scan that
//! finds no rows would not notice that, so it checks this flag.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;

use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures::Stream;
use futures::stream::poll_fn;
use futures::task::AtomicWaker;

use super::super::error::RunError;

/// Whether a view's rows are still wanted. Clones share the flag. After a request to stop, running work soon ends with
/// [`RunError::Stopped`].
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_asked: AtomicBool,
    /// Tasks that wait for batches. The batches may be computed elsewhere and may never arrive.
    waiting: Mutex<Vec<Weak<AtomicWaker>>>,
}

impl Stop {
    /// Requests the stop.
    pub fn ask(&self) {
        self.0.is_asked.store(true, Ordering::SeqCst);
        let waiting = std::mem::take(&mut *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.iter().filter_map(Weak::upgrade).for_each(|waker| waker.wake());
    }

    /// Whether a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    /// An error if a stop was requested.
    pub(in crate::views) fn check(&self) -> Result<(), RunError> {
        if self.is_asked() {
            Err(RunError::Stopped)
        } else {
            Ok(())
        }
    }

    /// The same batches. They end with an error after a stop was requested, even if no batch arrives.
    pub(in crate::views) fn ends(
        &self,
        mut batches: SendableRecordBatchStream,
    ) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send + use<> {
        let stop = self.clone();
        let waker = Arc::new(AtomicWaker::new());
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|waker| waker.strong_count() > 0);
        waiting.push(Arc::downgrade(&waker));
        drop(waiting);
        let mut ended = false;
        poll_fn(move |context| {
            if ended {
                return Poll::Ready(None);
            }
            waker.register(context.waker());
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

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
    use futures::StreamExt;

    use super::*;

    #[test]
    fn who_waits_for_a_batch_that_never_comes_is_told() {
        let stop = Stop::default();
        let never = RecordBatchStreamAdapter::new(Arc::new(Schema::empty()), futures::stream::pending());
        let mut batches = Box::pin(stop.ends(Box::pin(never)));
        std::thread::scope(|scope| {
            scope.spawn(|| stop.ask());
            assert!(matches!(futures::executor::block_on(batches.next()), Some(Err(_))));
            assert!(futures::executor::block_on(batches.next()).is_none());
        });
    }
}
