//! Records as rules see them.

use crate::columns::json::Value;
use crate::fhir::TypeId;

/// A source of the records: one authorization of a consent, or an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The id of the authorization. Empty for an import.
    pub authorization: String,
    /// The id of the endpoint in the directory. Empty for an import.
    pub endpoint: String,
    /// The source's FHIR base with a trailing slash. Empty for an import, and for a source that is not being synced.
    pub fhir_base: String,
    /// The prefix of our tags' systems, without a trailing slash.
    pub tag_system_base: String,
    /// The tags that every record of the source has, as JSON objects.
    pub tags: Vec<String>,
}

/// A source's index in the list of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A record in the form in which it will be stored: with the lake's ids and relative references, `meta.source` and
/// tags.
#[derive(Clone, Copy, Debug)]
pub struct Record<'t> {
    /// The record's resource type.
    pub resource_type: TypeId,
    /// The record's id in the lake.
    pub id: &'t str,
    /// The record's source.
    pub source: SourceId,
    /// The whole resource.
    pub json: Value<'t>,
}

/// A calendar day, as days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);
