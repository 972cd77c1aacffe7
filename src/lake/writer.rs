//! The one writer: holds the lake's lock, makes sure that catalog and files go together, cleans up after an interrupted
//! predecessor, opens transactions, and lets go of expired snapshots.

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
use super::mark::Mark;
use super::orphans;
use super::owner::OwnerKey;
use super::picture::Picture;
use super::scope::Scope;
use super::store::Lake;
use super::survey::{Survey, survey};
use super::transaction::Transaction;

/// A snapshot is kept this much longer than page links live: the process that hands links out may be another one and
/// notice a commit with some delay.
const NOTICE: i64 = 60_000_000;

/// The right to write a lake, held until it is dropped.
#[derive(Debug)]
pub struct LakeWriter {
    lake: Lake,
    pub(super) connection: Connection,
    /// What stood beside the catalog when it was opened.
    mark: Option<Mark>,
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
        catalog::refuse_without_catalog(folder)?;
        let key = OwnerKey::random();
        // Before the catalog: a mark of a lake that was here would be above the new one.
        Mark::of_new(key).write(folder)?;
        catalog::create(folder, now, key)?;
    }
    sync_folder(folder.path())
}

impl LakeWriter {
    pub(super) fn open(lake: Lake) -> Result<LakeWriter, LakeError> {
        let lock = WriteLock::take(lake.folder())?;
        let (mut connection, mark) = open_catalog(&lake).map_err(|error| error.of_catalog(lake.folder().path()))?;
        catalog::mend(&mut connection)?;
        lake.refresh()?;
        let mut writer = LakeWriter {
            lake,
            connection,
            mark,
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

    /// Moves aside the files that transactions of this writer may have left behind.
    pub(super) fn settle_orphans(&mut self) -> Result<(), LakeError> {
        if std::mem::take(&mut self.leaves_orphans) {
            settle(&self.connection, &self.lake)?;
        }
        Ok(())
    }

    /// Removes files that no snapshot has and that hold rows of these scopes; says where bytes may be left.
    pub(super) fn remove_orphans_of(&self, scopes: &[&Scope]) -> Vec<String> {
        let mut left = self.remove_orphans_with(scopes);
        left.extend(orphans::kept_with_rows_of(self.lake.folder(), scopes));
        left
    }

    fn remove_orphans_with(&self, scopes: &[&Scope]) -> Vec<String> {
        let folder = self.lake.folder();
        let found = catalog::named(&self.connection, &folder.data()).and_then(|named| survey(folder, named));
        match found {
            Ok(found) if found.is_whole() => orphans::remove_with_rows_of(folder, &found.unnamed, scopes),
            // Which files are the lake's is not sure then.
            Ok(found) if found.unnamed.is_empty() => orphans::remove_with_rows_of(folder, &[], scopes),
            Ok(_) => vec!["files that the catalog does not name".to_owned()],
            Err(error) => vec![error.to_string()],
        }
    }

    /// Drops the snapshots that no page link may name any more and that nobody in this process reads, and removes the files
    /// that only they reach.
    pub fn expire(&mut self) -> Result<Expired, LakeError> {
        let now = self.lake.clock().now();
        let until = now - self.lake.retention().as_micros() as i64 - NOTICE;
        let expired = catalog::expire(&mut self.connection, until, self.lake.oldest_held(), now)?;
        match self.remove_scheduled()?.into_iter().next() {
            None => Ok(expired),
            Some(error) => Err(error),
        }
    }

    /// Removes the files that the catalog has given up. Those that it cannot remove stay scheduled; says why.
    pub(super) fn remove_scheduled(&self) -> Result<Vec<LakeError>, LakeError> {
        remove_scheduled(
            &self.connection,
            &catalog::scheduled(&self.connection, self.lake.folder())?,
        )
    }

    /// Writes down where the catalog stands, unless it stands where it did.
    fn leave_mark(&self) -> Result<(), LakeError> {
        let now = catalog::standing(&self.connection)?;
        let is_marked = |mark: &Mark| mark.is_at(&now) && mark.is_whole();
        if self.mark.as_ref().is_some_and(is_marked) {
            return Ok(());
        }
        Mark::take(&self.connection)?.write(self.lake.folder())
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
        if let Err(error) = self.leave_mark() {
            tracing::debug!(%error, "the catalog's mark stays as it was");
        }
    }
}

/// Opens the catalog to write, unless it and the files do not go together, and settles what an interrupted writer left.
fn open_catalog(lake: &Lake) -> Result<(Connection, Option<Mark>), LakeError> {
    let folder = lake.folder();
    if !folder.has_catalog() {
        catalog::refuse_without_catalog(folder)?;
        return Err(LakeError::Missing(folder.path().to_owned()));
    }
    if let Some(what) = catalog::cut_off(&folder.catalog())? {
        return Err(LakeError::Damaged(what));
    }
    let connection = catalog::open_writer(&folder.catalog())?;
    catalog::check_version(&connection, folder)?;
    let mark = Mark::read(folder);
    if let Some(mark) = &mark
        && let Some(what) = mark.contradiction(&connection)?
    {
        return Err(LakeError::Damaged(what));
    }
    settle(&connection, lake)?;
    Ok((connection, mark))
}

/// Removes the files that the catalog has given up, and moves aside those that it does not name: files of transactions that never
/// committed. Runs under the lock. Where something that the catalog names is not as recorded, or the catalog contradicts itself, it may be
/// the catalog that is wrong about the others; then nothing is touched.
fn settle(connection: &Connection, lake: &Lake) -> Result<(), LakeError> {
    let folder = lake.folder();
    let named = catalog::named(connection, &folder.data())?;
    let scheduled = catalog::scheduled(connection, folder)?;
    if let Some(path) = scheduled.iter().find(|path| named.contains_key(*path)) {
        return Err(LakeError::Damaged(format!(
            "it names {} and has given it up",
            path.display()
        )));
    }
    let mut found = survey(folder, named)?;
    found.unnamed.retain(|path| !scheduled.contains(path));
    if !found.unnamed.is_empty() {
        refuse_doubts(connection, &found)?;
        orphans::move_aside(folder, &found.unnamed, lake.clock().now());
    }
    for path in found.missing.iter().chain(found.altered.iter().map(|(path, ..)| path)) {
        tracing::warn!(file = %path.display(), "a file of the lake is missing or damaged; `tabularium check` says more");
    }
    for error in remove_scheduled(connection, &scheduled)? {
        tracing::warn!(%error, "a file that the lake has given up stays");
    }
    orphans::remove_old(folder, lake.clock().now());
    Ok(())
}

fn remove_scheduled(connection: &Connection, paths: &FxHashSet<PathBuf>) -> Result<Vec<LakeError>, LakeError> {
    let failed: Vec<LakeError> = paths.iter().filter_map(|path| remove(path).err()).collect();
    if !paths.is_empty() && failed.is_empty() {
        catalog::forget_scheduled(connection)?;
    }
    Ok(failed)
}

/// Refuses to go on where files that the catalog does not name may still be the lake's.
fn refuse_doubts(connection: &Connection, found: &Survey) -> Result<(), LakeError> {
    let unnamed = found.unnamed.len();
    if !found.is_whole() {
        return Err(LakeError::Damaged(format!(
            "{} files that it names are missing, {} are of another size than recorded, and {unnamed} are there that it does not name",
            found.missing.len(),
            found.altered.len()
        )));
    }
    let mut doubts = catalog::broken_pages(connection, true)?;
    doubts.extend(catalog::contradictions(connection)?);
    match doubts.first() {
        None => Ok(()),
        Some(doubt) => Err(LakeError::Damaged(format!(
            "{doubt}, and {unnamed} files are there that it does not name"
        ))),
    }
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
