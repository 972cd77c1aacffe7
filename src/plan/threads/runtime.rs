//! The threads of plans. A plan that is polled on a Tokio runtime runs its tasks on that runtime. Searches are polled
//! on a runtime of their own. Plans that are polled elsewhere, and parts that may block, use one runtime of this
//! module, which starts at its first use.

use std::sync::LazyLock;

use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use futures::{Stream, StreamExt};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinError;

use crate::parallel::processors;

/// The error for a thread that ran a part of a plan and has stopped unexpectedly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a thread of the plan stopped unexpectedly")]
pub struct Died;

impl From<Died> for DataFusionError {
    fn from(died: Died) -> DataFusionError {
        DataFusionError::External(Box::new(died))
    }
}

/// Returns the runtime of this module. `None` if the system provides no threads for it.
pub(super) fn own() -> Option<&'static Handle> {
    static OWN: LazyLock<Option<Runtime>> = LazyLock::new(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(processors()).thread_name("plan").build().ok()
    });
    OWN.as_ref().map(Runtime::handle)
}

/// Returns the current runtime. Outside a runtime, returns the runtime of this module.
pub(super) fn current() -> Option<Handle> {
    Handle::try_current().ok().or_else(|| own().cloned())
}

/// Runs work as a task of the current runtime or of this module's runtime. If there is neither, runs it on the calling
/// thread. The work must not wait for another thread.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Died> {
    match current() {
        Some(runtime) => runtime.spawn(async move { work() }).await.map_err(|_| Died),
        None => Ok(work()),
    }
}

/// Runs futures concurrently as tasks and returns their results in the order of the futures. A single future runs on
/// the calling thread.
///
/// If there are several futures, none of them runs on the calling thread. Tokio puts the task that a worker thread has
/// spawned last into a slot of that worker, and no other worker takes it from there. So if the first of two futures ran
/// on the calling thread, the second could start only when the first waits or ends.
pub async fn at_once<F>(parts: impl IntoIterator<Item = F>) -> Result<Vec<F::Output>, JoinError>
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut parts: Vec<F> = parts.into_iter().collect();
    if parts.len() == 1
        && let Some(part) = parts.pop()
    {
        return Ok(vec![part.await]);
    }
    let tasks: Vec<_> = parts.into_iter().map(SpawnedTask::spawn).collect();
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(task.join().await?);
    }
    Ok(results)
}

/// An iterator over the items of a stream. It blocks the calling thread until each item is there. Work that the stream
/// runs ahead goes to the runtime of this module, even if the calling thread belongs to another runtime.
#[derive(Debug)]
pub struct Waiting<S>(S);

impl<S> Waiting<S> {
    /// Creates an iterator over the items of this stream.
    pub fn new(stream: S) -> Waiting<S> {
        Waiting(stream)
    }
}

impl<S: Stream + Unpin> Iterator for Waiting<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<S::Item> {
        wait(self.0.next())
    }
}

/// Blocks the calling thread until the future is ready. The thread may run a Tokio task. Work that the future starts
/// goes to the runtime of this module.
///
/// A Tokio task may poll only so many times that something is ready, and gets more only after it has returned to its
/// runtime. A task that waits here does not return, so these polls do not count.
pub fn wait<F: Future>(future: F) -> F::Output {
    let _entered = own().map(Handle::enter);
    futures::executor::block_on(tokio::task::unconstrained(future))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A soak over a lake of more than 128 batches never began.
    #[test]
    fn a_task_can_wait_for_any_number_of_items() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let items = 1_000;
        let (sender, mut queue) = tokio::sync::mpsc::channel(items);
        (0..items).for_each(|item| sender.try_send(item).unwrap());
        drop(sender);
        let stream = futures::stream::poll_fn(move |context| queue.poll_recv(context));
        let waited = runtime.block_on(async { Waiting::new(stream).count() });
        assert_eq!(waited, items);
    }
}
