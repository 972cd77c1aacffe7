//! The results of rules: generated resources, and additions to records.

use std::collections::HashMap;

use super::record::SourceId;
use super::report::Rule;
use crate::fhir::TypeId;

/// A resource that a rule generates. The text is complete (id, tags, Provenance's references) except `meta.versionId`
/// and `meta.lastUpdated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The rule that generated the resource. For a Provenance: the first of the rules that generated its targets.
    pub rule: Rule,
    /// The resource's type.
    pub resource_type: TypeId,
    /// The resource's id.
    pub id: String,
    /// The source of the record from which the resource was made.
    pub source: SourceId,
    /// The resource as compact JSON.
    pub json: String,
}

/// An item that a rule adds to a list of a source's record. When [`form`](super::form) writes the item, it adds an
/// extension that marks the item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// The list: a property of the root, such as `supportingInformation` or `extension`.
    pub element: &'static str,
    /// The item, as compact JSON.
    pub json: String,
    /// The rule that adds the item.
    pub rule: Rule,
}

/// The additions to each record, by type and id.
pub type Additions = HashMap<(TypeId, String), Vec<Addition>>;
