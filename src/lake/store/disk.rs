//! Removes files, and makes the directory entries of a folder durable.

use std::path::Path;

use super::super::error::LakeError;

pub(in crate::lake) fn remove(path: &Path) -> Result<(), LakeError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(LakeError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Makes the directory entries of a folder durable.
pub(in crate::lake) fn sync_folder(dir: &Path) -> Result<(), LakeError> {
    std::fs::File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(LakeError::io("sync", dir))
}

/// The last part of a path.
pub(in crate::lake) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
