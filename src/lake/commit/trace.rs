//! A trace shows whether another process has written to the lake since a writer of this process left it.
//!
//! A server opens the lake to write for every commit. If the files in the trace are unchanged, no other process has
//! written the lake. Then the writer need not read all rows of the catalog or look at all data files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::owners::scope::Mode;
use super::super::store::folder::Folder;
use super::mark::Mark;

/// After this time a writer checks everything again. So it notices changes by disk faults, and by people who changed
/// files without a writer.
const CHECK_AFTER: Duration = Duration::from_secs(600);

/// The state that a writer leaves for the next one of the same process.
#[derive(Debug)]
pub(in crate::lake) struct Trace {
    /// Metadata of the catalog, its log and its mark, and of the folders of the data files. The metadata of a folder
    /// changes when a file is added to it or removed.
    files: Vec<Option<FileTrace>>,
    /// The digest of the catalog's rows.
    pub(in crate::lake) digest: u64,
    pub(in crate::lake) mark: Mark,
    /// The time of the last full check.
    pub(in crate::lake) checked: Instant,
}

/// File metadata that shows whether a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake) struct FileTrace {
    device: u64,
    inode: u64,
    bytes: u64,
    /// The time of the last change (`ctime`), in seconds and nanoseconds. Programs cannot set this time.
    changed: (i64, i64),
}

impl Trace {
    /// Takes a trace of the folder's current state.
    pub(in crate::lake) fn of(folder: &Folder, digest: u64, mark: Mark, checked: Instant) -> Trace {
        Trace {
            files: files(folder),
            digest,
            mark,
            checked,
        }
    }

    /// Whether the folder is unchanged since the trace, and the last full check was less than ten minutes ago.
    pub(in crate::lake) fn is_fresh(&self, folder: &Folder) -> bool {
        self.checked.elapsed() < CHECK_AFTER && self.files[0].is_some() && self.files == files(folder)
    }
}

impl FileTrace {
    /// Reads the metadata of a file. Returns `None` if there is no file.
    pub(in crate::lake) fn of(path: &Path) -> Option<FileTrace> {
        let facts = std::fs::metadata(path).ok()?;
        Some(FileTrace {
            device: facts.dev(),
            inode: facts.ino(),
            bytes: facts.len(),
            changed: (facts.ctime(), facts.ctime_nsec()),
        })
    }

    /// Whether both traces belong to the same file, even if its contents have changed.
    pub(in crate::lake) fn is_same_file(&self, other: &FileTrace) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

fn files(folder: &Folder) -> Vec<Option<FileTrace>> {
    let mut log = folder.catalog().into_os_string();
    log.push("-wal");
    let mut paths = vec![folder.catalog(), PathBuf::from(log), folder.mark()];
    let schemas = [Mode::Live, Mode::Test].map(|mode| folder.data().join(mode.schema()));
    for schema in schemas {
        let tables = std::fs::read_dir(&schema).into_iter().flatten().flatten();
        let mut tables: Vec<PathBuf> = tables.map(|entry| entry.path()).collect();
        tables.sort_unstable();
        paths.push(schema);
        paths.append(&mut tables);
    }
    paths.iter().map(|path| FileTrace::of(path)).collect()
}
