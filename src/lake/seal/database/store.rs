//! The keys database: `keys.sqlite` beside the catalog, with each file's key wrapped by the key-encryption key.
//!
//! Several processes may have it open at once. Each transaction is short and durable. SQLite uses a rollback journal,
//! which is overwritten after each destruction ([`super::scrub`]). It uses no write-ahead log, because the log's pages
//! would keep destroyed keys.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use rustc_hash::FxHashMap;

use super::super::error::SealError;
use super::super::kek::Kek;
use super::super::key::FileKey;
use super::super::key_id::KeyId;
use super::super::wrap::Wrapping;
use super::scrub;
use crate::private;

/// The database's name in the data folder.
pub const FILE: &str = "keys.sqlite";
/// The name of a new database until it is complete.
pub(in crate::lake::seal) const NEW_FILE: &str = "keys.sqlite.new";
/// The version of a database without registered copies.
const LAYOUT: i64 = 1;
/// The version of a database with a table of registered copies.
pub(super) const LAYOUT_WITH_COPIES: i64 = 2;
/// The time that a caller waits if the database is locked. A transaction takes only milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// The tables. `kek` has a row for each key-encryption key, so it has two rows during a rotation. Its column `earlier`
/// is the earlier key-encryption key, wrapped by the key-encryption key of the row. `unscrubbed` has a row from the
/// destruction of keys until their remains are overwritten.
const TABLES: &str = "
    CREATE TABLE kek (number INTEGER PRIMARY KEY, proof BLOB NOT NULL, earlier BLOB) STRICT;
    CREATE TABLE file_key (
        number INTEGER PRIMARY KEY, id BLOB NOT NULL, kek INTEGER NOT NULL, wrapped BLOB NOT NULL, UNIQUE (id, kek)
    ) STRICT;
    CREATE TABLE unscrubbed (number INTEGER PRIMARY KEY) STRICT;";

/// The keys database of a sealed lake.
#[derive(Debug)]
pub struct KeyStore {
    path: PathBuf,
    connection: Mutex<Connection>,
    /// The key-encryption keys that this process has, by their numbers. The process has two if it opened the database
    /// with the new key-encryption key during a rotation.
    wrappings: Vec<(i64, Wrapping)>,
    known: RwLock<Known>,
}

/// The keys that this process has read or stored.
#[derive(Debug, Default)]
struct Known {
    keys: FxHashMap<KeyId, FileKey>,
    /// SQLite's `data_version` at the last refresh. It changes when another connection changes the database.
    version: i64,
}

impl KeyStore {
    /// Makes an empty database in `folder` and opens it. Fails with [`SealError::Exists`] if there is one. The caller
    /// holds the lake's lock.
    pub fn create(folder: &Path, kek: Kek) -> Result<KeyStore, SealError> {
        let (path, new) = (folder.join(FILE), folder.join(NEW_FILE));
        if std::fs::symlink_metadata(&path).is_ok() {
            return Err(SealError::Exists(path));
        }
        let journal = scrub::journal(&new);
        // A process that was killed in this function may have left these files.
        for left in [&new, &journal] {
            remove(left)?;
        }
        let file = private::options().write(true).create_new(true).open(&new);
        drop(file.map_err(SealError::io("create", &new))?);
        let made = fill(&new, &kek).and_then(|()| match std::fs::hard_link(&new, &path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(SealError::Exists(path.clone())),
            linked => linked.map_err(SealError::io("create", &path)),
        });
        remove(&new).and(remove(&journal)).and(made)?;
        let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(SealError::io("sync", folder))?;
        KeyStore::open(folder, kek)
    }

    /// Opens the database in `folder`.
    pub fn open(folder: &Path, kek: Kek) -> Result<KeyStore, SealError> {
        KeyStore::open_file(folder.join(FILE), kek)
    }

    /// Opens a database whose file may have another name, such as a copy.
    pub fn open_file(path: PathBuf, kek: Kek) -> Result<KeyStore, SealError> {
        let mut connection = connect(&path)?;
        let wrappings = read_keks(&mut connection, &path)?;
        let wrappings = recognized(wrappings, &kek, &path)?;
        Ok(KeyStore {
            path,
            connection: Mutex::new(connection),
            wrappings,
            known: RwLock::default(),
        })
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a new key, in memory only.
    pub fn make(&self) -> Result<FileKey, SealError> {
        FileKey::random()
    }

    /// Stores keys durably, all of them or none. Call this before anything refers to the keys.
    pub fn keep(&self, keys: &[FileKey]) -> Result<(), SealError> {
        if keys.is_empty() {
            return Ok(());
        }
        let mut connection = self.connection();
        let transaction = self.begin(&mut connection)?;
        let current: Vec<i64> = self.asked(|| numbers(&transaction))?;
        let mut in_use = self
            .wrappings
            .iter()
            .filter(|(number, _)| current.contains(number))
            .peekable();
        if in_use.peek().is_none() {
            return Err(SealError::Rotated(self.path.clone()));
        }
        // During a rotation, wrap these keys with both key-encryption keys, because some processes still have only the
        // earlier one.
        for (number, wrapping) in in_use {
            for key in keys {
                let wrapped = wrapping.wrap(key)?;
                self.asked(|| insert(&transaction, key.id(), *number, &wrapped))?;
            }
        }
        transaction.commit().map_err(SealError::sqlite(&self.path))?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.keys.extend(keys.iter().map(|key| (key.id(), key.clone())));
        Ok(())
    }

    /// Returns the key with this id, whichever process stored it.
    pub fn key(&self, id: &KeyId) -> Result<FileKey, SealError> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known.keys.get(id) {
            return Ok(key.clone());
        }
        drop(known);
        let connection = self.connection();
        let wrapped = self.asked(|| wrapped(&connection, id))?;
        let current = self.asked(|| numbers(&connection))?;
        let mine = |number: &i64| self.wrappings.iter().find(|(of, _)| of == number);
        let found = wrapped.iter().find_map(|(kek, bytes)| Some((mine(kek)?, bytes)));
        let Some(((_, wrapping), bytes)) = found else {
            let is_mine = current.iter().any(|number| mine(number).is_some());
            return Err(if is_mine && wrapped.is_empty() {
                SealError::UnknownKey {
                    path: self.path.clone(),
                    id: *id,
                }
            } else {
                SealError::Rotated(self.path.clone())
            });
        };
        let key = wrapping.unwrap(*id, bytes).ok_or_else(|| SealError::Damaged {
            path: self.path.clone(),
            what: format!("the key {id} was changed"),
        })?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.keys.insert(*id, key.clone());
        // The connection stays locked until the key is cached, so no other thread can destroy the key between reading
        // and caching it.
        drop(connection);
        Ok(key)
    }

    /// Destroys keys: overwrites their rows, copies of the rows in SQLite's file, and the journal. Also overwrites the
    /// remains of an interrupted destruction. An id without a key is no error.
    pub fn destroy(&self, ids: &[KeyId]) -> Result<(), SealError> {
        let mut connection = self.connection();
        if !ids.is_empty() {
            let transaction = self.begin(&mut connection)?;
            let removed = self.asked(|| delete(&transaction, ids))?;
            if removed > 0 {
                self.asked(|| scrub::note(&transaction))?;
            }
            transaction.commit().map_err(SealError::sqlite(&self.path))?;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        ids.iter().for_each(|id| drop(known.keys.remove(id)));
        drop(known);
        scrub::scrub(&connection, &self.path)
    }

    /// Returns the ids of all keys.
    pub fn ids(&self) -> Result<Vec<KeyId>, SealError> {
        ids(&self.connection(), &self.path)
    }

    /// Drops the cached keys if another process has changed the database. That process may have destroyed some of them.
    pub fn refresh(&self) -> Result<(), SealError> {
        let connection = self.connection();
        let version = self.asked(|| connection.pragma_query_value(None, "data_version", |row| row.get(0)))?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.version != version {
            known.keys.clear();
            known.version = version;
        }
        Ok(())
    }

    pub(in crate::lake::seal) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin<'a>(&self, connection: &'a mut Connection) -> Result<Transaction<'a>, SealError> {
        begin(connection, &self.path)
    }

    fn asked<T>(&self, ask: impl FnOnce() -> rusqlite::Result<T>) -> Result<T, SealError> {
        ask().map_err(SealError::sqlite(&self.path))
    }
}

/// Returns the ids of all keys of a database.
pub(super) fn ids(connection: &Connection, path: &Path) -> Result<Vec<KeyId>, SealError> {
    let read = || {
        let mut ids = connection.prepare_cached("SELECT DISTINCT id FROM file_key ORDER BY id")?;
        let ids = ids.query_map([], |row| Ok(KeyId::from_bytes(row.get_ref(0)?.as_blob()?)))?;
        ids.collect::<rusqlite::Result<Vec<Option<KeyId>>>>()
    };
    let damaged = || SealError::Damaged {
        path: path.to_owned(),
        what: "the id of a key has another length".to_owned(),
    };
    let ids = read().map_err(SealError::sqlite(path))?.into_iter();
    ids.collect::<Option<Vec<KeyId>>>().ok_or_else(damaged)
}

/// A row of the table `kek`.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lake::seal) struct KekRow {
    pub(in crate::lake::seal) number: i64,
    pub(in crate::lake::seal) proof: Vec<u8>,
    pub(in crate::lake::seal) earlier: Option<Vec<u8>>,
}

/// Opens the file of a database. Fails if the file is missing.
pub(in crate::lake::seal) fn connect(path: &Path) -> Result<Connection, SealError> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(SealError::Missing(path.to_owned())),
        Err(error) => return Err(SealError::io("read", path)(error)),
        Ok(_) => {}
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "page_size", 4096)?;
        connection.pragma_update(None, "secure_delete", "on")?;
        // VACUUM writes a file with all keys, so it must not use the system's folder of temporary files.
        connection.pragma_update(None, "temp_store", "memory")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "journal_mode", "persist")?;
        Ok(connection)
    };
    open().map_err(SealError::sqlite(path))
}

pub(in crate::lake::seal) fn begin<'a>(
    connection: &'a mut Connection,
    path: &Path,
) -> Result<Transaction<'a>, SealError> {
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    begun.map_err(SealError::sqlite(path))
}

/// Makes the tables, and sets the version of the database.
pub(in crate::lake::seal) fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "user_version", LAYOUT)
}

/// Removes the list of registered copies.
pub(super) fn drop_copies(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("DROP TABLE IF EXISTS registered_copy")?;
    connection.pragma_update(None, "user_version", LAYOUT)
}

/// Makes the tables of a new database for this key-encryption key.
fn fill(path: &Path, kek: &Kek) -> Result<(), SealError> {
    let proof = Wrapping::new(kek)?.proof()?;
    let mut connection = connect(path)?;
    let transaction = begin(&mut connection, path)?;
    let fill = || -> rusqlite::Result<()> {
        make_tables(&transaction)?;
        transaction.execute("INSERT INTO kek (number, proof) VALUES (1, ?1)", [proof])?;
        transaction.commit()
    };
    fill().map_err(SealError::sqlite(path))
}

/// Checks a database, and returns the rows of `kek`, the newest first. Fails if the file is damaged or has an unknown
/// version.
pub(in crate::lake::seal) fn read_keks(connection: &mut Connection, path: &Path) -> Result<Vec<KekRow>, SealError> {
    let asked = SealError::sqlite(path);
    let damaged = |what: String| SealError::Damaged {
        path: path.to_owned(),
        what,
    };
    // Use one transaction, so that no other process changes the file while its length is checked.
    let transaction = connection.transaction().map_err(&asked)?;
    let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let layout = number("user_version").map_err(&asked)?;
    let expected = number("page_count").map_err(&asked)? * number("page_size").map_err(&asked)?;
    let length = std::fs::metadata(path).map_err(SealError::io("read", path))?.len();
    // A file that is too short is damaged. A file that is too long is not: a process that is killed at the end of a
    // VACUUM leaves such a file, because SQLite commits before it truncates the file. The next scrub truncates it.
    if expected == 0 || length < expected.unsigned_abs() {
        return Err(damaged(format!("it has {length} bytes instead of {expected}")));
    }
    match layout {
        LAYOUT | LAYOUT_WITH_COPIES => {}
        0 => return Err(damaged("it is no keys database".to_owned())),
        found => {
            return Err(SealError::Version {
                path: path.to_owned(),
                found,
                known: LAYOUT_WITH_COPIES,
            });
        }
    }
    let check = transaction.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    let check = check.map_err(&asked)?;
    if check != "ok" {
        return Err(damaged(check));
    }
    let rows = keks(&transaction).map_err(&asked)?;
    if rows.is_empty() {
        Err(damaged("it has no key-encryption key".to_owned()))
    } else {
        Ok(rows)
    }
}

/// Returns the rows of `kek`, the newest first.
pub(in crate::lake::seal) fn keks(connection: &Connection) -> rusqlite::Result<Vec<KekRow>> {
    let mut rows = connection.prepare("SELECT number, proof, earlier FROM kek ORDER BY number DESC")?;
    let rows = rows.query_map([], |row| {
        Ok(KekRow {
            number: row.get(0)?,
            proof: row.get(1)?,
            earlier: row.get(2)?,
        })
    })?;
    rows.collect()
}

/// Whether a database has no key and no remains of one. `false` if it cannot be read.
pub(super) fn is_unused(path: &Path) -> bool {
    let count = |connection: &Connection| -> rusqlite::Result<i64> {
        let sql = "SELECT (SELECT count(*) FROM file_key) + (SELECT count(*) FROM unscrubbed)";
        connection.query_row(sql, [], |row| row.get(0))
    };
    connect(path).is_ok_and(|connection| count(&connection).is_ok_and(|keys| keys == 0))
}

/// Returns the key-encryption keys that a process with `kek` can use, with their numbers: `kek` itself, and the earlier
/// one if `kek` is the new one of a rotation. Fails if `kek` is in no row.
fn recognized(rows: Vec<KekRow>, kek: &Kek, path: &Path) -> Result<Vec<(i64, Wrapping)>, SealError> {
    let wrapping = Wrapping::new(kek)?;
    let own = rows.iter().find(|row| wrapping.proves(&row.proof));
    let own = own.ok_or_else(|| SealError::WrongKek(path.to_owned()))?;
    let earlier = own
        .earlier
        .as_deref()
        .and_then(|earlier| wrapping.unwrap_earlier(earlier));
    let before = rows.iter().find(|row| row.number < own.number);
    let mut wrappings = vec![(own.number, wrapping)];
    if let (Some(before), Some(earlier)) = (before, earlier) {
        wrappings.push((before.number, Wrapping::new(&earlier)?));
    }
    Ok(wrappings)
}

fn numbers(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut numbers = connection.prepare_cached("SELECT number FROM kek")?;
    let numbers = numbers.query_map([], |row| row.get(0))?;
    numbers.collect()
}

pub(in crate::lake::seal) fn insert(
    connection: &Connection,
    id: KeyId,
    kek: i64,
    wrapped: &[u8],
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO file_key (id, kek, wrapped) VALUES (?1, ?2, ?3) ON CONFLICT (id, kek) DO NOTHING";
    connection
        .prepare_cached(sql)?
        .execute(params![id.bytes(), kek, wrapped])?;
    Ok(())
}

/// Returns the wrapped texts of a key, each with the number of its key-encryption key, the newest first.
pub(in crate::lake::seal) fn wrapped(connection: &Connection, id: &KeyId) -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
    let mut rows = connection.prepare_cached("SELECT kek, wrapped FROM file_key WHERE id = ?1 ORDER BY kek DESC")?;
    let rows = rows.query_map([id.bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

pub(in crate::lake::seal) fn delete(connection: &Connection, ids: &[KeyId]) -> rusqlite::Result<usize> {
    let mut delete = connection.prepare_cached("DELETE FROM file_key WHERE id = ?1")?;
    ids.iter().map(|id| delete.execute([id.bytes()])).sum()
}

pub(in crate::lake::seal) fn remove(path: &Path) -> Result<(), SealError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(SealError::io("remove", path)(error)),
        _ => Ok(()),
    }
}
