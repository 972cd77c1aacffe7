//! The RSA signing keys in the store. They are sealed, like all other secrets. If an earlier release left a key
//! unencrypted, opening the store seals it and removes the unencrypted bytes from the files.

use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior, params};

use super::super::super::error::Error;
use super::super::seal::Sealer;
use super::super::wipe::{is_marked, wipe};
use super::keys::{self, SigningKey};

/// The name of a setting. It exists while the files may contain a key that an earlier release stored unencrypted.
const CLEAR_KEYS: &str = "clear_keys";
/// The first byte of an unencrypted PKCS #8 key: the tag of a DER sequence. A sealed key begins with a version
/// number.
const DER_SEQUENCE: u8 = 0x30;

/// Makes a signing key if there is none, or if all keys are retired.
pub(in crate::consent) fn first_key(connection: &mut Connection, sealer: &Sealer, now: i64) -> Result<(), Error> {
    let any = |connection: &Connection| {
        let sql = "SELECT EXISTS (SELECT 1 FROM signing_key WHERE retired_at IS NULL)";
        connection.query_row(sql, [], |row| row.get::<_, bool>(0))
    };
    if any(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !any(&transaction)? {
        insert_new(&transaction, sealer, now)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Makes a key and stores it. Returns its `kid`.
pub(in crate::consent) fn insert_new(connection: &Connection, sealer: &Sealer, now: i64) -> Result<String, Error> {
    let made = keys::generate()?;
    let kid = SigningKey::from_pkcs8(&made)?.kid;
    let sealed = sealer.seal(&purpose(&kid), &made)?;
    let sql = "INSERT INTO signing_key (kid, sealed, created_at) VALUES (?1, ?2, ?3)";
    connection.execute(sql, params![kid, sealed, now])?;
    Ok(kid)
}

/// Loads all keys. The current signing key comes first. Loads also former keys whose last token has expired by this
/// machine's clock: if the clock is ahead now, their tokens may be valid again later.
pub(in crate::consent) fn load(connection: &Connection, sealer: &Sealer) -> Result<Vec<Arc<SigningKey>>, Error> {
    let sql = "SELECT kid, sealed, retired_at FROM signing_key
               ORDER BY retired_at IS NULL DESC, created_at DESC, rowid DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?, row.get(2)?))
    })?;
    let mut keys = Vec::new();
    for row in rows {
        let (kid, sealed, retired_at) = row?;
        let pkcs8 = sealer
            .unseal(&purpose(&kid), &sealed)
            .map_err(|_| Error::Key("it does not open with this TABULARIUM_KEY or service.key: put the former one back, or give the key up by `tabularium keys rotate --discard`"))?;
        keys.push(Arc::new(SigningKey {
            retired_at,
            ..SigningKey::from_pkcs8(&pkcs8)?
        }));
    }
    Ok(keys)
}

/// The result of a discard of unreadable keys, as key ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscardedKeys {
    /// The ids of the discarded RSA and P-256 keys.
    pub discarded: Vec<String>,
    /// The ids of the RSA keys that can be decrypted.
    pub kept: Vec<String>,
}

/// Seals the keys that an earlier release left unencrypted, and removes their bytes from the store's file and its log.
/// If another process reads the store or the disk is full, a later opening of the store removes the bytes.
pub(in crate::consent) fn seal_clear_keys(connection: &mut Connection, sealer: &Sealer) -> Result<(), Error> {
    if !is_marked(connection, CLEAR_KEYS)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (kid, pkcs8) in rows(&transaction)? {
        if pkcs8.first() == Some(&DER_SEQUENCE) {
            let sealed = sealer.seal(&purpose(&kid), &pkcs8)?;
            transaction.execute(
                "UPDATE signing_key SET sealed = ?2 WHERE kid = ?1",
                params![kid, sealed],
            )?;
        }
    }
    transaction.commit()?;
    wipe(connection, CLEAR_KEYS, "a signing key that lay there in the clear");
    Ok(())
}

pub(super) fn rows(connection: &Connection) -> Result<Vec<(String, Vec<u8>)>, rusqlite::Error> {
    let mut statement = connection.prepare("SELECT kid, sealed FROM signing_key")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

pub(super) fn purpose(kid: &str) -> String {
    format!("signing-key/{kid}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::consent::clock::Clock;
    use crate::consent::migrations;
    use crate::consent::store::Store;

    /// Makes a store of an earlier release, with one unencrypted key in its file and another one in its log.
    fn earlier_store(folder: &Path) -> (Connection, [Vec<u8>; 2]) {
        let path = folder.join("service.sqlite");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        migrations::migrate_before_sealed_keys(&connection);
        let insert = |pkcs8: &[u8], created_at: i64, retired_at: Option<i64>| {
            let kid = SigningKey::from_pkcs8(pkcs8).unwrap().kid;
            let sql = "INSERT INTO signing_key (kid, pkcs8, created_at, retired_at) VALUES (?1, ?2, ?3, ?4)";
            connection
                .execute(sql, params![kid, pkcs8, created_at, retired_at])
                .unwrap();
        };
        let keys = [keys::generate().unwrap(), keys::generate().unwrap()];
        insert(&keys[0], 1, Some(900));
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        insert(&keys[1], 2, None);
        (connection, keys)
    }

    /// Whether a file of the folder contains any part of a key.
    fn is_in_files(folder: &Path, key: &[u8]) -> bool {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let contents: Vec<Vec<u8>> = files
            .filter(|path| path.is_file())
            .map(|path| std::fs::read(path).unwrap())
            .collect();
        // Skip the first bytes, which all PKCS #8 keys share.
        let mut parts = key[64..].chunks_exact(32);
        parts.any(|part| contents.iter().any(|file| memchr::memmem::find(file, part).is_some()))
    }

    #[test]
    fn a_clear_key_of_an_earlier_release_is_sealed_and_its_bytes_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (connection, keys) = earlier_store(folder.path());
        assert!(keys.iter().all(|key| is_in_files(folder.path(), key)));
        drop(connection);
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        // The bytes must be gone while the store is open. When the store is closed, SQLite removes the log anyway.
        assert!(!keys.iter().any(|key| is_in_files(folder.path(), key)));
        let names = keys.map(|key| SigningKey::from_pkcs8(&key).unwrap().kid);
        let kept: Vec<_> = store
            .signing_keys()
            .jwks()
            .keys
            .into_iter()
            .filter_map(|key| key.common.key_id)
            .collect();
        assert_eq!(kept, [names[1].clone(), names[0].clone()], "both go on verifying");
        drop(store);
        Store::open(folder.path(), Clock::at(1_000)).unwrap();
    }

    #[test]
    fn a_clear_key_is_wiped_later_where_somebody_reads_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let (reader, keys) = earlier_store(folder.path());
        reader.execute_batch("BEGIN; SELECT count(*) FROM signing_key").unwrap();
        drop(Store::open(folder.path(), Clock::at(1_000)).unwrap());
        assert!(keys.iter().any(|key| is_in_files(folder.path(), key)));
        reader.execute_batch("COMMIT").unwrap();
        drop(reader);
        let _store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        assert!(!keys.iter().any(|key| is_in_files(folder.path(), key)));
    }

    #[test]
    fn a_new_key_is_nowhere_in_the_clear() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        store.signing_keys().rotate().unwrap();
        let connection = Connection::open(folder.path().join("service.sqlite")).unwrap();
        let rows = rows(&connection).unwrap();
        assert_eq!(rows.len(), 2);
        for (kid, sealed) in rows {
            let pkcs8 = store.unseal(&purpose(&kid), &sealed).unwrap();
            assert_eq!(SigningKey::from_pkcs8(&pkcs8).unwrap().kid, kid);
            assert!(!is_in_files(folder.path(), &pkcs8));
        }
    }

    #[test]
    fn a_lost_sealing_key_is_said_and_the_signing_keys_can_be_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let kid = Store::open(folder.path(), Clock::at(1_000))
            .unwrap()
            .signing_keys()
            .current()
            .unwrap()
            .kid
            .clone();
        std::fs::remove_file(folder.path().join("service.key")).unwrap();
        let refused = Store::open(folder.path(), Clock::at(1_000)).unwrap_err().to_string();
        assert!(
            refused.contains("service.key") && refused.contains("--discard"),
            "{refused}"
        );
        let keys = Store::discard_unreadable_keys(folder.path()).unwrap();
        assert_eq!((keys.discarded, keys.kept), (vec![kid.clone()], Vec::new()));
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        assert_ne!(store.signing_keys().current().unwrap().kid, kid);
        drop(store);
        let keys = Store::discard_unreadable_keys(folder.path()).unwrap();
        assert_eq!((keys.discarded.len(), keys.kept.len()), (0, 1));
    }
}
