//! Runs calls to other servers in tasks of their own. So a call continues if the patient reloads the page, leaves it,
//! or sees the waiting page. A task stores its result in the session, and the session's page shows the result.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::http::error::Error;
use crate::http::service::Service;

/// Runs the work in a task, and waits for the task for at most the limit `interim`. Returns the result of the work.
/// `None` if the work is still running after this time.
pub(in crate::http::connect) async fn await_interim<T: Send + 'static>(
    service: &Arc<Service>,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<Option<T>, Error> {
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        if let Err(Err(error)) = tell.send(work.await) {
            tracing::error!(%error, "what a patient waits for failed");
        }
    });
    match tokio::time::timeout(service.limits.interim, told).await {
        Ok(Ok(done)) => done.map(Some),
        // The task panicked.
        Ok(Err(error)) => Err(Error::internal(error)),
        Err(_) => Ok(None),
    }
}
