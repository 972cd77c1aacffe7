//! The one writer: holds the lake's lock, cleans up after an interrupted predecessor, opens transactions, and lets go of
//! expired snapshots.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustc_hash::FxHashSet;

use super::catalog::{self, Expired};
use super::erase::{Erased, Intent};
use super::error::LakeError;
use super::folder::Folder;
use super::lock::WriteLock;
use super::picture::Picture;
use super::store::Lake;
use super::transaction::Transaction;

/// A snapshot is kept this much longer than page links live: the process that hands links out may be another one and
/// notice a commit with some delay.
const NOTICE: i64 = 60_000_000;

/// The right to write a lake, held until it is dropped.
#[derive(Debug)]
pub struct LakeWriter {
    lake: Lake,
    pub(super) connection: Connection,
    /// Whether files may lie about that no snapshot has.
    pub(super) leaves_orphans: bool,
    /// When erasures were recorded whose files are all there still.
    pub(super) recorded: Option<Instant>,
    /// How long after that other processes are sure to know.
    pub(super) notice: Duration,
    /// Erasures that an earlier writer had begun.
    pub(super) resumed: Vec<(Intent, Erased)>,
    /// Dropped last: the connection closes under the lock.
    _lock: WriteLock,
}

/// Makes an empty lake unless there is one.
pub(super) fn create(folder: &Folder, now: i64) -> Result<(), LakeError> {
    let data = folder.data();
    super::private::folder(&data).map_err(LakeError::io("create", &data))?;
    let _lock = WriteLock::take(folder)?;
    if !folder.has_catalog() {
        catalog::create(folder, now)?;
    }
    sync_folder(folder.path())
}

impl LakeWriter {
    pub(super) fn open(lake: Lake) -> Result<LakeWriter, LakeError> {
        let lock = WriteLock::take(lake.folder())?;
        let connection = catalog::open_writer(&lake.folder().catalog())?;
        catalog::check_version(&connection, lake.folder())?;
        remove_orphans(&connection, lake.folder())?;
        lake.refresh()?;
        let mut writer = LakeWriter {
            lake,
            connection,
            leaves_orphans: false,
            recorded: None,
            notice: Duration::ZERO,
            resumed: Vec::new(),
            _lock: lock,
        };
        writer.go_on_erasing()?;
        Ok(writer)
    }

    /// The lake that is written.
    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// Begins a transaction on the newest snapshot. Nothing of it is visible until it commits; dropped, it leaves no trace.
    pub fn begin(&mut self) -> Transaction<'_> {
        Transaction::new(self)
    }

    /// Removes the files that transactions of this writer may have left behind.
    pub(super) fn remove_orphans(&mut self) -> Result<(), LakeError> {
        if std::mem::take(&mut self.leaves_orphans) {
            remove_orphans(&self.connection, self.lake.folder())?;
        }
        Ok(())
    }

    /// Drops the snapshots that no page link may name any more and that nobody in this process reads, and removes the files
    /// that only they reach.
    pub fn expire(&mut self) -> Result<Expired, LakeError> {
        let now = self.lake.clock().now();
        let until = now - self.lake.retention().as_micros() as i64 - NOTICE;
        let expired = catalog::expire(&mut self.connection, until, self.lake.oldest_held(), now)?;
        for path in catalog::scheduled(&self.connection, self.lake.folder())? {
            remove(&path)?;
        }
        catalog::forget_scheduled(&self.connection)?;
        Ok(expired)
    }

    /// Reads what was committed on this connection and shows it to the lake's readers.
    pub(super) fn publish(&mut self, base: &Arc<Picture>) -> Result<Arc<Picture>, LakeError> {
        let picture = catalog::load(&self.connection, self.lake.folder(), Some(base))?;
        self.lake.advance_to(Arc::clone(&picture));
        Ok(picture)
    }
}

impl Drop for LakeWriter {
    fn drop(&mut self) {
        // The catalog's file is whole by itself once its log is folded in, which a backup by copying may count on. Whoever reads
        // at the moment holds that up; then it is left to the next writer.
        let fold = self.connection.busy_timeout(Duration::ZERO).and_then(|()| {
            self.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        });
        if let Err(error) = fold {
            tracing::debug!(%error, "the catalog's log stays");
        }
    }
}

/// Removes every file below the data folder that no row of the catalog names: files of transactions that never committed, and
/// files whose rows have expired. Runs under the lock, before anything is written.
fn remove_orphans(connection: &Connection, folder: &Folder) -> Result<(), LakeError> {
    let referenced = catalog::referenced_paths(connection, &folder.data())?;
    remove_unless(&folder.data(), &referenced)?;
    catalog::forget_scheduled(connection)
}

fn remove_unless(dir: &Path, referenced: &FxHashSet<PathBuf>) -> Result<(), LakeError> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(LakeError::io("read", dir))?,
    };
    for entry in entries {
        let entry = entry.map_err(LakeError::io("read", dir))?;
        let path = entry.path();
        if entry.file_type().map_err(LakeError::io("read", &path))?.is_dir() {
            remove_unless(&path, referenced)?;
        } else if !referenced.contains(&path) {
            tracing::info!(file = %path.display(), "removing a file that no snapshot has");
            remove(&path)?;
        }
    }
    Ok(())
}

pub(super) fn remove(path: &Path) -> Result<(), LakeError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(LakeError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(dir: &Path) -> Result<(), LakeError> {
    std::fs::File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(LakeError::io("sync", dir))
}
