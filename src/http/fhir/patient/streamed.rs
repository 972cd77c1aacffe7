//! Streams a patient's records: pieces are sent as they are read, and a few are read ahead.
//!
//! The response begins with the first piece. An error before that is an OperationOutcome. A later error breaks the
//! connection off. Reading stops when the client disconnects.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::http::server::request_id::RequestId;
use crate::http::service::Service;
use crate::search::{RecordPage, SearchError};

/// The maximum number of pieces that wait to be sent.
const WAITING: usize = 4;

/// The first piece of a page, and the rest that is not read yet.
pub(super) struct Begun {
    pub(super) first: Bytes,
    pub(super) rest: RecordPage,
}

/// Reads the first piece of a page.
pub(super) fn begin(mut page: RecordPage) -> Result<Begun, SearchError> {
    let first = page.next().transpose()?.unwrap_or_default();
    Ok(Begun { first, rest: page })
}

/// Reads the whole page.
pub(super) fn whole(Begun { first, rest }: Begun) -> Result<Vec<u8>, SearchError> {
    let mut all = Vec::from(first);
    for piece in rest {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

/// Returns a body that streams the page. `turn` is held until the last piece was read, or the client has
/// disconnected.
pub(super) fn body(
    service: &Arc<Service>,
    Begun { first, mut rest }: Begun,
    turn: impl Send + 'static,
    id: RequestId,
) -> Body {
    if rest.is_over() {
        return Body::from(first);
    }
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(WAITING);
    service.workers.go_on(async move {
        let _turn = turn;
        loop {
            // This fails if the client has disconnected.
            let Ok(place) = sender.reserve().await else { return };
            match rest.next() {
                Some(Ok(piece)) => place.send(Ok(piece)),
                None => return,
                Some(Err(error)) => {
                    tracing::error!(%error, request = %id, "a record broke off");
                    place.send(Err(io::Error::other("the record broke off")));
                    return;
                }
            }
        }
    });
    let rest = futures::stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece, receiver))
    });
    let first = futures::stream::iter([Ok(first)]);
    Body::from_stream(futures::StreamExt::chain(first, rest))
}
