//! The one writer. It holds the lake's lock, checks that catalog and files match, cleans up after an interrupted
//! predecessor, opens transactions, and releases expired snapshots.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustc_hash::FxHashSet;

use super::super::catalog;
use super::super::catalog::{Ended, Expired};
use super::super::erase::{Erased, ErasedIds, Intent};
use super::super::error::LakeError;
use super::super::owners::scope::Scope;
use super::super::snapshot::Snapshot;
use super::super::store::disk::{remove, sync_folder};
use super::super::store::open::Lake;
use super::super::store::survey::{Survey, is_ours, survey};
use super::lock::WriteLock;
use super::mark::Mark;
use super::orphans;
use super::trace::Trace;

/// A snapshot is kept this much longer than its page links work. A process that has not noticed the next commit yet may
/// still issue links to the snapshot.
const EXPIRY_DELAY: Duration = Duration::from_secs(60);

/// The right to write a lake, held until it is dropped.
#[derive(Debug)]
pub struct LakeWriter {
    lake: Lake,
    pub(in crate::lake) connection: Connection,
    /// The mark beside the catalog.
    mark: Option<Mark>,
    /// The time when catalog and files were last compared.
    checked: Instant,
    /// Files that the catalog had released before this writer opened it, while files that it names were missing. They
    /// may have the only copies of rows, so they are not removed.
    held: FxHashSet<PathBuf>,
    /// Whether there may be files that no snapshot names.
    pub(in crate::lake) leaves_orphans: bool,
    /// The time when erasures were last recorded. `None` if files were exchanged after that, or if none were recorded.
    pub(in crate::lake) recorded: Option<Instant>,
    /// The minimum time from recording erasures to the first replacement of files, so that other processes can notice
    /// the erasures.
    pub(in crate::lake) notice: Duration,
    /// Hashes of the ids that this writer has erased.
    pub(in crate::lake) erased_ids: ErasedIds,
    /// Erasures that an earlier writer began and this one continued, with their results.
    pub(in crate::lake) resumed: Vec<(Intent, Erased)>,
    /// Whether the writer repeats erasures of the ledger. Then it does not enter them in the ledger again.
    pub(in crate::lake) erases_again: bool,
    /// This field is dropped last, so the connection closes while the lock is still held.
    _lock: WriteLock,
}

impl Lake {
    /// Takes the lake's lock for writing and moves aside the files of an interrupted writer. Returns
    /// [`LakeError::Busy`] if another writer has the lock, and [`LakeError::Mismatch`] if catalog and files do not
    /// match.
    pub fn writer(&self) -> Result<LakeWriter, LakeError> {
        LakeWriter::open(self.clone(), false)
    }

    /// Takes the lock as [`writer`](Lake::writer) does, to repeat erasures of the ledger
    /// ([`LakeWriter::erase_again`]). The writer enters no erasure in the ledger: the caller has entered those that are
    /// not finished.
    pub fn writer_that_repeats(&self) -> Result<LakeWriter, LakeError> {
        LakeWriter::open(self.clone(), true)
    }
}

impl LakeWriter {
    fn open(lake: Lake, erases_again: bool) -> Result<LakeWriter, LakeError> {
        let lock = WriteLock::take(lake.folder())?;
        lake.refuse_replaced()?;
        let left = lake.left().take();
        let left = left.filter(|left| lock.was_given_up && left.is_fresh(lake.folder()));
        let is_known = left.is_some();
        let opened = match left {
            Some(left) => Opened::again(&lake, left),
            None => Opened::anew(&lake),
        };
        let opened = opened.map_err(|error| error.of_catalog(lake.folder().path()))?;
        lake.refresh()?;
        lake.warn_if_ahead();
        let mut writer = LakeWriter {
            lake,
            connection: opened.connection,
            mark: opened.mark,
            checked: opened.checked,
            held: opened.held,
            leaves_orphans: false,
            recorded: None,
            notice: Duration::ZERO,
            erased_ids: ErasedIds::default(),
            resumed: Vec::new(),
            erases_again,
            _lock: lock,
        };
        writer.go_on_erasing()?;
        if let Err(error) = writer.destroy_keys() {
            tracing::warn!(%error, "keys of what was erased could not be destroyed; the next writer tries again");
        }
        // An interrupted writer may have left keys without files. If the last writer of the lake was in this process
        // and ended normally, there are none, so do not look for them.
        if !is_known && let Err(error) = writer.sweep_keys() {
            tracing::warn!(%error, "keys of an interrupted writer could not be destroyed; the next writer tries again");
        }
        // Update the mark before any commit. If the catalog is lost later, a new one erases all rows of the erasures
        // in the mark. So finished erasures must leave the mark before new rows of the same people come.
        writer.note_erasures();
        Ok(writer)
    }

    /// Returns the lake that this writer writes.
    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// Moves aside the files that earlier transactions of this writer may have left.
    pub(in crate::lake) fn settle_orphans(&mut self) -> Result<(), LakeError> {
        if std::mem::take(&mut self.leaves_orphans) {
            self.held.extend(settle(&self.connection, &self.lake)?);
        }
        Ok(())
    }

    /// Whether a commit that failed has surely left the catalog as it was at the epoch `before`.
    pub(in crate::lake) fn has_surely_stayed(&self, before: u64) -> bool {
        catalog::overrule_failed_commit(&self.connection).is_ok()
            && catalog::epoch(&self.connection).ok() == Some(before)
    }

    /// Finds files that `tabularium check --adopt` has kept and that may hold rows of these scopes. Returns a text for
    /// each file, which asks the operator to remove it.
    pub(in crate::lake) fn kept_with_rows_of(&self, scopes: &[&Scope]) -> Vec<String> {
        orphans::kept_with_rows_of(self.lake.folder(), scopes)
    }

    /// Removes files that no snapshot names and that hold rows of these scopes. Returns a text for each place where
    /// such rows may remain.
    pub(in crate::lake) fn remove_orphans_of(&self, scopes: &[&Scope]) -> Vec<String> {
        let folder = self.lake.folder();
        let found = catalog::named(&self.connection, &folder.data()).and_then(|named| survey(folder, named));
        match found {
            Ok(found) if found.is_whole() => orphans::remove_with_rows_of(folder, &found.unnamed, scopes),
            // Files that the catalog names are missing or have another size, so unnamed files may belong to the lake.
            // Here no file is unnamed, so only the files that were moved aside are searched.
            Ok(found) if found.unnamed.is_empty() => orphans::remove_with_rows_of(folder, &[], scopes),
            Ok(_) => vec!["files that the catalog does not name".to_owned()],
            Err(error) => vec![error.to_string()],
        }
    }

    /// Drops the snapshots whose page links have expired, if they are older than all snapshots that readers in this
    /// process hold. Removes the files that no other snapshot has. Drops none by time as long as the clock may not
    /// decide ([`ClockTrust`](crate::lake::ClockTrust)).
    pub fn expire(&mut self) -> Result<Expired, LakeError> {
        let now = self.lake.clock().now();
        let kept = self.lake.retention() + EXPIRY_DELAY;
        let ended = Ended {
            until: self.lake.settled_now().map(|now| now - kept.as_micros() as i64),
            before: self.lake.sighted(kept),
        };
        let expired = catalog::expire(&mut self.connection, ended, self.lake.oldest_held(), now)?;
        match self.remove_scheduled()?.into_iter().next() {
            None => Ok(expired),
            Some(error) => Err(error),
        }
    }

    /// Removes the files that the catalog has released. If one cannot be removed, all of them stay scheduled for the
    /// next writer, and the errors are returned.
    pub(in crate::lake) fn remove_scheduled(&self) -> Result<Vec<LakeError>, LakeError> {
        let scheduled = catalog::scheduled(&self.connection, self.lake.folder())?;
        remove_scheduled(&self.connection, &scheduled, &self.held)
    }

    /// Writes erasures to the mark before they are recorded in the catalog, in case the catalog is lost. A failure is
    /// only logged, because the catalog will record the erasures too.
    pub(in crate::lake) fn announce_erasures(&mut self, intents: &[&Intent]) {
        let mark = self.mark_now().map(|mark| mark.announcing(intents));
        self.warn_unless(|writer| writer.put_mark(mark?));
    }

    /// Writes the unfinished erasures to the mark, unless the mark has exactly these erasures. A failure is only
    /// logged.
    pub(in crate::lake) fn note_erasures(&mut self) {
        let noted = match (&self.mark, catalog::unfinished(&self.connection)) {
            (Some(mark), Ok(unfinished)) => mark.unfinished_erasures() == unfinished,
            (None, Ok(unfinished)) => unfinished.is_empty(),
            (_, Err(_)) => false,
        };
        if !noted {
            self.warn_unless(LakeWriter::leave_mark);
        }
    }

    /// Returns the erasures in the mark if files that the catalog has released still exist, because such files may hold
    /// rows of these erasures.
    pub(in crate::lake) fn not_removed(&self) -> Vec<Intent> {
        let mark = self.mark.as_ref();
        let mark = mark.filter(|_| catalog::has_scheduled(&self.connection).unwrap_or(true));
        mark.map(Mark::unfinished_erasures).unwrap_or_default()
    }

    fn warn_unless(&mut self, write: impl FnOnce(&mut LakeWriter) -> Result<(), LakeError>) {
        if let Err(error) = write(self) {
            tracing::warn!(%error, "the catalog's mark does not tell of the erasures that are under way");
        }
    }

    /// Writes the catalog's new state to the mark after a commit. The commit is valid even if this fails.
    pub(in crate::lake) fn mark_commit(&mut self) {
        if let Err(error) = self.leave_mark() {
            tracing::debug!(%error, "the catalog's mark stays as it was");
        }
    }

    /// Writes the catalog's state to the mark, unless the mark has it already.
    fn leave_mark(&mut self) -> Result<(), LakeError> {
        let mark = self.mark_now()?;
        self.put_mark(mark)
    }

    fn mark_now(&self) -> Result<Mark, LakeError> {
        Mark::take(
            &self.connection,
            catalog::watched(&self.connection)?,
            self.mark.as_ref(),
        )
    }

    fn put_mark(&mut self, mark: Mark) -> Result<(), LakeError> {
        if self.mark.as_ref() != Some(&mark) {
            mark.write(self.lake.folder(), self.mark.as_ref())?;
            self.mark = Some(mark);
        }
        Ok(())
    }

    /// Leaves a trace of the lake's state for the next writer of this process. Leaves none if there is something to
    /// clean up.
    fn leave_trace(&mut self) -> Result<(), LakeError> {
        self.leave_mark()?;
        let digest = catalog::watched(&self.connection)?;
        let is_tidy = !self.leaves_orphans && !catalog::has_scheduled(&self.connection)?;
        if let Some(mark) = self.mark.take().filter(|_| is_tidy) {
            *self.lake.left() = Some(Trace::of(self.lake.folder(), digest, mark, self.checked));
        }
        Ok(())
    }

    /// Loads the commits of this connection as a snapshot and shows it to the lake's readers.
    pub(in crate::lake) fn publish(&mut self, base: &Arc<Snapshot>) -> Result<Arc<Snapshot>, LakeError> {
        let snapshot = catalog::load(&self.connection, self.lake.folder(), Some(base))?;
        self.lake.advance_to(Arc::clone(&snapshot));
        Ok(snapshot)
    }
}

impl Drop for LakeWriter {
    fn drop(&mut self) {
        // Move the write-ahead log into the catalog's file, so that a backup that copies files finds a complete
        // catalog. If a reader prevents it, the next writer does it.
        let fold = self.connection.busy_timeout(Duration::ZERO).and_then(|()| {
            self.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        });
        if let Err(error) = fold {
            tracing::debug!(%error, "the catalog's log stays");
        }
        if let Err(error) = self.leave_trace() {
            tracing::debug!(%error, "the catalog's mark stays as it was");
        }
    }
}

/// A catalog that matches its files, after the cleanup of an interrupted writer.
struct Opened {
    connection: Connection,
    mark: Option<Mark>,
    checked: Instant,
    held: FxHashSet<PathBuf>,
}

impl Opened {
    /// Opens the catalog, compares it with its mark and the files, and cleans up. Returns an error if they do not
    /// match.
    fn anew(lake: &Lake) -> Result<Opened, LakeError> {
        let folder = lake.folder();
        if !folder.has_catalog() {
            catalog::refuse_without_catalog(folder)?;
            return Err(LakeError::Missing(folder.path().to_owned()));
        }
        let mut connection = catalog::open_writer(&folder.catalog())?;
        if let Some(what) = catalog::cut_off(&connection, &folder.catalog())? {
            return Err(LakeError::Damaged(what));
        }
        catalog::check_version(&connection, folder)?;
        let digest = catalog::digest(&connection)?;
        let mark = Mark::read(folder);
        if let Some(mark) = &mark
            && let Some(what) = mark.contradiction(&connection, digest)?
        {
            return Err(LakeError::Damaged(what));
        }
        catalog::watch(&connection, digest)?;
        let held = settle(&connection, lake)?;
        catalog::mend(&mut connection)?;
        Ok(Opened {
            connection,
            mark,
            checked: Instant::now(),
            held,
        })
    }

    /// Opens the catalog in the state in which the last writer of this process left it.
    fn again(lake: &Lake, left: Trace) -> Result<Opened, LakeError> {
        let connection = catalog::open_writer(&lake.folder().catalog())?;
        catalog::watch(&connection, left.digest)?;
        orphans::remove_old(lake.folder(), lake.settled_now());
        Ok(Opened {
            connection,
            mark: Some(left.mark),
            checked: left.checked,
            held: FxHashSet::default(),
        })
    }
}

/// Removes the files that the catalog has released, and moves aside the files that it does not name: files of
/// transactions that never committed. Runs under the lock. Returns an error and moves nothing if the unnamed files may
/// belong to the lake: because a named file is missing or has another size, or because the catalog contradicts itself.
/// Returns the released files that it has not removed, because a named file is missing or has another size.
pub(in crate::lake) fn settle(connection: &Connection, lake: &Lake) -> Result<FxHashSet<PathBuf>, LakeError> {
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
    found.unnamed.retain(|path| !scheduled.contains(path) && is_ours(path));
    if !found.unnamed.is_empty() {
        refuse_doubts(connection, &found)?;
        catalog::overrule_failed_commit(connection)?;
        orphans::move_aside(folder, &found.unnamed, lake.clock().now());
    }
    for path in found.missing.iter().chain(found.altered.iter().map(|(path, ..)| path)) {
        tracing::warn!(file = %path.display(), "a file of the lake is missing or damaged; `tabularium check` says more");
    }
    let held = if found.is_whole() {
        FxHashSet::default()
    } else {
        scheduled.clone()
    };
    for error in remove_scheduled(connection, &scheduled, &held)? {
        tracing::warn!(%error, "a file that the lake has given up stays");
    }
    orphans::remove_old(folder, lake.settled_now());
    Ok(held)
}

/// Removes the files `paths` that the catalog has released, except those in `held`.
fn remove_scheduled(
    connection: &Connection,
    paths: &FxHashSet<PathBuf>,
    held: &FxHashSet<PathBuf>,
) -> Result<Vec<LakeError>, LakeError> {
    let is_held = |path: &PathBuf| held.contains(path);
    let removed = paths.iter().filter(|path| !is_held(path));
    let mut failed: Vec<LakeError> = removed.filter_map(|path| remove(path).err()).collect();
    failed.extend(paths.iter().filter(|path| is_held(path)).map(|path| {
        let path = path.display();
        LakeError::Damaged(format!(
            "it has released {path}, which stays because a file that it names is missing or of another size"
        ))
    }));
    // Sync the folders. Otherwise a removed name may come back after a crash of the machine, and the catalog would no
    // longer list its file.
    let folders: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    let folders = folders.into_iter().filter(|folder| folder.exists());
    failed.extend(folders.map(sync_folder).filter_map(Result::err));
    if !paths.is_empty() && failed.is_empty() {
        catalog::forget_scheduled(connection)?;
    }
    Ok(failed)
}

/// Returns an error if files that the catalog does not name may belong to the lake.
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
