//! One connection to a server, for one request at a time. The client implements only the part of HTTP/1.1 that a load
//! test needs.
//!
//! A general HTTP client spends more time on a request than the server spends on reading a resource, and both share the
//! machine's processors. This client therefore keeps no headers, counts the bytes of a body as they arrive, and keeps
//! only the beginning of the body.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::chunks::Chunks;
use super::target::Target;
use super::tls::Tls;

/// The maximum time for connecting, and the maximum time for an answer.
pub(in crate::bench) const PATIENCE: Duration = Duration::from_secs(120);
/// The maximum number of bytes of an answer's head.
const HEAD: usize = 64 * 1024;
/// The number of bytes read at once.
const BUFFER: usize = 64 * 1024;
/// The number of bytes that are kept of the body of an error, if the caller's `keep` is smaller.
const OF_ERROR: usize = 64 * 1024;
const HEADERS: usize = 100;

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(in crate::bench) enum ExchangeError {
    /// No connection could be made.
    #[error("cannot connect: {0}")]
    Connect(std::io::Error),
    /// Reading or writing failed after the connection was made.
    #[error("the connection broke: {0}")]
    Broken(#[from] std::io::Error),
    /// The server closed the connection before the answer had ended.
    #[error("the connection was closed within an answer")]
    Closed,
    /// The server closed the connection before the answer had begun.
    #[error("the connection was closed before an answer")]
    Stale,
    /// The server's bytes are not HTTP/1.1.
    #[error("the answer is no HTTP/1.1")]
    Malformed,
    /// The connection or the answer took longer than [`PATIENCE`].
    #[error("no answer within {} seconds", PATIENCE.as_secs())]
    Late,
}

/// The answer to a request, without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) struct Answer {
    pub(in crate::bench) status: u16,
    /// The number of bytes of the body.
    pub(in crate::bench) bytes: u64,
    /// Whether the connection must not be used again.
    pub(in crate::bench) last: bool,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// An open connection.
pub(in crate::bench) struct Connection {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    /// Whether the connection has received an answer.
    used: bool,
}

impl Connection {
    /// Opens a connection, with TLS if `tls` is given.
    pub(in crate::bench) async fn open(target: &Target, tls: Option<&Tls>) -> Result<Connection, ExchangeError> {
        let connect = async {
            let stream = TcpStream::connect((target.host.as_str(), target.port)).await?;
            stream.set_nodelay(true)?;
            let stream: Box<dyn Stream> = match tls {
                None => Box::new(stream),
                Some(tls) => Box::new(tls.connect(stream).await?),
            };
            Ok(stream)
        };
        let stream = tokio::time::timeout(PATIENCE, connect)
            .await
            .map_err(|_| ExchangeError::Late)?
            .map_err(ExchangeError::Connect)?;
        Ok(Connection {
            stream,
            buffer: vec![0; BUFFER],
            used: false,
        })
    }

    /// Whether the connection has received an answer. If so, the server may have closed it later, while it was idle.
    pub(in crate::bench) fn used(&self) -> bool {
        self.used
    }

    /// Sends a request and waits for its answer. `kept` then holds the first `keep` bytes of the body. If the status is
    /// not 2xx, it holds up to `OF_ERROR` bytes, even if `keep` is smaller.
    pub(in crate::bench) async fn exchange(
        &mut self,
        request: &[u8],
        keep: usize,
        kept: &mut Vec<u8>,
    ) -> Result<Answer, ExchangeError> {
        tokio::time::timeout(PATIENCE, self.answer(request, keep, kept))
            .await
            .unwrap_or(Err(ExchangeError::Late))
    }

    async fn answer(&mut self, request: &[u8], keep: usize, kept: &mut Vec<u8>) -> Result<Answer, ExchangeError> {
        kept.clear();
        self.stream.write_all(request).await?;
        let (head, mut filled) = self.head().await?;
        let keep = if head.is_success() { keep } else { keep.max(OF_ERROR) };
        let mut body = Body {
            framing: head.framing,
            bytes: 0,
            keep,
            kept,
        };
        let mut start = head.length;
        loop {
            let taken = body.feed(&self.buffer[start..filled])?;
            if body.is_whole() {
                self.used = true;
                // Bytes that follow the answer belong to no request, so the connection is not used again.
                let surplus = start + taken < filled;
                return Ok(Answer {
                    status: head.status,
                    bytes: body.bytes,
                    last: head.last || surplus,
                });
            }
            filled = self.stream.read(&mut self.buffer).await?;
            start = 0;
            if filled == 0 {
                return match body.framing {
                    Framing::UntilClosed => Ok(Answer {
                        status: head.status,
                        bytes: body.bytes,
                        last: true,
                    }),
                    _ => Err(ExchangeError::Closed),
                };
            }
        }
    }

    /// Reads up to the end of the answer's head. Returns the head, and the number of bytes in the buffer.
    async fn head(&mut self) -> Result<(Head, usize), ExchangeError> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                return Err(ExchangeError::Malformed);
            }
            let read = self.stream.read(&mut self.buffer[filled..]).await;
            let read = match read {
                Ok(0) if filled == 0 => return Err(ExchangeError::Stale),
                Err(error) if filled == 0 && error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return Err(ExchangeError::Stale);
                }
                Ok(0) => return Err(ExchangeError::Closed),
                read => read?,
            };
            filled += read;
            while let Some(head) = Head::parse(&self.buffer[..filled.min(HEAD)])? {
                if head.status >= 200 {
                    return Ok((head, filled));
                }
                // The status is below 200, so this is an interim answer, which has only a head. Drop it and read the
                // final answer.
                self.buffer.copy_within(head.length..filled, 0);
                filled -= head.length;
            }
        }
    }
}

/// The parts of an answer's head that the client needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    /// The head's length in bytes.
    length: usize,
    framing: Framing,
    last: bool,
}

/// How the end of a body is recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(u64),
    Chunked(Chunks),
    UntilClosed,
}

impl Head {
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Parses the head at the beginning of these bytes. `None` while it is incomplete.
    fn parse(bytes: &[u8]) -> Result<Option<Head>, ExchangeError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(ExchangeError::Malformed),
        };
        let status = response.code.ok_or(ExchangeError::Malformed)?;
        let mut head = Head {
            status,
            length,
            framing: Framing::UntilClosed,
            last: response.version == Some(0),
        };
        if status < 200 || matches!(status, 204 | 304) {
            head.framing = Framing::Length(0);
        }
        for header in response.headers.iter() {
            let says = |word: &[u8]| {
                header
                    .value
                    .split(|byte| *byte == b',')
                    .any(|part| part.trim_ascii().eq_ignore_ascii_case(word))
            };
            if header.name.eq_ignore_ascii_case("content-length") {
                let length = std::str::from_utf8(header.value)
                    .ok()
                    .and_then(|text| text.trim().parse().ok());
                if head.framing == Framing::UntilClosed {
                    head.framing = Framing::Length(length.ok_or(ExchangeError::Malformed)?);
                }
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") && says(b"chunked") {
                head.framing = Framing::Chunked(Chunks::new());
            } else if header.name.eq_ignore_ascii_case("connection") {
                head.last |= says(b"close");
                head.last &= !says(b"keep-alive");
            }
        }
        head.last |= head.framing == Framing::UntilClosed;
        Ok(Some(head))
    }
}

/// A body that is being read.
struct Body<'a> {
    framing: Framing,
    bytes: u64,
    keep: usize,
    kept: &'a mut Vec<u8>,
}

impl Body<'_> {
    /// Reads bytes and returns how many of them belong to the body. Keeps the first `keep` bytes of the body.
    fn feed(&mut self, bytes: &[u8]) -> Result<usize, ExchangeError> {
        let (kept, keep, count) = (&mut *self.kept, self.keep, &mut self.bytes);
        let mut take = |data: &[u8]| {
            *count += data.len() as u64;
            let room = keep.saturating_sub(kept.len());
            kept.extend_from_slice(&data[..data.len().min(room)]);
        };
        match &mut self.framing {
            Framing::Length(left) => {
                let many = (*left).min(bytes.len() as u64);
                *left -= many;
                take(&bytes[..many as usize]);
                Ok(many as usize)
            }
            Framing::Chunked(chunks) => chunks.feed(bytes, take).map_err(|_| ExchangeError::Malformed),
            Framing::UntilClosed => {
                take(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn is_whole(&self) -> bool {
        matches!(self.framing, Framing::Length(0) | Framing::Chunked(Chunks::Done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a request to a server that answers with these pieces and then closes the connection. Returns the answer
    /// and the kept bytes of its body.
    fn answer(pieces: &[&str], keep: usize) -> (Result<Answer, ExchangeError>, String) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(64);
            let mut connection = Connection {
                stream: Box::new(ours),
                buffer: vec![0; BUFFER],
                used: false,
            };
            let server = async {
                let mut request = [0; 3];
                theirs.read_exact(&mut request).await.unwrap();
                for piece in pieces {
                    theirs.write_all(piece.as_bytes()).await.unwrap();
                    tokio::task::yield_now().await;
                }
                drop(theirs);
            };
            let mut kept = Vec::new();
            let (answer, ()) = tokio::join!(connection.exchange(b"GET", keep, &mut kept), server);
            (answer, String::from_utf8(kept).unwrap())
        })
    }

    #[test]
    fn bodies_of_every_framing_are_counted_and_their_beginning_kept() {
        for (pieces, bytes, kept, last) in [
            (
                &["HTTP/1.1 200 OK\r\nContent-Le", "ngth: 11\r\n\r\nhello", " world"][..],
                11,
                "hello",
                false,
            ),
            (
                &["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"],
                2,
                "ok",
                false,
            ),
            (
                &[
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabc",
                    "def\r\n0\r\n\r\n",
                ],
                6,
                "abcde",
                false,
            ),
            (&["HTTP/1.1 200 OK\r\n\r\nto the ", "end"], 10, "to th", true),
            (&["HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"], 0, "", false),
            (
                &["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"],
                0,
                "",
                true,
            ),
            (&["HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"], 1, "x", true),
            (&["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP"], 1, "x", true),
            (
                &["HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nall of it"],
                9,
                "all of it",
                false,
            ),
        ] {
            let (answer, text) = answer(pieces, 5);
            let answer = answer.unwrap();
            assert_eq!(
                (answer.bytes, text.as_str(), answer.last),
                (bytes, kept, last),
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn what_is_no_whole_answer_is_an_error() {
        for (pieces, word) in [
            (&[][..], "before an answer"),
            (&["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"], "within an answer"),
            (&["HTTP/1.1 200"], "within an answer"),
            (&["SSH-2.0-OpenSSH\r\n\r\n"], "no HTTP/1.1"),
            (&["HTTP/1.1 200 OK\r\nContent-Length: some\r\n\r\n"], "no HTTP/1.1"),
            (
                &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz"],
                "no HTTP/1.1",
            ),
        ] {
            let error = answer(pieces, 5).0.unwrap_err().to_string();
            assert!(error.contains(word), "{pieces:?}: {error}");
        }
    }
}
