//! Attachments: documents that a source's records refer to. Each is a file beside the data files of the table `Binary`.
//! The row of `Binary` with the same id describes the attachment and names its owner.
//!
//! This room decides the format of such files (clear and sealed), which attachment the catalog names for a row, and who
//! may open one. An attachment is opened only through a row that the scope shows. `sync` decides which documents are
//! fetched.

mod content;
mod convert;
mod door;
mod open;
mod recorded;
mod sealed;
mod trailer;
mod write;

pub use content::{AttachmentContent, Range};
pub(super) use convert::{convert, is_sealed_file, renamed};
pub use door::{Attached, KeptAttachment};
pub(super) use recorded::{Contents, Mark, Recorded};
pub use write::{AttachmentWriter, Sums};

use std::path::Path;

use super::error::LakeError;
use super::owners::owner::OwnerKey;
use super::owners::scope::Mode;
use super::seal::KeyId;

pub(super) use open::read_trailer;
pub(super) use trailer::{Trailer, hexadecimal};
pub(super) use write::seal;

/// The extension of attachment files.
const SUFFIX: &str = ".attachment";
/// The table whose folder holds the attachment files.
pub(super) const TABLE: &str = "Binary";
/// The end of a tag's system if the tag's code is the SHA-256 of the file, as hexadecimal digits.
pub const CONTENT_TAG: &str = "ContentSha256";
/// Each piece of this many bytes has its own checksum.
const BLOCK: usize = 64 << 10;

/// The beginning of the names of an owner's files.
pub(super) fn name_begin(key: OwnerKey, mode: Mode, application: &str, owner: i64) -> String {
    format!("{:016x}", key.seal(&(mode.schema(), application, owner)))
}

/// The name of a new file. Its first half is a keyed hash of the owner: only a holder of the lake's key can tell one
/// owner's files from another's. Its second half is unique; in a sealed lake it is the id of the file's key.
pub(super) fn new_name(begin: &str, key: Option<KeyId>) -> String {
    match key {
        Some(id) => format!("{begin}-{id}{SUFFIX}"),
        None => {
            let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
            format!("{begin}{number:016x}{SUFFIX}")
        }
    }
}

/// The id of the key that seals a file, read from its name. `None` if the file is not sealed.
pub(super) fn key_of(path: &Path) -> Result<Option<KeyId>, LakeError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named = name.strip_suffix(SUFFIX).and_then(|name| name.split_once('-'));
    let Some((_, id)) = named else {
        return Ok(None);
    };
    let damaged = |_| LakeError::Damaged(format!("the attachment {name} names no key"));
    id.parse().map(Some).map_err(damaged)
}

/// Whether a file of this name is sealed.
pub(super) fn is_sealed_name(name: &str) -> bool {
    name.contains('-')
}

/// Whether a path is that of an attachment file.
pub(super) fn is_attachment(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().ends_with(SUFFIX)
}
