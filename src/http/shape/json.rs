//! JSON responses that must not be cached.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, PRAGMA};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Serialize;

use crate::consent::Issued;
use crate::http::error::Error;

/// Builds a JSON response with a token or facts about a person. Caches must not store it (RFC 6749, section 5.1).
pub(in crate::http) fn no_store(status: StatusCode, body: &impl Serialize) -> Result<Response, Error> {
    let text = serde_json::to_vec(body).map_err(Error::internal)?;
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let head = response.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Returns `expires_in` of a new token, in seconds.
pub(in crate::http) fn seconds_left(issued: &Issued) -> i64 {
    issued.expires_at - issued.issued_at
}
