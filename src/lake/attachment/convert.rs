//! Rewrites an attachment: a clear file becomes a sealed one, or a sealed file a clear one.

use std::path::{Path, PathBuf};

use super::content::AttachmentContent;
use super::names::new_name;
use super::sealed::{MAGIC, seal_file};
use super::write::{AttachmentWriter, append_trailer};
use crate::lake::error::LakeError;
use crate::lake::seal::{FileKey, Keys};
use crate::private;

/// The number of digits in a file's name that identify its application and owner.
const WHOSE: usize = 16;

/// Returns a new path for an attachment: the path of a file that `key` seals or, without a key, of a clear file.
pub(in crate::lake) fn renamed(path: &Path, key: Option<&FileKey>) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let whose = name.get(..WHOSE).unwrap_or(&name);
    path.with_file_name(new_name(whose, key.map(FileKey::id)))
}

/// Rewrites the attachment at `from` to `to`: sealed with `key`, or in clear without a key. Returns the new file's
/// length. First verifies the whole content, by its checksums or by decryption, and by its SHA-256.
pub(in crate::lake) fn convert(from: &Path, to: &Path, keys: &Keys, key: Option<&FileKey>) -> Result<u64, LakeError> {
    let content = AttachmentContent::open(from, keys).map_err(LakeError::io("read", from))?;
    let trailer = content.trailer().clone();
    if !content.is_whole().map_err(LakeError::io("read", from))? {
        return Err(LakeError::Damaged(format!(
            "{} has other bytes than it says",
            from.display()
        )));
    }
    match key {
        Some(key) => seal_file(from, to, &trailer, key).map_err(LakeError::io("write", to)),
        None => {
            let mut writer = AttachmentWriter::create_clear(to)?;
            let mut at = 0;
            while at < content.bytes() {
                let piece = content.piece(at..content.bytes());
                let piece = piece.map_err(LakeError::io("read", from))?;
                at += piece.len() as u64;
                writer.write(&piece)?;
            }
            let sums = writer.finish()?;
            append_trailer(to, &sums, &trailer)
        }
    }
}

/// Whether a file begins like a sealed attachment. `false` if it cannot be read.
pub(in crate::lake) fn is_sealed_file(path: &Path) -> bool {
    use std::io::Read;
    let mut begin = [0; MAGIC.len()];
    let read = private::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *MAGIC
}
