//! The results of rules: resources, and additions to records.

use std::collections::HashMap;

use super::record::SourceId;
use super::report::Rule;
use crate::fhir::TypeId;

/// A resource that a rule generates. The text is complete (id, tags, Provenance's references) except `meta.versionId`
/// and `meta.lastUpdated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The rule that generated it. A Provenance has the rule of its target.
    pub rule: Rule,
    /// The resource's type.
    pub resource_type: TypeId,
    /// The resource's id.
    pub id: String,
    /// The owner of the claim from which it was made.
    pub source: SourceId,
    /// Compact JSON.
    pub json: String,
}

/// An addition of a rule to a source's record: an item of a list, or a property. A mark lets [`form`](super::form)
/// recognize it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// The element of the root, such as `supportingInformation` or `extension`. It is a list.
    pub element: &'static str,
    /// The item, as compact JSON.
    pub json: String,
    /// The rule that adds it.
    pub rule: Rule,
}

/// Additions by (type, id).
pub type Additions = HashMap<(TypeId, String), Vec<Addition>>;
