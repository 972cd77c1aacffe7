//! Keeps the latest slow requests in memory, for the console. In place of a request's path it keeps the template of the
//! route, because the path may contain ids and other data of the client.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};

/// A request that takes at least this long counts as slow.
const SLOW: Duration = Duration::from_millis(200);
/// The maximum number of requests that are kept. The oldest are dropped first.
const KEPT: usize = 200;

/// A slow request.
#[derive(Clone, Debug)]
pub(in crate::http) struct SlowRequest {
    /// When the response began.
    pub(in crate::http) at: Instant,
    /// The request's method.
    pub(in crate::http) method: Method,
    /// The template of the route.
    pub(in crate::http) route: Box<str>,
    /// The status of the response.
    pub(in crate::http) status: StatusCode,
    /// The time until the response began.
    pub(in crate::http) took: Duration,
    /// The request's id, by which it is found in the log.
    pub(in crate::http) id: Box<str>,
}

/// The latest slow requests.
#[derive(Debug, Default)]
pub(in crate::http) struct SlowRequests(Mutex<VecDeque<SlowRequest>>);

impl SlowRequests {
    /// Keeps a request if it was slow.
    pub(in crate::http) fn note(&self, method: &Method, route: &str, status: StatusCode, took: Duration, id: &str) {
        if took < SLOW {
            return;
        }
        let slow = SlowRequest {
            at: Instant::now(),
            method: method.clone(),
            route: route.into(),
            status,
            took,
            id: id.into(),
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(slow);
    }

    /// Returns all kept requests, the slowest first.
    pub(in crate::http) fn slowest(&self) -> Vec<SlowRequest> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<SlowRequest> = kept.iter().cloned().collect();
        all.sort_by_key(|slow| std::cmp::Reverse(slow.took));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_come_first_and_the_oldest_go() {
        let kept = SlowRequests::default();
        let note = |millis, id: &str| {
            kept.note(
                &Method::GET,
                "/fhir/{type}",
                StatusCode::OK,
                Duration::from_millis(millis),
                id,
            );
        };
        note(199, "fast");
        note(900, "first");
        for at in 0..KEPT {
            note(200 + at as u64, "later");
        }
        let slowest = kept.slowest();
        assert_eq!(slowest.len(), KEPT);
        assert_eq!(slowest[0].took, Duration::from_millis(200 + KEPT as u64 - 1));
        assert!(slowest.iter().all(|slow| &*slow.id == "later"));
    }
}
