//! The names of attachment files, and the folder that holds them. A name does not reveal the owner: only a holder of
//! the lake's owner key can find out which owner's file it is.

use std::path::Path;

use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::KeyId;

/// The extension of attachment files.
const SUFFIX: &str = ".attachment";
/// The table whose folder holds the attachment files.
pub(in crate::lake) const TABLE: &str = "Binary";

/// Returns the beginning of the names of an owner's files: a keyed hash of mode, application and owner.
pub(in crate::lake) fn name_begin(key: OwnerKey, mode: Mode, application: &str, owner: i64) -> String {
    format!("{:016x}", key.seal(&(mode.schema(), application, owner)))
}

/// Returns the name of a new file. It begins with `begin`, which comes from [`name_begin`]. The rest is unique:
/// random digits in a clear file's name, and in a sealed file's name the id of its key.
pub(in crate::lake) fn new_name(begin: &str, key: Option<KeyId>) -> String {
    match key {
        Some(id) => format!("{begin}-{id}{SUFFIX}"),
        None => {
            let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
            format!("{begin}{number:016x}{SUFFIX}")
        }
    }
}

/// Reads the id of the key that seals a file from the file's name. Returns `None` if the name is that of a clear
/// file.
pub(in crate::lake) fn key_of(path: &Path) -> Result<Option<KeyId>, LakeError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named = name.strip_suffix(SUFFIX).and_then(|name| name.split_once('-'));
    let Some((_, id)) = named else {
        return Ok(None);
    };
    let damaged = |_| LakeError::Damaged(format!("the attachment {name} names no key"));
    id.parse().map(Some).map_err(damaged)
}

/// Whether a file with this name is sealed.
pub(in crate::lake) fn is_sealed_name(name: &str) -> bool {
    name.contains('-')
}

/// Whether a path is that of an attachment file, by its extension.
pub(in crate::lake) fn is_attachment(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().ends_with(SUFFIX)
}
