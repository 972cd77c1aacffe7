//! Reads the end of an attachment file: its trailer, and what is needed to verify its pieces.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::sealed::{self, SealedPieces};
use super::trailer::{BLOCK, LONGEST_TEXT, MAGIC, TAIL, Trailer};
use crate::lake::error::LakeError;
use crate::lake::seal::Keys;
use crate::private;

/// The way in which the pieces of a file are verified.
#[derive(Debug)]
pub(super) enum Pieces {
    /// The pieces are clear. Each has a CRC-32.
    Summed(Vec<u32>),
    /// The pieces are encrypted. Decryption verifies them.
    Sealed(SealedPieces),
}

/// Reads the trailer of a file.
pub(in crate::lake) fn read_trailer(path: &Path, keys: &Keys) -> Result<Trailer, LakeError> {
    let file = private::open(path).map_err(LakeError::io("read", path))?;
    let (trailer, _) = trailer_of(&file, keys).map_err(LakeError::io("read", path))?;
    Ok(trailer)
}

/// Reads the trailer from the end of `file`. Also returns how the file's pieces are verified.
pub(super) fn trailer_of(file: &File, keys: &Keys) -> io::Result<(Trailer, Pieces)> {
    let length = file.metadata()?.len();
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its end is not that of an attachment");
    let tail_at = length.checked_sub(TAIL).ok_or_else(damaged)?;
    let mut tail = [0; TAIL as usize];
    file.read_exact_at(&mut tail, tail_at)?;
    let is_sealed = &tail[12..] == sealed::MAGIC;
    if is_sealed {
        let (trailer, pieces) = SealedPieces::open(file, length, keys)?;
        return Ok((trailer, Pieces::Sealed(pieces)));
    }
    // A sealed lake refuses a clear file, because somebody without the key may have put it there.
    if !keys.kind().takes_clear() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is not sealed, and the lake is",
        ));
    }
    let number = |at: usize| u32::from_le_bytes([tail[at], tail[at + 1], tail[at + 2], tail[at + 3]]);
    let (count, text, sum) = (u64::from(number(0)), u64::from(number(4)), number(8));
    let begin = tail_at.checked_sub(text + 4 * count).filter(|_| text <= LONGEST_TEXT);
    let begin = begin.filter(|_| &tail[12..] == MAGIC).ok_or_else(damaged)?;
    // The count must match the length of the content. So a damaged count does not cause a large allocation.
    if count != begin.div_ceil(BLOCK as u64) {
        return Err(damaged());
    }
    let mut all = vec![0; usize::try_from(tail_at + 8 - begin).map_err(|_| damaged())?];
    file.read_exact_at(&mut all, begin)?;
    if crc32fast::hash(&all) != sum {
        return Err(damaged());
    }
    let (blocks, rest) = all.split_at(4 * count as usize);
    let trailer: Trailer = serde_json::from_slice(&rest[..text as usize]).map_err(|_| damaged())?;
    if trailer.bytes != begin {
        return Err(damaged());
    }
    let blocks = blocks.as_chunks::<4>().0.iter();
    let sums = blocks.map(|block| u32::from_le_bytes(*block)).collect();
    Ok((trailer, Pieces::Summed(sums)))
}
