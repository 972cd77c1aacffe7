//! The service's SQLite store: `service.sqlite` in the folder of the lake. Several processes can have it open at the
//! same time. Every read sees the committed writes of all processes.
//!
//! Signing keys and revoked tokens are cached in memory, because every request needs them. [`Store::refresh`] reloads
//! them after a write of another process. A server calls it once a second.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use quick_cache::sync::Cache;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use tokio::sync::Notify;

use super::access::health_link::Guesses;
use super::access::rs256::keys::SigningKey;
use super::access::rs256::rows as key_rows;
use super::access::seal::Sealer;
use super::clock::Clock;
use super::directory::find::Catalogue;
use super::error::Error;
use super::flow::seal_clear_sessions;
use super::migrations::migrate;
use super::syncs::presence::Presence;
use crate::ingest::LOCAL_APPLICATION;
use crate::lake::LakeError;
use crate::lake::clock::Looks;
use crate::private;

/// The name of the store's file in the data folder.
pub const STORE_FILE: &str = "service.sqlite";
pub(super) const FILE: &str = STORE_FILE;
/// The name of the setting that holds the base address of the last server.
pub(super) const BASE_URL: &str = "base_url";
/// The maximum number of consents whose readiness is cached.
const REMEMBERED_PRESENCE: usize = 65_536;

/// How long a statement waits for a lock of another connection.
const BUSY: Duration = Duration::from_secs(10);

/// The open store.
pub struct Store {
    connection: Mutex<Connection>,
    path: PathBuf,
    clock: Clock,
    looks: Looks,
    held: RwLock<Held>,
    /// SQLite's `data_version` at the last load of `held`.
    seen: Mutex<i64>,
    jobs: Arc<Notify>,
    deliveries: Arc<Notify>,
    /// A counter. Each change that may affect the readiness of a consent increments it.
    moment: AtomicU64,
    presence: Cache<String, KnownPresence>,
    sealer: Sealer,
    kept_house_at: AtomicI64,
    guesses: Guesses,
    catalogue: Catalogue,
}

/// Copies the store of a folder to a new file. Other processes may use the store meanwhile. Returns `false` if there
/// is no store.
pub fn copy_store(folder: &Path, to: &Path) -> Result<bool, Error> {
    let path = folder.join(FILE);
    if !is_there(&path)? {
        return Ok(false);
    }
    let only_reading = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, only_reading).map_err(|error| Error::from(error).at(&path))?;
    connection
        .busy_timeout(Duration::from_secs(10))
        .map_err(|error| Error::from(error).at(&path))?;
    crate::lake::store::image::copy_sqlite(&connection, to).map_err(|error| match error {
        LakeError::Sqlite(error) => Error::from(error).at(&path),
        error => Error::Copy(error.to_string()),
    })?;
    Ok(true)
}

/// Checks the store's file in a folder and returns the faults, each as a phrase for a message. Returns no faults if
/// there is no file. Writes nothing into the store.
pub fn check_store(folder: &Path) -> Result<Vec<String>, Error> {
    let path = folder.join(FILE);
    if !is_there(&path)? {
        return Ok(Vec::new());
    }
    let only_reading = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Every normal connection creates a log file beside the store. So if there is no log file, no process has the store
    // open. Then read the store with the option `immutable`: it creates no log file, and it is safe because nobody
    // writes.
    let mut log = path.clone().into_os_string();
    log.push("-wal");
    let is_at_rest = !Path::new(&log).exists();
    let text = path.to_string_lossy();
    let encoded = percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC);
    let at_rest = format!("file:{encoded}?immutable=1");
    let read = || -> rusqlite::Result<Vec<String>> {
        let connection = if is_at_rest {
            Connection::open_with_flags(&at_rest, only_reading | OpenFlags::SQLITE_OPEN_URI)?
        } else {
            Connection::open_with_flags(&path, only_reading)?
        };
        connection.busy_timeout(BUSY)?;
        let mut rows = connection.prepare("PRAGMA integrity_check(10)")?;
        let mut found = rows
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<String>>>()?;
        found.retain(|line| line != "ok");
        let mut rows = connection.prepare("SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check")?;
        let dangling = rows.query_map([], |row| {
            let (table, parent): (String, String) = (row.get(0)?, row.get(1)?);
            Ok(format!("rows of {table} refer to rows of {parent} that are not there"))
        })?;
        found.extend(dangling.collect::<rusqlite::Result<Vec<String>>>()?);
        Ok(found)
    };
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match read() {
        Err(error) if matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase)) => {
            Ok(vec![format!("cannot be read: {error}")])
        }
        read => read.map_err(|error| Error::from(error).at(&path)),
    }
}

/// Whether the store's file exists. Fails if it is a link, or no regular file.
fn is_there(path: &Path) -> Result<bool, Error> {
    let refused = private::refuse_foreign(path);
    refused.map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    })?;
    Ok(path.exists())
}

/// A cached readiness.
#[derive(Clone, Debug)]
pub(super) struct KnownPresence {
    pub(super) presence: Presence,
    /// The value of [`Store::jobs_moment`] before `presence` was computed. `presence` is valid as long as the counter
    /// has this value.
    pub(super) moment: u64,
    /// When `presence` was computed. Before this time it is not valid: the clock was ahead then, so records that can be
    /// read may have seemed to be expired.
    pub(super) since: i64,
}

/// Values that are cached because every request needs them.
#[derive(Default)]
pub(super) struct Held {
    /// The keys of access tokens. Retired keys come last, and newer keys come before older ones. So the first key signs
    /// new tokens.
    pub(super) keys: Vec<Arc<SigningKey>>,
    pub(super) revoked: HashSet<Box<str>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in `folder`. Creates whatever is missing: the file (only the system user who runs the process
    /// can read it), a signing key and the application [`LOCAL_APPLICATION`].
    pub fn open(folder: &Path, clock: Clock) -> Result<Store, Error> {
        let path = folder.join(FILE);
        Store::opened_at(folder, &path, clock).map_err(|error| error.at(&path))
    }

    fn opened_at(folder: &Path, path: &Path, clock: Clock) -> Result<Store, Error> {
        let (mut connection, sealer) = connected(folder, path)?;
        key_rows::seal_clear_keys(&mut connection, &sealer)?;
        key_rows::first_key(&mut connection, &sealer, clock.now())?;
        let store = Store {
            connection: Mutex::new(connection),
            path: path.to_owned(),
            looks: Looks::new(clock.look()),
            clock,
            held: RwLock::new(Held::default()),
            seen: Mutex::new(0),
            jobs: Arc::new(Notify::new()),
            deliveries: Arc::new(Notify::new()),
            moment: AtomicU64::new(0),
            presence: Cache::new(REMEMBERED_PRESENCE),
            sealer,
            kept_house_at: AtomicI64::new(i64::MIN),
            guesses: Guesses::default(),
            catalogue: Catalogue::default(),
        };
        store.applications().register(LOCAL_APPLICATION)?;
        store.reload()?;
        // Encrypt the sessions only now: `reload` has decrypted the signing keys, which proves that the sealer has the
        // right key.
        seal_clear_sessions(&mut store.connection(), store.sealer())?;
        Ok(store)
    }

    /// Returns the clock of the store and its tokens.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Takes a look at the clock. Returns its time if it may end or delete something for good. So a clock that is wrong
    /// for a moment ends nothing. See [`TwoLooks`](crate::lake::clock::TwoLooks).
    pub(super) fn settled_now(&self) -> Option<i64> {
        let now = self
            .looks
            .settled(self.clock.look(), "consents and records whose time is over");
        now.map(|micros| micros.div_euclid(1_000_000))
    }

    /// Runs `work` on the connection. No other thread uses the connection meanwhile. `work` runs outside a transaction:
    /// another process may write between two of its statements.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        work(&locked(&self.connection)).map_err(|error| error.at(&self.path))
    }

    /// Runs `work` in an IMMEDIATE transaction and commits it. An error rolls the transaction back.
    pub(super) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.write_where(work, |_| false)
    }

    /// Like [`Store::write`], for work that may change a job or the state of a consent. Invalidates the cached
    /// readiness of all consents and wakes the worker.
    pub(super) fn write_jobs<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.write_where(work, |_| true)
    }

    /// Like [`Store::write_jobs`], if `changes_jobs` says of what `work` returned that it changed a job or a consent.
    pub(super) fn write_where<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
        changes_jobs: impl FnOnce(&T) -> bool,
    ) -> Result<T, Error> {
        let worked = || {
            let mut connection = locked(&self.connection);
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            let changes_jobs = changes_jobs(&done);
            let committed = transaction.commit();
            if changes_jobs {
                // Invalidate while no other thread can read the store. Otherwise a request could see that a job has
                // ended and then be answered from the readiness before. A commit that failed may stand all the same.
                self.moment.fetch_add(1, Ordering::SeqCst);
                self.jobs.notify_one();
                self.deliveries.notify_one();
            }
            committed?;
            Ok(done)
        };
        worked().map_err(|error: Error| error.at(&self.path))
    }

    /// Returns the connection, for callers that begin their own transactions or need none.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        locked(&self.connection)
    }

    /// Returns the values that are cached because every request needs them.
    pub(super) fn held(&self) -> &RwLock<Held> {
        &self.held
    }

    /// Returns the folder that holds the store.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Returns the time of this process's last hourly maintenance, in seconds since the Unix epoch.
    pub(super) fn kept_house_at(&self) -> &AtomicI64 {
        &self.kept_house_at
    }

    /// Returns the search index over the directory.
    pub(super) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns the set of health links whose passcodes are being checked.
    pub(super) fn guesses(&self) -> &Guesses {
        &self.guesses
    }

    /// Copies the write-ahead log into the store's file and truncates the log. Returns `false` if another connection
    /// prevents this. Does not wait for it.
    pub(super) fn empty_log(&self) -> Result<bool, Error> {
        self.read(|connection| {
            connection.busy_timeout(Duration::ZERO)?;
            let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            connection.busy_timeout(BUSY)?;
            Ok(busy? == 0)
        })
    }

    /// Returns the sealer, which encrypts secrets.
    pub(super) fn sealer(&self) -> &Sealer {
        &self.sealer
    }

    /// Returns a handle that is notified whenever a worker may have something to do: jobs to begin or stop, rows to
    /// erase.
    pub fn wakeup(&self) -> Arc<Notify> {
        self.jobs.clone()
    }

    /// Returns a handle that is notified whenever webhooks may have to be delivered.
    pub fn delivery_wakeup(&self) -> Arc<Notify> {
        self.deliveries.clone()
    }

    /// Returns a counter that grows when jobs change and when the store is reloaded. Cached readiness is valid only
    /// while the counter stays the same.
    pub(super) fn jobs_moment(&self) -> u64 {
        self.moment.load(Ordering::SeqCst)
    }

    /// Returns the cached readiness by consent id.
    pub(super) fn known_presence(&self) -> &Cache<String, KnownPresence> {
        &self.presence
    }

    /// Takes a look at the clock. Returns by how many seconds it has jumped since it was last steady for some minutes.
    /// A moment may be less far back by so many seconds than the clock says.
    pub(super) fn clock_jumped_by(&self) -> i64 {
        self.settled_now();
        let jumped = self.looks.jumped().as_secs_f64().ceil();
        jumped as i64
    }

    /// Reloads the cached values at once, because this process has just revoked tokens in the database.
    pub(super) fn take_up_revocations(&self) -> Result<(), Error> {
        self.reload()
    }

    /// Reloads the cached values if another process has written since they were loaded.
    pub fn refresh(&self) -> Result<(), Error> {
        let version = self.data_version()?;
        let changed = *locked(&self.seen) != version;
        if changed { self.reload() } else { Ok(()) }
    }

    /// Returns the base address of the server that last ran on a folder. `None` if there was none or the store cannot
    /// be read. Neither creates nor changes a store.
    pub fn last_base_url(folder: &Path) -> Option<String> {
        let only_reading = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let path = folder.join(FILE);
        let connection = is_there(&path)
            .ok()
            .and_then(|_| Connection::open_with_flags(path, only_reading).ok())?;
        let sql = "SELECT value FROM setting WHERE name = ?1";
        connection.query_row(sql, [BASE_URL], |row| row.get(0)).ok()
    }

    fn data_version(&self) -> Result<i64, Error> {
        Ok(locked(&self.connection).pragma_query_value(None, "data_version", |row| row.get(0))?)
    }

    pub(super) fn reload(&self) -> Result<(), Error> {
        // Read the version first. If another process writes between the two reads, the next refresh sees a new version
        // and reads again. With the opposite order the refresh would miss the change.
        let version = self.data_version()?;
        let held = {
            let connection = locked(&self.connection);
            let keys = key_rows::load(&connection, &self.sealer)?;
            // Load expired ones, too. If the clock is ahead now, their tokens may be valid again later.
            let mut statement = connection.prepare_cached("SELECT jti FROM revoked_token")?;
            let revoked = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Held { keys, revoked }
        };
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = held;
        self.moment.fetch_add(1, Ordering::SeqCst);
        *locked(&self.seen) = version;
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Ignore that the mutex is poisoned. A panic in another thread leaves the value consistent, because each statement
    // changes the value as a whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the store's file and migrates it to the newest version. Creates the file if it is missing. Returns the
/// connection and the sealer.
pub(super) fn connected(folder: &Path, path: &Path) -> Result<(Connection, Sealer), Error> {
    let open = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    create_private(path).map_err(open)?;
    private::refuse_foreign(path).map_err(open)?;
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    migrate(&mut connection)?;
    Ok((connection, Sealer::open(folder)?))
}

/// Creates the file if it is missing. Only the system user who runs the process can read it. SQLite gives its
/// write-ahead log the same permissions.
fn create_private(path: &Path) -> std::io::Result<()> {
    match private::options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

impl Store {
    /// Encrypts a value. `purpose` says what the value is for and to which row it belongs. Decryption requires the
    /// same purpose, so an encrypted value is useless in another place.
    pub fn seal(&self, purpose: &str, plain: &[u8]) -> Result<Vec<u8>, Error> {
        self.sealer().seal(purpose, plain)
    }

    /// Decrypts a value that was encrypted for exactly this purpose.
    pub fn unseal(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.sealer().unseal(purpose, sealed)
    }

    /// Decrypts a string that was encrypted for this purpose. `None` if there is no value.
    pub(in crate::consent) fn opened(&self, sealed: Option<Vec<u8>>, purpose: &str) -> Result<Option<String>, Error> {
        let Some(sealed) = sealed else { return Ok(None) };
        let plain = self.unseal(purpose, &sealed)?;
        String::from_utf8(plain)
            .map(Some)
            .map_err(|_| Error::Key("it sealed something else than a text"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::access::lifetime::PATIENT_SECONDS;
    use super::*;
    use crate::lake::Mode;

    #[test]
    fn whoever_sees_a_change_of_a_job_sees_that_readiness_is_to_be_computed_anew() {
        let (_folder, store) = store();
        let begin = store.jobs_moment();
        store
            .write(|transaction| Ok(transaction.execute_batch("CREATE TABLE seen (n INTEGER)")?))
            .unwrap();
        assert_eq!(store.jobs_moment(), begin);
        let rounds = 300;
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for round in 0..rounds {
                    store
                        .write_jobs(|transaction| Ok(transaction.execute("INSERT INTO seen VALUES (?1)", [round])?))
                        .unwrap();
                }
            });
            while !writer.is_finished() {
                let changes: u64 = store
                    .read(|connection| Ok(connection.query_row("SELECT count(*) FROM seen", [], |row| row.get(0))?))
                    .unwrap();
                assert!(store.jobs_moment() - begin >= changes);
            }
        });
        let outcome = store.write_where(|_| Ok(None::<u64>), Option::is_some).unwrap();
        assert_eq!((outcome, store.jobs_moment()), (None, begin + rounds));
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        (folder, store)
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, _store) = store();
        let mode = std::fs::metadata(folder.path().join(FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn opening_again_finds_the_same_key_and_client() {
        let (folder, store) = store();
        let (kid, client) = (
            store.signing_keys().current().unwrap().kid.clone(),
            store.clients().of("local", Mode::Live).unwrap(),
        );
        assert!(client.id.starts_with("pk_live_"));
        drop(store);
        let again = Store::open(folder.path(), Clock::at(2_000)).unwrap();
        assert_eq!(again.signing_keys().current().unwrap().kid, kid);
        assert_eq!(again.clients().of("local", Mode::Live).unwrap(), client);
        assert_eq!(again.clients().get(&client.id).unwrap(), Some(client));
    }

    #[test]
    fn a_store_of_a_later_release_is_left_alone() {
        let (folder, store) = store();
        locked(&store.connection)
            .pragma_update(None, "user_version", 999)
            .unwrap();
        drop(store);
        let refused = Store::open(folder.path(), Clock::System).unwrap_err();
        assert!(matches!(refused, Error::TooNew { found: 999, .. }), "{refused}");
    }

    #[test]
    fn a_person_has_one_operator_consent() {
        let (_folder, store) = store();
        let first = store.consents().of_imported("local", Mode::Live, "p1").unwrap();
        assert_eq!(store.consents().of_imported("local", Mode::Live, "p1").unwrap(), first);
        assert_ne!(store.consents().of_imported("local", Mode::Test, "p1").unwrap(), first);
        assert_ne!(store.consents().of_imported("local", Mode::Live, "p2").unwrap(), first);
        assert_eq!(store.consents().get(&first).unwrap().unwrap().patients, ["p1"]);
        assert_eq!(store.consents().get("none").unwrap(), None);
        assert!(store.consents().of_imported("unregistered", Mode::Live, "p1").is_err());
    }

    #[test]
    fn retired_keys_stay_for_a_day() {
        let (_folder, store) = store();
        let first = store.signing_keys().current().unwrap().kid.clone();
        store.signing_keys().rotate().unwrap();
        let second = store.signing_keys().current().unwrap().kid.clone();
        assert_ne!(first, second);
        assert!(store.signing_keys().get(&first).unwrap().is_some());
        assert_eq!(store.signing_keys().jwks().keys.len(), 2);
        // A clock that is ahead for a moment does not lose the former key.
        store.clock().jump(PATIENT_SECONDS + 1);
        store.reload().unwrap();
        assert!(store.signing_keys().get(&first).unwrap().is_none());
        store.clock().jump(-PATIENT_SECONDS - 1);
        assert!(store.signing_keys().get(&first).unwrap().is_some());
        store.clock().advance(PATIENT_SECONDS + 1);
        store.signing_keys().rotate().unwrap();
        assert!(store.signing_keys().get(&first).unwrap().is_none());
        assert!(store.signing_keys().get(&second).unwrap().is_some());
    }

    #[test]
    fn what_another_process_revokes_is_seen_at_refresh() {
        let (folder, store) = store();
        let other = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        other.access_tokens().revoke("t1", 2_000).unwrap();
        store.refresh().unwrap();
        assert!(store.access_tokens().is_revoked("t1"));
        assert!(!store.access_tokens().is_revoked("t2"));
    }
}
