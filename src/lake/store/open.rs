//! An open lake: its folder, its newest snapshot, and older snapshots that readers hold.
//!
//! Opening needs no lock and changes nothing. Writing goes through `Lake::writer`.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use rusqlite::Connection;

use super::super::catalog;
use super::super::clock::{Clock, Looks, SystemClock};
use super::super::commit::trace::{FileTrace, Trace};
use super::super::enclose::EnclosingKey;
use super::super::erase::Intent;
use super::super::error::LakeError;
use super::super::owners::owner::OwnerKey;
use super::super::owners::scope::Scope;
use super::super::scan::{MemoryLimits, MemoryUse, Reader, ScanError, ScopedTable, Warmed};
use super::super::seal::{KekSource, Kind};
use super::super::snapshot::Snapshot;
use super::folder::Folder;
use super::trust::{ClockTrust, MAX_SILENCE, Sightings};
use crate::fhir::TypeId;

/// How often a serving process checks for changes by other processes.
pub const REFRESH: Duration = Duration::from_secs(1);
/// How long a snapshot stays readable after its successor was committed. A page link to the snapshot works as long.
const RETENTION: Duration = Duration::from_secs(3600);
/// How far a time may be ahead of the clock until it counts as one of the future. Commits that follow each other
/// quickly are some milliseconds ahead.
pub(in crate::lake) const AHEAD: Duration = Duration::from_secs(60);
/// The number of older snapshots that are always kept in memory, so that the pages of one search do not each read the
/// catalog.
const RECENT: usize = 8;

/// Options for opening a lake.
#[derive(Clone, Debug)]
pub struct LakeOptions {
    /// The clock that gives the time of commits and expiries.
    pub clock: Arc<dyn Clock>,
    /// When the clock may decide that files are removed.
    pub trust: ClockTrust,
    /// How long a snapshot stays readable after its successor was committed.
    pub retention: Duration,
    /// The limits of the caches.
    pub memory: MemoryLimits,
    /// The source of a sealed lake's key-encryption key. By default the environment.
    pub kek: KekSource,
    /// Whether the lake must be sealed (`Some(true)`) or open (`Some(false)`). A new lake is made that way. `None`
    /// accepts both kinds and makes a new lake open.
    pub sealed: Option<bool>,
}

impl Default for LakeOptions {
    fn default() -> LakeOptions {
        LakeOptions {
            clock: Arc::new(SystemClock),
            trust: ClockTrust::default(),
            retention: RETENTION,
            memory: MemoryLimits::default(),
            kek: KekSource::default(),
            sealed: None,
        }
    }
}

/// An open lake. Cheap to clone. Clones see the same snapshots.
#[derive(Clone, Debug)]
pub struct Lake(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    folder: Folder,
    options: LakeOptions,
    newest: RwLock<Arc<Snapshot>>,
    older: Mutex<Older>,
    reader: Mutex<Connection>,
    /// The metadata of the catalog file that `reader` has open.
    catalog: Option<FileTrace>,
    /// The looks at the clock since the lake was opened.
    looks: Looks,
    /// The time of the newest snapshot when the lake was opened.
    opened_at: i64,
    /// Whether it was logged that the catalog is ahead of the clock.
    told_ahead: AtomicBool,
    /// Whether readers held a snapshot from before the last erasure, at the last refresh.
    holds_erased: AtomicBool,
    /// When this process saw which snapshot as the newest one, by the monotonic clock.
    sightings: Mutex<Sightings>,
    /// The trace of the last writer of this process. It shows whether another process has written to the lake since.
    left: Mutex<Option<Trace>>,
    owner_key: OwnerKey,
    enclosing_key: EnclosingKey,
    data: Arc<Reader>,
}

/// Older snapshots in memory: a few recent ones, and all that readers hold.
#[derive(Debug, Default)]
struct Older {
    recent: VecDeque<Arc<Snapshot>>,
    held: Vec<Weak<Snapshot>>,
}

impl Lake {
    /// Opens the lake in `dir`. Returns [`LakeError::Missing`] if there is none.
    pub fn open(dir: impl AsRef<Path>) -> Result<Lake, LakeError> {
        Lake::open_with(dir, LakeOptions::default())
    }

    /// Opens the lake in `dir` with the caller's options.
    pub fn open_with(dir: impl AsRef<Path>, options: LakeOptions) -> Result<Lake, LakeError> {
        let folder = folder(dir.as_ref())?;
        let (reader, newest, owner_key) = read_catalog(&folder).map_err(|error| error.of_catalog(folder.path()))?;
        let folder = unlocked(folder, &reader, &options)?;
        let catalog = FileTrace::of(&folder.catalog());
        let data = Arc::new(Reader::new(options.memory, folder.keys().clone()));
        data.learn(&newest.erasures, newest.erasures.epoch);
        let (looks, opened_at) = (Looks::new(options.clock.look()), newest.time);
        Ok(Lake(Arc::new(Shared {
            folder,
            options,
            looks,
            opened_at,
            told_ahead: AtomicBool::new(false),
            holds_erased: AtomicBool::new(false),
            sightings: Mutex::default(),
            newest: RwLock::new(newest),
            older: Mutex::default(),
            reader: Mutex::new(reader),
            catalog,
            left: Mutex::default(),
            owner_key,
            enclosing_key: EnclosingKey::of(owner_key),
            data,
        })))
    }

    /// Returns the lake's folder.
    pub fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// Returns the clock that stamps commits.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.options.clock
    }

    /// Takes a look at the clock. Returns its time if files may be removed by it. See [`ClockTrust`].
    pub(in crate::lake) fn settled_now(&self) -> Option<i64> {
        let look = self.clock().look();
        let settled = self.0.looks.settled(look, "old snapshots and their files");
        match self.0.options.trust {
            ClockTrust::TwoLooks => settled,
            ClockTrust::NewestSnapshot => settled.or_else(|| {
                let trusted = self.0.looks.jumped().is_zero() && self.silence().is_none();
                trusted.then_some(look.wall)
            }),
            ClockTrust::Clock => Some(look.wall),
        }
    }

    /// Returns how long nobody had written the lake when it was opened, if this is so long that a command does not
    /// trust the clock ([`ClockTrust::NewestSnapshot`]).
    pub fn silence(&self) -> Option<Duration> {
        let micros = self.clock().now().saturating_sub(self.0.opened_at);
        let silence = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
        (silence > MAX_SILENCE).then_some(silence)
    }

    /// Returns how far the newest snapshot is ahead of the clock, if it is more than a minute.
    pub fn ahead(&self) -> Option<Duration> {
        ahead(self.snapshot().time, self.clock().now())
    }

    /// Logs once if the newest snapshot is ahead of the clock.
    pub(in crate::lake) fn warn_if_ahead(&self) {
        let Some(ahead) = self.ahead() else { return };
        if !self.0.told_ahead.swap(true, Ordering::Relaxed) {
            let seconds = ahead.as_secs();
            tracing::warn!(
                seconds,
                "the lake's newest snapshot is ahead of this machine's clock: set the clock or, if the clock is right, \
                 run `tabularium check --mend-times`"
            );
        }
    }

    /// Notes which snapshot is the newest one now. Returns the newest snapshot of which this process knows that its
    /// predecessors ended at least `kept` ago. Uses only the monotonic clock. Returns 0 if there is none.
    pub(in crate::lake) fn sighted(&self, kept: Duration) -> u64 {
        lock(&self.0.sightings).note(self.snapshot().id, self.clock().monotonic(), kept)
    }

    /// Returns how long a snapshot stays readable after its successor was committed.
    pub fn retention(&self) -> Duration {
        self.0.options.retention
    }

    /// Returns the newest snapshot that this process knows. While a caller holds it, expiry by this process keeps its
    /// files.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.0.newest.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Loads the commits of other processes and returns the newest snapshot. If there are no such commits, this costs a
    /// few small queries.
    pub fn refresh(&self) -> Result<Arc<Snapshot>, LakeError> {
        self.refuse_replaced()?;
        let reader = lock(&self.0.reader);
        let snapshot = catalog::load(&reader, &self.0.folder, Some(&self.snapshot()))?;
        // Read the kind after the snapshot. A conversion first replaces all files of the former kind. Only then does it
        // record that the lake has no more files of that kind.
        let kind = catalog::kind(&reader)?;
        // `reader` is still locked, so refreshes run one at a time, and an older kind cannot replace a newer one.
        self.turn_to(kind)?;
        drop(reader);
        self.advance_to(snapshot);
        self.release_erased();
        Ok(self.snapshot())
    }

    /// Takes over what other processes have changed: the kind of the lake's files, and destroyed keys.
    fn turn_to(&self, kind: Kind) -> Result<(), LakeError> {
        let keys = self.0.folder.keys();
        if keys.kind() != kind {
            let is_new = kind.has_keys() && !keys.open_sealed();
            let open = || self.0.folder.open_keys(&self.0.options.kek);
            keys.turn(kind, is_new.then(open).transpose()?);
        }
        if let Err(error) = keys.refresh() {
            tracing::debug!(%error, "what is known of the keys stays as it was");
        }
        Ok(())
    }

    /// Returns the source of the key-encryption key.
    pub(in crate::lake) fn kek(&self) -> &KekSource {
        &self.0.options.kek
    }

    /// Returns the kind of the lake's files.
    pub fn kind(&self) -> Kind {
        self.0.folder.keys().kind()
    }

    /// Whether the lake's epoch is no longer `erasures`, the epoch in which a snapshot was read. If so, an erasure or
    /// a conversion may have replaced files that the snapshot names. A caller that failed to read such a file should
    /// take a new snapshot. Refreshes the lake first, and returns `false` if that fails.
    pub fn erased_since(&self, erasures: u64) -> bool {
        self.refresh().is_ok_and(|now| now.erasures() != erasures)
    }

    /// Returns the snapshot with this id, for example from a page link, or [`LakeError::SnapshotGone`] if it has
    /// expired. While a caller holds the snapshot, expiry by this process keeps its files.
    pub fn snapshot_at(&self, id: u64) -> Result<Arc<Snapshot>, LakeError> {
        let newest = self.snapshot();
        if newest.id == id {
            return Ok(newest);
        }
        let epoch = catalog::epoch(&lock(&self.0.reader))?;
        let held = self.older().find(id, epoch);
        if let Some(held) = held {
            // Another process may have expired this snapshot and removed its files.
            return if catalog::is_kept(&lock(&self.0.reader), id)? {
                Ok(held)
            } else {
                Err(LakeError::SnapshotGone(id))
            };
        }
        let newest = if id > newest.id || epoch != newest.erasures.epoch {
            self.refresh()?
        } else {
            newest
        };
        if newest.id == id {
            return Ok(newest);
        }
        let snapshot = catalog::load_at(&lock(&self.0.reader), &self.0.folder, id, &newest)?;
        self.learn(&snapshot);
        self.older().keep(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// Returns the secret that hashes owners and rewritten ids. For writers.
    pub(crate) fn owner_key(&self) -> OwnerKey {
        self.0.owner_key
    }

    /// Encrypts a text. `used` names the use, such as page links. The result is 16 bytes longer than the text.
    pub fn enclose(&self, text: &[u8], used: &[u8]) -> Vec<u8> {
        self.enclosing_key().enclose(text, used)
    }

    /// Decrypts a text that this lake has encrypted for the same use. Returns `None` for any other bytes.
    pub fn disclose(&self, enclosed: &[u8], used: &[u8]) -> Option<Vec<u8>> {
        self.enclosing_key().disclose(enclosed, used)
    }

    fn enclosing_key(&self) -> &EnclosingKey {
        &self.0.enclosing_key
    }

    /// Returns the owner of imported rows that are filed under a patient of an application.
    pub fn owner_of(&self, application: &str, patient: &str) -> i64 {
        self.0.owner_key.owner_of(application, patient)
    }

    /// Returns the owner of the rows that a consent's syncs store.
    pub fn owner_of_consent(&self, consent: &str) -> i64 {
        self.owner_key().owner_of_consent(consent)
    }

    /// Returns all owners that rows filed under a patient of an application may have.
    pub fn owners_of(&self, application: &str, patient: &str) -> Vec<i64> {
        self.0.owner_key.owners_of(application, patient)
    }

    /// Returns a keyed hash by which the lake recognizes values that it issued, in any process. See
    /// [`OwnerKey::seal`].
    pub fn seal(&self, value: &impl std::hash::Hash) -> u64 {
        self.0.owner_key.seal(value)
    }

    /// Returns the table of a resource type: its rows in a snapshot, as far as the scope shows them. All reads of data
    /// go through such a table. The table is empty if no resource of the type was ever stored.
    pub fn table(&self, snapshot: &Arc<Snapshot>, type_id: TypeId, scope: &Arc<Scope>) -> ScopedTable {
        self.0.data.table(snapshot, type_id, scope)
    }

    /// Returns the reader of the data files.
    pub(crate) fn reader(&self) -> Arc<Reader> {
        self.0.data.clone()
    }

    /// Returns another reader of the data files, with its own limits for caches. It does not learn of erasures that
    /// begin later. So only the holder of the write lock may use it.
    pub(crate) fn reader_apart(&self, limits: MemoryLimits) -> Arc<Reader> {
        Arc::new(self.0.data.apart(limits))
    }

    /// Hides rows from all readers of this lake: the rows of erasures that are requested but not yet recorded.
    /// `intents` replaces the intents of the previous call.
    pub fn hide(&self, intents: &[Intent]) {
        self.0.data.hide(intents);
    }

    /// Preloads the data that every request for the newest snapshot needs first: footers and page indexes of its
    /// files, then the system columns of each row group. Uses up to half of the budget ([`MemoryLimits::bytes`]).
    /// Calls `go_on` before each step of some milliseconds, and stops if it returns `false`.
    pub fn warm(&self, go_on: impl FnMut() -> bool) -> Result<Warmed, ScanError> {
        self.0.data.warm(&self.snapshot(), go_on)
    }

    /// Returns an error if another file now has the catalog's name. This process still has the former file open, so it
    /// would not see new commits.
    pub(in crate::lake) fn refuse_replaced(&self) -> Result<(), LakeError> {
        let now = FileTrace::of(&self.0.folder.catalog());
        match (&self.0.catalog, &now) {
            (Some(open), Some(now)) if !open.is_same_file(now) => {
                Err(LakeError::Replaced(self.0.folder.path().to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Locks and returns the trace that the last writer of this process has left.
    pub(in crate::lake) fn left(&self) -> MutexGuard<'_, Option<Trace>> {
        lock(&self.0.left)
    }

    /// Queries the catalog for facts that a `Snapshot` does not have.
    pub(in crate::lake) fn with_reader<T>(
        &self,
        ask: impl FnOnce(&Connection) -> Result<T, LakeError>,
    ) -> Result<T, LakeError> {
        ask(&lock(&self.0.reader))
    }

    /// Makes a newer snapshot the current one. Ignores an older one.
    pub(in crate::lake) fn advance_to(&self, snapshot: Arc<Snapshot>) {
        // Hide the erased rows before readers can get the new snapshot.
        self.learn(&snapshot);
        let mut newest = self.0.newest.write().unwrap_or_else(PoisonError::into_inner);
        if age(&newest) >= age(&snapshot) {
            return;
        }
        let before = std::mem::replace(&mut *newest, Arc::clone(&snapshot));
        drop(newest);
        let epoch = snapshot.erasures.epoch;
        let has_erased = before.erasures.epoch != epoch;
        let replaced = before.names_more_than(&snapshot);
        let mut older = self.older();
        older.keep(before);
        if has_erased {
            older.forget_before(epoch);
        }
        drop(older);
        if has_erased || replaced {
            self.release();
        }
    }

    /// Drops cache entries of files that an erasure has replaced, if a running answer has kept some. The open files of
    /// a sealed lake hold keys, and the erasure has destroyed those.
    fn release_erased(&self) {
        let epoch = self.snapshot().erasures.epoch;
        let has_older = self.older().oldest_epoch().is_some_and(|oldest| oldest < epoch);
        let had_older = self.0.holds_erased.swap(has_older, Ordering::Relaxed);
        if has_older || had_older {
            self.release();
        }
    }

    /// Drops cache entries of replaced files and snapshots. Entries stay if a snapshot that this process still has in
    /// memory uses them. Such a snapshot is held by a reader, or is one of the last few.
    pub fn release(&self) {
        let mut snapshots = self.older().all();
        snapshots.push(self.snapshot());
        self.0.data.release(&snapshots);
    }

    /// Returns the sizes of the caches.
    pub fn memory(&self) -> MemoryUse {
        self.0.data.usage()
    }

    /// Makes the reader of the data files hide the rows of the erasures that a snapshot knows.
    fn learn(&self, snapshot: &Snapshot) {
        let newest = self.snapshot().erasures.epoch;
        let oldest = self.older().oldest_epoch().map_or(newest, |oldest| oldest.min(newest));
        self.0.data.learn(&snapshot.erasures, oldest);
    }

    /// Returns the id of the oldest snapshot that this process needs: one that a reader holds, or the newest one.
    /// Drops the recent snapshots that no reader holds.
    pub(in crate::lake) fn oldest_held(&self) -> u64 {
        let newest = self.snapshot().id;
        self.older().oldest().map_or(newest, |oldest| oldest.min(newest))
    }

    fn older(&self) -> MutexGuard<'_, Older> {
        lock(&self.0.older)
    }
}

impl Older {
    fn find(&mut self, id: u64, epoch: u64) -> Option<Arc<Snapshot>> {
        let found = self
            .held
            .iter()
            .filter_map(Weak::upgrade)
            .find(|snapshot| snapshot.id == id && snapshot.erasures.epoch == epoch)?;
        self.keep(Arc::clone(&found));
        Some(found)
    }

    fn keep(&mut self, snapshot: Arc<Snapshot>) {
        self.held.retain(|held| held.strong_count() > 0);
        if !self
            .held
            .iter()
            .any(|held| std::ptr::eq(held.as_ptr(), Arc::as_ptr(&snapshot)))
        {
            self.held.push(Arc::downgrade(&snapshot));
        }
        self.recent.retain(|kept| kept.id != snapshot.id);
        self.recent.push_back(snapshot);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// Drops the recent snapshots from before this epoch, unless a reader holds them. An erasure has replaced files of
    /// theirs, so no page link leads to them as they are.
    fn forget_before(&mut self, epoch: u64) {
        self.recent.retain(|kept| kept.erasures.epoch >= epoch);
    }

    /// Returns every older snapshot that is still in memory.
    fn all(&self) -> Vec<Arc<Snapshot>> {
        self.held.iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the lowest epoch of the older snapshots that are still in memory.
    fn oldest_epoch(&mut self) -> Option<u64> {
        let held = self.held.iter().filter_map(Weak::upgrade);
        held.map(|snapshot| snapshot.erasures.epoch).min()
    }

    /// Returns the id of the oldest snapshot that somebody other than this cache holds. Empties `recent` first.
    fn oldest(&mut self) -> Option<u64> {
        self.recent.clear();
        self.held.retain(|held| held.strong_count() > 0);
        self.held
            .iter()
            .filter_map(Weak::upgrade)
            .map(|snapshot| snapshot.id)
            .min()
    }
}

/// Returns how far a snapshot's time is ahead of the clock, if it is more than a minute.
pub(in crate::lake) fn ahead(snapshot: i64, now: i64) -> Option<Duration> {
    let micros = snapshot.saturating_sub(now);
    let ahead = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
    (ahead > AHEAD).then_some(ahead)
}

/// Returns a snapshot's place in time: its id, then its epoch. Both numbers only grow.
fn age(snapshot: &Snapshot) -> (u64, u64) {
    (snapshot.id, snapshot.erasures.epoch)
}

fn read_catalog(folder: &Folder) -> Result<(Connection, Arc<Snapshot>, OwnerKey), LakeError> {
    let reader = catalog::open_reader(folder)?;
    catalog::check_version(&reader, folder)?;
    let newest = catalog::load(&reader, folder, None)?;
    let owner_key = catalog::owner_key(&reader)?;
    Ok((reader, newest, owner_key))
}

/// Adds to `folder` the keys that open the lake's files. Returns an error if the lake is not of the requested kind, or
/// if its keys cannot be obtained.
fn unlocked(folder: Folder, reader: &Connection, options: &LakeOptions) -> Result<Folder, LakeError> {
    let kind = catalog::kind(reader)?;
    let is_sealed = kind.seals();
    if options.sealed.is_some_and(|wanted| wanted != is_sealed) {
        let dir = folder.path().to_owned();
        return Err(LakeError::OtherKind { dir, is_sealed });
    }
    folder.unlock(kind, &options.kek)
}

pub(in crate::lake) fn folder(dir: &Path) -> Result<Folder, LakeError> {
    Folder::new(dir).map_err(LakeError::io("find", dir))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
