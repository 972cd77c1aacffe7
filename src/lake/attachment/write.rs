//! Writes an attachment: first its bytes and then, when the owner is known, the trailer.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::sealed::{PieceWriter, SealedPieces, append_sealed_trailer, seal_file};
use super::trailer::{BLOCK, Trailer};
use crate::lake::error::LakeError;
use crate::lake::seal::{FileKey, Keys};
use crate::private;

/// The length and the digests of an attachment's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    /// The number of bytes.
    pub bytes: u64,
    /// The SHA-256 of the bytes.
    pub sha256: [u8; 32],
    /// The SHA-1 of the bytes, which R4 has in `Attachment.hash`.
    pub sha1: [u8; 20],
    /// The CRC-32 of each piece of the bytes.
    pub(super) blocks: Vec<u32>,
    /// The key that seals the file. `None` if the file is clear.
    pub(in crate::lake) key: Option<FileKey>,
}

impl Sums {
    /// Reads all bytes of a file that an [`AttachmentWriter`] wrote and that has no trailer yet.
    pub fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let Some(key) = &self.key else {
            return private::read(path);
        };
        let (file, pieces) = (private::open(path)?, SealedPieces::unfinished(key, self.bytes)?);
        let mut all = Vec::new();
        for piece in pieces.all(&file) {
            all.extend_from_slice(&piece?);
        }
        Ok(all)
    }
}

/// A writer of an attachment's bytes to a file that only its user may read. If the lake's new files are sealed, the
/// bytes are encrypted as they come, with the key that the attachment keeps.
pub struct AttachmentWriter {
    path: PathBuf,
    file: Out,
    key: Option<FileKey>,
    bytes: u64,
    sha256: Context,
    sha1: Context,
    blocks: Vec<u32>,
    /// The CRC-32 so far of the piece that is not full yet.
    block: crc32fast::Hasher,
    filled: usize,
}

/// The file to which the writer writes.
enum Out {
    Clear(BufWriter<File>),
    Sealed(PieceWriter),
}

impl Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Out::Clear(file) => file.write_all(bytes),
            Out::Sealed(pieces) => pieces.write(bytes),
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Out::Clear(mut file) => file.flush(),
            Out::Sealed(pieces) => pieces.finish(),
        }
    }
}

impl std::fmt::Debug for AttachmentWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AttachmentWriter")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl AttachmentWriter {
    /// Creates the file, or empties an existing one. The file is sealed if the lake's new files are sealed.
    pub fn create(path: &Path, keys: &Keys) -> Result<AttachmentWriter, LakeError> {
        match keys.make()? {
            None => AttachmentWriter::create_clear(path),
            Some(key) => {
                let pieces = PieceWriter::create(path, &key).map_err(LakeError::io("create", path))?;
                Ok(AttachmentWriter::of(path, Out::Sealed(pieces), Some(key)))
            }
        }
    }

    /// Creates a clear file, or empties an existing one, even if the lake is sealed.
    pub(super) fn create_clear(path: &Path) -> Result<AttachmentWriter, LakeError> {
        let file = private::create(path);
        let file = BufWriter::new(file.map_err(LakeError::io("create", path))?);
        Ok(AttachmentWriter::of(path, Out::Clear(file), None))
    }

    fn of(path: &Path, file: Out, key: Option<FileKey>) -> AttachmentWriter {
        AttachmentWriter {
            file,
            key,
            path: path.to_owned(),
            bytes: 0,
            sha256: Context::new(&SHA256),
            sha1: Context::new(&SHA1_FOR_LEGACY_USE_ONLY),
            blocks: Vec::new(),
            block: crc32fast::Hasher::new(),
            filled: 0,
        }
    }

    /// Returns the number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), LakeError> {
        self.file.write(bytes).map_err(LakeError::io("write", &self.path))?;
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

    /// Closes the file. Returns the length and digests of the bytes.
    pub fn finish(mut self) -> Result<Sums, LakeError> {
        if self.filled > 0 {
            self.end_block();
        }
        self.file.finish().map_err(LakeError::io("write", &self.path))?;
        let (mut sha256, mut sha1) = ([0; 32], [0; 20]);
        sha256.copy_from_slice(self.sha256.finish().as_ref());
        sha1.copy_from_slice(self.sha1.finish().as_ref());
        Ok(Sums {
            bytes: self.bytes,
            sha256,
            sha1,
            blocks: self.blocks,
            key: self.key,
        })
    }

    fn end_block(&mut self) {
        self.blocks.push(std::mem::take(&mut self.block).finalize());
        self.filled = 0;
    }
}

/// Moves a written file into the lake and adds the trailer, encrypted if there is a key. If the lake was sealed or
/// unsealed since the bytes were written, encrypts or decrypts the bytes. Returns the file's length.
pub(in crate::lake) fn seal(
    from: &Path,
    to: &Path,
    sums: &Sums,
    trailer: &Trailer,
    key: Option<&FileKey>,
) -> Result<u64, LakeError> {
    let written = match (&sums.key, key) {
        (Some(own), Some(key)) if own == key => {
            moved(from, to)?;
            return append_sealed_trailer(to, trailer, key).map_err(LakeError::io("write", to));
        }
        (None, None) => {
            moved(from, to)?;
            return append_trailer(to, sums, trailer);
        }
        (None, Some(key)) => seal_file(from, to, trailer, key).map_err(LakeError::io("write", to))?,
        (Some(_), Some(_)) => return Err(LakeError::Damaged("an attachment has another file's key".to_owned())),
        (Some(own), None) => append_trailer(to, &opened(from, to, own, sums.bytes)?, trailer)?,
    };
    std::fs::remove_file(from).map_err(LakeError::io("remove", from))?;
    Ok(written)
}

/// Decrypts the bytes of a sealed file into a clear file. Returns their length and digests.
fn opened(from: &Path, to: &Path, key: &FileKey, bytes: u64) -> Result<Sums, LakeError> {
    let read = || LakeError::io("read", from);
    let file = private::open(from).map_err(read())?;
    let pieces = SealedPieces::unfinished(key, bytes).map_err(read())?;
    let mut writer = AttachmentWriter::create_clear(to)?;
    for piece in pieces.all(&file) {
        writer.write(&piece.map_err(read())?)?;
    }
    writer.finish()
}

fn moved(from: &Path, to: &Path) -> Result<(), LakeError> {
    let moved = std::fs::rename(from, to).or_else(|_| {
        // The rename fails if the spool is on another disk than the lake. Then copy the file.
        let mut new = private::create(to)?;
        std::io::copy(&mut private::open(from)?, &mut new)?;
        std::fs::remove_file(from)
    });
    moved.map_err(LakeError::io("move", to))
}

/// Writes the trailer after the bytes of a clear file. Returns the file's length.
pub(super) fn append_trailer(path: &Path, sums: &Sums, trailer: &Trailer) -> Result<u64, LakeError> {
    let append = || -> std::io::Result<u64> {
        let mut file = private::options().append(true).open(path)?;
        // Cut off what an earlier attempt may have left after the bytes.
        file.set_len(sums.bytes)?;
        file.write_all(&trailer.written(&sums.blocks))?;
        Ok(file.metadata()?.len())
    };
    append().map_err(LakeError::io("write", path))
}
