//! The threads of plans. A plan that is polled on a runtime runs its parts on that runtime. Searches have their own
//! runtime. All other plans share one, which is started at its first use.

use std::sync::LazyLock;

use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use futures::{Stream, StreamExt};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinError;

use crate::parallel::processors;

/// A thread that ran a part has stopped unexpectedly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a thread of the plan stopped unexpectedly")]
pub struct Died;

impl From<Died> for DataFusionError {
    fn from(died: Died) -> DataFusionError {
        DataFusionError::External(Box::new(died))
    }
}

/// The runtime of plans that are polled outside any runtime. `None` if the system provides no threads.
pub(super) fn own() -> Option<&'static Handle> {
    static OWN: LazyLock<Option<Runtime>> = LazyLock::new(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(processors()).thread_name("plan").build().ok()
    });
    OWN.as_ref().map(Runtime::handle)
}

/// The current runtime, otherwise the plans' own.
pub(super) fn current() -> Option<Handle> {
    Handle::try_current().ok().or_else(|| own().cloned())
}

/// Runs work on a plan thread, or here if there is none. The work must not wait for another thread.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Died> {
    match current() {
        Some(runtime) => runtime.spawn(async move { work() }).await.map_err(|_| Died),
        None => Ok(work()),
    }
}

/// Runs parts of some work concurrently and returns their results in order. A single part runs on the calling thread.
///
/// If there are several parts, none runs on the calling thread. The last task that a runtime thread spawns waits for
/// that very thread, so the second of two parts would start only after the first.
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

/// A stream's items for a thread that blocks on each item. Work ahead of the consumer runs on the plans' own threads,
/// even if the blocking thread belongs to another runtime.
#[derive(Debug)]
pub struct Waiting<S>(S);

impl<S> Waiting<S> {
    /// The items of this stream.
    pub fn new(stream: S) -> Waiting<S> {
        Waiting(stream)
    }
}

impl<S: Stream + Unpin> Iterator for Waiting<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<S::Item> {
        let _entered = own().map(Handle::enter);
        futures::executor::block_on(self.0.next())
    }
}
