//! Owners: the number on each row that says whose row it is. Imported rows have a hash of their person, synced rows a
//! hash of their consent. Two numbers mean that the row belongs to no person.
//!
//! The hash has the layout of the first 64 bits of a UUIDv8 (RFC 9562): top bit zero, 47 bits of hash, the version
//! nibble 8, 12 bits of hash. So ids that begin with an owner sort in the order of their owners, whether they are
//! compared as numbers or as text.

use std::fmt;
use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

/// The owner of rows that name no person: organizations, practitioners, locations.
pub const SHARED: i64 = 0;
/// The owner of rows that name several people, or whose person is unclear. Only application tokens see these rows.
pub const APPLICATION_ONLY: i64 = 1;

/// The secret with which a lake hashes owners. It is random per lake, so nobody outside can choose patient ids that
/// collide. It never changes, because rows are sorted by owner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OwnerKey([u8; 16]);

impl OwnerKey {
    /// The metadata key under which the catalog has this secret, as 32 hexadecimal digits.
    pub const METADATA_KEY: &'static str = "tabularium.owner_key";

    /// Makes a new key, with the 122 random bits of a UUID.
    pub fn random() -> OwnerKey {
        OwnerKey(uuid::Uuid::new_v4().into_bytes())
    }

    /// Reads the hexadecimal form. Returns `None` unless it has exactly 32 digits.
    pub fn from_hex(text: &str) -> Option<OwnerKey> {
        let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32)?;
        Some(OwnerKey(number.to_be_bytes()))
    }

    /// Returns the hexadecimal form, for the catalog.
    pub fn to_hex(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// Returns the secret, to derive other keys from it.
    pub(in crate::lake) fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// Returns the owner of imported rows that are filed under a patient of an application.
    pub fn owner_of(self, application: &str, patient: &str) -> i64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(application.as_bytes());
        // No UTF-8 text has this byte. It keeps ("a", "bc") and ("ab", "c") apart.
        hasher.write(&[0xff]);
        hasher.write(patient.as_bytes());
        layout(hasher.finish())
    }

    /// Returns the owner of the rows that the syncs of a consent store.
    pub fn owner_of_consent(self, consent: &str) -> i64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        // No UTF-8 text has this byte, so the input differs from that of every patient of an application.
        hasher.write(&[0xfd]);
        hasher.write(consent.as_bytes());
        layout(hasher.finish())
    }

    /// Returns all owners that rows filed under a patient of an application may have. The first is the hash of the
    /// patient's id, for rows that were imported with their own ids. If the id is a UUIDv8 that begins with an owner,
    /// as rewritten ids do, that owner is the second.
    pub fn owners_of(self, application: &str, patient: &str) -> Vec<i64> {
        let mut owners = vec![self.owner_of(application, patient)];
        owners.extend(owner_named_by(patient).filter(|owner| *owner != owners[0]));
        owners
    }

    /// Returns the hash of a resource. When ids are rewritten, this hash becomes the second half of the resource's new
    /// id.
    pub fn hash(self, application: &str, resource_type: &str, id: &str) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        for text in [application, resource_type, id] {
            hasher.write(text.as_bytes());
            hasher.write(&[0xff]);
        }
        hasher.finish()
    }

    /// Returns the id that a source's record gets under a consent's owner: a UUIDv8 of the owner and a hash of the
    /// endpoint, the type and the source's id.
    pub fn synced_id(self, owner: i64, endpoint: &str, resource_type: &str, id: &str) -> String {
        assemble(owner, self.hash(endpoint, resource_type, id))
    }

    /// Returns a keyed hash by which the lake recognizes values that it issued. Only a holder of the key can compute
    /// the hash of another value.
    pub fn seal(self, value: &impl Hash) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        // No UTF-8 text has this byte, and it is not the separator `0xff`. So this hash never has the same input as the
        // hash of an id.
        hasher.write(&[0xfe]);
        value.hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerKey(..)")
    }
}

/// Returns the owner in the first half of an id, if the id is a UUIDv8 that begins with an owner of a person or
/// consent.
pub fn owner_named_by(id: &str) -> Option<i64> {
    let uuid = uuid::Uuid::try_parse(id)
        .ok()
        .filter(|uuid| uuid.get_version_num() == 8)?;
    let owner = i64::try_from(uuid.as_u64_pair().0).ok()?;
    (owner > APPLICATION_ONLY).then_some(owner)
}

/// Returns the UUIDv8 with an owner as its first half and a hash as its second half.
pub fn assemble(owner: i64, hash: u64) -> String {
    // The two leading bits of the second half are the variant of RFC 9562.
    let low = (hash >> 2) | (1 << 63);
    uuid::Uuid::from_u64_pair(owner as u64, low).to_string()
}

/// Makes an owner from 59 bits of a hash. An owner is the first half of a UUIDv8, so its version bits are 8. Therefore
/// the result is never 0 or 1, the reserved owners.
fn layout(hash: u64) -> i64 {
    let high = (hash >> 17) & ((1 << 47) - 1);
    let low = hash & 0xfff;
    ((high << 16) | (8 << 12) | low) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_have_the_layout_of_a_uuid() {
        let key = OwnerKey([7; 16]);
        for patient in 0..1000 {
            let owner = key.owner_of("app", &patient.to_string());
            assert!(owner > APPLICATION_ONLY);
            assert_eq!((owner >> 12) & 0xf, 8);
        }
        assert_ne!(key.owner_of("a", "bc"), key.owner_of("ab", "c"));
        assert_ne!(key.owner_of("a", "1"), OwnerKey([8; 16]).owner_of("a", "1"));
    }

    #[test]
    fn an_id_that_the_service_gave_names_its_owner() {
        let key = OwnerKey([7; 16]);
        let owner = key.owner_of("app", "source-id");
        let id = uuid::Uuid::from_u64_pair(owner as u64, 0x8000_0000_0000_0001).to_string();
        assert_eq!(key.owners_of("app", &id), [key.owner_of("app", &id), owner]);
        assert_eq!(key.owners_of("app", "1"), [key.owner_of("app", "1")]);
        assert_eq!(key.owners_of("app", "00000000-0000-4000-8000-000000000000").len(), 1);
    }

    #[test]
    fn keys_survive_the_catalog() {
        let key = OwnerKey::random();
        assert_eq!(OwnerKey::from_hex(&key.to_hex()), Some(key));
        assert_eq!(OwnerKey::from_hex("12"), None);
        assert_eq!(OwnerKey::from_hex("zz"), None);
    }
}
