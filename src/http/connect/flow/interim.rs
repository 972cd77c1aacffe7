//! Runs calls to other servers independently of the browser. So a patient who reloads, leaves or sees the waiting page
//! loses nothing. The result is stored in the session, and the session's page shows it.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::http::error::Error;
use crate::http::service::Service;

/// The result of the work if it ends soon. `None` while it still runs.
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
        // The work panicked.
        Ok(Err(error)) => Err(Error::internal(error)),
        Err(_) => Ok(None),
    }
}
