//! A TCP connection that fails if its client does not read, because an unread response occupies memory. It reports to
//! its seat whether a write waits for the client. It also completes the responses that hyper itself sends to malformed
//! requests: it adds a request id and an OperationOutcome. Its [`Socket`] tells when the client has left while nobody
//! reads.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use memchr::memmem;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::Sleep;
use uuid::Uuid;

use super::places::Seat;
use crate::fhir::outcome::{Issue, IssueType, OperationOutcome};

/// A connection whose writes fail after they have waited for the client for `patience`.
pub(in crate::http) struct Stream {
    socket: Arc<Socket>,
    out: OwnedWriteHalf,
    seat: Arc<Seat>,
    patience: Duration,
    /// The timer of a write that waits.
    waiting: Option<Pin<Box<Sleep>>>,
    /// The response that replaces a response of hyper. `None` if no replacement is being written.
    amended: Option<Amended>,
}

struct Amended {
    head: Vec<u8>,
    written: usize,
}

/// The side of a connection on which the client sends. The listener watches it while hyper reads.
pub(in crate::http) struct Socket {
    inner: OwnedReadHalf,
    /// Whether hyper has read the end of what the client sends.
    end_is_read: AtomicBool,
}

impl Socket {
    /// Waits until the client has closed its side while its request is answered, unless hyper finds out. hyper does not
    /// read while it holds bytes that follow the request. Poll the connection before this.
    pub(in crate::http) async fn left(&self, seat: &Seat) {
        self.closed().await;
        std::future::poll_fn(|_| {
            if seat.is_answering() && !self.end_is_read.load(Ordering::Relaxed) {
                Poll::Ready(())
            } else {
                // Whatever changes this also wakes the task of the connection.
                Poll::Pending
            }
        })
        .await;
    }

    /// Waits until the client has closed its side, even if there are bytes to read.
    #[cfg(target_os = "linux")]
    async fn closed(&self) {
        // This interest is in the end of the client's side and in urgent data. tokio does not ask the system for urgent
        // data, so only the end is left.
        let _ = self.inner.ready(tokio::io::Interest::PRIORITY).await;
    }

    /// Never ready: on this system, only hyper finds out.
    #[cfg(not(target_os = "linux"))]
    async fn closed(&self) {
        std::future::pending().await
    }

    fn poll_read(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.inner.as_ref().poll_read_ready(cx))?;
            match self.inner.try_read_buf(buf) {
                Ok(0) => {
                    self.end_is_read.store(true, Ordering::Relaxed);
                    return Poll::Ready(Ok(()));
                }
                Ok(_) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Stream {
    pub(in crate::http) fn new(stream: TcpStream, seat: Arc<Seat>, patience: Duration) -> Stream {
        let (inner, out) = stream.into_split();
        let socket = Socket {
            inner,
            end_is_read: AtomicBool::new(false),
        };
        Stream {
            socket: Arc::new(socket),
            out,
            seat,
            patience,
            waiting: None,
            amended: None,
        }
    }

    /// Returns the side on which the client sends.
    pub(in crate::http) fn socket(&self) -> Arc<Socket> {
        self.socket.clone()
    }

    /// Returns the result of a write, or an error if the write has waited for `patience`.
    fn timed<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.seat.is_unread(outcome.is_pending());
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match waiting.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Stream {
    /// Writes the replacement of a head of `length` bytes. When all of the replacement is written, returns `length`, so
    /// that the caller believes that its own head was written.
    fn poll_amended(&mut self, cx: &mut Context<'_>, length: usize) -> Poll<io::Result<usize>> {
        while let Some(Amended { head, written }) = &mut self.amended {
            match Pin::new(&mut self.out).poll_write(cx, &head[*written..]) {
                Poll::Ready(Ok(more)) if more > 0 => *written += more,
                Poll::Ready(Ok(_)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
            if *written >= head.len() {
                self.amended = None;
            }
        }
        Poll::Ready(Ok(length))
    }

    /// Whether these bytes must be replaced, because hyper itself made them. Prepares the replacement.
    fn amends(&mut self, bytes: &[u8]) -> bool {
        if self.amended.is_none() && is_bare(bytes) {
            self.amended = Some(Amended {
                head: amended(bytes),
                written: 0,
            });
        }
        self.amended.is_some()
    }
}

/// Whether these bytes are hyper's response to a malformed request: a head alone, without the id that every other
/// response has.
fn is_bare(bytes: &[u8]) -> bool {
    let has = |text: &[u8]| memmem::find(bytes, text).is_some();
    bytes.starts_with(b"HTTP/1.1 4")
        && bytes.len() < 512
        && bytes.ends_with(b"\r\n\r\n")
        && has(b"\r\nconnection: close\r\n")
        && has(b"\r\ncontent-length: 0\r\n")
        && !has(b"\r\nx-request-id: ")
}

/// Adds a request id, the security headers and a body to a head that hyper made. The body is an OperationOutcome with
/// the error. Logs the id.
fn amended(head: &[u8]) -> Vec<u8> {
    let id = Uuid::new_v4();
    let status = String::from_utf8_lossy(head.get(9..12).unwrap_or_default());
    tracing::info!(%status, request = %id, "refused unread");
    let issue = match &*status {
        "414" => Issue::error(
            IssueType::TooLong,
            "the URL is too long; searches may be sent by POST to _search",
        ),
        "431" => Issue::error(IssueType::TooLong, "the headers are too long"),
        _ => Issue::error(IssueType::Invalid, "the request is not HTTP/1.1"),
    };
    let body = OperationOutcome::new(issue).to_json();
    let more = format!(
        "x-request-id: {id}\r\nx-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n\
         content-type: application/fhir+json; charset=utf-8\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let head = String::from_utf8_lossy(&head[..head.len() - 2]);
    let head = head.replacen("\r\ncontent-length: 0\r\n", "\r\n", 1);
    [head.as_bytes(), more.as_bytes()].concat()
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = self.socket.poll_read(cx, buf);
        if buf.filled().len() > before {
            self.seat.heard();
        }
        outcome
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = if self.amends(buf) {
            self.poll_amended(cx, buf.len())
        } else {
            Pin::new(&mut self.out).poll_write(cx, buf)
        };
        self.timed(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = match bufs {
            [only] if self.amends(only) => self.poll_amended(cx, only.len()),
            _ => Pin::new(&mut self.out).poll_write_vectored(cx, bufs),
        };
        self.timed(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.out.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.out).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.out).poll_shutdown(cx)
    }
}
