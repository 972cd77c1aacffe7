//! The types of records that rules look up.

use crate::fhir::{TypeId, facts};

/// The names of the types whose records rules look up.
const ASKED: [&str; 5] = [
    "Location",
    "Medication",
    "Organization",
    "Practitioner",
    "PractitionerRole",
];

/// Whether rules look up the target of a reference `Type/id`.
pub(super) fn is_asked(reference: &str) -> bool {
    let name = reference.split('/').next().unwrap_or_default();
    ASKED.contains(&name)
}

/// Whether rules look up records of a type.
pub(super) fn is_asked_type(type_id: TypeId) -> bool {
    ASKED.contains(&facts().get(type_id).name)
}
