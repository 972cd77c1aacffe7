//! Responses to the requests for a link's manifest and for its files.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;

use crate::http::error::Error;
use crate::http::message::Refused;

const JOSE: &str = "application/jose";

/// Returns the error for unknown and ended links. It is the same for both, so that nobody can distinguish them.
pub(super) fn over() -> Refused {
    Error::Unknown("There is no such link: it has ended, or there never was one.".to_owned()).into()
}

/// Sets the media type, and forbids caches to store the response.
fn unkept(response: &mut Response, media: &'static str) {
    let head = response.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// Returns a response with an encrypted file.
pub(super) fn jose(jwe: String) -> Response {
    let mut response = Response::new(Body::from(jwe));
    unkept(&mut response, JOSE);
    response
}
