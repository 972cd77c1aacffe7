//! What a client's rate limit still allows, for the response headers.

use std::sync::{Arc, OnceLock};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The state of a bucket after a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Allowance {
    /// The number of requests that a full bucket admits.
    pub(super) limit: u32,
    /// The number of requests that the bucket still admits now.
    pub(super) remaining: u32,
    /// The seconds until the bucket is full again.
    pub(super) reset: u64,
    /// The seconds until the bucket admits another request. Zero if the charge was admitted.
    pub(in crate::http) wait: u64,
}

impl Allowance {
    pub(in crate::http) fn limit(&self) -> u32 {
        self.limit
    }

    pub(in crate::http) fn tell(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset));
    }
}

/// Carries the result of a charge from the code that knows the credential to the code that sets the headers.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct Meter(Arc<OnceLock<Option<Allowance>>>);

impl Meter {
    /// Records the charge of a request, `None` for an unlimited one. Only the first charge of a request is recorded.
    pub(super) fn note(&self, allowance: Option<Allowance>) {
        let _ = self.0.set(allowance);
    }

    /// Whether a charge was recorded, or the request is unlimited.
    pub(in crate::http) fn is_charged(&self) -> bool {
        self.0.get().is_some()
    }

    pub(in crate::http) fn read(&self) -> Option<Allowance> {
        self.0.get().copied().flatten()
    }
}
