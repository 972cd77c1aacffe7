//! Compresses answers as their clients accept it, except small and already compressed ones. A complete answer is
//! compressed as a whole. Streamed rows are compressed piece by piece, so that each piece can be read on arrival.

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

/// Smaller answers fit into one packet in any case.
const SMALL: u64 = 1_024;
/// From this size on, the compute threads compress. The threads that serve clients have no time for it.
const LARGE: usize = 32 * 1_024;

/// The answer in a coding that its client accepts.
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
    // The header has the uncompressed length. The compressed body has another one.
    head.headers.remove(CONTENT_LENGTH);
    Ok(Response::from_parts(head, body))
}

/// Marks an answer that is sent without a coding.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct AsIs;

/// Parquet is compressed already.
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

/// The rest of a body that is compressed piece by piece.
struct Rest {
    body: axum::body::BodyDataStream,
    /// `None` after it has ended or failed.
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

    /// Rows waited in the encoder until there were many, and a slow view seemed to yield none.
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
