//! Copies a keys database into another folder, and destroys one.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, backup};
use rustc_hash::FxHashSet;

use super::super::error::SealError;
use super::super::key_id::KeyId;
use super::scrub;
use super::store::{self, FILE, KeyStore, NEW_FILE};
use crate::private;

/// The time that SQLite waits for another writer before it tries again.
const PAUSE: Duration = Duration::from_millis(20);

impl KeyStore {
    /// Makes a database in `folder`, which must have none, with all keys of this one or with some of them. The same
    /// key-encryption key opens it. Durable when this returns.
    pub(in crate::lake::seal) fn copy_to(&self, folder: &Path, ids: Option<&[KeyId]>) -> Result<(), SealError> {
        let to = folder.join(FILE);
        let new = private::options().write(true).create_new(true).open(&to);
        match new {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(SealError::Exists(to)),
            new => drop(new.map_err(SealError::io("create", &to))?),
        }
        let connection = self.connection();
        let copied = Connection::open(&to)
            .and_then(|mut copy| backup::Backup::new(&connection, &mut copy)?.run_to_completion(i32::MAX, PAUSE, None));
        copied.map_err(SealError::sqlite(&to))?;
        drop(connection);
        if let Some(ids) = ids {
            leave(&to, ids)?;
        }
        let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(SealError::io("sync", folder))
    }
}

/// Removes all keys but these from a database.
fn leave(path: &Path, ids: &[KeyId]) -> Result<(), SealError> {
    let kept: FxHashSet<&[u8]> = ids.iter().map(|id| &id.bytes()[..]).collect();
    let mut connection = store::connect(path)?;
    let transaction = store::begin(&mut connection, path)?;
    let leave = || -> rusqlite::Result<()> {
        let mut all = transaction.prepare("SELECT DISTINCT id FROM file_key")?;
        let all = all.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
        let all = all.collect::<rusqlite::Result<Vec<_>>>()?;
        let gone = all.iter().filter(|id| !kept.contains(id.as_slice()));
        let gone: Vec<KeyId> = gone.filter_map(|id| KeyId::from_bytes(id)).collect();
        store::delete(&transaction, &gone)?;
        scrub::note(&transaction)
    };
    leave().map_err(SealError::sqlite(path))?;
    transaction.commit().map_err(SealError::sqlite(path))?;
    scrub::scrub(&connection, path)
}

/// Overwrites and removes the keys database in `folder`, and the files of an interrupted creation. No sealed file of
/// this folder can be opened afterwards.
pub(in crate::lake) fn remove_database(folder: &Path) -> Result<(), SealError> {
    for name in [FILE, NEW_FILE] {
        let path = folder.join(name);
        for path in [scrub::journal(&path), path] {
            scrub::overwrite(&path).map_err(SealError::io("overwrite", &path))?;
            store::remove(&path)?;
        }
    }
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(SealError::io("sync", folder))
}
