//! The sources of an export, and how they are called.

use crate::columns::json::Tape;

/// How the patient connected a source. The file's name in an archive shows it.
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
    /// Its name for people.
    pub label: String,
    /// The base of its file's name.
    pub name: String,
    /// How it was connected.
    pub kind: SourceKind,
    /// The types of records that its sync could not get in full.
    pub missing: Vec<String>,
}

impl Source {
    /// A source by the display names and the unique name of its endpoint. The file of a facility gets the name by which
    /// patients know the facility. Other files are named after the endpoint.
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

    /// The source of records that no endpoint sent.
    pub fn imported() -> Source {
        Source {
            label: "Imported records".to_owned(),
            name: "imported".to_owned(),
            kind: SourceKind::Connected,
            missing: Vec::new(),
        }
    }
}

/// The endpoint that sent a resource, by the resource's tag.
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
