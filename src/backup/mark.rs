//! The mark of a folder of backups. A backup removes files that no snapshot uses, so it must be certain that the folder
//! is one of backups. The mark is the first file that it writes into an empty folder. Without it, nothing is ever
//! removed.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};

use super::error::BackupError;
use crate::private::{self, Kind, OwnFolder};

/// The name of the mark.
pub(super) const MARK: &str = "tabularium-backups";
/// The text of the mark. The number is the version of the folder's format. Format 1 had no mark.
const TEXT: &str = "tabularium backups 2\n";
/// The name of the file that is locked while a process uses the folder.
pub(super) const LOCK: &str = "lock";
/// The folder of the manifests.
pub(super) const SNAPSHOTS: &str = "snapshots";

/// Marks an empty folder as one of backups. Does nothing if it has the mark. Returns an error for any other folder.
pub(super) fn put(root: &OwnFolder) -> Result<(), BackupError> {
    let path = root.path().join(MARK);
    let text = read(root)?;
    if text.as_deref() == Some(TEXT) {
        return Ok(());
    }
    let entries = root.entries().map_err(BackupError::io("read", root.path()))?;
    let is_new = entries.iter().all(|(name, _)| name == MARK || name == LOCK);
    // A process that was killed while it wrote the mark has left a part of the text.
    let is_begun = text.is_none_or(|text| TEXT.starts_with(&text));
    if !(is_new && is_begun) {
        return Err(refused(root));
    }
    let write = || -> std::io::Result<()> {
        let mut mark = private::options().write(true).create(true).open(&path)?;
        mark.write_all(TEXT.as_bytes())?;
        mark.sync_all()?;
        root.sync()
    };
    write().map_err(BackupError::io("write", &path))
}

/// Returns an error if the folder does not have the mark.
pub(super) fn check(root: &OwnFolder) -> Result<(), BackupError> {
    if read(root)?.as_deref() == Some(TEXT) {
        Ok(())
    } else {
        Err(refused(root))
    }
}

/// Returns the text of the mark, if there is one. A text of another program is cut off.
fn read(root: &OwnFolder) -> Result<Option<String>, BackupError> {
    let mut text = Vec::new();
    match root.file(MARK).and_then(|file| file.take(64).read_to_end(&mut text)) {
        Ok(_) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BackupError::io("read", &root.path().join(MARK))(error)),
    }
}

/// Returns the error for a folder without the mark.
fn refused(root: &OwnFolder) -> BackupError {
    let is_mark = matches!(root.kind(MARK), Ok(Some(_)));
    let is_manifest = |(name, kind): &(OsString, Kind)| *kind == Kind::File && has_ending(name, ".json");
    let snapshots = root.folder(SNAPSHOTS).and_then(|folder| folder.entries());
    let what = if is_mark {
        "is a folder of backups in another format; name a new folder with --to, and restore this one with the program that made it"
    } else if snapshots.is_ok_and(|entries| entries.iter().any(is_manifest)) {
        "is a folder of backups in an earlier format, without the file tabularium-backups; name a new folder with --to, and restore this one with the program that made it"
    } else {
        "is no folder of backups: the file tabularium-backups is missing"
    };
    BackupError::Folder {
        path: root.path().to_owned(),
        what,
    }
}

fn has_ending(name: &OsStr, ending: &str) -> bool {
    name.as_encoded_bytes().ends_with(ending.as_bytes())
}
