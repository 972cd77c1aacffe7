//! Frames over a stream: a tag of one byte, the length of the contents in eight bytes (little-endian), and the
//! contents.

use std::io::{self, Read, Write};

/// A frame that was received.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    /// The kind of the contents. The two processes agree on its meaning.
    pub tag: u8,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// One end of the connection between two processes.
#[derive(Debug)]
pub struct Channel<S> {
    stream: S,
}

impl<S: Read + Write> Channel<S> {
    /// Carries frames over `stream`.
    pub fn new(stream: S) -> Channel<S> {
        Channel { stream }
    }

    /// Returns the stream.
    pub(super) fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Sends a frame. `pieces` are its contents, one after the other.
    pub fn send<P: AsRef<[u8]>>(
        &mut self,
        tag: u8,
        pieces: impl IntoIterator<Item = P, IntoIter: Clone>,
    ) -> io::Result<()> {
        let pieces = pieces.into_iter();
        let length: u64 = pieces.clone().map(|piece| piece.as_ref().len() as u64).sum();
        let mut head = [tag, 0, 0, 0, 0, 0, 0, 0, 0];
        head[1..].copy_from_slice(&length.to_le_bytes());
        let mut out = io::BufWriter::with_capacity(64 << 10, &mut self.stream);
        out.write_all(&head)?;
        for piece in pieces {
            out.write_all(piece.as_ref())?;
        }
        out.flush()
    }

    /// Receives a frame. Fails if it has more than `max` bytes. Takes memory only for bytes that arrive.
    pub fn receive(&mut self, max: u64) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [tag, length @ ..] = head;
        let length = u64::from_le_bytes(length);
        if length > max {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
        }
        let mut bytes = Vec::with_capacity(length.min(1 << 20) as usize);
        let read = Read::take(&mut self.stream, length).read_to_end(&mut bytes)?;
        if read as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Frame { tag, bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_frame_arrives_as_it_was_sent() {
        let mut channel = Channel::new(Cursor::new(Vec::new()));
        let long = vec![7; 200_000];
        channel.send(3, [b"ab".as_slice(), b"", b"c"]).unwrap();
        channel.send(4, [&long]).unwrap();
        channel.send(5, [""; 0]).unwrap();
        channel.stream.set_position(0);
        let mut received = || channel.receive(1 << 20).unwrap();
        assert_eq!((received().bytes, received().bytes), (b"abc".to_vec(), long));
        assert_eq!(
            received(),
            Frame {
                tag: 5,
                bytes: Vec::new()
            }
        );
    }

    #[test]
    fn a_length_that_is_a_lie_is_refused() {
        let refused = |bytes: Vec<u8>| Channel::new(Cursor::new(bytes)).receive(100).unwrap_err().kind();
        let head = |length: u64| [vec![1], length.to_le_bytes().to_vec()].concat();
        assert_eq!(refused(head(u64::MAX)), io::ErrorKind::InvalidData);
        assert_eq!(refused(head(101)), io::ErrorKind::InvalidData);
        assert_eq!(refused(head(100)), io::ErrorKind::UnexpectedEof);
        assert_eq!(refused(vec![1, 2]), io::ErrorKind::UnexpectedEof);
    }
}
