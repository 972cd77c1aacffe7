//! The text and the other inputs from which a criterion was resolved. Another process can resolve the same criterion
//! from them.

use serde::{Deserialize, Serialize};

use super::super::parameters::raw::{RawParameter, written};
use super::super::parameters::resolver::Resolver;
use crate::fhir::{TypeId, facts};

/// The inputs from which a criterion was resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::search) struct Origin {
    /// The name of the rows' type.
    pub(in crate::search) resource: String,
    /// The parameter as it was written, with its modifier.
    pub(in crate::search) parameter: String,
    /// The parameter's value.
    pub(in crate::search) value: String,
    /// The time of the search, in microseconds since 1970.
    pub(in crate::search) now: i64,
    /// The address of the server's FHIR API, which ends with `/fhir/`.
    pub(in crate::search) base: String,
    /// Whether several types were searched together.
    pub(in crate::search) among_others: bool,
    /// The place of the criterion in the parameter's whole condition, which is a tree. For each level of the tree, it
    /// has the index of the part that leads to the criterion.
    pub(in crate::search) part: Vec<usize>,
}

impl Origin {
    pub(in crate::search) fn of(resolver: &Resolver<'_>, type_id: TypeId, raw: &RawParameter) -> Origin {
        Origin {
            resource: facts().get(type_id).name.to_owned(),
            parameter: written(raw),
            value: raw.value.clone(),
            now: resolver.around.now_us,
            base: resolver.around.base.to_owned(),
            among_others: resolver.among_others,
            part: Vec::new(),
        }
    }

    pub(in crate::search) fn part(&self, at: usize) -> Origin {
        let mut origin = self.clone();
        origin.part.push(at);
        origin
    }
}
