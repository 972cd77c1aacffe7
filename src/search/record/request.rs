//! A request for a patient's record: which patients, which types, and how much.

use std::sync::Arc;

use super::super::parameters::query::is_of_page;
use super::super::parameters::raw::{Handling, RawParameter};
use crate::fhir::TypeId;
use crate::lake::Scope;

/// A type of a compartment.
#[derive(Clone, Debug)]
pub struct Member {
    /// The type.
    pub type_id: TypeId,
    /// The condition on its resources.
    pub parameters: Vec<RawParameter>,
}

/// A request for a patient's record: one page or the whole record.
#[derive(Clone, Debug)]
pub struct RecordRequest<'a> {
    /// The caller's scope.
    pub scope: &'a Arc<Scope>,
    /// The ids of the Patients in R4's form, at least one.
    pub patients: &'a [String],
    /// The types of the compartments, in their order.
    pub members: &'a [Member],
    /// The types of resources that members refer to, and of resources that these refer to in turn, in their order. No
    /// member has one of these types.
    pub referred: &'a [TypeId],
    /// Only resources of these types are shown. References of the others still count.
    pub only: Option<&'a [TypeId]>,
    /// A further condition on shown resources. It does not apply to a resource that a shown member refers to.
    pub since: Option<&'a RawParameter>,
    /// The parts to return.
    pub extent: Extent<'a>,
    /// The time, in microseconds since 1970.
    pub now: i64,
    /// `{base}/fhir/`, with the slash.
    pub base: &'a str,
}

/// The extent of a record.
#[derive(Clone, Copy, Debug)]
pub enum Extent<'a> {
    /// All, without links.
    Whole,
    /// A page of at most 1,000 resources. Without `_count` it has 1,000.
    Page {
        /// The address below the base.
        path: &'a str,
        /// `_count`, `_offset`, `_total`, `_tag`, `_format` and `_pretty` as they were sent.
        parameters: &'a [RawParameter],
        /// Other parameters that links repeat.
        repeated: &'a [(String, String)],
        /// How parameters without a value are handled.
        handling: Handling,
    },
}

impl RecordRequest<'_> {
    /// Whether a parameter selects the page of a record, or its form.
    pub fn is_of_page(parameter: &RawParameter) -> bool {
        is_of_page(parameter) && parameter.name != "_included"
            || matches!(parameter.name.as_str(), "_total" | "_format" | "_pretty")
    }
}
