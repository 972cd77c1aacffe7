//! The targets of references in one document: entries of a Bundle by their addresses, and matches of conditional
//! references.

use rustc_hash::FxHashMap;

use super::condition::{Condition, Keys, resource_type};

/// The targets of references in one document.
#[derive(Debug, Default)]
pub(in crate::ingest) struct Links {
    /// The target of each entry's `fullUrl`.
    pub(in crate::ingest) full_urls: FxHashMap<String, Target>,
    /// The targets of references whose condition was answered. `None` if no resource or several resources match.
    pub(in crate::ingest) settled: FxHashMap<String, Option<String>>,
}

/// The target of an entry's `fullUrl`.
#[derive(Clone, Debug)]
pub(in crate::ingest) enum Target {
    /// `Type/id`.
    Known(String),
    /// The resource that matches the condition. If none matches, this `Type/id`.
    Conditional(Condition, String),
}

/// A reference that cannot be resolved yet.
#[derive(Clone, Debug)]
pub(in crate::ingest) struct Wait {
    /// The text of the reference.
    pub(in crate::ingest) reference: String,
    pub(in crate::ingest) condition: Condition,
    /// The target if no resource matches the condition.
    pub(in crate::ingest) otherwise: Option<String>,
}

/// What happens to a reference.
pub(in crate::ingest) enum Resolution {
    /// The reference stays unchanged.
    Keep,
    /// The reference is replaced by this text.
    To(String),
    /// The target is not known yet. The resource must wait until it is.
    Wait(Wait),
    /// The reference stays unchanged and counts as unresolved.
    Nothing,
}

/// Decides what happens to a reference with this text.
pub(in crate::ingest) fn resolve(text: &str, links: &Links, keys: Keys) -> Resolution {
    if let Some(settled) = links.settled.get(text) {
        return settled.clone().map_or(Resolution::Nothing, Resolution::To);
    }
    let wait = |condition: &Condition, otherwise: Option<&str>| {
        Resolution::Wait(Wait {
            reference: text.to_owned(),
            condition: condition.clone(),
            otherwise: otherwise.map(str::to_owned),
        })
    };
    let (address, version) = match text.rfind("/_history/") {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    match links.full_urls.get(address) {
        Some(Target::Known(target)) => return Resolution::To(format!("{target}{version}")),
        Some(Target::Conditional(condition, otherwise)) => return wait(condition, Some(otherwise)),
        None => {}
    }
    if text.starts_with("urn:uuid:") || text.starts_with("urn:oid:") {
        return Resolution::Nothing;
    }
    if let Some((name, _)) = text.split_once('?')
        && resource_type(name).is_some()
    {
        return match Condition::parse(text, keys) {
            Some(condition) => wait(&condition, None),
            None => Resolution::Nothing,
        };
    }
    Resolution::Keep
}
