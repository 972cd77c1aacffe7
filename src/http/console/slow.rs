//! The requests that took longest to answer of late. Kept in memory, without anything that a client sent: the route's
//! template, never its path.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};

/// A request that takes this long is slow.
const SLOW: Duration = Duration::from_millis(200);
/// How many are kept; the oldest go first.
const KEPT: usize = 200;

/// A request that took long.
#[derive(Clone, Debug)]
pub(in crate::http) struct SlowRequest {
    /// When it was answered.
    pub(in crate::http) at: Instant,
    /// By which method.
    pub(in crate::http) method: Method,
    /// The template of its route.
    pub(in crate::http) route: Box<str>,
    /// The status of the answer.
    pub(in crate::http) status: StatusCode,
    /// How long the answer's head took.
    pub(in crate::http) took: Duration,
    /// `X-Request-Id`, to find the request in the log.
    pub(in crate::http) id: Box<str>,
}

/// The last requests that took long.
#[derive(Debug, Default)]
pub(in crate::http) struct SlowRequests(Mutex<VecDeque<SlowRequest>>);

impl SlowRequests {
    /// Takes a request down if it took long.
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

    /// Those that are kept, the slowest first.
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
