//! Sets of resource ids, compact enough for millions of ids.
//!
//! Most ids have the canonical form of a UUID. Such an id takes 16 bytes. Membership is exact: the set compares ids,
//! not only their hashes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hasher;
use std::sync::{Arc, OnceLock};

use ahash::RandomState;
use siphasher::sip::SipHasher13;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// A set of resource ids, usually of one resource type. Ids that differ only in upper and lower case are different ids.
///
/// Clients send long lists of ids. So the hash has a random key: nobody can send ids that all have the same hash.
#[derive(Clone, Default)]
pub struct IdSet {
    uuids: HashSet<u128, RandomState>,
    others: HashSet<Box<str>, RandomState>,
    /// The ids with their hashes. The first call of `hashed` computes them, because only lookups in id indexes
    /// and bloom filters need them.
    hashed: OnceLock<Arc<[HashedId]>>,
}

/// An id and its hash.
#[derive(Debug)]
pub(crate) struct HashedId {
    pub(crate) id: Box<str>,
    pub(crate) hash: u64,
}

/// Returns the hash of an id: SipHash with a random key that is constant in one process. Nobody outside the process
/// can make ids that collide, because the key is unknown.
pub(crate) fn hash_id(id: &str) -> u64 {
    static KEY: OnceLock<[u8; 16]> = OnceLock::new();
    let key = KEY.get_or_init(|| Uuid::new_v4().into_bytes());
    let mut hasher = SipHasher13::new_with_key(key);
    hasher.write(id.as_bytes());
    hasher.finish()
}

impl IdSet {
    /// Returns the number of ids.
    pub fn len(&self) -> usize {
        self.uuids.len() + self.others.len()
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an id. Returns `false` if the set already contains it.
    pub fn insert(&mut self, id: &str) -> bool {
        self.hashed = OnceLock::new();
        match canonical(id.as_bytes()) {
            Some(uuid) => self.uuids.insert(uuid),
            None => !self.others.contains(id) && self.others.insert(id.into()),
        }
    }

    /// Whether the set contains the id.
    pub fn contains(&self, id: &str) -> bool {
        self.holds(id.as_bytes())
    }

    /// Whether the set contains the id with these bytes. `false` for bytes that are not UTF-8.
    pub(crate) fn holds(&self, id: &[u8]) -> bool {
        match canonical(id) {
            Some(uuid) => self.uuids.contains(&uuid),
            None => !self.others.is_empty() && std::str::from_utf8(id).is_ok_and(|id| self.others.contains(id)),
        }
    }

    /// Adds all ids of another set.
    pub fn merge(&mut self, mut other: IdSet) {
        if self.len() < other.len() {
            std::mem::swap(self, &mut other);
        }
        self.hashed = OnceLock::new();
        self.uuids.extend(other.uuids);
        self.others.extend(other.others);
    }

    /// Removes every id that another set contains.
    pub fn subtract(&mut self, other: &IdSet) {
        self.hashed = OnceLock::new();
        self.uuids.retain(|id| !other.uuids.contains(id));
        self.others.retain(|id| !other.others.contains(id));
    }

    /// Returns the ids, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let uuids = self.uuids.iter().map(|uuid| {
            let mut buffer = [0; Hyphenated::LENGTH];
            let text: &str = Uuid::from_u128(*uuid).hyphenated().encode_lower(&mut buffer);
            Cow::Owned(text.to_owned())
        });
        uuids.chain(self.others.iter().map(|id| Cow::Borrowed(&**id)))
    }

    /// Returns the ids with their hashes. The first call computes the hashes, and the next change of the set drops
    /// them.
    pub(crate) fn hashed(&self) -> &[HashedId] {
        let hashed = |id: Cow<'_, str>| HashedId {
            hash: hash_id(&id),
            id: id.into(),
        };
        self.hashed.get_or_init(|| self.iter().map(hashed).collect())
    }
}

impl<T: AsRef<str>> FromIterator<T> for IdSet {
    fn from_iter<I: IntoIterator<Item = T>>(ids: I) -> IdSet {
        let mut set = IdSet::default();
        ids.into_iter().for_each(|id| {
            set.insert(id.as_ref());
        });
        set
    }
}

impl PartialEq for IdSet {
    fn eq(&self, other: &IdSet) -> bool {
        self.uuids == other.uuids && self.others == other.others
    }
}

impl Eq for IdSet {}

/// Ids are contents of records, so the debug output shows only the number of ids.
impl fmt::Debug for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdSet({})", self.len())
    }
}

/// Returns the 128 bits of an id that is a UUID in canonical form: 36 characters with hyphens, lower case. `None` for
/// any other id. Another spelling of the same UUID is a different id.
fn canonical(id: &[u8]) -> Option<u128> {
    let id: &[u8; Hyphenated::LENGTH] = id.try_into().ok()?;
    if [8, 13, 18, 23].iter().any(|at| id[*at] != b'-') {
        return None;
    }
    let (mut number, mut wrong) = (0u128, 0u8);
    for part in [0..8, 9..13, 14..18, 19..23, 24..36] {
        let (mut value, digits) = (0u64, &id[part]);
        for byte in digits {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => u8::MAX,
            };
            wrong |= digit;
            value = (value << 4) | u64::from(digit & 0xf);
        }
        number = (number << (4 * digits.len())) | u128::from(value);
    }
    (wrong <= 0xf).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn id() -> impl Strategy<Value = String> {
        let uuid = (any::<u64>(), 0u64..3).prop_map(|(a, b)| Uuid::from_u64_pair(a, b).to_string());
        prop_oneof![
            uuid.clone(),
            uuid.clone().prop_map(|id| id.to_uppercase()),
            uuid.clone().prop_map(|id| id.replace('-', "_")),
            uuid.prop_map(|id| id.replace('-', "")),
            "[a-z0-9.-]{1,4}",
            "[a-f0-9-]{36}",
        ]
    }

    proptest! {
        #[test]
        fn a_set_of_ids_is_a_set_of_texts(left in prop::collection::vec(id(), 0..40), right in prop::collection::vec(id(), 0..40)) {
            let texts = |set: &IdSet| set.iter().map(Cow::into_owned).collect::<BTreeSet<String>>();
            let (a, b): (BTreeSet<String>, BTreeSet<String>) = (left.iter().cloned().collect(), right.iter().cloned().collect());
            let (one, other): (IdSet, IdSet) = (left.iter().collect(), right.iter().collect());
            prop_assert_eq!(one.len(), a.len());
            prop_assert_eq!(texts(&one), a.clone());
            for id in left.iter().chain(&right) {
                prop_assert_eq!(one.contains(id), a.contains(id));
                prop_assert_eq!(one.holds(id.as_bytes()), a.contains(id));
                prop_assert_eq!(one.contains(&id.to_uppercase()), a.contains(&id.to_uppercase()));
            }
            let mut less = one.clone();
            less.subtract(&other);
            prop_assert_eq!(texts(&less), &a - &b);
            let mut both = one;
            both.merge(other);
            prop_assert_eq!(texts(&both), &a | &b);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_no_id() {
        let set: IdSet = ["a"].iter().collect();
        assert!(!set.holds(&[0xff]));
        assert!(!set.holds(&[0xff; 36]));
    }
}
