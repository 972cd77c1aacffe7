//! The threads that run searches, separate from those that serve clients. A scan of a whole population computes for
//! seconds without a pause, and a read by id must not wait for it.

use std::future::Future;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::super::error::Error;

/// A pool with as many threads as there are processors.
pub(in crate::http) struct Workers(Option<Runtime>);

/// A running task. Dropping this aborts it.
struct Working<T>(JoinHandle<T>);

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
        let runtime = self
            .0
            .as_ref()
            .ok_or_else(|| Error::internal("the workers have stopped"))?;
        let mut working = Working(runtime.spawn(work));
        (&mut working.0).await.map_err(Error::internal)
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
        self.0.abort();
    }
}
