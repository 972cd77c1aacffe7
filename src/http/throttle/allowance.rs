//! The remaining allowance of a client, for the response headers.

use std::sync::{Arc, OnceLock};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The state of a bucket after a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Allowance {
    /// How many requests a full bucket admits.
    pub(super) limit: u32,
    /// How many more it admits now.
    pub(super) remaining: u32,
    /// The seconds until it is full again.
    pub(super) reset: u64,
    /// The seconds until it admits another request, if it admits none now.
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

/// Carries the charge of a request from the code that knows its credential to the code that sets the headers.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct Meter(Arc<OnceLock<Option<Allowance>>>);

impl Meter {
    /// A request is charged once. Of several charges the first is reported. `None` for unlimited requests.
    pub(super) fn note(&self, allowance: Option<Allowance>) {
        let _ = self.0.set(allowance);
    }

    /// Whether the request was charged to anybody.
    pub(in crate::http) fn is_charged(&self) -> bool {
        self.0.get().is_some()
    }

    pub(in crate::http) fn read(&self) -> Option<Allowance> {
        self.0.get().copied().flatten()
    }
}
