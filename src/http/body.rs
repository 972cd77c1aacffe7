//! A request's body, within the bounds on bytes and time.

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;

use super::error::Error;
use super::limits::Limits;

/// Reads the whole body. One that announces too many bytes, or is compressed, is refused before any is read.
pub(super) async fn read(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Bytes, Error> {
    let plain = |encoding: &HeaderValue| encoding.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        return Err(Error::MediaType("sent without a Content-Encoding"));
    }
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limits.body as u64) {
        return Err(Error::LongBody(limits.body));
    }
    match tokio::time::timeout(limits.body_time, collect(body, limits.body)).await {
        Ok(read) => read,
        Err(_) => Err(Error::LostBody),
    }
}

async fn collect(body: Body, limit: usize) -> Result<Bytes, Error> {
    let mut stream = body.into_data_stream();
    let mut whole = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| Error::LostBody)?;
        if whole.len() + chunk.len() > limit {
            return Err(Error::LongBody(limit));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

/// Whether the body says that it is of one of these media types; one that says nothing is taken to be.
pub(super) fn is_typed(headers: &HeaderMap, media: &[&str]) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return true;
    };
    let Ok(text) = value.to_str() else { return false };
    let essence = text.split(';').next().unwrap_or(text).trim();
    media.iter().any(|known| essence.eq_ignore_ascii_case(known))
}
