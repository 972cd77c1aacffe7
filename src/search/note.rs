//! Remarks about the records of a scope that the caller of a search knows before it, such as records that a sync could
//! not get. The first page of a search has those about its types, as the last entry.

use super::engine::Engine;
use super::parameters::query::Query;
use crate::fhir::TypeId;
use crate::fhir::outcome::Issue;

/// The maximum number of remarks in one answer.
const MOST: usize = 40;

/// A remark about the records of a type.
#[derive(Clone, Debug)]
pub struct Note {
    /// The type. `None` means all types.
    pub type_id: Option<TypeId>,
    /// The remark.
    pub issue: Issue,
}

impl Engine {
    /// Adds the remarks about these types to the first page of a search. `None` means all types.
    pub(in crate::search) fn note(&self, types: Option<&[TypeId]>, query: &mut Query) {
        if self.notes().is_empty() || query.offset > 0 || query.place.is_some() || query.included > 0 {
            return;
        }
        let notes = self.notes().iter();
        let is_meant = |note: &&Note| match (note.type_id, types) {
            (Some(type_id), Some(types)) => types.contains(&type_id),
            _ => true,
        };
        let of_types = notes.filter(is_meant);
        query.remarks.extend(of_types.take(MOST).map(|note| note.issue.clone()));
    }
}
