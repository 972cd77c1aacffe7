//! Issued and revoked health cards. The store keeps nothing of a card's content.
//!
//! A card is registered before its records are read. So if an erasure of these records begins later, it revokes the
//! card. A card that was revoked in the meantime is not signed. Cards that nobody signed are deleted after an hour.

use aws_lc_rs::rand;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, json};

use super::super::error::Error;
use super::super::log::audit::{About, Actor, note};
use super::super::record::Consent;
use super::super::states::ConsentState;
use super::super::store::Store;
use super::es256::{KeyPurpose, PublicKey, signer};

/// The number of random bytes in a card's `rid`. In base64 they are 16 characters. The specification allows 24.
const NAME: usize = 12;
/// The age in seconds at which an unsigned card may be deleted.
const UNSIGNED: i64 = 3_600;

/// A registered card that is not yet signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The card's id in revocation lists. It is random and reveals nothing about a person.
    pub rid: String,
    /// When the card is issued, in seconds since the Unix epoch.
    pub issued_at: i64,
}

/// Why a card is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCard {
    /// The consent is not EXCHANGED, or the card was revoked or deleted before it was signed.
    Ended,
    /// Some of the consent's records are being erased and may still be visible. A later card will not contain them.
    Leaving,
}

/// A key that signs or has signed cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardKey {
    /// The public key.
    pub key: PublicKey,
    /// The number of the current version of the key's revocation list. It starts at 1 and grows with each change.
    pub version: u64,
}

/// The revoked cards of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationList {
    /// The number of the list's version. It starts at 1 and grows with each change. `rids` may be newer than this
    /// version, but never older.
    pub version: u64,
    /// The ids of the revoked cards, in the order of their revocation.
    pub rids: Vec<String>,
}

/// The repository of issued and revoked health cards.
#[derive(Clone, Copy, Debug)]
pub struct HealthCards<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl HealthCards<'_> {
    /// Registers a card for a consent. The caller must do this before it reads the records for the card.
    pub fn begin(&self, consent: &str) -> Result<Result<Card, NoCard>, Error> {
        let issued_at = self.store.clock().now();
        let mut bytes = [0; NAME];
        rand::fill(&mut bytes).map_err(|_| Error::Key("the system gave no random numbers"))?;
        let rid = URL_SAFE_NO_PAD.encode(bytes);
        self.store.write(|transaction| {
            let found = Consent::get(transaction, consent)?;
            if found.is_none_or(|consent| consent.state != ConsentState::Exchanged) {
                return Ok(Err(NoCard::Ended));
            }
            // Refuse the card if rows of the consent are being erased: a search may see these rows until `gone_at` is
            // set.
            let sql =
                "SELECT EXISTS (SELECT 1 FROM erasure WHERE consent = ?1 AND done_at IS NULL AND gone_at IS NULL)";
            if transaction.query_row(sql, [consent], |row| row.get(0))? {
                return Ok(Err(NoCard::Leaving));
            }
            let sql = "INSERT INTO health_card (rid, consent, issued_at) VALUES (?1, ?2, ?3)";
            transaction.execute(sql, params![rid, consent, issued_at])?;
            Ok(Ok(Card { rid, issued_at }))
        })
    }

    /// Signs a card. Returns [`NoCard::Ended`] if the card was revoked or deleted since it was registered.
    pub fn sign(&self, card: &Card, payload: &[u8]) -> Result<Result<String, NoCard>, Error> {
        let now = self.store.clock().now();
        let signer = self.store.write(|transaction| {
            let sql = "SELECT consent FROM health_card WHERE rid = ?1 AND revoked_at IS NULL";
            let consent: Option<String> = transaction.query_row(sql, [&card.rid], |row| row.get(0)).optional()?;
            let Some(consent) = consent else {
                return Ok(None);
            };
            let signer = signer(transaction, self.store.sealer(), KeyPurpose::HealthCard, now)?;
            let sql = "UPDATE health_card SET kid = ?2 WHERE rid = ?1";
            transaction.execute(sql, params![card.rid, signer.public.kid])?;
            let about = About {
                consent: Some(&consent),
                ..About::default()
            };
            let detail = format!("{} by {}", card.rid, signer.public.kid);
            note(transaction, now, Actor::Patient, "health-card.issued", about, &detail)?;
            Ok(Some(signer))
        })?;
        let Some(signer) = signer else {
            return Ok(Err(NoCard::Ended));
        };
        let header = Map::from_iter([("zip".to_owned(), json!("DEF"))]);
        signer.sign(header, payload).map(Ok)
    }

    /// Revokes all cards of a consent. Returns how many were not revoked before.
    pub fn revoke_all(&self, consent: &str) -> Result<usize, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| revoke_cards(transaction, now, consent))
    }

    /// Returns the public keys that verify cards, the current signing key first. Former keys are included, because
    /// their cards can still be verified. Makes a key if there is none.
    pub fn keys(&self) -> Result<Vec<CardKey>, Error> {
        let keys = self.store.es256_keys().all(KeyPurpose::HealthCard)?;
        if keys.is_empty() {
            let now = self.store.clock().now();
            self.store.write(|transaction| {
                signer(transaction, self.store.sealer(), KeyPurpose::HealthCard, now).map(|_| ())
            })?;
            return self.keys();
        }
        self.store.read(|connection| {
            let with_version = |key: PublicKey| {
                let version = version(connection, &key.kid)?.unwrap_or(1);
                Ok(CardKey { key, version })
            };
            keys.into_iter().map(with_version).collect()
        })
    }

    /// Returns the revocation list of a card key. `None` if there is no such key.
    pub fn revoked(&self, kid: &str) -> Result<Option<RevocationList>, Error> {
        self.store.read(|connection| {
            // Read the version first. If a card is revoked between the two reads, the list has a card that its version
            // does not count yet, which is harmless. In the opposite order the list would lack a card that its version
            // counts. Verifiers with this version would then not read the list again.
            let Some(version) = version(connection, kid)? else {
                return Ok(None);
            };
            let sql = "SELECT rid FROM health_card WHERE kid = ?1 AND revoked_at IS NOT NULL ORDER BY revoked_at, rid";
            let mut statement = connection.prepare_cached(sql)?;
            let rids = statement
                .query_map([kid], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            Ok(Some(RevocationList { version, rids }))
        })
    }
}

/// Revokes all cards of a consent in the caller's transaction, because some of its records will be erased. Returns
/// how many were not revoked before.
pub(in crate::consent) fn revoke_cards(connection: &Connection, now: i64, consent: &str) -> Result<usize, Error> {
    let sql = "UPDATE es256_key SET crl_version = crl_version + 1
               WHERE kid IN (SELECT kid FROM health_card WHERE consent = ?1 AND revoked_at IS NULL)";
    connection.prepare_cached(sql)?.execute([consent])?;
    let sql = "UPDATE health_card SET revoked_at = ?2 WHERE consent = ?1 AND revoked_at IS NULL";
    let revoked = connection.prepare_cached(sql)?.execute(params![consent, now])?;
    if revoked > 0 {
        let about = About {
            consent: Some(consent),
            ..About::default()
        };
        note(
            connection,
            now,
            Actor::Service,
            "health-cards.revoked",
            about,
            &revoked.to_string(),
        )?;
    }
    Ok(revoked)
}

/// Deletes cards that were registered more than an hour ago and never signed.
pub(in crate::consent) fn forget_unsigned(connection: &Connection, now: i64) -> Result<(), Error> {
    let sql = "DELETE FROM health_card WHERE kid IS NULL AND issued_at < ?1";
    connection.execute(sql, [now - UNSIGNED])?;
    Ok(())
}

fn version(connection: &Connection, kid: &str) -> Result<Option<u64>, Error> {
    let sql = "SELECT crl_version FROM es256_key WHERE kid = ?1 AND purpose = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![kid, KeyPurpose::HealthCard], |row| row.get(0));
    Ok(found.optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::clock::Clock;
    use crate::lake::Mode;

    fn store() -> (tempfile::TempDir, Store, String) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        let consent = store.consents().of_imported("local", Mode::Live, "p").unwrap();
        (folder, store, consent)
    }

    fn issue(store: &Store, consent: &str) -> (Card, String) {
        let card = store.health_cards().begin(consent).unwrap().unwrap();
        let jws = store.health_cards().sign(&card, b"payload").unwrap().unwrap();
        (card, jws)
    }

    fn kid(jws: &str) -> String {
        jsonwebtoken::decode_header(jws).unwrap().kid.unwrap()
    }

    fn rids(store: &Store, kid: &str) -> (u64, Vec<String>) {
        let list = store.health_cards().revoked(kid).unwrap().unwrap();
        (list.version, list.rids)
    }

    #[test]
    fn a_list_names_the_revoked_cards_of_its_key() {
        let (_folder, store, consent) = store();
        let other = store.consents().of_imported("local", Mode::Live, "q").unwrap();
        let (first, before) = issue(&store, &consent);
        let (_, others) = issue(&store, &other);
        assert_eq!(kid(&before), kid(&others));
        store.es256_keys().rotate(KeyPurpose::HealthCard).unwrap();
        let (second, after) = issue(&store, &consent);
        let (old, new) = (kid(&before), kid(&after));
        assert_eq!((rids(&store, &old), rids(&store, &new)), ((1, vec![]), (1, vec![])));
        assert_eq!(store.health_cards().revoke_all(&consent).unwrap(), 2);
        assert_eq!(rids(&store, &old), (2, vec![first.rid.clone()]));
        assert_eq!(rids(&store, &new), (2, vec![second.rid.clone()]));
        assert_eq!(store.health_cards().revoke_all(&consent).unwrap(), 0, "revoked once");
        assert_eq!(rids(&store, &old).0, 2, "a list that did not change keeps its version");
        let versions: Vec<(String, u64)> = store
            .health_cards()
            .keys()
            .unwrap()
            .into_iter()
            .map(|key| (key.key.kid, key.version))
            .collect();
        assert_eq!(versions, [(new, 2), (old, 2)]);
        assert_eq!(store.health_cards().revoked("unknown").unwrap(), None);
        assert!(first.rid.len() <= 24 && first.rid != second.rid);
    }

    #[test]
    fn a_card_that_is_revoked_in_the_making_is_not_signed() {
        let (_folder, store, consent) = store();
        let card = store.health_cards().begin(&consent).unwrap().unwrap();
        store.health_cards().revoke_all(&consent).unwrap();
        assert_eq!(
            store.health_cards().sign(&card, b"payload").unwrap(),
            Err(NoCard::Ended)
        );
        let kid = store.health_cards().keys().unwrap().remove(0).key.kid;
        assert_eq!(rids(&store, &kid), (1, vec![]), "nobody has it");
    }

    #[test]
    fn erasing_imported_records_revokes_and_ends_cards() {
        let (_folder, store, consent) = store();
        let (card, jws) = issue(&store, &consent);
        let begun = store.health_cards().begin(&consent).unwrap().unwrap();
        store.forget_imported("local", Mode::Live, "p").unwrap();
        assert_eq!(rids(&store, &kid(&jws)), (2, vec![card.rid]));
        assert_eq!(
            store.health_cards().sign(&begun, b"payload").unwrap(),
            Err(NoCard::Ended)
        );
        assert_eq!(store.health_cards().begin(&consent).unwrap(), Err(NoCard::Ended));
    }

    #[test]
    fn what_was_never_signed_is_forgotten() {
        let (_folder, store, consent) = store();
        let abandoned = store.health_cards().begin(&consent).unwrap().unwrap();
        let (signed, jws) = issue(&store, &consent);
        store.clock().advance(UNSIGNED + 1);
        store.sweep().unwrap();
        assert_eq!(
            store.health_cards().sign(&abandoned, b"payload").unwrap(),
            Err(NoCard::Ended)
        );
        store.health_cards().revoke_all(&consent).unwrap();
        assert_eq!(rids(&store, &kid(&jws)).1, [signed.rid]);
    }
}
