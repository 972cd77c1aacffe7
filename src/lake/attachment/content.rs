//! An attachment that is being read. Each piece is verified before a caller gets its bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};

use super::open::{Pieces, trailer_of};
use super::trailer::{BLOCK, Trailer, hexadecimal};
use crate::lake::seal::Keys;
use crate::private;

/// A row of `Binary` with an attachment has a tag whose `system` ends with this text. The tag's `code` is the SHA-256
/// of the attachment's bytes, as hexadecimal digits.
pub const CONTENT_TAG: &str = "ContentSha256";
/// A part of an attachment: the offset of its first byte, and the offset after its last byte.
pub type Range = std::ops::Range<u64>;

/// The bytes of an attachment. The file stays readable while this value exists, even if its name is removed.
#[derive(Debug)]
pub struct AttachmentContent {
    file: File,
    trailer: Trailer,
    pieces: Pieces,
}

impl AttachmentContent {
    pub(in crate::lake) fn open(path: &Path, keys: &Keys) -> io::Result<AttachmentContent> {
        let file = private::open(path)?;
        let (trailer, pieces) = trailer_of(&file, keys)?;
        Ok(AttachmentContent { file, trailer, pieces })
    }

    pub(in crate::lake) fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.trailer.bytes
    }

    /// Returns the SHA-256 of the attachment's bytes, as hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.trailer.sha256
    }

    /// Verifies a part without returning it.
    pub fn verify(&self, part: &Range) -> io::Result<()> {
        let mut at = part.start;
        while at < part.end {
            let piece = self.piece(at..part.end)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Returns the first bytes of a part, up to the end of the piece in which the part begins. Returns an error and
    /// no bytes if that piece is damaged.
    pub fn piece(&self, part: Range) -> io::Result<Vec<u8>> {
        let end = part.end.min(self.bytes());
        if part.start >= end {
            return Ok(Vec::new());
        }
        let block = part.start / BLOCK as u64;
        let from = block * BLOCK as u64;
        let mut bytes = match &self.pieces {
            Pieces::Summed(sums) => self.summed(sums, block)?,
            Pieces::Sealed(pieces) => pieces.read(&self.file, block)?,
        };
        bytes.truncate((end - from).min(BLOCK as u64) as usize);
        bytes.drain(..(part.start - from) as usize);
        Ok(bytes)
    }

    fn summed(&self, sums: &[u32], block: u64) -> io::Result<Vec<u8>> {
        let from = block * BLOCK as u64;
        let mut bytes = vec![0; (self.bytes() - from).min(BLOCK as u64) as usize];
        self.file.read_exact_at(&mut bytes, from)?;
        if sums.get(block as usize) != Some(&crc32fast::hash(&bytes)) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "an attachment's bytes are not those that were written",
            ));
        }
        Ok(bytes)
    }

    /// Reads the whole attachment. Returns whether its SHA-256 is the recorded one.
    pub(in crate::lake) fn is_whole(&self) -> io::Result<bool> {
        let mut sha256 = Context::new(&SHA256);
        let mut at = 0;
        while at < self.bytes() {
            let piece = self.piece(at..self.bytes())?;
            at += piece.len() as u64;
            sha256.update(&piece);
        }
        Ok(hexadecimal(sha256.finish().as_ref()) == self.trailer.sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::{AttachmentWriter, seal};
    use super::*;

    fn trailer(bytes: u64, sha256: &[u8]) -> Trailer {
        Trailer {
            mode: "live".to_owned(),
            application: "app".to_owned(),
            owner: 7,
            authorization: "a".to_owned(),
            binary: "b".to_owned(),
            bytes,
            sha256: hexadecimal(sha256),
            sha1: String::new(),
            origin: "o".to_owned(),
            time: 3,
        }
    }

    fn open(path: &Path) -> io::Result<AttachmentContent> {
        AttachmentContent::open(path, &Keys::none())
    }

    fn stored(dir: &Path, bytes: &[u8]) -> std::path::PathBuf {
        let (from, to) = (dir.join("spool"), dir.join("x.attachment"));
        let mut writer = AttachmentWriter::create(&from, &Keys::none()).unwrap();
        for part in bytes.chunks(1_000) {
            writer.write(part).unwrap();
        }
        let sums = writer.finish().unwrap();
        assert_eq!(sums.bytes, bytes.len() as u64);
        let length = seal(&from, &to, &sums, &trailer(sums.bytes, &sums.sha256), None).unwrap();
        assert_eq!(std::fs::metadata(&to).unwrap().len(), length);
        assert!(!from.exists());
        to
    }

    #[test]
    fn bytes_come_back_in_any_part() {
        let dir = tempfile::tempdir().unwrap();
        for length in [0usize, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            let content = open(&stored(dir.path(), &bytes)).unwrap();
            assert_eq!(content.bytes(), length as u64);
            assert!(content.is_whole().unwrap());
            for (start, end) in [(0, length), (length / 2, length), (length / 3, length / 2 + 1), (0, 1)] {
                let (start, end) = (start as u64, (end as u64).min(length as u64));
                content.verify(&(start..end)).unwrap();
                let (mut found, mut at) = (Vec::new(), start);
                while at < end {
                    let piece = content.piece(at..end).unwrap();
                    at += piece.len() as u64;
                    found.extend(piece);
                }
                assert_eq!(
                    found,
                    bytes[start as usize..end.max(start) as usize],
                    "{length} {start}..{end}"
                );
            }
        }
    }

    #[test]
    fn a_damaged_byte_is_noticed_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = vec![5; BLOCK + 100];
        let path = stored(dir.path(), &bytes);
        let whole = std::fs::read(&path).unwrap();
        for at in [
            0,
            BLOCK - 1,
            BLOCK,
            BLOCK + 99,
            BLOCK + 100,
            whole.len() - 21,
            whole.len() - 1,
        ] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            let sound = open(&path).and_then(|content| content.verify(&(0..content.bytes())));
            assert!(sound.is_err(), "{at}");
        }
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(open(&path).is_err());
        std::fs::write(&path, b"").unwrap();
        assert!(open(&path).is_err());
        // Damage in one piece does not affect the others.
        let mut damaged = whole.clone();
        damaged[BLOCK] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        let content = open(&path).unwrap();
        assert_eq!(content.piece(10..20).unwrap(), &bytes[10..20]);
        assert!(content.piece(BLOCK as u64..BLOCK as u64 + 1).is_err());
    }
}
