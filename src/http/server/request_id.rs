//! The id in the `X-Request-Id` of every answer, for log lines that are written after the answer's head.

use std::convert::Infallible;
use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use uuid::Uuid;

/// A request's id. The frame assigns it.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct RequestId(pub(in crate::http) Uuid);

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RequestId, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(RequestId(Uuid::nil())))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}
