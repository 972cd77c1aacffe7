//! Compresses responses with a coding that the client accepts, except small and already compressed ones. A response
//! of known length is compressed at once. A streamed response is compressed piece by piece, so that the client can
//! decode each piece when it arrives.

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt;
use hyper::body::Body as _;

use super::super::error::Error;
use super::super::service::Service;
use super::coding::{Coding, Encoder, Taken};

/// Responses of fewer bytes stay uncompressed if the client permits it, because they fit into one packet anyway.
const SMALL: u64 = 1_024;
/// The search threads compress responses of at least this many bytes. The threads that serve clients must not spend
/// time on them.
const LARGE: usize = 32 * 1_024;

/// Encodes the response, if it is compressible, with the coding that the client prefers.
pub(in crate::http) async fn compressed(
    service: &Service,
    taken: Taken,
    mut response: Response,
) -> Result<Response, Error> {
    response
        .headers_mut()
        .append(VARY, HeaderValue::from_static("accept-encoding"));
    let Some(coding) = taken.coding.filter(|_| is_compressible(&response)) else {
        return Ok(response);
    };
    let length = response.body().size_hint().exact();
    if length.is_some_and(|length| length == 0 || length < SMALL && taken.plain) {
        return Ok(response);
    }
    let (mut head, body) = response.into_parts();
    let body = match length {
        Some(_) => whole(service, coding, body).await?,
        None => pieces(coding, body)?,
    };
    head.headers.insert(CONTENT_ENCODING, coding.name());
    // `Content-Length` is the length of the uncompressed body.
    head.headers.remove(CONTENT_LENGTH);
    Ok(Response::from_parts(head, body))
}

/// Marks a response that must not be compressed. Handlers set it as an extension of the response.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct AsIs;

/// Whether the response has a text body without a coding. Other formats, such as Parquet, are compressed already.
fn is_compressible(response: &Response) -> bool {
    let bodiless = matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let head = response.headers();
    let media = head
        .get(CONTENT_TYPE)
        .and_then(|content_type| content_type.to_str().ok())
        .unwrap_or_default();
    let is_text = media.contains("json") || media.starts_with("text/");
    let as_is = response.extensions().get::<AsIs>().is_some();
    is_text && !bodiless && !as_is && !head.contains_key(CONTENT_ENCODING)
}

async fn whole(service: &Service, coding: Coding, body: Body) -> Result<Body, Error> {
    let plain = axum::body::to_bytes(body, usize::MAX).await.map_err(Error::internal)?;
    let coded = if plain.len() < LARGE {
        coding.encode(&plain)
    } else {
        service.workers.run(async move { coding.encode(&plain) }).await?
    };
    Ok(Body::from(coded.map_err(Error::internal)?))
}

/// The part of a streamed body that is not compressed yet.
struct Rest {
    body: axum::body::BodyDataStream,
    /// `None` after the body has ended or an error occurred.
    encoder: Option<Encoder>,
}

fn pieces(coding: Coding, body: Body) -> Result<Body, Error> {
    let rest = Rest {
        body: body.into_data_stream(),
        encoder: Some(coding.encoder().map_err(Error::internal)?),
    };
    let coded = futures::stream::unfold(rest, |mut rest| async move {
        let encoder = rest.encoder.take()?;
        match rest.body.next().await {
            None => Some((encoder.end().map_err(axum::Error::new), rest)),
            Some(Ok(piece)) => match code(encoder, piece).await {
                Ok((encoder, coded)) => {
                    rest.encoder = Some(encoder);
                    Some((Ok(coded), rest))
                }
                Err(error) => Some((Err(error), rest)),
            },
            Some(Err(error)) => Some((Err(error), rest)),
        }
    });
    Ok(Body::from_stream(coded))
}

async fn code(mut encoder: Encoder, piece: Bytes) -> Result<(Encoder, Bytes), axum::Error> {
    let work = move || encoder.piece(&piece).map(|coded| (encoder, coded));
    let coded = tokio::task::spawn_blocking(work).await.map_err(axum::Error::new)?;
    coded.map_err(axum::Error::new)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use futures::stream;

    use super::*;

    /// The encoder must flush each piece. If it held rows back, a slow view would seem to yield no rows.
    #[test]
    fn what_has_come_can_be_read_before_the_rest_comes() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for coding in [Coding::Gzip, Coding::Zstd] {
            let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"id\na1\n"))]);
            let body = Body::from_stream(first.chain(stream::pending()));
            let coded = runtime.block_on(async {
                let mut coded = pieces(coding, body).unwrap().into_data_stream();
                coded.next().await.unwrap().unwrap()
            });
            let mut rows = [0; 6];
            let read = match coding {
                Coding::Gzip => flate2::read::GzDecoder::new(&coded[..]).read_exact(&mut rows),
                Coding::Zstd => zstd::stream::read::Decoder::new(&coded[..])
                    .unwrap()
                    .read_exact(&mut rows),
            };
            assert_eq!((read.is_ok(), &rows), (true, b"id\na1\n"));
        }
    }

    #[test]
    fn a_body_that_breaks_off_does_so_in_a_coding_too() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let broken = stream::iter([Ok(Bytes::from_static(b"id")), Err(std::io::Error::other("broke"))]);
        let body = pieces(Coding::Gzip, Body::from_stream(broken)).unwrap();
        let coded: Vec<_> = runtime.block_on(body.into_data_stream().collect());
        assert_eq!(coded.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
    }
}
