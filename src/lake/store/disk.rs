//! Removes files, and makes the directory entries of a folder durable.

use std::path::Path;

use super::super::error::LakeError;

pub(in crate::lake) fn remove(path: &Path) -> Result<(), LakeError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(LakeError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Syncs a folder, which makes its directory entries durable.
pub(in crate::lake) fn sync_folder(dir: &Path) -> Result<(), LakeError> {
    std::fs::File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(LakeError::io("sync", dir))
}

/// Returns the last component of a path, or an empty string if there is none.
pub(in crate::lake) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
