//! Limits concurrent requests, in total and per address. A request gives its turn back while it waits for more of its
//! body, so slow clients do not block others.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::limits::Limits;
use super::super::throttle::subscriber;
use super::places::Seat;

/// One address may have at most `1 / SHARE` of all concurrent requests.
const SHARE: usize = 2;

/// Counts and admits the concurrent requests of a server.
#[derive(Debug)]
pub(in crate::http) struct Admission {
    requests: Arc<Semaphore>,
    max: usize,
    by_address: Mutex<FxHashMap<IpAddr, usize>>,
    /// The total bytes of bodies that are being received. `max_arriving` is their maximum.
    arriving: AtomicUsize,
    max_arriving: usize,
}

/// An admitted request: it is being answered, or it waits for its body.
#[derive(Clone, Debug)]
pub(in crate::http) struct Admitted {
    admission: Arc<Admission>,
    address: Option<IpAddr>,
    turn: Arc<Mutex<Option<Turn>>>,
}

/// The right to be answered now. It counts as a concurrent request until it is dropped.
#[derive(Debug)]
struct Turn {
    _permit: OwnedSemaphorePermit,
    admission: Arc<Admission>,
    address: Option<IpAddr>,
}

/// Why a request's body ends before it is complete.
#[derive(Debug, thiserror::Error)]
pub(in crate::http) enum Broken {
    /// There are too many concurrent requests or too many bytes of incomplete bodies, or the server closed the
    /// connection to make room for another one.
    #[error("too much is being asked at once")]
    Busy,
    /// The client did not send the whole body.
    #[error("the body broke off")]
    Lost,
}

/// A request's body while it is being received.
struct Arriving {
    body: Body,
    admitted: Admitted,
    seat: Option<Arc<Seat>>,
    /// Whether the request waits for its client, and gave its turn back.
    waits: bool,
    bytes: usize,
}

impl Admission {
    pub(in crate::http) fn new(limits: &Limits) -> Arc<Admission> {
        Arc::new(Admission {
            requests: Arc::new(Semaphore::new(limits.requests)),
            max: limits.requests,
            by_address: Mutex::default(),
            arriving: AtomicUsize::new(0),
            max_arriving: limits.bodies,
        })
    }

    /// Admits a request from this address. `None` if too many requests are being answered, in total or for this
    /// address.
    pub(in crate::http) fn admit(self: &Arc<Admission>, address: Option<IpAddr>) -> Option<Admitted> {
        let address = address.map(subscriber);
        let turn = self.turn(address)?;
        Some(Admitted {
            admission: self.clone(),
            address,
            turn: Arc::new(Mutex::new(Some(turn))),
        })
    }

    /// Returns the number of requests that are being answered.
    pub(in crate::http) fn answering(&self) -> usize {
        self.max.saturating_sub(self.requests.available_permits())
    }

    fn turn(self: &Arc<Admission>, address: Option<IpAddr>) -> Option<Turn> {
        let permit = self.requests.clone().try_acquire_owned().ok()?;
        if let Some(address) = address {
            let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
            let held = by_address.entry(address).or_default();
            if *held >= self.max.div_ceil(SHARE) {
                return None;
            }
            *held += 1;
        }
        Some(Turn {
            _permit: permit,
            admission: self.clone(),
            address,
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let by_address = &self.admission.by_address;
        let mut by_address = by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = by_address.get_mut(&address) {
            *held -= 1;
            if *held == 0 {
                by_address.remove(&address);
            }
        }
    }
}

impl Admitted {
    /// Wraps the request's body. If the body must wait for bytes from the client, the request gives its turn back,
    /// and its seat shows that the connection waits.
    pub(in crate::http) fn body(&self, body: Body, seat: Option<Arc<Seat>>) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Arriving {
            body,
            admitted: self.clone(),
            seat,
            waits: false,
            bytes: 0,
        })
    }

    fn give_back(&self) {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Takes a turn again. Returns whether one was free.
    fn resume(&self) -> bool {
        let turn = self.admission.turn(self.address);
        let admitted = turn.is_some();
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = turn;
        admitted
    }
}

impl Arriving {
    /// Adds the bytes of a chunk to those being received. Returns whether the total is within the maximum.
    fn holds(&mut self, bytes: usize) -> bool {
        let admission = &self.admitted.admission;
        self.bytes += bytes;
        admission.arriving.fetch_add(bytes, Ordering::Relaxed) + bytes <= admission.max_arriving
    }

    /// Takes a turn again, if the request gave it back. Returns whether the request may be answered: the server has not
    /// closed the connection for another one, and a turn was free.
    fn goes_on(&mut self) -> bool {
        if !std::mem::take(&mut self.waits) {
            return true;
        }
        let in_place = self.seat.as_ref().is_none_or(|seat| seat.answers());
        in_place && self.admitted.resume()
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => {
                if !self.waits {
                    self.waits = true;
                    self.admitted.give_back();
                    if let Some(seat) = &self.seat {
                        seat.awaits_body();
                    }
                }
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                Poll::Ready(Some(if self.holds(bytes) {
                    Ok(frame)
                } else {
                    Err(Broken::Busy)
                }))
            }
            Poll::Ready(Some(Err(_))) => Poll::Ready(Some(Err(Broken::Lost))),
            Poll::Ready(None) => Poll::Ready(if self.goes_on() { None } else { Some(Err(Broken::Busy)) }),
        }
    }

    fn is_end_stream(&self) -> bool {
        // Always false: a reader must poll the body to its end, because only there the request takes its turn again.
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.admitted
            .admission
            .arriving
            .fetch_sub(self.bytes, Ordering::Relaxed);
        // The body was dropped before its end, so the request no longer waits for the client.
        if std::mem::take(&mut self.waits)
            && let Some(seat) = &self.seat
        {
            seat.answers();
        }
    }
}
