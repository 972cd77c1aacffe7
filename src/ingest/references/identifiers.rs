//! An index of the identifiers of all resources that the import knows so far. It resolves conditional references.
//!
//! The index is bounded. If it grows too large, it drops all identifiers of the type that has the most. This type is
//! [incomplete](Identifiers::is_complete) from then on. The importer answers conditions on such a type from the files
//! of the lake and of the import. If the import has not written its files yet, a temporary file holds the dropped
//! identifiers.

use std::collections::hash_map::Entry;
use std::io;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::rows::block::Block;
use super::super::rows::spill::Spill;
use super::condition::{Condition, Key, Keys, Token};
use crate::columns::json::Value;
use crate::fhir::{TypeId, facts};

/// The result of looking up a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ingest) enum Match {
    /// No resource so far matches.
    None,
    /// Only the resource with this id matches.
    One(String),
    /// Several resources match. It is unclear which one is meant.
    Several,
}

/// Maps identifiers to the resources that have them.
#[derive(Debug)]
pub(in crate::ingest) struct Identifiers {
    /// The dropped identifiers, in a temporary file. `None` if the caller can read them from files that the import has
    /// written.
    overflow: Option<Overflow>,
    by_type: FxHashMap<TypeId, OfType>,
    /// Types whose rows in the lake are in the index.
    loaded: FxHashSet<TypeId>,
    incomplete: FxHashSet<TypeId>,
    count: usize,
    capacity: usize,
}

#[derive(Debug, Default)]
struct OfType {
    /// The ids of the resources. `known` and `by_key` refer to them by index.
    ids: Vec<Box<str>>,
    known: FxHashMap<Box<str>, u32>,
    by_key: FxHashMap<Key, Holders>,
    /// The number of pairs of a key and a resource that carries it.
    count: usize,
}

/// The resources that carry an identifier, as indices into `OfType::ids`.
#[derive(Debug)]
enum Holders {
    One(u32),
    Many(FxHashSet<u32>),
}

impl Identifiers {
    /// Creates an index of at most `capacity` pairs of a key and a resource.
    pub(in crate::ingest) fn new(capacity: usize) -> Self {
        Self {
            overflow: None,
            by_type: FxHashMap::default(),
            loaded: FxHashSet::default(),
            incomplete: FxHashSet::default(),
            count: 0,
            capacity,
        }
    }

    /// Creates an index of at most `capacity` pairs of a key and a resource in memory. The dropped pairs go to a
    /// temporary file in the folder.
    pub(in crate::ingest) fn with_overflow(capacity: usize, folder: &Path) -> Self {
        Self {
            overflow: Some(Overflow::new(folder)),
            ..Self::new(capacity)
        }
    }

    /// Calls `visit` for each key of a type in the temporary file, with the id of the resource that has the key. An id
    /// may occur several times. Does nothing without a temporary file.
    pub(in crate::ingest) fn overflowed(
        &mut self,
        type_id: TypeId,
        visit: &mut dyn FnMut(&str, &[Key]),
    ) -> io::Result<()> {
        match &mut self.overflow {
            Some(overflow) => overflow.visit(type_id, visit),
            None => Ok(()),
        }
    }

    /// Adds the identifiers of all resources of a block.
    pub(in crate::ingest) fn add_block(&mut self, block: &Block) {
        for of_entry in block.identifiers.chunk_by(|one, other| one.0 == other.0) {
            let keys: Vec<Key> = of_entry.iter().map(|(_, key)| *key).collect();
            self.add(
                block.type_id,
                block.source_id(&block.entries[of_entry[0].0 as usize]),
                &keys,
            );
        }
    }

    /// Adds a resource with the keys of its identifiers.
    pub(in crate::ingest) fn add(&mut self, type_id: TypeId, id: &str, keys: &[Key]) {
        if keys.is_empty() {
            return;
        }
        if self.incomplete.contains(&type_id) {
            if let Some(overflow) = &mut self.overflow {
                overflow.add(type_id, id, keys);
            }
            return;
        }
        let of_type = self.by_type.entry(type_id).or_default();
        let place = match of_type.known.get(id) {
            Some(place) => *place,
            None => {
                let place = of_type.ids.len() as u32;
                of_type.ids.push(id.into());
                of_type.known.insert(id.into(), place);
                place
            }
        };
        for key in keys {
            let is_new = match of_type.by_key.entry(*key) {
                Entry::Vacant(entry) => {
                    entry.insert(Holders::One(place));
                    true
                }
                Entry::Occupied(mut entry) => entry.get_mut().add(place),
            };
            if is_new {
                of_type.count += 1;
                self.count += 1;
            }
        }
        if self.count > self.capacity {
            self.drop_largest();
        }
    }

    /// Whether the index has the identifiers of the rows of this type that the lake held before the import.
    pub(in crate::ingest) fn is_loaded(&self, type_id: TypeId) -> bool {
        self.loaded.contains(&type_id)
    }

    /// Records that the index has the identifiers of the rows of this type that the lake held before the import.
    pub(in crate::ingest) fn set_loaded(&mut self, type_id: TypeId) {
        self.loaded.insert(type_id);
    }

    /// Whether no identifier of this type was dropped.
    pub(in crate::ingest) fn is_complete(&self, type_id: TypeId) -> bool {
        !self.incomplete.contains(&type_id)
    }

    /// Finds the added resources that match the condition.
    pub(in crate::ingest) fn matches(&self, condition: &Condition) -> Match {
        let ids = condition.ids.as_deref();
        if condition.groups.is_empty() {
            return one_of(ids.unwrap_or_default().iter().map(String::as_str));
        }
        let Some(of_type) = self.by_type.get(&condition.type_id) else {
            return Match::None;
        };
        let is_met = |place: &u32| {
            condition
                .groups
                .iter()
                .all(|group| of_type.holders(group).any(|one| one.has(*place)))
        };
        let id = |place: u32| &*of_type.ids[place as usize];
        match ids {
            Some(ids) => one_of(
                ids.iter()
                    .filter_map(|id| of_type.known.get(&**id).copied())
                    .filter(is_met)
                    .map(id),
            ),
            None => {
                // A resource must have a key of each group. So test only the resources of the group that the fewest
                // resources carry, because very many resources may carry a key of another group.
                let fewest = condition
                    .groups
                    .iter()
                    .min_by_key(|group| of_type.holders(group).map(Holders::len).sum::<usize>());
                let holders = fewest.into_iter().flat_map(|group| of_type.holders(group));
                one_of(holders.flat_map(Holders::places).filter(is_met).map(id))
            }
        }
    }

    fn drop_largest(&mut self) {
        let largest = self
            .by_type
            .iter()
            .max_by_key(|(type_id, of_type)| (of_type.count, **type_id))
            .map(|(type_id, _)| *type_id);
        if let Some(type_id) = largest {
            tracing::debug!(
                r#type = facts().get(type_id).name,
                "too many identifiers to keep in memory"
            );
            let of_type = self.by_type.remove(&type_id).unwrap_or_default();
            self.count -= of_type.count;
            self.incomplete.insert(type_id);
            if let Some(overflow) = &mut self.overflow {
                for (key, holders) in &of_type.by_key {
                    let ids = holders.places().map(|place| &of_type.ids[place as usize]);
                    ids.for_each(|id| overflow.add(type_id, id, &[*key]));
                }
            }
        }
    }
}

/// Returns the match for these ids. An id may occur several times. Stops at the second different id.
fn one_of<'i>(ids: impl Iterator<Item = &'i str>) -> Match {
    let mut found: Option<&str> = None;
    for id in ids {
        match found {
            Some(other) if other != id => return Match::Several,
            _ => found = Some(id),
        }
    }
    found.map_or(Match::None, |id| Match::One(id.to_owned()))
}

impl OfType {
    /// Returns the resources that carry one of these keys. A resource may occur several times.
    fn holders<'o>(&'o self, keys: &'o [Key]) -> impl Iterator<Item = &'o Holders> {
        keys.iter().filter_map(|key| self.by_key.get(key))
    }
}

impl Holders {
    /// Adds a resource. Returns `false` if it is there already.
    fn add(&mut self, place: u32) -> bool {
        match self {
            Holders::One(held) if *held == place => false,
            Holders::One(held) => {
                *self = Holders::Many([*held, place].into_iter().collect());
                true
            }
            Holders::Many(held) => held.insert(place),
        }
    }

    fn has(&self, place: u32) -> bool {
        match self {
            Holders::One(held) => *held == place,
            Holders::Many(held) => held.contains(&place),
        }
    }

    fn len(&self) -> usize {
        match self {
            Holders::One(_) => 1,
            Holders::Many(held) => held.len(),
        }
    }

    fn places(&self) -> impl Iterator<Item = u32> {
        let (one, many) = match self {
            Holders::One(held) => (Some(*held), None),
            Holders::Many(held) => (None, Some(held)),
        };
        one.into_iter().chain(many.into_iter().flatten().copied())
    }
}

/// Identifiers that did not fit into memory, by type, in a temporary file.
#[derive(Debug)]
struct Overflow {
    spill: Spill,
    /// Encoded identifiers that wait to be written to the temporary file, by the index of their type.
    open: FxHashMap<usize, Vec<u8>>,
    /// The error of an earlier write, if there was one.
    failed: Option<io::Error>,
}

/// A type's identifiers are written to the temporary file when they have this number of bytes.
const WRITTEN_AT_ONCE: usize = 32 << 10;

impl Overflow {
    fn new(folder: &Path) -> Overflow {
        Overflow {
            spill: Spill::new(folder, facts().len(), 0),
            open: FxHashMap::default(),
            failed: None,
        }
    }

    fn add(&mut self, type_id: TypeId, id: &str, keys: &[Key]) {
        let open = self.open.entry(type_id.index()).or_default();
        for key in keys {
            open.extend_from_slice(&key.to_le_bytes());
            open.extend_from_slice(&(id.len() as u32).to_le_bytes());
            open.extend_from_slice(id.as_bytes());
        }
        if open.len() >= WRITTEN_AT_ONCE {
            self.write(type_id);
        }
    }

    fn write(&mut self, type_id: TypeId) {
        if let Some(open) = self.open.get_mut(&type_id.index()) {
            self.failed = self.spill.add(type_id.index(), open).err().or(self.failed.take());
            open.clear();
        }
    }

    fn visit(&mut self, type_id: TypeId, visit: &mut dyn FnMut(&str, &[Key])) -> io::Result<()> {
        self.write(type_id);
        if let Some(error) = &self.failed {
            return Err(error.kind().into());
        }
        self.spill.get(type_id.index()).parts(|_, mut bytes| {
            let damaged = || io::Error::from(io::ErrorKind::InvalidData);
            while let Some((key, rest)) = bytes.split_first_chunk() {
                let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
                let length = u32::from_le_bytes(*length) as usize;
                let (id, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
                visit(str::from_utf8(id).map_err(|_| damaged())?, &[Key::from_le_bytes(*key)]);
                bytes = rest;
            }
            Ok::<_, io::Error>(())
        })
    }
}

/// Adds the keys of an `identifier` property of a resource of type `type_id` to `found`: two for each identifier with a
/// value.
pub(in crate::ingest) fn keys_of(type_id: TypeId, identifier: Value<'_>, keys: Keys, found: &mut Vec<Key>) {
    let mut one = |identifier: Value<'_>| {
        let Some(value) = identifier.get_str("value").filter(|value| !value.is_empty()) else {
            return;
        };
        found.push(keys.key(type_id, Token::AnySystem(&value)));
        found.push(match identifier.get_str("system") {
            Some(system) => keys.key(type_id, Token::Exact(&system, &value)),
            None => keys.key(type_id, Token::NoSystem(&value)),
        });
    };
    if identifier.is_array() {
        identifier.items().for_each(&mut one);
    } else {
        one(identifier);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str, keys: Keys) -> Condition {
        Condition::parse(text, keys).unwrap_or_else(|| panic!("{text}"))
    }

    fn index(resources: &[(&str, &str, &str)], keys: Keys, capacity: usize) -> Identifiers {
        let mut index = Identifiers::new(capacity);
        for (name, id, identifier) in resources {
            let type_id = super::super::condition::resource_type(name).unwrap();
            let mut tape = crate::columns::json::Tape::new();
            let mut found = Vec::new();
            keys_of(type_id, tape.parse(identifier.as_bytes()).unwrap(), keys, &mut found);
            index.add(type_id, id, &found);
        }
        index
    }

    #[test]
    fn any_number_of_resources_may_carry_an_identifier() {
        let keys = Keys::new();
        let ids: Vec<(String, String)> = (0..500)
            .map(|at| {
                (
                    format!("p{at}"),
                    format!(r#"[{{"system":"urn:a","value":"same"}},{{"value":"{at}"}}]"#),
                )
            })
            .collect();
        let all: Vec<(&str, &str, &str)> = ids.iter().map(|(id, json)| ("Practitioner", &**id, &**json)).collect();
        let index = index(&all, keys, 10_000);
        for (text, expected) in [
            ("Practitioner?identifier=urn:a|same", Match::Several),
            (
                "Practitioner?identifier=urn:a|same&identifier=499",
                Match::One("p499".into()),
            ),
            ("Practitioner?identifier=urn:a|same&_id=p498", Match::One("p498".into())),
            ("Practitioner?identifier=urn:a|same&_id=p498,p497", Match::Several),
            ("Practitioner?identifier=urn:a|same&_id=p500", Match::None),
        ] {
            assert_eq!(index.matches(&condition(text, keys)), expected, "{text}");
        }
    }

    #[test]
    fn conditions_find_by_system_and_value() {
        let keys = Keys::new();
        let index = index(
            &[
                (
                    "Practitioner",
                    "a",
                    r#"[{"system":"http://npi","value":"1"},{"value":"x|y"}]"#,
                ),
                ("Practitioner", "b", r#"[{"system":"http://npi","value":"2"}]"#),
                ("Practitioner", "c", r#"[{"system":"urn:other","value":"1"}]"#),
                ("Practitioner", "a", r#"[{"system":"http://npi","value":"1"}]"#),
                ("Bundle", "d", r#"{"system":"http://npi","value":"1"}"#),
            ],
            keys,
            100,
        );
        for (text, expected) in [
            ("Practitioner?identifier=http://npi|1", Match::One("a".into())),
            ("Practitioner?identifier=http%3A%2F%2Fnpi%7C2", Match::One("b".into())),
            ("Practitioner?identifier=1", Match::Several),
            ("Practitioner?identifier=1&identifier=x%5C%7Cy", Match::One("a".into())),
            ("Practitioner?identifier=|x\\|y", Match::One("a".into())),
            ("Practitioner?identifier=|1", Match::None),
            ("Practitioner?identifier=http://npi|1,http://npi|2", Match::Several),
            ("Practitioner?identifier=1&_id=c", Match::One("c".into())),
            ("Practitioner?_id=zz", Match::One("zz".into())),
            ("Bundle?identifier=http://npi|1", Match::One("d".into())),
            ("Organization?identifier=http://npi|1", Match::None),
        ] {
            assert_eq!(index.matches(&condition(text, keys)), expected, "{text}");
        }
        for text in [
            "Practitioner?name=x",
            "Practitioner?identifier=",
            "Practitioner?",
            "Nobody?identifier=1",
            "Practitioner/1",
        ] {
            assert_eq!(Condition::parse(text, keys), None, "{text}");
        }
    }

    /// Dropped identifiers go to a temporary file if the import has written no files that can be read instead.
    #[test]
    fn what_does_not_fit_is_kept_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::new();
        let type_id = super::super::condition::resource_type("Encounter").unwrap();
        let key = |value: usize| keys.key(type_id, Token::NoSystem(&value.to_string()));
        let mut index = Identifiers::with_overflow(3, folder.path());
        for at in 0..5_000 {
            index.add(type_id, &format!("e{}", at / 2), &[key(at)]);
        }
        assert!(!index.is_complete(type_id) && index.count <= 3);
        let mut found = std::collections::BTreeMap::new();
        index
            .overflowed(type_id, &mut |id, keys| {
                keys.iter().for_each(|key| drop(found.insert(*key, id.to_owned())))
            })
            .unwrap();
        assert_eq!(found.len(), 5_000);
        assert!((0..5_000).all(|at| found[&key(at)] == format!("e{}", at / 2)));
        let other = super::super::condition::resource_type("Patient").unwrap();
        index.overflowed(other, &mut |id, _| panic!("{id}")).unwrap();
    }

    #[test]
    fn a_type_that_does_not_fit_is_incomplete_and_others_stay() {
        let keys = Keys::new();
        let index = index(
            &[
                ("Organization", "o", r#"{"value":"1"}"#),
                ("Encounter", "e", r#"[{"value":"1"},{"value":"2"}]"#),
                ("Encounter", "f", r#"[{"value":"3"}]"#),
            ],
            keys,
            5,
        );
        let type_named = |name| super::super::condition::resource_type(name).unwrap();
        assert!(index.is_complete(type_named("Organization")) && !index.is_complete(type_named("Encounter")));
        assert_eq!(
            index.matches(&condition("Organization?identifier=1", keys)),
            Match::One("o".into())
        );
    }
}
