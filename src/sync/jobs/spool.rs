//! The spool: fetched records on disk until they are committed. Each job has a folder, which is removed when the job
//! ends. The records are sealed with a key that exists only in memory. So a process that ends early leaves no readable
//! records. The next process removes the folder that such a process has left.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::lake::scratch::{ScratchKey, TextFile, TextWriter};
use crate::private::{self, Kind, OwnFolder};

/// The name of the folder of all spools.
const FOLDER: &str = "spool";

/// Removes what ended processes have left in a lake's spool. In an open lake, this includes unencrypted attachments.
/// Does nothing while a process holds the spool, because that process removes its own files.
pub fn empty_spool(lake: &Path) -> io::Result<()> {
    match OwnFolder::open(lake)?.kind(FOLDER)? {
        None => Ok(()),
        Some(_) => Spools::take(lake).map(drop),
    }
}

/// The folder of all spools. One process at a time holds its lock.
#[derive(Debug)]
pub(in crate::sync) struct Spools {
    folder: PathBuf,
    own: OwnFolder,
    _lock: File,
}

impl Spools {
    /// Locks the folder and removes all spools in it. Returns `None` if another process holds it.
    pub(in crate::sync) fn take(lake: &Path) -> io::Result<Option<Spools>> {
        let folder = lake.join(FOLDER);
        let own = OwnFolder::open(lake)?.folder_or_new(FOLDER)?;
        let lock = private::options().write(true).create(true).open(folder.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        for (name, kind) in own.entries()? {
            if kind == Kind::Folder {
                std::fs::remove_dir_all(folder.join(name))?;
            }
        }
        Ok(Some(Spools {
            folder,
            own,
            _lock: lock,
        }))
    }

    /// Creates an empty spool for a job.
    pub(super) fn open(&self, job: &str) -> io::Result<Spool> {
        let folder = self.folder.join(job);
        if self.own.kind(job)? == Some(Kind::Folder) {
            std::fs::remove_dir_all(&folder)?;
        }
        self.own.folder_or_new(job)?;
        Ok(Spool {
            folder,
            key: ScratchKey::random()?,
            files: Mutex::new(Vec::new()),
        })
    }
}

/// The fetched records of one job.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    key: ScratchKey,
    files: Mutex<Vec<PathBuf>>,
}

impl Spool {
    /// Creates a file for records. The job uses the records only after [`Spool::keep`].
    pub(super) fn draft(&self, name: &str) -> io::Result<Draft> {
        let path = self.folder.join(format!("{name}.ndjson"));
        Ok(Draft {
            file: TextWriter::create(&path, &self.key)?,
            path,
            lines: 0,
        })
    }

    /// Adds the file of a draft to the files that the job commits. Returns the number of its records.
    pub(super) fn keep(&self, draft: Draft) -> io::Result<u64> {
        draft.file.finish()?;
        let mut files = self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if draft.lines > 0 {
            files.push(draft.path);
        }
        Ok(draft.lines)
    }

    /// Replaces the kept file `kept` by the file of a draft.
    pub(super) fn replace(&self, draft: Draft, kept: &TextFile) -> io::Result<()> {
        draft.file.finish()?;
        std::fs::rename(&draft.path, kept.path())
    }

    /// Returns a path in the spool for a file that has no records, such as an attachment.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the files of all kept drafts, sorted by name.
    pub(super) fn files(&self) -> Vec<TextFile> {
        let mut files = self
            .files
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone();
        files.sort_unstable();
        files
            .into_iter()
            .map(|path| TextFile::sealed(path, &self.key))
            .collect()
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, "a spool could not be removed; the next start removes it");
        }
    }
}

/// A file of records while it is written.
#[derive(Debug)]
pub(super) struct Draft {
    path: PathBuf,
    file: TextWriter,
    lines: u64,
}

impl Draft {
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.lines += 1;
        self.file.write_all(text.as_bytes())?;
        self.file.write_all(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn spools_belong_to_one_process_and_leave_nothing() {
        let lake = tempfile::tempdir().unwrap();
        let spools = Spools::take(lake.path()).unwrap().unwrap();
        assert!(Spools::take(lake.path()).unwrap().is_none());
        let spool = spools.open("j1").unwrap();
        let mut kept = spool.draft("Patient").unwrap();
        kept.line("{}").unwrap();
        let mut dropped = spool.draft("Goal").unwrap();
        dropped.line("{}").unwrap();
        drop(dropped);
        assert_eq!(spool.keep(kept).unwrap(), 1);
        assert_eq!(spool.keep(spool.draft("Empty").unwrap()).unwrap(), 0);
        let folder = lake.path().join("spool/j1");
        let [file] = &spool.files()[..] else { panic!("one file") };
        assert_eq!(file.path(), folder.join("Patient.ndjson"));
        let mut text = String::new();
        file.open().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "{}\n");
        // The file on disk is not readable without the key.
        let stored = std::fs::read(file.path()).unwrap();
        assert!(!stored.windows(2).any(|two| two == b"{}"));
        drop(spool);
        assert!(!folder.exists());
        // A killed process left a spool.
        std::mem::forget(spools.open("j2").unwrap());
        drop(spools);
        Spools::take(lake.path()).unwrap().unwrap();
        assert!(!lake.path().join("spool/j2").exists());
        // `empty_spool` removes a spool only while no process holds the folder.
        let spools = Spools::take(lake.path()).unwrap().unwrap();
        std::mem::forget(spools.open("j3").unwrap());
        empty_spool(lake.path()).unwrap();
        assert!(lake.path().join("spool/j3").exists());
        drop(spools);
        empty_spool(lake.path()).unwrap();
        assert!(!lake.path().join("spool/j3").exists());
        let none = tempfile::tempdir().unwrap();
        empty_spool(none.path()).unwrap();
        assert!(!none.path().join("spool").exists());
    }
}
