//! The trailer of an attachment file: the checksums of its pieces, and its owner. With it a new catalog can be made
//! from the files, and an erasure finds its files even if no catalog names them. A sealed attachment has an encrypted
//! trailer ([`super::sealed`]).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::BLOCK;
use super::content::Pieces;
use super::sealed::{self, SealedPieces};
use crate::lake::error::LakeError;
use crate::lake::owners::scope::Scope;
use crate::lake::seal::Keys;

/// The last bytes of the file.
const MAGIC: &[u8; 8] = b"TABATT1\n";
/// Number of pieces, length of the text, checksum, and the last bytes.
const TAIL: u64 = 4 + 4 + 4 + 8;
/// No text of a trailer is longer.
pub(super) const LONGEST_TEXT: u64 = 64 << 10;

/// The owner of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lake) struct Trailer {
    /// `live` or `test`.
    pub(in crate::lake) mode: String,
    pub(in crate::lake) application: String,
    pub(in crate::lake) owner: i64,
    pub(in crate::lake) authorization: String,
    /// The id of the row of `Binary`.
    pub(in crate::lake) binary: String,
    /// Length of the bytes.
    pub(in crate::lake) bytes: u64,
    /// Hexadecimal digits.
    pub(in crate::lake) sha256: String,
    pub(in crate::lake) sha1: String,
    /// Tells the next sync that it need not fetch the attachment again.
    pub(in crate::lake) origin: String,
    /// The time of its first snapshot, in microseconds since 1970.
    pub(in crate::lake) time: i64,
}

impl Trailer {
    /// Whether the file belongs to this scope itself.
    pub(in crate::lake) fn is_of(&self, scope: &Scope) -> bool {
        let patient = scope.patient.as_ref();
        self.mode == scope.mode.schema()
            && *self.application == *scope.application
            && patient.is_some_and(|patient| {
                patient.owners.contains(&self.owner) && patient.authorizations.contains(&self.authorization)
            })
    }

    /// The bytes of the trailer.
    pub(super) fn written(&self, blocks: &[u32]) -> Vec<u8> {
        let mut out: Vec<u8> = blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
        // Texts and numbers always become JSON.
        let text = serde_json::to_vec(self).unwrap_or_default();
        out.extend_from_slice(&text);
        out.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        let sum = crc32fast::hash(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(MAGIC);
        out
    }
}

/// Reads the trailer of a file.
pub(in crate::lake) fn read_trailer(path: &Path, keys: &Keys) -> Result<Trailer, LakeError> {
    let file = File::open(path).map_err(LakeError::io("read", path))?;
    let (trailer, _) = trailer_of(&file, keys).map_err(LakeError::io("read", path))?;
    Ok(trailer)
}

/// The same for an open file, with the guard of its pieces.
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
    // Somebody without the key may have written this file.
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
    // The bytes before the checksums decide how many there are. So a damaged count cannot cause a large allocation.
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
