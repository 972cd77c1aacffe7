//! Stops a view's work from outside. Threads that compute rows also stop when their consumer stops reading. But a scan
//! that finds no rows would not notice that. So the work also checks the flag of [`Stop`].

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

/// Whether the consumer has requested a stop. Clones share the flag. After the request, running work soon ends with
/// [`RunError::Stopped`].
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_asked: AtomicBool,
    /// The wakers of tasks that wait for batches. Other threads compute these batches, which may never arrive.
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

    /// Returns an error if a stop was requested.
    pub(in crate::views) fn check(&self) -> Result<(), RunError> {
        if self.is_asked() {
            Err(RunError::Stopped)
        } else {
            Ok(())
        }
    }

    /// Returns the same batches. After a stop was requested, they end with an error, even if no batch arrives.
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
