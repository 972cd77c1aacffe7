//! A request for a patient's record: which patients, which types, and how much of the record.

use std::sync::Arc;

use super::super::parameters::query::is_of_page;
use super::super::parameters::raw::{Handling, RawParameter};
use crate::fhir::TypeId;
use crate::lake::Scope;

/// A type whose resources may be in a compartment.
#[derive(Clone, Debug)]
pub struct Member {
    /// The type.
    pub type_id: TypeId,
    /// Further conditions on the resources of this type.
    pub parameters: Vec<RawParameter>,
}

/// A request for a patient's record: for one page, or for the whole record.
#[derive(Clone, Debug)]
pub struct RecordRequest<'a> {
    /// The caller's scope.
    pub scope: &'a Arc<Scope>,
    /// The ids of the Patients, in R4's form. There is at least one.
    pub patients: &'a [String],
    /// The types of the resources in the compartments, in the order of the record.
    pub members: &'a [Member],
    /// The types of the resources to which members refer, and to which these resources refer in turn. They are in the
    /// order of the record. No member has one of these types.
    pub referred: &'a [TypeId],
    /// The types whose resources are shown. `None` means all types. Resources of other types are not shown, but their
    /// references are followed, too.
    pub only: Option<&'a [TypeId]>,
    /// A further condition on the shown resources. A resource that is no member is also shown if a member that meets
    /// the condition refers to it, directly or through other resources.
    pub since: Option<&'a RawParameter>,
    /// How much of the record is returned.
    pub extent: Extent<'a>,
    /// The time of the request, in microseconds since 1970.
    pub now: i64,
    /// The address of the server's FHIR API, which ends with `/fhir/`.
    pub base: &'a str,
}

/// How much of a record is returned.
#[derive(Clone, Copy, Debug)]
pub enum Extent<'a> {
    /// The whole record, without links.
    Whole,
    /// One page of at most 1,000 resources. Without `_count`, it has up to 1,000.
    Page {
        /// The address of the record, relative to the address of the server's FHIR API.
        path: &'a str,
        /// The parameters `_count`, `_offset`, `_total`, `_tag`, `_format` and `_pretty` as the client sent them.
        parameters: &'a [RawParameter],
        /// Further parameters. The page's links repeat them.
        repeated: &'a [(String, String)],
        /// How unknown parameters, and parameters without a value, are handled.
        handling: Handling,
    },
}

impl RecordRequest<'_> {
    /// Whether a parameter selects the page of a record, or the form of the answer.
    pub fn is_of_page(parameter: &RawParameter) -> bool {
        is_of_page(parameter) && parameter.name != "_included"
            || matches!(parameter.name.as_str(), "_total" | "_format" | "_pretty")
    }
}
