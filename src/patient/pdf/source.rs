//! The sources of an export: how the patient connected each source, and its names for readers and for files.

use crate::columns::json::Tape;

/// How the patient connected a source. In an archive, the name of the source's file begins with a word for this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// The patient signed in to a payer or provider.
    Connected,
    /// The patient gave their own details without verification (IAL1).
    SelfAttested,
    /// A record locator found the facility for a verified patient (IAL2).
    Facility,
}

/// A source of records.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name that readers see.
    pub label: String,
    /// The name that is part of the file's name in an archive.
    pub name: String,
    /// How the patient connected the source.
    pub kind: SourceKind,
    /// The types of records that the sync could not get in full.
    pub missing: Vec<String>,
}

impl Source {
    /// Creates a source from the display names and the unique name of its endpoint. A facility's file has the first
    /// display name, because patients know the facility by it. Other files have the endpoint's unique name.
    pub fn of_endpoint(kind: SourceKind, labels: &[String], name: &str) -> Source {
        let label = labels.first().map_or(name, String::as_str);
        Source {
            label: label.to_owned(),
            name: match kind {
                SourceKind::Facility => label.to_owned(),
                _ => name.to_owned(),
            },
            kind,
            missing: Vec::new(),
        }
    }

    /// Creates the source of records that no endpoint sent.
    pub fn imported() -> Source {
        Source {
            label: "Imported records".to_owned(),
            name: "imported".to_owned(),
            kind: SourceKind::Connected,
            missing: Vec::new(),
        }
    }
}

/// Returns the endpoint that sent a resource, from the resource's `EndpointId` tag.
pub fn endpoint_of(resource: &[u8]) -> Option<String> {
    let mut tape = Tape::new();
    let tags = tape.parse(resource).ok()?.get("meta")?.get("tag")?;
    let mut tags = tags.items();
    let tag = tags.find(|tag| {
        tag.get_str("system")
            .is_some_and(|system| system.ends_with("/tags/EndpointId"))
    })?;
    tag.get_str("code").map(|code| code.into_owned())
}
