//! Conditional references (`Practitioner?identifier=system|value`) and conditional creates (`ifNoneExist`). They are
//! answered while the input is read, so only the search parameters `identifier` and `_id` are supported.
//!
//! `identifiers` finds the matching resources.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::fhir::{TypeId, facts};

/// A condition on resources of one type. A resource matches if it has at least one key of each group and, if `ids` is
/// set, one of these ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ingest) struct Condition {
    pub(in crate::ingest) type_id: TypeId,
    /// One group for each `identifier` parameter. It has a key for each of the parameter's comma-separated values.
    pub(in crate::ingest) groups: Vec<Vec<Key>>,
    /// The ids that all `_id` parameters allow. `None` without such a parameter.
    pub(in crate::ingest) ids: Option<Vec<String>>,
}

/// A hash of a resource type and an identifier of such a resource, under the import's secret. It has 128 bits, so
/// collisions can be ignored.
pub(in crate::ingest) type Key = u128;

/// Computes [`Key`]s and other hashes, under a random secret.
#[derive(Clone, Copy, Debug)]
pub(in crate::ingest) struct Keys(u64, u64);

/// An identifier in the form of a search token.
#[derive(Clone, Copy, Debug)]
pub(in crate::ingest) enum Token<'a> {
    /// `system|value`
    Exact(&'a str, &'a str),
    /// `value`, with any system
    AnySystem(&'a str),
    /// `|value`, without a system
    NoSystem(&'a str),
}

impl Keys {
    pub(in crate::ingest) fn new() -> Self {
        let (low, high) = uuid::Uuid::new_v4().as_u64_pair();
        Self(low, high)
    }

    /// Returns a hash of a resource's type and id, with 64 bits. It takes less memory than `identity`.
    pub(in crate::ingest) fn name(self, type_id: TypeId, id: &str) -> u64 {
        let mut hasher = siphasher::sip::SipHasher13::new_with_keys(self.0, self.1);
        hasher.write_usize(type_id.index());
        hasher.write(id.as_bytes());
        hasher.finish()
    }

    /// Returns a hash of a resource's type and id, with 128 bits, so that collisions can be ignored.
    pub(in crate::ingest) fn identity(self, type_id: TypeId, id: &str) -> u128 {
        let mut hasher = SipHasher13::new_with_keys(self.0, self.1);
        hasher.write_usize(type_id.index());
        hasher.write(id.as_bytes());
        hasher.finish128().into()
    }

    pub(in crate::ingest) fn key(self, type_id: TypeId, token: Token<'_>) -> Key {
        let mut hasher = SipHasher13::new_with_keys(self.0, self.1);
        let (kind, system, value) = match token {
            Token::Exact(system, value) => (0u8, system, value),
            Token::AnySystem(value) => (1, "", value),
            Token::NoSystem(value) => (2, "", value),
        };
        hasher.write_usize(type_id.index());
        hasher.write_u8(kind);
        hasher.write_usize(system.len());
        hasher.write(system.as_bytes());
        hasher.write(value.as_bytes());
        hasher.finish128().into()
    }
}

impl Condition {
    /// Returns the name of the resource type.
    pub(in crate::ingest) fn type_name(&self) -> &'static str {
        facts().get(self.type_id).name
    }

    /// Parses `Type?query`. Returns `None` if the text has another form, or names no R4 resource type, or if
    /// [`of_type`](Self::of_type) rejects the query.
    pub(in crate::ingest) fn parse(text: &str, keys: Keys) -> Option<Condition> {
        let (type_name, query) = text.split_once('?')?;
        Self::of_type(resource_type(type_name)?, query, keys)
    }

    /// Parses the query of a condition on resources of type `type_id`. Returns `None` if it has no parameter, a
    /// parameter other than `identifier` and `_id`, or an identifier without a value.
    pub(in crate::ingest) fn of_type(type_id: TypeId, query: &str, keys: Keys) -> Option<Condition> {
        let mut condition = Condition {
            type_id,
            groups: Vec::new(),
            ids: None,
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let alternatives = split_unescaped(&value, ',');
            match name.as_ref() {
                "_id" => {
                    let ids = alternatives.into_iter().map(unescape);
                    condition.ids = Some(match condition.ids.take() {
                        None => ids.collect(),
                        Some(before) => ids.filter(|id| before.contains(id)).collect(),
                    });
                }
                "identifier" => {
                    let group = alternatives.into_iter().map(|token| token_key(token, type_id, keys));
                    condition.groups.push(group.collect::<Option<_>>()?);
                }
                _ => return None,
            }
        }
        (!condition.groups.is_empty() || condition.ids.is_some()).then_some(condition)
    }
}

/// Returns the R4 resource type with this name, if it is not abstract.
pub(in crate::ingest) fn resource_type(name: &str) -> Option<TypeId> {
    let type_id = facts().lookup(name)?;
    let def = facts().get(type_id);
    (def.kind == crate::fhir::Kind::Resource && !def.is_abstract).then_some(type_id)
}

fn token_key(token: &str, type_id: TypeId, keys: Keys) -> Option<Key> {
    let parts: Vec<String> = split_unescaped(token, '|').into_iter().map(unescape).collect();
    let token = match parts.as_slice() {
        [value] if !value.is_empty() => Token::AnySystem(value),
        [system, value] if system.is_empty() && !value.is_empty() => Token::NoSystem(value),
        [system, value] if !value.is_empty() => Token::Exact(system, value),
        _ => return None,
    };
    Some(keys.key(type_id, token))
}

/// Splits at each `separator` without a backslash before it.
fn split_unescaped(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == separator {
            parts.push(&text[start..at]);
            start = at + character.len_utf8();
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\\' {
            out.extend(characters.next());
        } else {
            out.push(character);
        }
    }
    out
}
