//! Moves files into a folder of backups and out of it. Files that never change are linked if both folders are on the
//! same file system. All others are copied. The name of a file in the folder of backups is its SHA-256.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest;

use super::error::BackupError;
use super::folder::{BackupFolder, sync_folder};
use super::manifest::{ManifestFile, hexadecimal};
use crate::private::{self, Below};

const CHUNK: usize = 1 << 20;
/// The name of a file in `work` before it gets its place.
const DRAFT: &str = "file";

/// The way in which a file is transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Gives the file a second name by a hard link, or copies it if the file system cannot link. Only for files that
    /// never change.
    Link,
    /// Copies the file.
    Copy,
    /// Moves the file. Only for temporary files of this program.
    Move,
}

/// Whether a file of a data folder never changes. The end of its name decides: data files, delete files and published
/// tables end with `.parquet`, attachments with `.attachment`.
pub(super) fn is_never_changed(path: &str) -> bool {
    path.ends_with(".parquet") || path.ends_with(".attachment")
}

/// Adds files to a folder of backups, and takes files out of it.
#[derive(Debug)]
pub(super) struct Files<'p> {
    place: &'p BackupFolder,
    /// The folders that must be synced.
    touched: BTreeSet<PathBuf>,
    /// The number of new files. `added_bytes` is the total size of the new files in bytes.
    pub(super) added: u64,
    pub(super) added_bytes: u64,
}

impl<'p> Files<'p> {
    pub(super) fn new(place: &'p BackupFolder) -> Files<'p> {
        Files {
            place,
            touched: BTreeSet::new(),
            added: 0,
            added_bytes: 0,
        }
    }

    /// Whether the folder of backups has this file, with the length that the manifest records.
    pub(super) fn has(&self, file: &ManifestFile) -> bool {
        let facts = self.place.stored(&file.sha256).and_then(|stored| stored.metadata());
        facts.is_ok_and(|facts| facts.len() == file.bytes)
    }

    /// Adds the file `source`. `path` is its path in the data folder. Reads the file one time. Returns `None` if it
    /// does not exist.
    pub(super) fn add(&mut self, source: Below<'_>, path: &str, how: How) -> Result<Option<ManifestFile>, BackupError> {
        let from = source.path();
        let opened = match source.open() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(BackupError::io("read", &from))?,
        };
        let draft = self.place.work().join(DRAFT);
        let (sha256, bytes) = transfer(opened, &from, &draft, how)?;
        let file = ManifestFile {
            path: path.to_owned(),
            bytes,
            sha256,
        };
        if self.has(&file) {
            std::fs::remove_file(&draft).map_err(BackupError::io("remove", &draft))?;
            return Ok(Some(file));
        }
        let to = self.place.file(&file.sha256);
        let stored = self.place.store(DRAFT, &file.sha256);
        let folder = stored.map_err(BackupError::io("write", &to))?;
        // If both names are links of the same file, the rename does nothing and the draft's name is still there. So
        // remove it.
        let _ = std::fs::remove_file(&draft);
        self.touched.insert(folder);
        self.added += 1;
        self.added_bytes += bytes;
        Ok(Some(file))
    }

    /// Makes the names of all added files durable.
    pub(super) fn sync(&mut self) -> Result<(), BackupError> {
        if !self.touched.is_empty() {
            self.touched.insert(self.place.files());
        }
        for folder in std::mem::take(&mut self.touched) {
            sync_folder(&folder)?;
        }
        Ok(())
    }

    /// Puts a file of a snapshot at its path below `dir`. Returns an error if the file differs from the manifest.
    pub(super) fn lay_out(&self, file: &ManifestFile, dir: &Path, how: How) -> Result<(), BackupError> {
        let (from, to) = (self.place.file(&file.sha256), dir.join(&file.path));
        let folder = to.parent().unwrap_or(dir);
        private::folder(folder).map_err(BackupError::io("make", folder))?;
        let (sha256, bytes) = transfer(self.opened(file)?, &from, &to, how)?;
        if (&sha256, bytes) == (&file.sha256, file.bytes) {
            Ok(())
        } else {
            Err(differs(&from, file))
        }
    }

    /// Puts a file of a snapshot at its path below `dir`, as a link if possible. Does not compare the file with the
    /// manifest.
    pub(super) fn lay_out_unread(&self, file: &ManifestFile, dir: &Path) -> Result<(), BackupError> {
        let (from, to) = (self.place.file(&file.sha256), dir.join(&file.path));
        let folder = to.parent().unwrap_or(dir);
        private::folder(folder).map_err(BackupError::io("make", folder))?;
        let opened = self.opened(file)?;
        if is_linked(&opened, &from, &to) {
            return Ok(());
        }
        transfer(opened, &from, &to, How::Copy).map(drop)
    }

    /// Opens a file of the folder of backups.
    fn opened(&self, file: &ManifestFile) -> Result<File, BackupError> {
        let path = self.place.file(&file.sha256);
        self.place.stored(&file.sha256).map_err(|error| match error.kind() {
            ErrorKind::NotFound => BackupError::damaged(&path, format!("is missing, which is {}", file.path)),
            _ => BackupError::io("read", &path)(error),
        })
    }

    /// Reads a file of the folder of backups and compares it with the manifest.
    pub(super) fn check(&self, file: &ManifestFile) -> Result<(), BackupError> {
        let path = self.place.file(&file.sha256);
        let found = pour(&mut self.opened(file)?, None).map_err(BackupError::io("read", &path))?;
        if found == (file.sha256.clone(), file.bytes) {
            Ok(())
        } else {
            Err(differs(&path, file))
        }
    }
}

fn differs(path: &Path, file: &ManifestFile) -> BackupError {
    BackupError::damaged(path, format!("differs from its SHA-256, which is {}", file.path))
}

/// Links, moves or copies the opened file `source` to the path `to`, as `how` says, and replaces a file there. Syncs
/// the file if it was copied. Returns its SHA-256 and length. `from` is the path of `source`.
fn transfer(mut source: File, from: &Path, to: &Path, how: How) -> Result<(String, u64), BackupError> {
    let _ = std::fs::remove_file(to);
    let named = match how {
        How::Link => is_linked(&source, from, to),
        How::Move => std::fs::rename(from, to).is_ok(),
        How::Copy => false,
    };
    if named {
        return pour(&mut source, None).map_err(BackupError::io("read", from));
    }
    // `how` is `Copy`, or the link or the rename has failed. Then make a copy. If the copy succeeds, it does not matter
    // why the link or the rename failed.
    let mut copied = || -> std::io::Result<(String, u64)> {
        let mut copy = private::options().write(true).create_new(true).open(to)?;
        let poured = pour(&mut source, Some(&mut copy))?;
        copy.sync_all()?;
        Ok(poured)
    };
    copied().map_err(|error| {
        let _ = std::fs::remove_file(to);
        BackupError::io("write", to)(error)
    })
}

/// Gives an opened file a second name by a hard link. Returns `false` if the file system cannot link, or if the path
/// `from` is not the opened file any more: it may be a link of somebody else by now.
fn is_linked(source: &File, from: &Path, to: &Path) -> bool {
    if std::fs::hard_link(from, to).is_err() {
        return false;
    }
    let number = |facts: Metadata| (facts.dev(), facts.ino());
    let linked = std::fs::symlink_metadata(to).map(number).ok();
    let is_same = linked.is_some() && linked == source.metadata().map(number).ok();
    if !is_same {
        let _ = std::fs::remove_file(to);
    }
    is_same
}

/// Reads a file to its end, and writes a copy if `to` is given. Returns the file's SHA-256 and length.
fn pour(from: &mut File, mut to: Option<&mut File>) -> std::io::Result<(String, u64)> {
    let mut context = digest::Context::new(&digest::SHA256);
    let mut chunk = vec![0; CHUNK];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Ok((hexadecimal(context.finish().as_ref()), bytes));
        }
        context.update(&chunk[..read]);
        bytes += read as u64;
        if let Some(to) = &mut to {
            to.write_all(&chunk[..read])?;
        }
    }
}
