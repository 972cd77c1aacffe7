//! Text that was read from a file and not returned to the caller yet. Also recycles the memory of texts that are no
//! longer needed.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum size of an NDJSON line or JSON document, in bytes after decompression.
pub const LARGEST_DOCUMENT: usize = 128 << 20;
/// The initial capacity of a text's memory, in bytes. Files with one resource are seldom larger.
const FIRST: usize = 64 << 10;
/// A text of more bytes than this gets the maximum capacity at once.
const LARGE: usize = 8 << 20;
/// The maximum number of texts whose memory is kept for reuse.
const KEPT: usize = 8;
/// The maximum capacity, in bytes, of a text whose memory is kept for reuse.
const KEPT_BYTES: usize = 4 << 20;

/// A pool with the memory of texts that are no longer needed. New texts reuse it, because allocating fresh memory takes
/// as long as reading into it.
#[derive(Clone, Debug, Default)]
pub struct Spare(Arc<Mutex<Vec<Vec<u8>>>>);

impl Spare {
    /// Takes back the memory of a text, if it is small and not too much is kept already.
    pub fn give(&self, text: Vec<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT && text.capacity() <= KEPT_BYTES {
            kept.push(text);
        }
    }

    fn take(&self) -> Vec<u8> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.pop().unwrap_or_default()
    }
}

/// A text that was read: the first `filled` bytes of `bytes`. All of `bytes` is initialized memory.
#[derive(Debug, Default)]
pub(in crate::ingest) struct Pending {
    bytes: Vec<u8>,
    filled: usize,
    spare: Spare,
}

impl Pending {
    pub(in crate::ingest) fn new(spare: Spare) -> Pending {
        Pending {
            bytes: spare.take(),
            filled: 0,
            spare,
        }
    }

    pub(in crate::ingest) fn text(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    pub(in crate::ingest) fn len(&self) -> usize {
        self.filled
    }

    /// Reads until the text has `enough` bytes. Returns whether the reader ended before that.
    pub(in crate::ingest) fn fill(&mut self, reader: &mut dyn Read, enough: usize) -> io::Result<bool> {
        while self.filled < enough {
            if self.filled == self.bytes.len() {
                let room = enough.min(FIRST.max(self.filled * 2));
                if room > self.bytes.capacity() {
                    // Growing in small steps would copy a large text, and so take its memory twice. Reserved memory
                    // that is never written costs nothing.
                    let capacity = if room > LARGE { LARGEST_DOCUMENT + LARGE } else { room };
                    self.bytes.reserve_exact(capacity.max(room) - self.filled);
                }
                self.bytes.resize(room, 0);
            }
            let end = enough.min(self.bytes.len());
            match reader.read(&mut self.bytes[self.filled..end]) {
                Ok(0) => return Ok(true),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Removes the text before `end` and returns it.
    pub(in crate::ingest) fn split(&mut self, end: usize) -> Vec<u8> {
        let rest = self.filled - end;
        let mut next = self.spare.take();
        if next.len() < rest {
            next.resize(rest, 0);
        }
        next[..rest].copy_from_slice(&self.bytes[end..self.filled]);
        let mut text = std::mem::replace(&mut self.bytes, next);
        text.truncate(end);
        self.filled = rest;
        text
    }

    /// Removes the text before `start`.
    pub(in crate::ingest) fn forget(&mut self, start: usize) {
        self.bytes.copy_within(start..self.filled, 0);
        self.filled -= start;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.spare.give(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_held_another_text_shows_none_of_it() {
        let spare = Spare::default();
        spare.give(b"an older and longer text".to_vec());
        let mut pending = Pending::new(spare.clone());
        let mut reader: &[u8] = b"one\ntwo\nthree";
        assert!(!pending.fill(&mut reader, 6).unwrap());
        assert_eq!(pending.text(), b"one\ntw");
        spare.give(b"another older text".to_vec());
        assert_eq!(pending.split(4), b"one\n");
        assert_eq!(pending.text(), b"tw");
        assert!(pending.fill(&mut reader, 200_000).unwrap());
        assert_eq!(pending.text(), b"two\nthree");
        pending.forget(4);
        assert_eq!((pending.text(), pending.len()), (&b"three"[..], 5));
        assert_eq!(pending.split(5), b"three");
        assert_eq!(pending.text(), b"");
    }
}
