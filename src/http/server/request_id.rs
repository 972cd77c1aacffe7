//! The request id that every response has as `X-Request-Id`. Handlers extract it for log lines that they write after
//! the response has begun.

use std::convert::Infallible;
use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use uuid::Uuid;

/// The id of a request. `frame` assigns it.
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
