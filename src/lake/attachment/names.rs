//! The names of attachment files, and the folder that holds them. Decides what a name reveals: only a holder of the
//! lake's key can tell one owner's files from another's.

use std::path::Path;

use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::KeyId;

/// The extension of attachment files.
const SUFFIX: &str = ".attachment";
/// The table whose folder holds the attachment files.
pub(in crate::lake) const TABLE: &str = "Binary";

/// The beginning of the names of an owner's files.
pub(in crate::lake) fn name_begin(key: OwnerKey, mode: Mode, application: &str, owner: i64) -> String {
    format!("{:016x}", key.seal(&(mode.schema(), application, owner)))
}

/// The name of a new file. Its first half is a keyed hash of the owner: only a holder of the lake's key can tell one
/// owner's files from another's. Its second half is unique; in a sealed lake it is the id of the file's key.
pub(in crate::lake) fn new_name(begin: &str, key: Option<KeyId>) -> String {
    match key {
        Some(id) => format!("{begin}-{id}{SUFFIX}"),
        None => {
            let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
            format!("{begin}{number:016x}{SUFFIX}")
        }
    }
}

/// The id of the key that seals a file, read from its name. `None` if the file is not sealed.
pub(in crate::lake) fn key_of(path: &Path) -> Result<Option<KeyId>, LakeError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named = name.strip_suffix(SUFFIX).and_then(|name| name.split_once('-'));
    let Some((_, id)) = named else {
        return Ok(None);
    };
    let damaged = |_| LakeError::Damaged(format!("the attachment {name} names no key"));
    id.parse().map(Some).map_err(damaged)
}

/// Whether a file of this name is sealed.
pub(in crate::lake) fn is_sealed_name(name: &str) -> bool {
    name.contains('-')
}

/// Whether a path is that of an attachment file.
pub(in crate::lake) fn is_attachment(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().ends_with(SUFFIX)
}
