//! Writing an attachment: its bytes with their checksums as they come, the trailer once it is known whose it is.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::BLOCK;
use super::sealed::seal_file;
use super::trailer::Trailer;
use crate::lake::error::LakeError;
use crate::lake::seal::FileKey;
use crate::lake::store::private;

/// What the bytes of an attachment come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    /// How many there are.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: [u8; 32],
    /// Their SHA-1, which R4 has in `Attachment.hash`.
    pub sha1: [u8; 20],
    /// The CRC-32 of each piece.
    pub(super) blocks: Vec<u32>,
}

/// Takes an attachment's bytes into a file that only its owner may read.
pub struct AttachmentWriter {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
    sha256: Context,
    sha1: Context,
    blocks: Vec<u32>,
    /// Of the piece that is not full yet.
    block: crc32fast::Hasher,
    filled: usize,
}

impl std::fmt::Debug for AttachmentWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AttachmentWriter")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl AttachmentWriter {
    /// Makes the file, or empties the one that is there.
    pub fn create(path: &Path) -> Result<AttachmentWriter, LakeError> {
        let file = private::options().write(true).create(true).truncate(true).open(path);
        Ok(AttachmentWriter {
            file: BufWriter::new(file.map_err(LakeError::io("create", path))?),
            path: path.to_owned(),
            bytes: 0,
            sha256: Context::new(&SHA256),
            sha1: Context::new(&SHA1_FOR_LEGACY_USE_ONLY),
            blocks: Vec::new(),
            block: crc32fast::Hasher::new(),
            filled: 0,
        })
    }

    /// How many bytes it has by now.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), LakeError> {
        self.file.write_all(bytes).map_err(LakeError::io("write", &self.path))?;
        self.bytes += bytes.len() as u64;
        self.sha256.update(bytes);
        self.sha1.update(bytes);
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.block.update(now);
            self.filled += now.len();
            if self.filled == BLOCK {
                self.end_block();
            }
            bytes = later;
        }
        Ok(())
    }

    /// Closes the file and says what is in it.
    pub fn finish(mut self) -> Result<Sums, LakeError> {
        if self.filled > 0 {
            self.end_block();
        }
        self.file.flush().map_err(LakeError::io("write", &self.path))?;
        let (mut sha256, mut sha1) = ([0; 32], [0; 20]);
        sha256.copy_from_slice(self.sha256.finish().as_ref());
        sha1.copy_from_slice(self.sha1.finish().as_ref());
        Ok(Sums {
            bytes: self.bytes,
            sha256,
            sha1,
            blocks: self.blocks,
        })
    }

    fn end_block(&mut self) {
        self.blocks.push(std::mem::take(&mut self.block).finalize());
        self.filled = 0;
    }
}

/// Moves a file of bytes to its place in the lake, with the trailer behind them, encrypted if there is a key; gives its
/// length.
pub(in crate::lake) fn seal(
    from: &Path,
    to: &Path,
    sums: &Sums,
    trailer: &Trailer,
    key: Option<&FileKey>,
) -> Result<u64, LakeError> {
    if let Some(key) = key {
        let length = seal_file(from, to, trailer, key).map_err(LakeError::io("write", to))?;
        std::fs::remove_file(from).map_err(LakeError::io("remove", from))?;
        return Ok(length);
    }
    let moved = std::fs::rename(from, to).or_else(|_| {
        // The folder of what is fetched may be on another disk.
        let mut new = private::options().write(true).create(true).truncate(true).open(to)?;
        std::io::copy(&mut File::open(from)?, &mut new)?;
        std::fs::remove_file(from)
    });
    moved.map_err(LakeError::io("move", to))?;
    append_trailer(to, sums, trailer)
}

/// Puts the trailer behind the bytes of a file; gives its length.
pub(super) fn append_trailer(path: &Path, sums: &Sums, trailer: &Trailer) -> Result<u64, LakeError> {
    let append = || -> std::io::Result<u64> {
        let mut file = private::options().append(true).open(path)?;
        // What stands behind the bytes is of an attempt before.
        file.set_len(sums.bytes)?;
        file.write_all(&trailer.written(&sums.blocks))?;
        Ok(file.metadata()?.len())
    };
    append().map_err(LakeError::io("write", path))
}
