//! Accepting connections, and letting them finish when the server is told to stop.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::limits::Limits;
use super::routes::router;
use super::service::Service;
use super::stream::Stream;
use super::throttle::Peer;
use crate::lake::REFRESH;

/// How long accepting rests after the system ran out of something.
const REST: Duration = Duration::from_millis(50);

/// The server ended other than by being told to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Requests were still in flight when the time for them was over.
    #[error("requests still in flight were cut off")]
    CutOff,
}

/// Serves until `stop` is ready; then accepts nothing more, lets requests in flight finish, and returns.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let limits = service.limits.clone();
    let router = router(service.clone());
    let slots = Arc::new(Semaphore::new(limits.connections));
    let (stopping, stopped) = watch::channel(false);
    let refreshing = tokio::spawn(refresh(service));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let Some((stream, slot)) = accepted else { continue };
        let (router, limits, stopped) = (router.clone(), limits.clone(), stopped.clone());
        tokio::spawn(async move {
            converse(stream, router, &limits, stopped).await;
            drop(slot);
        });
    }
    drop(listener);
    refreshing.abort();
    // Nobody listens when no connection is open.
    let _ = stopping.send(true);
    // Every connection holds a slot until it is done.
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    match tokio::time::timeout(limits.grace, slots.acquire_many(all)).await {
        Ok(_) => Ok(()),
        Err(_) => Err(ServeError::CutOff),
    }
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, slot)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(REST).await;
            None
        }
    }
}

/// One connection, from its first request to its last.
async fn converse(stream: TcpStream, router: Router, limits: &Limits, mut stopped: watch::Receiver<bool>) {
    let peer = stream.peer_addr().ok().map(|address| Peer(address.ip()));
    let answer = service_fn(move |mut request: Request<Incoming>| {
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        TowerToHyperService::new(router.clone()).call(request)
    });
    // A failure only costs latency.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(Stream::new(stream, limits.write_time));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.headers.max(8_192))
        .serve_connection(io, answer);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = told(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Waits until the server stops, be it that nobody is left to say so.
async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Takes up what other processes commit to the lake and the store.
async fn refresh(service: Arc<Service>) {
    let mut ticks = tokio::time::interval(REFRESH);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let service = service.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || service.refresh()).await {
            tracing::error!(%error, "looking for changes failed");
        }
    }
}
