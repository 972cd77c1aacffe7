//! Streams the rows of a view. They are computed a few pieces ahead of the connection.
//!
//! The response begins with the first rows. An error of the view before that is an OperationOutcome. A later error
//! breaks the connection off. The work stops if the client disconnects.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::http::error::Error;
use crate::http::server::request_id::RequestId;
use crate::views::{Format, Pieces, Rows, RunError, Stop};

/// The maximum number of pieces that wait to be sent.
const WAITING: usize = 2;

/// A guard in the request and later in the body. When it is dropped, it stops the work.
struct Wanted(Stop);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// The channels through which a thread sends its results: `begun` takes the first rows or the view's error, and
/// `sender` takes all later pieces.
struct Desk {
    begun: oneshot::Sender<Result<Vec<u8>, RunError>>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    stop: Stop,
    id: RequestId,
}

/// Waits for the first rows. Then returns a body with the rows, or an error if the view failed before them. `around`
/// has the text before the rows, and a function that computes the text after the rows. The function is called when the
/// last row was computed. `turn` is held until then.
pub(in crate::http) async fn stream(
    rows: Rows,
    stop: Stop,
    format: Format,
    around: (Vec<u8>, impl FnOnce() -> Vec<u8> + Send + 'static),
    (turn, id): (impl Send + 'static, RequestId),
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
    fn fill(self, mut pieces: Pieces, (before, after): (Vec<u8>, impl FnOnce() -> Vec<u8>)) {
        let mut start = before;
        // Read two pieces before the response begins. The first piece may be only a header row. The second one shows
        // whether the first rows can be computed.
        for _ in 0..2 {
            match pieces.next() {
                Some(Ok(piece)) => start.extend(piece),
                Some(Err(error)) => {
                    // Sending fails here and below if the client has disconnected.
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
                    let error = error.without_resource();
                    tracing::error!(%error, request = %self.id, "a view broke off");
                }
                io::Error::other("the view broke off")
            });
            if self.sender.blocking_send(piece).is_err() || failed {
                return;
            }
        }
        let _ = self.sender.blocking_send(Ok(Bytes::from(after())));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};

    use futures::StreamExt;
    use tokio::sync::Semaphore;
    use uuid::Uuid;

    use super::*;
    use crate::views::{Document, Refused, View};

    /// A resource as JSON text.
    #[derive(Clone, Copy)]
    struct Text(&'static [u8]);

    impl Document for Text {
        fn text(&self) -> &[u8] {
            self.0
        }

        fn is_lines(&self) -> bool {
            true
        }

        fn refuse(&self, _: usize, reason: Refused) {
            panic!("a resource was refused: {reason}");
        }
    }

    /// A run over endless resources, until it is stopped. `ended` tells when the run is dropped.
    struct Endless {
        stop: Stop,
        turns: Arc<Semaphore>,
        ended: Receiver<()>,
        rows: Rows,
    }

    fn endless(path: &str, text: &'static [u8]) -> Endless {
        let definition = format!(
            r#"{{"resourceType":"ViewDefinition","resource":"Patient","status":"active",
                "select":[{{"column":[{{"name":"id","path":"{path}"}}]}}]}}"#
        );
        let view = Arc::new(View::parse(definition.as_bytes()).unwrap());
        let (told, ended) = channel();
        let stop = Stop::default();
        let asked = stop.clone();
        let documents = std::iter::from_fn(move || {
            let _told_when_dropped = &told;
            (!asked.is_asked()).then_some(Text(text))
        });
        Endless {
            stop,
            turns: Arc::new(Semaphore::new(1)),
            ended,
            rows: Rows::of_documents(view, documents, None),
        }
    }

    async fn body(endless: Rows, stop: Stop, turns: &Arc<Semaphore>) -> Result<Body, Error> {
        let turn = turns.clone().try_acquire_owned().unwrap();
        let around = (b"[".to_vec(), || b"]".to_vec());
        stream(endless, stop, Format::Ndjson, around, (turn, RequestId(Uuid::nil()))).await
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    }

    /// A view that finds no row never sends one, so it must notice in another way that its client has disconnected.
    /// If not, it would read the whole lake.
    #[test]
    fn a_request_given_up_stops_work_that_finds_no_rows() {
        let Endless {
            stop,
            turns,
            ended,
            rows,
        } = endless("id", b"");
        runtime().block_on(async {
            let mut request = Box::pin(body(rows, stop, &turns));
            assert!(futures::poll!(request.as_mut()).is_pending());
            assert_eq!(turns.available_permits(), 0);
            drop(request);
            ended.recv().unwrap_err();
            // The turn is returned when the thread ends.
            turns.acquire().await.unwrap().forget();
        });
    }

    #[test]
    fn a_body_that_is_not_read_to_its_end_stops_the_work() {
        let Endless {
            stop,
            turns,
            ended,
            rows,
        } = endless("id", b"{\"resourceType\":\"Patient\",\"id\":\"a\"}");
        runtime().block_on(async {
            let mut pieces = body(rows, stop, &turns).await.unwrap().into_data_stream();
            let first = pieces.next().await.unwrap().unwrap();
            assert!(first.starts_with(b"[{\"id\":\"a\"}\n"));
            drop(pieces);
            ended.recv().unwrap_err();
            turns.acquire().await.unwrap().forget();
        });
    }

    #[test]
    fn an_error_is_an_answer_at_first_and_breaks_the_body_later() {
        let two: &[u8] = b"{\"resourceType\":\"Patient\",\"name\":[{\"given\":[\"a\",\"b\"]}]}";
        runtime().block_on(async {
            let Endless { stop, turns, rows, .. } = endless("name.given", two);
            assert!(matches!(body(rows, stop, &turns).await, Err(Error::Processing(_))));
            turns.acquire().await.unwrap().forget();
            turns.add_permits(1);
            let definition = br#"{"resource":"Patient","select":[{"column":[{"name":"id","path":"name.given"}]}]}"#;
            let view = Arc::new(View::parse(definition).unwrap());
            // Many valid resources, then an invalid one.
            let sound = std::iter::repeat_n(Text(b"{\"resourceType\":\"Patient\"}"), 60_000);
            let rows = Rows::of_documents(view, sound.chain([Text(two)]), None);
            let pieces = body(rows, Stop::default(), &turns).await.unwrap().into_data_stream();
            let pieces: Vec<_> = pieces.collect().await;
            let (last, before) = pieces.split_last().unwrap();
            assert!(last.is_err() && before.iter().all(Result::is_ok));
        });
    }
}
