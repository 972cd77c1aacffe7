//! Stops a server: at a signal, or at the end of standard input.

use crate::cli::terminal::failure::Failure;

/// Resolves when standard input has ended. A separate thread waits for that, because no other way exists.
pub(super) async fn stdin_ends() {
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        drop(ended);
    });
    let _ = end.await;
}

/// Resolves when the process receives a signal to stop. The handlers are installed when this returns.
#[cfg(unix)]
pub(in crate::cli) fn stop() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::other)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::other)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Resolves when the process receives a signal to stop.
#[cfg(not(unix))]
pub(in crate::cli) fn stop() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without a handler the system ends the process itself.
            std::future::pending::<()>().await;
        }
    })
}
