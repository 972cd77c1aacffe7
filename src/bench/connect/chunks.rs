//! Decodes the transfer coding `chunked` as its bytes arrive.

/// The position of a decoder in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Chunks {
    /// Reading the size of a chunk.
    Size { size: u64, digits: u32 },
    /// After the size of a chunk, before the end of its line. The bytes there are ignored.
    Extension { size: u64 },
    /// Reading the bytes of a chunk.
    Data { left: u64 },
    /// After the bytes of a chunk, before the line break that ends it.
    End,
    /// Reading the trailer lines after the last chunk. `length` is the length of the current line.
    Trailer { length: u32 },
    /// After the end of the body.
    Done,
}

/// The error for bytes that are not chunked coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) struct Malformed;

impl Chunks {
    /// Returns the position before the first byte.
    pub(in crate::bench) fn new() -> Chunks {
        Chunks::Size { size: 0, digits: 0 }
    }

    /// Decodes `bytes` and calls `take` with the data of the chunks. Returns how many of the bytes belong to the body.
    /// A number below `bytes.len()` means that the body has ended and other bytes follow it.
    pub(in crate::bench) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            *self = match *self {
                Chunks::Done => return Ok(at),
                Chunks::Data { left } => {
                    let many = left.min((bytes.len() - at) as u64);
                    take(&bytes[at..at + many as usize]);
                    at += many as usize;
                    *self = if many == left {
                        Chunks::End
                    } else {
                        Chunks::Data { left: left - many }
                    };
                    continue;
                }
                Chunks::Size { size, digits } => match (byte as char).to_digit(16) {
                    Some(digit) if digits < 15 => Chunks::Size {
                        size: size * 16 + u64::from(digit),
                        digits: digits + 1,
                    },
                    None if digits > 0 && byte == b'\n' => Chunks::behind_size(size),
                    None if digits > 0 => Chunks::Extension { size },
                    _ => return Err(Malformed),
                },
                Chunks::Extension { size } if byte == b'\n' => Chunks::behind_size(size),
                Chunks::Extension { size } => Chunks::Extension { size },
                Chunks::End => match byte {
                    b'\r' => Chunks::End,
                    b'\n' => Chunks::new(),
                    _ => return Err(Malformed),
                },
                Chunks::Trailer { length } => match byte {
                    b'\n' if length == 0 => Chunks::Done,
                    b'\n' => Chunks::Trailer { length: 0 },
                    b'\r' => Chunks::Trailer { length },
                    _ => Chunks::Trailer {
                        length: length.saturating_add(1),
                    },
                },
            };
            at += 1;
        }
        Ok(at)
    }

    fn behind_size(size: u64) -> Chunks {
        match size {
            0 => Chunks::Trailer { length: 0 },
            left => Chunks::Data { left },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(bytes: &[u8], piece: usize) -> Result<(String, Chunks, usize), Malformed> {
        let (mut chunks, mut text, mut taken) = (Chunks::new(), Vec::new(), 0);
        for piece in bytes.chunks(piece) {
            taken += chunks.feed(piece, |data| text.extend_from_slice(data))?;
        }
        Ok((String::from_utf8(text).unwrap(), chunks, taken))
    }

    #[test]
    fn a_body_is_the_same_however_its_bytes_arrive() {
        let text = b"4\r\nWiki\r\n6;name=value\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nX-Trailer: 1\r\n\r\n";
        for piece in 1..=text.len() {
            let (body, chunks, taken) = body(text, piece).unwrap();
            assert_eq!(
                (body.as_str(), chunks, taken),
                ("Wikipedia in \r\n\r\nchunks.", Chunks::Done, text.len())
            );
        }
        assert_eq!(body(b"0\r\n\r\nHTTP", 99).unwrap(), (String::new(), Chunks::Done, 5));
        assert_ne!(body(b"4\r\nWik", 99).unwrap().1, Chunks::Done);
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for bad in [&b"x\r\n"[..], b"\r\n", b"2\r\nabc\r\n", b"11111111111111111\r\n"] {
            assert_eq!(body(bad, 1).map(|_| ()), Err(Malformed), "{bad:?}");
        }
    }
}
