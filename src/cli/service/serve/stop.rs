//! The events that stop a server: a signal, or the end of standard input.

use crate::cli::terminal::failure::Failure;

/// Resolves when standard input has ended. Reading standard input blocks, so a separate thread does it.
pub(in crate::cli) async fn stdin_ends() {
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        drop(ended);
    });
    let _ = end.await;
}

/// Installs handlers for SIGTERM and SIGINT. The returned future resolves when one of them arrives.
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

/// Returns a future that resolves at Ctrl-C.
#[cfg(not(unix))]
pub(in crate::cli) fn stop() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            // No handler could be installed, so Ctrl-C ends the process directly. Wait for ever, because this future
            // must not stop the server.
            std::future::pending::<()>().await;
        }
    })
}
