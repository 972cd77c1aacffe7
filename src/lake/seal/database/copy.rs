//! Copies a keys database into another folder, and removes a keys database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, backup, params};

use super::super::error::SealError;
use super::super::key_id::KeyId;
use super::scrub;
use super::store::{self, FILE, KeyStore, NEW_FILE};
use crate::private::{self, Kind, OwnFolder};

/// The time that SQLite's backup waits for another writer before it tries again.
const PAUSE: Duration = Duration::from_millis(20);

impl KeyStore {
    /// Makes a database in `folder` with all keys of this one, or only with those in `ids`. Fails if the folder has a
    /// keys database. The same key-encryption key opens the new database. The new database is durable when this
    /// function returns.
    pub(in crate::lake::seal) fn copy_to(&self, folder: &Path, ids: Option<&[KeyId]>) -> Result<(), SealError> {
        let to = folder.join(FILE);
        let new = private::options().write(true).create_new(true).open(&to);
        match new {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(SealError::Exists(to)),
            new => drop(new.map_err(SealError::io("create", &to))?),
        }
        let connection = self.connection();
        match ids {
            Some(ids) => copy_some(&connection, &to, ids)?,
            None => {
                let copied = Connection::open(&to).and_then(|mut copy| {
                    backup::Backup::new(&connection, &mut copy)?.run_to_completion(i32::MAX, PAUSE, None)?;
                    // The list of registered copies belongs to this lake, not to the new one.
                    store::drop_copies(&copy)
                });
                copied.map_err(SealError::sqlite(&to))?;
            }
        }
        drop(connection);
        let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(SealError::io("sync", folder))
    }
}

/// Copies these keys and the rows of the key-encryption keys to the empty file `to`. No other key is ever written to
/// the file, even if the process is killed.
fn copy_some(from: &Connection, to: &Path, ids: &[KeyId]) -> Result<(), SealError> {
    let mut copy = store::connect(to)?;
    let into = store::begin(&mut copy, to)?;
    let fill = || -> rusqlite::Result<()> {
        store::make_tables(&into)?;
        // Read all keys in one transaction, because another process may be rotating the key-encryption key.
        let from = from.unchecked_transaction()?;
        for kek in store::keks(&from)? {
            let sql = "INSERT INTO kek (number, proof, earlier) VALUES (?1, ?2, ?3)";
            into.execute(sql, params![kek.number, kek.proof, kek.earlier])?;
        }
        for id in ids {
            for (kek, wrapped) in store::wrapped(&from, id)? {
                store::insert(&into, *id, kek, &wrapped)?;
            }
        }
        into.commit()
    };
    fill().map_err(SealError::sqlite(to))
}

/// Removes the keys database in `folder` if it has no key and no registered copy. Without a sealed file, such a
/// database is what a killed `seal` or a killed creation of a sealed lake has left. Then a later `seal` may use another
/// key-encryption key. Also removes the files of an interrupted creation. Returns whether no database is there now. The
/// caller holds the lake's lock, and the lake has no sealed files.
pub(in crate::lake) fn remove_unused(folder: &Path) -> Result<bool, SealError> {
    let (path, new) = (folder.join(FILE), folder.join(NEW_FILE));
    for left in [scrub::journal(&new), new] {
        store::remove(&left)?;
    }
    if std::fs::symlink_metadata(&path).is_err() {
        return Ok(true);
    }
    if !store::is_unused(&path) || !KeyStore::copies(folder).is_ok_and(|copies| copies.is_empty()) {
        return Ok(false);
    }
    // There is no key to overwrite. So a kill in between leaves the whole database or none.
    let target = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
    for left in [scrub::journal(&target), target, path] {
        store::remove(&left)?;
    }
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(SealError::io("sync", folder))?;
    Ok(true)
}

/// Overwrites and removes the keys database in `folder`, and the files of an interrupted creation. If the database is a
/// link, its target is removed, too, if it is a keys database. After that, nobody can open a sealed file of this folder
/// without a copy of the database.
pub(in crate::lake) fn remove_database(folder: &Path) -> Result<(), SealError> {
    for name in [FILE, NEW_FILE] {
        let path = folder.join(name);
        if !std::fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_symlink()) {
            overwrite_and_remove(&path)?;
            continue;
        }
        if name == FILE
            && let Some(target) = target(&path)?
        {
            overwrite_and_remove(&target)?;
        }
        store::remove(&path)?;
    }
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(SealError::io("sync", folder))
}

/// Overwrites and removes the files of a keys database in the folder of an unfinished copy of a lake, if `is_ours`
/// accepts their names. Leaves links, because no copy of a lake has them, and other files than regular ones.
pub(in crate::lake) fn discard_database(folder: &OwnFolder, is_ours: impl Fn(&str) -> bool) -> Result<(), SealError> {
    let names = [FILE, NEW_FILE].map(|name| [format!("{name}-journal"), name.to_owned()]);
    for name in names.as_flattened().iter().filter(|name| is_ours(name)) {
        let discard = || match folder.kind(name)? {
            Some(Kind::File) => {
                scrub::overwrite_file(folder.file_to_write(name)?)?;
                folder.remove(name)
            }
            _ => Ok(()),
        };
        discard().map_err(SealError::io("overwrite", &folder.path().join(name)))?;
    }
    folder.sync().map_err(SealError::io("sync", folder.path()))
}

fn overwrite_and_remove(path: &Path) -> Result<(), SealError> {
    for path in [&scrub::journal(path), path] {
        scrub::overwrite(path).map_err(SealError::io("overwrite", path))?;
        store::remove(path)?;
    }
    Ok(())
}

/// Returns the file to which a link in the place of the database leads. `None` if it is missing or empty. An
/// interrupted removal leaves an empty one. Fails if the file is no keys database, because then it belongs to somebody
/// else.
fn target(link: &Path) -> Result<Option<PathBuf>, SealError> {
    let target = match std::fs::canonicalize(link) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        target => target.map_err(SealError::io("read", link))?,
    };
    let file = private::open(&target).map_err(SealError::io("read", &target))?;
    if file.metadata().map_err(SealError::io("read", &target))?.len() == 0 {
        return Ok(None);
    }
    // A killed process may have left a journal, which only a connection that may write can roll back.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(&target, flags);
    match opened.and_then(|connection| store::keks(&connection)) {
        Ok(_) => Ok(Some(target)),
        Err(_) => Err(SealError::Damaged {
            path: link.to_owned(),
            what: format!("it is a link to {}, which is no keys database", target.display()),
        }),
    }
}
