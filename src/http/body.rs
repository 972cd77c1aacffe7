//! Reads a request's body within limits of bytes and time, and decodes its content coding.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;

use super::error::Error;
use super::limits::Limits;
use super::server::admission::Broken;
use super::server::coding::Coding;

/// Reads the whole body and decodes it. If the headers announce too many bytes or an unsupported coding, refuses the
/// body without reading it. The limit of bytes applies to the received body and to the decoded one.
pub(super) async fn read(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Bytes, Error> {
    let coding = coding(headers)?;
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limits.body as u64) {
        return Err(Error::LongBody(limits.body));
    }
    let read = match tokio::time::timeout(limits.body_time, collect(body, limits.body)).await {
        Ok(read) => read?,
        Err(_) => return Err(Error::LostBody),
    };
    let (Some(coding), limit) = (coding, limits.body) else {
        return Ok(read);
    };
    if read.is_empty() {
        return Ok(read);
    }
    let decoding = tokio::task::spawn_blocking(move || coding.decode(&read, limit));
    match decoding.await.map_err(Error::internal)? {
        Ok(Some(plain)) => Ok(plain),
        Ok(None) => Err(Error::LongBody(limit)),
        Err(_) => Err(Error::Invalid(
            "the body is not what its Content-Encoding says, or broke off".to_owned(),
        )),
    }
}

/// Returns the content coding of the body. `None` if the headers name no coding, or only `identity`. An error if the
/// coding is not supported, or if there are several codings.
fn coding(headers: &HeaderMap) -> Result<Option<Coding>, Error> {
    let mut found = None;
    for value in headers.get_all(CONTENT_ENCODING) {
        let text = value.to_str().map_err(|_| Error::ContentCoding)?;
        for name in text.split(',').map(str::trim) {
            if name.is_empty() || name.eq_ignore_ascii_case("identity") {
                continue;
            }
            let coding = Coding::named(name).ok_or(Error::ContentCoding)?;
            if found.replace(coding).is_some() {
                return Err(Error::ContentCoding);
            }
        }
    }
    Ok(found)
}

async fn collect(body: Body, limit: usize) -> Result<Bytes, Error> {
    let mut stream = body.into_data_stream();
    let mut whole = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(broken)?;
        if whole.len() + chunk.len() > limit {
            return Err(Error::LongBody(limit));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

fn broken(error: axum::Error) -> Error {
    match error.into_inner().downcast_ref() {
        Some(Broken::Busy) => Error::Busy,
        _ => Error::LostBody,
    }
}

/// Whether the body has one of these media types. A body without Content-Type is accepted.
pub(super) fn is_typed(headers: &HeaderMap, media: &[&str]) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return true;
    };
    let Ok(text) = value.to_str() else { return false };
    let essence = text.split(';').next().unwrap_or(text).trim();
    media.iter().any(|known| essence.eq_ignore_ascii_case(known))
}
