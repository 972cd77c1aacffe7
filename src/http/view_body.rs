//! Rows as the body of an answer, computed ahead of the connection by a few pieces.
//!
//! An answer begins when the first rows are there, so that what is wrong with a view over the data is still an
//! OperationOutcome; an error behind that breaks the connection off. A client that leaves stops the work, wherever it is.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::error::Error;
use super::request_id::RequestId;
use crate::views::{Format, Pieces, Rows, RunError, Stop};

/// Pieces that wait for the connection at most.
const WAITING: usize = 2;

/// Asks the work to stop when it is dropped: with the request or the body, whichever comes to hold it.
struct Wanted(Stop);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// Where a thread leaves what it computes.
struct Desk {
    begun: oneshot::Sender<Result<Vec<u8>, RunError>>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    stop: Stop,
    id: RequestId,
}

/// A body of rows with something before and after them. The turn is held until the last of them is computed.
pub(super) async fn stream(
    rows: Rows,
    stop: Stop,
    format: Format,
    around: (Vec<u8>, Vec<u8>),
    (turn, id): (OwnedSemaphorePermit, RequestId),
) -> Result<Body, Error> {
    let (begun, first) = oneshot::channel();
    let (sender, receiver) = mpsc::channel(WAITING);
    let wanted = Wanted(stop.clone());
    let desk = Desk {
        begun,
        sender,
        stop,
        id,
    };
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        desk.fill(rows.pieces(format), around);
    });
    let first = first.await.map_err(Error::internal)??;
    let first = futures::stream::iter([Ok(Bytes::from(first))]);
    let rest = futures::stream::unfold((receiver, wanted), |(mut receiver, wanted)| async move {
        let piece = receiver.recv().await?;
        Some((piece, (receiver, wanted)))
    });
    Ok(Body::from_stream(futures::StreamExt::chain(first, rest)))
}

impl Desk {
    fn fill(self, mut pieces: Pieces, (before, after): (Vec<u8>, Vec<u8>)) {
        let mut start = before;
        // The first piece may be no more than a heading: the second shows whether there are rows.
        for _ in 0..2 {
            match pieces.next() {
                Some(Ok(piece)) => start.extend(piece),
                Some(Err(error)) => {
                    // Nobody listens any more where this fails, here and below.
                    let _ = self.begun.send(Err(error));
                    return;
                }
                None => break,
            }
        }
        let _ = self.begun.send(Ok(start));
        for piece in pieces {
            let failed = piece.is_err();
            let piece = piece.map(Bytes::from).map_err(|error| {
                if !self.stop.is_asked() {
                    tracing::error!(%error, request = %self.id, "a view broke off");
                }
                io::Error::other("the view broke off")
            });
            if self.sender.blocking_send(piece).is_err() || failed {
                return;
            }
        }
        let _ = self.sender.blocking_send(Ok(Bytes::from(after)));
    }
}
