//! Copies the catalog of a lake in use and lists the files that the copy names. Also turns a folder with such a copy
//! and its files into a lake.
//!
//! This file copies no data files; `backup` does. A copied catalog does not keep its data files from changing: an
//! erasure may replace a file before it is copied. Then the catalog must be copied again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, backup};

use super::super::catalog;
use super::super::check;
use super::super::check::Finding;
use super::super::commit::lock::WriteLock;
use super::super::commit::mark::Mark;
use super::super::erase::ledger;
use super::super::erase::ledger::{ErasedSince, Ledger};
use super::super::error::LakeError;
use super::super::owners::owner::OwnerKey;
use super::super::seal::{KekSource, Kind, discard_database};
use super::folder::Folder;
use crate::private::{self, OwnFolder};

pub(crate) use super::folder::RESTORING;

pub use super::super::commit::lost::{CopyKeys, Lost, drop_unattached, is_sealed_copy};

/// The pause before SQLite retries a copy while another connection has the database locked.
const PAUSE: Duration = Duration::from_millis(20);

/// A file that the copied catalog names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageFile {
    /// The path below the lake's folder, for example `data/live/Patient/0123456789abcdef.parquet`.
    pub path: PathBuf,
    /// The file's length, as the catalog records it.
    pub bytes: u64,
}

/// A copy of a lake's catalog, and the files that the copy names.
#[derive(Debug)]
pub struct LakeImage {
    folder: Folder,
    /// The source of the key-encryption key, if the lake is sealed.
    kek: KekSource,
    connection: Connection,
    owner_key: OwnerKey,
    /// The id of the newest snapshot in the copied catalog.
    pub snapshot: u64,
    /// The epoch: how many times an erasure was recorded or finished.
    pub erasures: u64,
    /// The kind of the lake's files.
    pub kind: Kind,
    /// Whether the catalog has unfinished erasures. If so, files can still contain rows that are hidden from all
    /// readers.
    pub is_erasing: bool,
    /// Every data file, delete file and attachment of all snapshots, by path.
    pub files: Vec<ImageFile>,
}

impl LakeImage {
    /// Copies the catalog of the lake in `dir` to the new file `to` and syncs the copy. Readers and writers of the
    /// lake are not blocked.
    pub fn take(dir: &Path, to: &Path) -> Result<LakeImage, LakeError> {
        let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
        let reader = catalog::open_reader(&folder)?;
        if let Some(what) = catalog::cut_off(&reader, &folder.catalog())? {
            return Err(LakeError::Damaged(what).of_catalog(folder.path()));
        }
        let copied = copy_sqlite(&reader, to).and_then(|()| LakeImage::of(&folder, to));
        copied.map_err(|error| error.of_catalog(folder.path()))
    }

    fn of(folder: &Folder, copy: &Path) -> Result<LakeImage, LakeError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(copy, flags)?;
        let broken = catalog::broken_pages(&connection, true)?;
        if let Some(what) = broken.into_iter().next() {
            return Err(LakeError::Damaged(what));
        }
        catalog::check_version(&connection, folder)?;
        let state = catalog::state(&connection)?;
        let mut files = Vec::new();
        for (path, bytes) in catalog::named(&connection, &folder.data())? {
            let path = path.strip_prefix(folder.path()).unwrap_or(&path).to_owned();
            files.push(ImageFile { path, bytes });
        }
        files.sort_unstable();
        Ok(LakeImage {
            owner_key: catalog::owner_key(&connection)?,
            snapshot: state.newest,
            erasures: state.erasures,
            kind: catalog::kind(&connection)?,
            is_erasing: !catalog::unfinished(&connection)?.is_empty(),
            folder: folder.clone(),
            kek: KekSource::default(),
            connection,
            files,
        })
    }

    /// Sets the source of the key-encryption key that [`inspect`](LakeImage::inspect) uses for a sealed lake.
    pub fn unlocked_by(self, kek: &KekSource) -> LakeImage {
        let kek = kek.clone();
        LakeImage { kek, ..self }
    }

    /// Returns the secret that hashes owners.
    pub(crate) fn owner_key(&self) -> OwnerKey {
        self.owner_key
    }

    /// Reads files completely and compares them with the copied catalog. `is_asked` selects the files by their path
    /// below the lake's folder. Returns the faults.
    pub fn inspect(&self, is_asked: impl Fn(&Path) -> bool) -> Result<Vec<Finding>, LakeError> {
        let below = |path: &Path| is_asked(path.strip_prefix(self.folder.path()).unwrap_or(path));
        let folder = self.folder.clone().unlock(self.kind, &self.kek)?;
        check::inspect(&self.connection, &folder, &below)
    }

    /// Whether the lake's current catalog still names this file. If not, the lake has replaced or removed the file
    /// since the catalog was copied.
    pub fn is_still_named(&self, path: &Path) -> Result<bool, LakeError> {
        let reader = catalog::open_reader(&self.folder)?;
        let named = catalog::named(&reader, &self.folder.data())?;
        Ok(named.contains_key(&self.folder.path().join(path)))
    }
}

/// Returns [`LakeError::Restoring`] if a restore into this folder was begun and is not finished. Commands that write
/// other things than a lake into a data folder call this first.
pub fn refuse_restoring(dir: &Path) -> Result<(), LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    folder.refuse_restoring()
}

/// Whether the lake in `dir` is sealed, or is being sealed or unsealed. Does not read its keys.
pub fn is_sealed(dir: &Path) -> Result<bool, LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    let sealed = catalog::open_reader(&folder).and_then(|reader| catalog::is_sealed(&reader));
    sealed.map_err(|error| error.of_catalog(folder.path()))
}

/// Returns how many times the lake in `dir` has recorded or finished an erasure.
pub fn erasures(dir: &Path) -> Result<u64, LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    let counted = catalog::open_reader(&folder).and_then(|reader| catalog::epoch(&reader));
    counted.map_err(|error| error.of_catalog(folder.path()))
}

/// Copies a SQLite database to the new file `to`. Other processes may write the database meanwhile. The copy is
/// complete, has no write-ahead log, and is synced.
pub(crate) fn copy_sqlite(reader: &Connection, to: &Path) -> Result<(), LakeError> {
    private::options()
        .write(true)
        .create_new(true)
        .open(to)
        .map_err(LakeError::io("make", to))?;
    let mut copy = Connection::open(to)?;
    // No process uses the copy before it is complete, so one sync at the end is enough.
    copy.pragma_update(None, "synchronous", "off")?;
    let pages = i32::MAX;
    let copied = backup::Backup::new(reader, &mut copy).and_then(|run| run.run_to_completion(pages, PAUSE, None));
    let copied = copied.and_then(|()| copy.pragma_update(None, "journal_mode", "delete"));
    copied.map_err(|error| of_copy(error, to))?;
    drop(copy);
    std::fs::File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(LakeError::io("sync", to))
}

/// Turns SQLite's write errors into file errors of the copy. SQLite only reads the original.
fn of_copy(error: rusqlite::Error, to: &Path) -> LakeError {
    use rusqlite::ffi::{SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
    let code = error.sqlite_error().map(|error| error.extended_code);
    match code {
        Some(SQLITE_FULL) => LakeError::io("write", to)(std::io::ErrorKind::StorageFull.into()),
        Some(SQLITE_IOERR_WRITE | SQLITE_IOERR_FSYNC | SQLITE_IOERR_TRUNCATE) => {
            LakeError::io("write", to)(std::io::Error::other(error))
        }
        _ => LakeError::Sqlite(error),
    }
}

/// Returns the ledger on which a backup of the lake in `dir` relies, and creates it if it is missing. Also returns
/// whether it takes the place of another ledger that the catalog has recorded. Returns [`LakeError::Ledger`] if the
/// ledger is damaged, or lacks entries that the catalog has recorded.
pub fn ledger_for_backup(dir: &Path) -> Result<(Ledger, bool), LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    let found = ledger::for_backup(folder.path())?;
    Ok((found.ledger, found.is_instead))
}

/// Records in the catalog of the lake in `dir` that its backups rely on this ledger, and on its present entries. From
/// then on an erasure is finished only after the ledger has it. Other processes may write the lake at the same time.
pub fn record_ledger(dir: &Path, ledger: &Ledger) -> Result<(), LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    let record = || {
        let reader = catalog::open_reader(&folder)?;
        let now = ledger.entered(catalog::owner_key(&reader)?);
        let known = catalog::ledger(&reader)?;
        drop(reader);
        // A writer may have entered more since the ledger was read.
        if known.is_some_and(|known| known.ledger == now.ledger && known.entries >= now.entries) {
            return Ok(());
        }
        let mut connection = catalog::open_writer(&folder.catalog())?;
        // Do not write into a damaged catalog.
        if let Some(what) = catalog::cut_off(&connection, &folder.catalog())? {
            return Err(LakeError::Damaged(what));
        }
        if let Some(what) = catalog::broken_pages(&connection, true)?.into_iter().next() {
            return Err(LakeError::Damaged(what));
        }
        catalog::record_ledger(&mut connection, &now)
    };
    record().map_err(|error: LakeError| error.of_catalog(folder.path()))
}

/// Overwrites and removes the keys database in the folder of an unfinished copy of a lake, if `is_ours` accepts the
/// names of its files. Follows no link.
pub(crate) fn discard_keys(folder: &OwnFolder, is_ours: impl Fn(&str) -> bool) -> Result<(), LakeError> {
    Ok(discard_database(folder, is_ours)?)
}

/// Turns a folder with a copied catalog and its files into a lake. Raises the catalog's count of erasures to the number
/// of the newest erasure in `carried_out`, records `ledger` with its entries, and writes the mark. `ledger` is `None`
/// while the copy is still being built, because the copy has no ledger yet. Returns the secret that hashes owners.
pub fn settle_image(
    dir: &Path,
    carried_out: Option<&ErasedSince>,
    ledger: Option<&Ledger>,
) -> Result<OwnerKey, LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    let settle = || {
        let mut connection = catalog::open_writer(&folder.catalog())?;
        let known = catalog::epoch(&connection)?;
        let more = carried_out.map_or(0, |since| since.newest().saturating_sub(known));
        if more > 0 {
            // Count the erasures in `carried_out` as done. A later backup of this lake records this count, and a
            // restore of that backup repeats only the erasures with higher numbers. If the count were lower, the
            // restore would also repeat the erasures in `carried_out`, and erase rows that this lake has imported after
            // them.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            catalog::count_erasures_on(&transaction, more)?;
            transaction.commit()?;
        }
        let key = catalog::owner_key(&connection)?;
        catalog::set_ledger(&mut connection, ledger.map(|ledger| ledger.entered(key)).as_ref())?;
        let digest = catalog::digest(&connection)?;
        Mark::take(&connection, digest, None)?.write(&folder, None)?;
        catalog::empty_log(&connection)?;
        Ok(key)
    };
    settle().map_err(|error: LakeError| error.of_catalog(folder.path()))
}

/// The lock on a folder in which a lake will be made. While this process holds it, other processes that want to write
/// or make a lake there get [`LakeError::Busy`].
#[derive(Debug)]
pub struct Reserved {
    _lock: WriteLock,
}

impl Reserved {
    /// Takes the lock in an existing folder. Returns [`LakeError::Busy`] if another process has it.
    pub fn take(dir: &Path) -> Result<Reserved, LakeError> {
        let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
        WriteLock::take(&folder).map(|lock| Reserved { _lock: lock })
    }
}
