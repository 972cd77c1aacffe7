//! An unnamed temporary file for many sequences of bytes. Each sequence is written once. It can be read by itself, as a
//! whole or in part.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::place::{PIECE, changed, named, unnamed};
use crate::lake::seal::{AROUND, PieceCipher};

/// An unnamed temporary file. Several threads may write and read it at once.
#[derive(Debug)]
pub(crate) struct Parts {
    file: File,
    cipher: PieceCipher,
    end: AtomicU64,
}

impl Parts {
    /// Creates an empty file in this folder.
    pub(crate) fn create_in(folder: &Path) -> io::Result<Parts> {
        Ok(Parts {
            file: unnamed(folder)?,
            cipher: PieceCipher::random()?,
            end: AtomicU64::new(0),
        })
    }

    /// Reserves space for this many bytes and returns its position. [`write`](Parts::write) fills it.
    pub(crate) fn reserve(&self, length: usize) -> u64 {
        let pieces = length.div_ceil(PIECE);
        self.end.fetch_add((length + pieces * AROUND) as u64, Ordering::Relaxed)
    }

    /// Writes bytes to the space that was reserved for them at `at`.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let pieces = bytes.len().div_ceil(PIECE);
        let mut sealed = Vec::with_capacity(bytes.len() + pieces * AROUND);
        for (number, piece) in bytes.chunks(PIECE).enumerate() {
            self.cipher.seal(&named(at, number as u64), piece, &mut sealed)?;
        }
        self.file.write_all_at(&sealed, at)
    }

    /// Appends bytes to the file. Returns their position.
    pub(crate) fn add(&self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.reserve(bytes.len());
        self.write(at, bytes)?;
        Ok(at)
    }

    /// Reads the range `part` of a sequence of bytes and appends it to `out`. `at` is the position of the sequence, and
    /// `length` its whole length.
    pub(crate) fn read(&self, at: u64, length: usize, part: Range<usize>, out: &mut Vec<u8>) -> io::Result<()> {
        if part.start > part.end || part.end > length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut sealed = Vec::new();
        out.reserve(part.len());
        for number in part.start / PIECE..part.end.div_ceil(PIECE) {
            let from = number * PIECE;
            sealed.resize((length - from).min(PIECE) + AROUND, 0);
            let lies_at = at + (from + number * AROUND) as u64;
            self.file.read_exact_at(&mut sealed, lies_at)?;
            let opened = self.cipher.open(&named(at, number as u64), &mut sealed);
            let clear = opened.ok_or_else(changed)?;
            let end = (part.end - from).min(clear.len());
            out.extend_from_slice(&clear[part.start.saturating_sub(from)..end]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 31 % 251) as u8).collect()
    }

    #[test]
    fn any_part_comes_back_and_the_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let parts = Parts::create_in(folder.path()).unwrap();
        let lengths = [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 17];
        let places = lengths.map(|length| parts.add(&bytes(length)).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        for (length, at) in lengths.into_iter().zip(places) {
            for part in [
                0..length,
                length / 2..length,
                length / 3..length / 2,
                0..length.min(1),
                length..length,
            ] {
                let mut out = vec![7];
                parts.read(at, length, part.clone(), &mut out).unwrap();
                assert_eq!(out[1..], bytes(length)[part]);
            }
            assert!(parts.read(at, length, 0..length + 1, &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn nothing_stands_in_clear_and_a_changed_byte_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let parts = Parts::create_in(folder.path()).unwrap();
        let text = "A letter about Ann of Athlone. ".repeat(2_000);
        let at = parts.add(text.as_bytes()).unwrap();
        let length = parts.file.metadata().unwrap().len() as usize;
        let mut stored = vec![0; length];
        parts.file.read_exact_at(&mut stored, 0).unwrap();
        assert_eq!(memchr::memmem::find(&stored, b"Athlone"), None);
        for place in [0, 11, 12, PIECE + 12, PIECE + 28, length - 1] {
            parts.file.write_all_at(&[stored[place] ^ 1], place as u64).unwrap();
            assert!(
                parts.read(at, text.len(), 0..text.len(), &mut Vec::new()).is_err(),
                "{place}"
            );
            parts.file.write_all_at(&stored[place..=place], place as u64).unwrap();
        }
        let mut out = Vec::new();
        parts.read(at, text.len(), 0..text.len(), &mut out).unwrap();
        assert_eq!(out, text.as_bytes());
    }
}
