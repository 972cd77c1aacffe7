//! Registered copies of the keys database, which an operator keeps elsewhere in case `keys.sqlite` is lost. A key that
//! is destroyed in the database is destroyed in every registered copy, too. As long as one copy cannot be written, an
//! erasure does not end.
//!
//! A copy belongs to the lake in one folder. If a lake was moved or copied, its database still has the list of copies.
//! But it does not change them, because the lake in the other folder may need their keys.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::super::error::SealError;
use super::super::key_id::KeyId;
use super::scrub;
use super::store::{self, FILE, KeyStore};
use crate::private;

/// The table of registered copies. `mark` is a random number that the database and the copy both have, so that another
/// file at `path` is noticed. `folder` is the folder of the lake.
const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS registered_copy (
        path TEXT PRIMARY KEY, mark BLOB NOT NULL, folder TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;";

/// The length of a mark in bytes.
const MARK_BYTES: usize = 16;

/// A row of `registered_copy`.
#[derive(Debug)]
struct Registered {
    path: PathBuf,
    mark: Vec<u8>,
    folder: String,
}

impl KeyStore {
    /// Returns the paths of the registered copies of the database in `folder`.
    pub fn copies(folder: &Path) -> Result<Vec<PathBuf>, SealError> {
        let (connection, path) = open(folder)?;
        let copies = all(&connection).map_err(SealError::sqlite(&path))?;
        Ok(copies.into_iter().map(|copy| copy.path).collect())
    }

    /// Removes a copy from the list of the database in `folder`. The copy itself stays as it is. Returns `false` if the
    /// copy is not registered.
    pub fn forget_copy(folder: &Path, copy: &Path) -> Result<bool, SealError> {
        let (connection, path) = open(folder)?;
        let copies = all(&connection).map_err(SealError::sqlite(&path))?;
        let is_known = copies.iter().any(|known| known.path == copy);
        if is_known {
            unregister(&connection, &path, copy)?;
        }
        Ok(is_known)
    }

    /// Makes the registered copies of the database in `folder` equal to it, after a rotation. Returns the copies that
    /// could not be written, each as `PATH (REASON)`.
    pub fn rotate_copies(folder: &Path) -> Result<Vec<String>, SealError> {
        let (mut connection, path) = open(folder)?;
        let of = folder_of(&path)?;
        // This is an IMMEDIATE transaction, so no other process can destroy a key before the copies are written.
        let from = store::begin(&mut connection, &path)?;
        let copies = all(&from).map_err(SealError::sqlite(&path))?;
        Ok(each(&copies, |copy| {
            copy.is_of(&of).and_then(|()| copy.fill(&from, &path))
        }))
    }

    /// Makes a registered copy at `to`, or writes the copy again that is registered there. Returns the number of keys.
    /// A new copy that cannot be filled is removed. The caller holds the lake's lock.
    pub(in crate::lake::seal) fn make_copy(&self, to: &Path) -> Result<u64, SealError> {
        let path = self.path();
        let mut connection = store::connect(path)?;
        let (copy, is_new) = register(&mut connection, path, to)?;
        let made = fill_at(&mut connection, path, &copy);
        if made.is_err() && is_new {
            for file in [scrub::journal(to), to.to_owned()] {
                scrub::overwrite(&file).map_err(SealError::io("overwrite", &file))?;
                store::remove(&file)?;
            }
            unregister(&connection, path, to)?;
        }
        made
    }

    /// Destroys all keys but `kept` in every registered copy, and adds the keys that a copy lacks. If one copy cannot
    /// be written, the others are written nevertheless, and then an error is returned. The caller holds the lake's
    /// lock.
    pub(in crate::lake::seal) fn retire_in_copies(&self, kept: &BTreeSet<KeyId>) -> Result<(), SealError> {
        let path = self.path();
        let mut connection = store::connect(path)?;
        let asked = SealError::sqlite(path);
        if all(&connection).map_err(&asked)?.is_empty() {
            return Ok(());
        }
        let of = folder_of(path)?;
        // This is an IMMEDIATE transaction, so no rotation can begin or end before the copies are written.
        let from = store::begin(&mut connection, path)?;
        let copies = all(&from).map_err(&asked)?;
        let left = each(&copies, |copy| {
            copy.is_of(&of).and_then(|()| copy.retire(&from, path, kept))
        });
        if left.is_empty() {
            Ok(())
        } else {
            Err(SealError::Copies(left.join("; ")))
        }
    }
}

impl Registered {
    /// Fails if the copy belongs to the lake of another folder.
    fn is_of(&self, folder: &str) -> Result<(), SealError> {
        if self.folder == folder {
            return Ok(());
        }
        Err(SealError::CopyOfOther {
            path: self.path.clone(),
            folder: self.folder.clone(),
        })
    }

    /// Opens the copy and checks its mark. `None` if the file is still empty, because nothing was written to it yet.
    fn open(&self) -> Result<Option<Connection>, SealError> {
        let mut copy = store::connect(&self.path)?;
        let asked = SealError::sqlite(&self.path);
        let pages = copy.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0));
        if pages.map_err(&asked)? == 0 {
            return Ok(None);
        }
        store::read_keks(&mut copy, &self.path)?;
        let known = all(&copy).map_err(&asked)?;
        if known.iter().any(|known| known.mark == self.mark) {
            Ok(Some(copy))
        } else {
            Err(SealError::NotTheCopy(self.path.clone()))
        }
    }

    /// Makes the copy equal to the database, in one transaction. Fails if the copy has keys that the database lacks.
    fn fill(&self, from: &Connection, path: &Path) -> Result<(), SealError> {
        let asked = SealError::sqlite(&self.path);
        let (mut copy, is_empty) = match self.open()? {
            Some(copy) => (copy, false),
            None => (store::connect(&self.path)?, true),
        };
        let into = store::begin(&mut copy, &self.path)?;
        if is_empty {
            store::make_tables(&into)
                .and_then(|()| make_table(&into))
                .map_err(&asked)?;
        }
        let known: BTreeSet<KeyId> = store::ids(from, path)?.into_iter().collect();
        if store::ids(&into, &self.path)?.iter().any(|id| !known.contains(id)) {
            return Err(SealError::NewerCopy(self.path.clone()));
        }
        let fill = || -> rusqlite::Result<()> {
            into.execute_batch("DELETE FROM file_key; DELETE FROM kek; DELETE FROM registered_copy;")?;
            for kek in store::keks(from)? {
                let sql = "INSERT INTO kek (number, proof, earlier) VALUES (?1, ?2, ?3)";
                into.execute(sql, params![kek.number, kek.proof, kek.earlier])?;
            }
            for one in all(from)? {
                insert(&into, &one)?;
            }
            add_keys(from, &into)?;
            scrub::note(&into)?;
            into.commit()
        };
        fill().map_err(&asked)?;
        scrub::scrub(&copy, &self.path)
    }

    /// Destroys all keys of the copy but `kept`, and adds the keys that it lacks.
    fn retire(&self, from: &Connection, path: &Path, kept: &BTreeSet<KeyId>) -> Result<(), SealError> {
        let Some(mut copy) = self.open()? else {
            return Ok(());
        };
        let asked = SealError::sqlite(&self.path);
        let into = store::begin(&mut copy, &self.path)?;
        let mut gone = store::ids(&into, &self.path)?;
        gone.retain(|id| !kept.contains(id));
        let keks = store::keks(from).map_err(SealError::sqlite(path))?;
        let retire = || -> rusqlite::Result<()> {
            if store::delete(&into, &gone)? > 0 {
                scrub::note(&into)?;
            }
            // A copy that a rotation did not reach has another key-encryption key. It cannot take new keys, so add none
            // to it.
            if store::keks(&into)? == keks {
                add_keys(from, &into)?;
            }
            into.commit()
        };
        retire().map_err(&asked)?;
        scrub::scrub(&copy, &self.path)
    }
}

/// Calls `work` for each copy. Returns the copies for which it failed, each as `PATH (REASON)`.
fn each(copies: &[Registered], mut work: impl FnMut(&Registered) -> Result<(), SealError>) -> Vec<String> {
    let mut left = Vec::new();
    for copy in copies {
        if let Err(error) = work(copy) {
            left.push(format!("{} ({})", copy.path.display(), fault(error)));
        }
    }
    left
}

/// Returns the reason why a copy could not be written. The caller adds the path of the copy.
fn fault(error: SealError) -> String {
    match error {
        SealError::Missing(_) => "it is missing".to_owned(),
        SealError::Damaged { what, .. } => format!("it is damaged: {what}"),
        SealError::Io { source, .. } => source.to_string(),
        SealError::Sqlite { source, .. } => source.to_string(),
        SealError::CopyOfOther { folder, .. } => format!("it was made for the lake in {folder}"),
        SealError::NotTheCopy(_) => "another file took its place".to_owned(),
        SealError::NewerCopy(_) => "it has keys that keys.sqlite lacks".to_owned(),
        other => other.to_string(),
    }
}

/// Fills the file of a registered copy, and creates the file if it is missing. Returns the number of keys.
fn fill_at(connection: &mut Connection, path: &Path, copy: &Registered) -> Result<u64, SealError> {
    create_if_missing(&copy.path)?;
    // This is an IMMEDIATE transaction, so no other process can destroy a key before the copy is written.
    let from = store::begin(connection, path)?;
    copy.fill(&from, path)?;
    let count = from.query_row("SELECT count(DISTINCT id) FROM file_key", [], |row| {
        row.get::<_, i64>(0)
    });
    Ok(count.map_err(SealError::sqlite(path))?.unsigned_abs())
}

/// Opens and checks the database in `folder`, without unwrapping keys.
fn open(folder: &Path) -> Result<(Connection, PathBuf), SealError> {
    let path = folder.join(FILE);
    let mut connection = store::connect(&path)?;
    store::read_keks(&mut connection, &path)?;
    Ok((connection, path))
}

/// Returns the folder of a database, with links resolved.
fn folder_of(path: &Path) -> Result<String, SealError> {
    let folder = path.parent().unwrap_or(path);
    let folder = std::fs::canonicalize(folder).map_err(SealError::io("find", folder))?;
    Ok(folder.to_string_lossy().into_owned())
}

/// Returns all registered copies, ordered by path.
fn all(connection: &Connection) -> rusqlite::Result<Vec<Registered>> {
    let sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'registered_copy'";
    if connection.query_row(sql, [], |_| Ok(())).optional()?.is_none() {
        return Ok(Vec::new());
    }
    let mut rows = connection.prepare("SELECT path, mark, folder FROM registered_copy ORDER BY path")?;
    let rows = rows.query_map([], |row| {
        Ok(Registered {
            path: PathBuf::from(row.get::<_, String>(0)?),
            mark: row.get(1)?,
            folder: row.get(2)?,
        })
    })?;
    rows.collect()
}

/// Registers a copy before any key is written to it. Returns the copy, and whether it is new. Fails if another file
/// exists at the path of a new copy.
fn register(connection: &mut Connection, path: &Path, to: &Path) -> Result<(Registered, bool), SealError> {
    let folder = folder_of(path)?;
    let transaction = store::begin(connection, path)?;
    let known = all(&transaction).map_err(SealError::sqlite(path))?;
    let known = known.into_iter().find(|known| known.path == to);
    let is_new = known.is_none();
    if is_new && std::fs::symlink_metadata(to).is_ok() {
        return Err(SealError::Exists(to.to_owned()));
    }
    if to.to_str().is_none() {
        return Err(SealError::io("register", to)(Error::new(
            ErrorKind::InvalidInput,
            "its path is not UTF-8",
        )));
    }
    let known = known.filter(|known| known.folder == folder);
    let copy = match known {
        Some(known) => known,
        None => {
            let mut mark = vec![0u8; MARK_BYTES];
            aws_lc_rs::rand::fill(&mut mark).map_err(|_| SealError::Random)?;
            let path = to.to_owned();
            Registered { path, mark, folder }
        }
    };
    let register = || -> rusqlite::Result<()> {
        make_table(&transaction)?;
        insert(&transaction, &copy)?;
        transaction.commit()
    };
    register().map_err(SealError::sqlite(path))?;
    Ok((copy, is_new))
}

/// Makes the table of copies, and raises the version of the database. Earlier versions of this program then refuse the
/// database, because they would not destroy keys in the copies.
fn make_table(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLE)?;
    connection.pragma_update(None, "user_version", store::LAYOUT_WITH_COPIES)
}

fn insert(connection: &Connection, copy: &Registered) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO registered_copy (path, mark, folder) VALUES (?1, ?2, ?3)";
    let path = copy.path.to_string_lossy();
    connection.execute(sql, params![path, copy.mark, copy.folder]).map(drop)
}

fn unregister(connection: &Connection, path: &Path, copy: &Path) -> Result<(), SealError> {
    let sql = "DELETE FROM registered_copy WHERE path = ?1";
    let removed = connection.execute(sql, [copy.to_string_lossy()]);
    removed.map(drop).map_err(SealError::sqlite(path))
}

/// Creates the empty file of a copy, unless the file exists.
fn create_if_missing(to: &Path) -> Result<(), SealError> {
    match private::options().write(true).create_new(true).open(to) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        new => drop(new.map_err(SealError::io("create", to))?),
    }
    let folder = to.parent().unwrap_or(to);
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(SealError::io("sync", folder))
}

/// Adds the keys of `from` that `into` lacks.
fn add_keys(from: &Connection, into: &Connection) -> rusqlite::Result<()> {
    let mut rows = from.prepare("SELECT id, kek, wrapped FROM file_key ORDER BY number")?;
    let mut rows = rows.query([])?;
    let sql = "INSERT INTO file_key (id, kek, wrapped) VALUES (?1, ?2, ?3) ON CONFLICT (id, kek) DO NOTHING";
    let mut add = into.prepare_cached(sql)?;
    while let Some(row) = rows.next()? {
        let wrapped: (Vec<u8>, i64, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        add.execute(params![wrapped.0, wrapped.1, wrapped.2])?;
    }
    Ok(())
}
