//! Finds the resources of a consent by their id, their address or an identifier.

use std::hash::Hasher;

use rustc_hash::FxHashMap;
use siphasher::sip128::{Hasher128, SipHasher13};

use super::identifiers::Identifier;
use super::names::{Name, Names};
use crate::fhir::reference::Reference;
use crate::fhir::{TypeId, facts};
use crate::normalize::codes::Codes;
use crate::normalize::form;
use crate::normalize::record::{Record, SourceId};

/// The types whose resources are found by identifier: people, organizations and the like. The many clinical records are
/// not in the index of identifiers.
const IDENTIFIED: &[&str] = &[
    "Patient",
    "Practitioner",
    "PractitionerRole",
    "Organization",
    "Location",
    "RelatedPerson",
    "Coverage",
    "Device",
    "Medication",
    "HealthcareService",
    "CareTeam",
    "InsurancePlan",
    "Endpoint",
    "Group",
];

/// The types whose resources belong to one person and one source. Identifiers never lead to such a resource of another
/// source.
const OWN_SOURCE_ONLY: &[&str] = &["Patient", "RelatedPerson", "Coverage"];

/// The index of a resource in [`Index`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EntryIndex(u32);

#[derive(Debug)]
struct Entry {
    resource_type: TypeId,
    source: SourceId,
    id: Id,
    name: Name,
}

/// An id. Ids of synced rows are UUIDs. They are stored as 16 bytes, which take less memory than the text.
#[derive(Debug)]
enum Id {
    Uuid([u8; 16]),
    Text(Box<str>),
}

impl Id {
    fn new(text: &str) -> Id {
        let uuid = (text.len() == 36).then(|| uuid::Uuid::parse_str(text).ok()).flatten();
        let mut buffer = uuid::Uuid::encode_buffer();
        match uuid.filter(|uuid| *uuid.hyphenated().encode_lower(&mut buffer) == *text) {
            Some(uuid) => Id::Uuid(*uuid.as_bytes()),
            None => Id::Text(text.into()),
        }
    }

    fn text(&self) -> String {
        match self {
            Id::Uuid(bytes) => uuid::Uuid::from_bytes(*bytes).hyphenated().to_string(),
            Id::Text(text) => text.to_string(),
        }
    }
}

/// The only resource with a key, or the fact that several resources have the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    One(EntryIndex),
    Several,
}

/// All resources of the consent, by hashes of their ids, addresses and identifiers.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Vec<Entry>,
    by_id: FxHashMap<u128, EntryIndex>,
    by_address: FxHashMap<u128, Answer>,
    by_identifier: FxHashMap<u128, Answer>,
    names: Names,
}

impl Index {
    pub(super) fn add(&mut self, record: &Record<'_>, base: &str, codes: &dyn Codes) -> EntryIndex {
        let resource_type = facts().get(record.resource_type).name;
        let entry = Entry {
            resource_type: record.resource_type,
            source: record.source,
            id: Id::new(record.id),
            name: self.names.see(record, codes),
        };
        let fresh = EntryIndex(self.entries.len() as u32);
        let place = *self
            .by_id
            .entry(key(&["id", resource_type, record.id], None))
            .or_insert(fresh);
        // If a resource was read twice, its last reading replaces the first.
        match self.entries.get_mut(place.0 as usize) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
        if !base.is_empty()
            && let Some(source) = record.json.get("meta").and_then(|meta| meta.get_str("source"))
            && let Some(id) = own_id(&source, base, resource_type)
        {
            note(
                &mut self.by_address,
                key(&["address", resource_type, id], Some(record.source)),
                place,
            );
        }
        if IDENTIFIED.contains(&resource_type)
            && let Some(identifiers) = record.json.get("identifier")
        {
            let list = identifiers.is_object().then_some(identifiers);
            for identifier in identifiers.items().chain(list).flat_map(Identifier::all) {
                let parts = ["identifier", resource_type, &identifier.system, &identifier.value];
                note(&mut self.by_identifier, key(&parts, Some(record.source)), place);
                note(&mut self.by_identifier, key(&parts, None), place);
            }
        }
        place
    }

    pub(super) fn decide(&mut self, form: &form::Facts) {
        self.names.decide(form);
    }

    /// Returns the resource with an id.
    pub(super) fn find(&self, type_id: TypeId, id: &str) -> Option<EntryIndex> {
        self.by_id
            .get(&key(&["id", facts().get(type_id).name, id], None))
            .copied()
    }

    /// Returns the resource that had this id at its source, according to `meta.source`. Returns `None` if several
    /// resources had it.
    pub(super) fn at(&self, source: SourceId, type_id: TypeId, id: &str) -> Option<EntryIndex> {
        one(self
            .by_address
            .get(&key(&["address", facts().get(type_id).name, id], Some(source)))?)
    }

    /// Returns the only resource of these types with an identifier. If resources of this source have the identifier,
    /// looks only at them. If not, looks at the resources of all sources of the consent. Returns `None` if several
    /// resources have the identifier.
    pub(super) fn identified(&self, source: SourceId, types: &[TypeId], identifier: &Identifier) -> Option<EntryIndex> {
        let names = types
            .iter()
            .map(|type_id| facts().get(*type_id).name)
            .filter(|resource_type| IDENTIFIED.contains(resource_type));
        let names: Vec<&str> = if types.is_empty() {
            IDENTIFIED.to_vec()
        } else {
            names.collect()
        };
        let ask = |names: &[&str], source: Option<SourceId>| {
            let mut answers = names.iter().filter_map(|resource_type| {
                let parts = ["identifier", resource_type, &identifier.system, &identifier.value];
                self.by_identifier.get(&key(&parts, source))
            });
            let first = answers.next()?;
            // A match in each of two types counts as several matches.
            Some(if answers.next().is_some() {
                &Answer::Several
            } else {
                first
            })
        };
        if let Some(answer) = ask(&names, Some(source)) {
            return one(answer);
        }
        let elsewhere: Vec<&str> = names
            .into_iter()
            .filter(|resource_type| !OWN_SOURCE_ONLY.contains(resource_type))
            .collect();
        // A member id without a system has a meaning only at its own payer. So do not look for it in other sources.
        if identifier.system == "MB" {
            None
        } else {
            one(ask(&elsewhere, None)?)
        }
    }

    pub(super) fn source(&self, place: EntryIndex) -> SourceId {
        self.entries[place.0 as usize].source
    }

    pub(super) fn resource_type(&self, place: EntryIndex) -> TypeId {
        self.entries[place.0 as usize].resource_type
    }

    pub(super) fn id(&self, place: EntryIndex) -> String {
        self.entries[place.0 as usize].id.text()
    }

    /// Returns `Type/id`.
    pub(super) fn reference(&self, place: EntryIndex) -> String {
        format!("{}/{}", facts().get(self.resource_type(place)).name, self.id(place))
    }

    /// Returns the name of a resource. Also returns the source of the name, if the name is from another source than the
    /// resource.
    pub(super) fn name(&self, place: EntryIndex) -> Option<(&str, Option<SourceId>)> {
        self.names.text(self.entries[place.0 as usize].name)
    }

    pub(super) fn of_type(&self, type_id: TypeId) -> impl Iterator<Item = EntryIndex> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter(move |(_, entry)| entry.resource_type == type_id)
            .map(|(at, _)| EntryIndex(at as u32))
    }
}

/// Returns a hash of texts and a source. It has 128 bits, so collisions can be ignored.
pub(super) fn key(parts: &[&str], source: Option<SourceId>) -> u128 {
    let mut hasher = SipHasher13::new();
    hasher.write_u32(source.map_or(u32::MAX, |source| source.0));
    for part in parts {
        hasher.write(part.as_bytes());
        hasher.write_u8(0xff);
    }
    hasher.finish128().as_u128()
}

fn note(answers: &mut FxHashMap<u128, Answer>, key: u128, place: EntryIndex) {
    let answer = answers.entry(key).or_insert(Answer::One(place));
    if *answer != Answer::One(place) {
        *answer = Answer::Several;
    }
}

fn one(answer: &Answer) -> Option<EntryIndex> {
    match answer {
        Answer::One(place) => Some(*place),
        Answer::Several => None,
    }
}

/// Whether two addresses are equal, regardless of the scheme, upper case and a trailing slash.
pub(super) fn is_same_base(one: &str, other: &str) -> bool {
    fn bare(text: &str) -> &str {
        text.split_once("://")
            .map_or(text, |(_, rest)| rest)
            .trim_end_matches('/')
    }
    !bare(one).is_empty() && bare(one).eq_ignore_ascii_case(bare(other))
}

/// Returns the id in an address, if the address is under `base` and its type is `resource_type`.
fn own_id<'t>(address: &'t str, base: &str, resource_type: &str) -> Option<&'t str> {
    match Reference::parse(address) {
        Reference::Absolute { base: found, target }
            if is_same_base(found, base) && target.type_name() == resource_type =>
        {
            Some(target.id)
        }
        _ => None,
    }
}
