//! Accepts connections. When the server is told to stop, running requests may finish.

use std::convert::Infallible;
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
use tokio::sync::watch;

use super::super::limits::Limits;
use super::super::routes::router;
use super::super::service::Service;
use super::super::throttle::{Peer, subscriber};
use super::answer::Answer;
use super::file_limit;
use super::places::{ConnectionSlot, Places, Seat};
use super::stream::Stream;
use crate::lake::REFRESH;

/// How long the server pauses after a connection could not be accepted.
const REST: Duration = Duration::from_millis(50);

/// Why the server did not stop cleanly.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Requests were still running when the time for them (`Limits::grace`) was over.
    #[error("requests still in flight were cut off")]
    CutOff,
}

/// Serves until `stop` is ready. Then accepts no more connections, and waits until the running requests have
/// finished, for at most `Limits::grace`.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let limits = service.limits.clone();
    let router = router(service.clone());
    let places = Places::new(file_limit::connections(limits.connections), limits.rates.behind_proxy);
    let (stopping, stopped) = watch::channel(false);
    let refreshing = tokio::spawn(refresh(service));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else { continue };
        let (router, limits, stopped) = (router.clone(), limits.clone(), stopped.clone());
        tokio::spawn(async move {
            converse(stream, place.seat(), router, &limits, stopped).await;
            drop(place);
        });
    }
    drop(listener);
    refreshing.abort();
    // Sending fails only if there is no receiver. `stopped` is one, and it still exists.
    let _ = stopping.send(true);
    match tokio::time::timeout(limits.grace, places.emptied()).await {
        Ok(()) => Ok(()),
        Err(_) => Err(ServeError::CutOff),
    }
}

/// Accepts the next connection, and waits for a place for it. `None` if the system reported an error.
async fn accept(listener: &TcpListener, places: &Arc<Places>) -> Option<(TcpStream, ConnectionSlot)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            let place = places.take(subscriber(peer.ip())).await;
            Some((stream, place))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            // The system may have run out of file descriptors. Closing connections frees some.
            places.evict();
            tokio::time::sleep(REST).await;
            None
        }
    }
}

/// Serves one connection until it ends, or until another connection gets its place.
async fn converse(
    stream: TcpStream,
    seat: &Arc<Seat>,
    router: Router,
    limits: &Limits,
    mut stopped: watch::Receiver<bool>,
) {
    let peer = stream.peer_addr().ok().map(|address| Peer(address.ip()));
    let answer = service_fn(|mut request: Request<Incoming>| {
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        request.extensions_mut().insert(seat.clone());
        let answering = seat
            .answers()
            .then(|| TowerToHyperService::new(router.clone()).call(request));
        async {
            let Some(answering) = answering else {
                // Another connection got the place of this one. Do not answer: the task that serves this connection is
                // about to return.
                return std::future::pending().await;
            };
            let response = answering.await?;
            Ok::<_, Infallible>(response.map(|body| Answer::new(body, seat.clone())))
        }
    });
    // If this fails, nothing is lost: responses only arrive later.
    let _ = stream.set_nodelay(true);
    let stream = Stream::new(stream, seat.clone(), limits.write_time);
    let socket = stream.socket();
    let io = TokioIo::new(stream);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.headers.max(8_192))
        .serve_connection(io, answer);
    tokio::pin!(connection);
    let mut is_told = false;
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = connection.as_mut() => break outcome,
            () = seat.evicted() => return,
            // Nobody waits for the answer. The work on it ends with the connection.
            () = socket.left(seat) => return,
            () = told(&mut stopped), if !is_told => {
                connection.as_mut().graceful_shutdown();
                is_told = true;
            }
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Waits until the server is told to stop.
async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Loads the commits that other processes have made to the lake and the store, once in each interval of `REFRESH`.
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
