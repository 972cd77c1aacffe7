//! The keys in the store. The private half is sealed. When a key is retired, only its public half remains.

use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};

use super::key::{self, PublicKey, Signer};
use crate::consent::access::rs256::rows::DiscardedKeys;
use crate::consent::access::seal::Sealer;
use crate::consent::error::Error;
use crate::consent::log::audit::{About, Actor, note};
use crate::consent::store::Store;

/// How long a key signs before a new key replaces it, in seconds.
pub(super) const SIGNS: i64 = 365 * DAY;
const DAY: i64 = 86_400;

/// The purpose of a key. Each key has one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPurpose {
    /// SMART Health Cards.
    HealthCard,
    /// Receipts of erasures.
    Receipt,
}

impl KeyPurpose {
    /// All purposes.
    pub const ALL: [KeyPurpose; 2] = [KeyPurpose::HealthCard, KeyPurpose::Receipt];

    /// Returns the purpose's name in the store and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            KeyPurpose::HealthCard => "health-card",
            KeyPurpose::Receipt => "receipt",
        }
    }
}

impl ToSql for KeyPurpose {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.name().into())
    }
}

/// The repository of the P-256 keys that sign health cards and receipts.
#[derive(Clone, Copy, Debug)]
pub struct Es256Keys<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Es256Keys<'_> {
    /// Signs a payload with the current key of a purpose. Makes a key if there is none. Returns an ES256 JWS in
    /// compact form. Adds `alg` and `kid` to the header.
    pub fn sign(&self, purpose: KeyPurpose, header: Map<String, Value>, payload: &[u8]) -> Result<String, Error> {
        let now = self.store.clock().now();
        let signer = self
            .store
            .write(|transaction| signer(transaction, self.store.sealer(), purpose, now))?;
        signer.sign(header, payload)
    }

    /// Returns the public keys of a purpose, the current one first. Former keys are included, because others may
    /// still verify their signatures.
    pub fn all(&self, purpose: KeyPurpose) -> Result<Vec<PublicKey>, Error> {
        self.store.read(|connection| public(connection, purpose))
    }

    /// Replaces the key of a purpose. The former key signs no more, and its signatures can still be verified.
    pub fn rotate(&self, purpose: KeyPurpose) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            retire(transaction, purpose, now)?;
            insert_new(transaction, self.store.sealer(), purpose, now, Actor::Operator)
        })
    }
}

/// Returns the current key of a purpose. Makes one if there is none.
pub(in crate::consent) fn signer(
    connection: &Connection,
    sealer: &Sealer,
    purpose: KeyPurpose,
    now: i64,
) -> Result<Signer, Error> {
    let find = || {
        let sql = "SELECT kid, sealed FROM es256_key WHERE purpose = ?1 AND retired_at IS NULL";
        let mut statement = connection.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?));
        statement.query_row([purpose], read).optional()
    };
    let found = match find()? {
        Some(found) => found,
        None => {
            insert_new(connection, sealer, purpose, now, Actor::Service)?;
            find()?.ok_or(Error::Key("there is none"))?
        }
    };
    let (kid, sealed) = found;
    let pkcs8 = sealer.unseal(&sealed_for(&kid), &sealed).map_err(|_| {
        Error::Key(
            "it does not open with this TABULARIUM_KEY or service.key: put the former one back, or give the key up by \
             `tabularium keys rotate --discard`",
        )
    })?;
    let signer = Signer::from_pkcs8(&pkcs8)?;
    if signer.public.kid == kid {
        Ok(signer)
    } else {
        Err(Error::Key("it is another one than its name says"))
    }
}

/// Replaces keys that have signed for a year. Also replaces a key of the future, which a clock that was ahead has made:
/// otherwise it would sign for more than a year.
pub(in crate::consent) fn renew(connection: &Connection, sealer: &Sealer, now: i64) -> Result<(), Error> {
    for purpose in KeyPurpose::ALL {
        let sql = "SELECT EXISTS (SELECT 1 FROM es256_key WHERE purpose = ?1 AND retired_at IS NULL
                            AND created_at NOT BETWEEN ?2 + 1 AND ?3)";
        let over: bool = connection.query_row(sql, params![purpose, now - SIGNS, now + DAY], |row| row.get(0))?;
        if over {
            retire(connection, purpose, now)?;
            insert_new(connection, sealer, purpose, now, Actor::Service)?;
        }
    }
    Ok(())
}

/// Deletes the private halves that cannot be decrypted, retires their keys and adds the ids to `keys.discarded`. The
/// public halves stay, so that the signatures of these keys can still be verified.
pub(in crate::consent) fn discard_unreadable(
    connection: &Connection,
    sealer: &Sealer,
    keys: &mut DiscardedKeys,
) -> Result<(), Error> {
    let mut statement = connection.prepare("SELECT kid, sealed FROM es256_key WHERE sealed IS NOT NULL")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(String, Vec<u8>)> = rows.collect::<Result<_, _>>()?;
    for (kid, sealed) in rows {
        if sealer.unseal(&sealed_for(&kid), &sealed).is_err() {
            let sql =
                "UPDATE es256_key SET sealed = NULL, retired_at = coalesce(retired_at, created_at) WHERE kid = ?1";
            connection.execute(sql, [&kid])?;
            keys.discarded.push(kid);
        }
    }
    Ok(())
}

fn public(connection: &Connection, purpose: KeyPurpose) -> Result<Vec<PublicKey>, Error> {
    let sql = "SELECT kid, x, y FROM es256_key WHERE purpose = ?1
               ORDER BY retired_at IS NULL DESC, created_at DESC, rowid DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([purpose], |row| {
        Ok(PublicKey {
            kid: row.get(0)?,
            x: row.get(1)?,
            y: row.get(2)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Retires the current key of a purpose, and deletes its private half.
fn retire(connection: &Connection, purpose: KeyPurpose, now: i64) -> Result<(), Error> {
    let sql = "UPDATE es256_key SET retired_at = ?1, sealed = NULL WHERE purpose = ?2 AND retired_at IS NULL";
    connection.execute(sql, params![now, purpose])?;
    Ok(())
}

fn insert_new(
    connection: &Connection,
    sealer: &Sealer,
    purpose: KeyPurpose,
    now: i64,
    actor: Actor,
) -> Result<(), Error> {
    let pkcs8 = key::generate()?;
    let PublicKey { kid, x, y } = Signer::from_pkcs8(&pkcs8)?.public;
    let sealed = sealer.seal(&sealed_for(&kid), &pkcs8)?;
    let sql = "INSERT INTO es256_key (kid, purpose, x, y, sealed, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.execute(sql, params![kid, purpose, x, y, sealed, now])?;
    let action = format!("{}-key.made", purpose.name());
    note(connection, now, actor, &action, About::default(), &kid)
}

fn sealed_for(kid: &str) -> String {
    format!("es256-key/{kid}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::clock::Clock;

    const CARD: KeyPurpose = KeyPurpose::HealthCard;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        (folder, store)
    }

    fn sign(store: &Store, purpose: KeyPurpose) -> String {
        store.es256_keys().sign(purpose, Map::new(), b"text").unwrap()
    }

    fn verifies(store: &Store, purpose: KeyPurpose, jws: &str) -> bool {
        let keys = store.es256_keys().all(purpose).unwrap();
        keys.iter().any(|key| key.verify(jws).is_some())
    }

    fn sealed_keys(store: &Store) -> Vec<(String, Option<Vec<u8>>)> {
        let read = |connection: &Connection| {
            let mut statement = connection.prepare("SELECT kid, sealed FROM es256_key ORDER BY rowid")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        store.read(read).unwrap()
    }

    #[test]
    fn purposes_have_keys_of_their_own() {
        let (_folder, store) = store();
        let (card, receipt) = (sign(&store, CARD), sign(&store, KeyPurpose::Receipt));
        assert!(verifies(&store, CARD, &card) && verifies(&store, KeyPurpose::Receipt, &receipt));
        assert!(!verifies(&store, CARD, &receipt) && !verifies(&store, KeyPurpose::Receipt, &card));
        assert_eq!(
            store.es256_keys().all(CARD).unwrap().len(),
            1,
            "one key signs until it is replaced"
        );
        assert!(verifies(&store, CARD, &sign(&store, CARD)));
        assert_eq!(store.es256_keys().all(CARD).unwrap().len(), 1);
    }

    #[test]
    fn a_replaced_key_verifies_and_its_private_half_is_gone() {
        let (folder, store) = store();
        let before = sign(&store, CARD);
        let first = store.es256_keys().all(CARD).unwrap().remove(0);
        store.es256_keys().rotate(CARD).unwrap();
        let after = sign(&store, CARD);
        let keys = store.es256_keys().all(CARD).unwrap();
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[1], first, "the key that signs stands first");
        assert!(first.verify(&before).is_some() && first.verify(&after).is_none());
        assert!(keys[0].verify(&after).is_some());
        let private: Vec<bool> = sealed_keys(&store).iter().map(|(_, sealed)| sealed.is_some()).collect();
        assert_eq!(private, [false, true]);
        drop(store);
        let again = Store::open(folder.path(), Clock::at(2_000)).unwrap();
        assert_eq!(again.es256_keys().all(CARD).unwrap(), keys);
        assert!(keys[0].verify(&sign(&again, CARD)).is_some());
    }

    #[test]
    fn a_key_is_replaced_when_it_has_signed_for_a_year() {
        let (_folder, store) = store();
        let receipt = sign(&store, KeyPurpose::Receipt);
        store.clock().advance(SIGNS - 1);
        store.sweep().unwrap();
        assert_eq!(store.es256_keys().all(KeyPurpose::Receipt).unwrap().len(), 1);
        store.clock().advance(3_601);
        store.sweep().unwrap();
        let keys = store.es256_keys().all(KeyPurpose::Receipt).unwrap();
        assert_eq!(keys.len(), 2);
        assert!(keys[1].verify(&receipt).is_some());
        assert!(keys[0].verify(&sign(&store, KeyPurpose::Receipt)).is_some());
        assert!(
            store.es256_keys().all(CARD).unwrap().is_empty(),
            "a key that nobody needs is not made"
        );
    }

    #[test]
    fn private_halves_are_sealed() {
        let (folder, store) = store();
        sign(&store, CARD);
        let [(kid, Some(sealed))] = &sealed_keys(&store)[..] else {
            panic!("one key that signs")
        };
        let pkcs8 = store.unseal(&sealed_for(kid), sealed).unwrap();
        assert!(Signer::from_pkcs8(&pkcs8).is_ok());
        // All P-256 keys begin with the same 36 bytes in PKCS #8 form. The private scalar follows.
        let secret = &pkcs8[36..68];
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            assert!(memchr::memmem::find(&bytes, secret).is_none(), "{}", path.display());
        }
    }

    #[test]
    fn a_key_whose_seal_is_lost_can_be_given_up_and_goes_on_verifying() {
        let (folder, store) = store();
        let card = sign(&store, CARD);
        drop(store);
        std::fs::remove_file(folder.path().join("service.key")).unwrap();
        Store::discard_unreadable_keys(folder.path()).unwrap();
        let store = Store::open(folder.path(), Clock::at(2_000)).unwrap();
        let again = sign(&store, CARD);
        assert!(verifies(&store, CARD, &card) && verifies(&store, CARD, &again));
        assert_eq!(store.es256_keys().all(CARD).unwrap().len(), 2);
    }
}
