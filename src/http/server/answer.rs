//! The body of a response. When it is dropped, its connection counts as idle again.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::places::Seat;

/// A response's body while it is being sent.
pub(in crate::http) struct Answer {
    body: Body,
    _answering: Answering,
}

/// Marks the connection's seat as idle when it is dropped, because the response was sent or abandoned.
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
