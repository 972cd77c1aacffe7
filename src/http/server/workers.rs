//! The threads that run searches, separate from those that serve clients. A scan of a whole population computes for
//! seconds without a pause, and a read by id must not wait for it.

use std::future::Future;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::super::error::Error;
use crate::search::Stop;

/// A pool with as many threads as there are processors.
pub(in crate::http) struct Workers(Option<Runtime>);

/// A running task. Dropping this before the task has ended aborts it. A task that computes without a pause is asked to
/// stop.
struct Working<T> {
    task: JoinHandle<T>,
    stop: Option<Stop>,
}

impl Workers {
    pub(in crate::http) fn start() -> std::io::Result<Workers> {
        Builder::new_multi_thread()
            .thread_name("search")
            .enable_all()
            .build()
            .map(|runtime| Workers(Some(runtime)))
    }

    /// Runs work on the pool and waits for it. Aborts the work if the returned future is dropped. A panic of the work
    /// is an error.
    pub(in crate::http) async fn run<F>(&self, work: F) -> Result<F::Output, Error>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.run_until(|_| work).await
    }

    /// Runs work as [`run`](Self::run) does. If the returned future is dropped, it also asks the work to stop.
    pub(in crate::http) async fn run_until<F>(&self, work: impl FnOnce(Stop) -> F) -> Result<F::Output, Error>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let runtime = self
            .0
            .as_ref()
            .ok_or_else(|| Error::internal("the workers have stopped"))?;
        let stop = Stop::default();
        let mut working = Working {
            task: runtime.spawn(work(stop.clone())),
            stop: Some(stop),
        };
        let done = (&mut working.task).await;
        working.stop = None;
        done.map_err(Error::internal)
    }

    /// Starts work that continues after the response has begun. Nothing aborts it: it must end by itself when nobody
    /// reads its results.
    pub(in crate::http) fn go_on<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(runtime) = &self.0 {
            runtime.spawn(work);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Do not wait for running tasks: a thread that must not block may drop the pool, and nobody needs the results
        // of the tasks.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl<T> Drop for Working<T> {
    fn drop(&mut self) {
        if let Some(stop) = &self.stop {
            stop.ask();
        }
        self.task.abort();
    }
}
