//! The body of an answer. When it ends, its connection is idle again.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::places::Seat;

/// An answer's body that is being sent.
pub(in crate::http) struct Answer {
    body: Body,
    _answering: Answering,
}

/// When it is dropped, it tells the connection's place that the request is answered.
struct Answering(Arc<Seat>);

impl Answer {
    pub(in crate::http) fn new(body: Body, seat: Arc<Seat>) -> Answer {
        Answer {
            body,
            _answering: Answering(seat),
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answered();
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
