//! What rules make: resources, and additions to records.

use std::collections::HashMap;

use super::record::SourceId;
use super::report::Rule;
use crate::fhir::TypeId;

/// A resource that a rule makes. The text is whole (id, tags, Provenance's references) except `meta.versionId` and
/// `meta.lastUpdated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The rule that made it; a Provenance names the rule it belongs to.
    pub rule: Rule,
    /// Its type.
    pub resource_type: TypeId,
    /// Its id.
    pub id: String,
    /// The owner of the claim it was made from.
    pub source: SourceId,
    /// Compact JSON.
    pub json: String,
}

/// Something a rule adds to a source's record, marked so that [`form`](super::form) knows it again: an item of a list,
/// or a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// The element of the root, such as `supportingInformation` or `extension`; a list.
    pub element: &'static str,
    /// The item, as compact JSON.
    pub json: String,
    /// The rule that adds it.
    pub rule: Rule,
}

/// Additions by (type, id).
pub type Additions = HashMap<(TypeId, String), Vec<Addition>>;
