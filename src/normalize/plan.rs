//! What a survey comes to: resources to generate, and edits of each record.

use std::collections::HashMap;

use super::codes::Codes;
use super::record::{Record, SourceId};
use super::report::{Report, Rule};
use super::{form, links};
use crate::fhir::TypeId;
use crate::lake::json::Edits;

/// A resource that a rule makes. The text is whole (id, tags, Provenance's references) but for `meta.versionId` and `meta.lastUpdated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The rule that made it; a Provenance names the rule it belongs to.
    pub rule: Rule,
    /// Its type.
    pub resource_type: TypeId,
    /// Its id.
    pub id: String,
    /// Whose claim it was made from.
    pub source: SourceId,
    /// Compact JSON.
    pub json: String,
}

/// Something a rule adds to a source's record, marked so that [`form`] knows it again: an item of a list, or a property.
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

/// What is to be done with the records of a consent.
#[derive(Debug, Default)]
pub struct Plan {
    /// Resources to store beside the records, in order of type and id.
    pub generated: Vec<Generated>,
    /// What records gain.
    pub additions: Additions,
    pub(super) form: form::Facts,
    pub(super) links: links::Facts,
}

impl Plan {
    /// The edits of one record. A record that needs none leaves `edits` empty.
    pub fn apply(&self, record: &Record<'_>, codes: &dyn Codes, edits: &mut Edits, report: &mut Report) {
        let additions = if self.additions.is_empty() {
            None
        } else {
            self.additions.get(&(record.resource_type, record.id.to_owned()))
        };
        let additions = additions.map_or(&[][..], Vec::as_slice);
        form::edit(record, &self.form, additions, codes, edits, report);
        links::edit(record, &self.links, edits, report);
    }
}
