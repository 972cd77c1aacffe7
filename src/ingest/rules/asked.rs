//! The types that rules need to look up.

use crate::fhir::{TypeId, facts};

/// Their names.
const ASKED: [&str; 5] = [
    "Location",
    "Medication",
    "Organization",
    "Practitioner",
    "PractitionerRole",
];

/// Whether rules need the target of a reference `Type/id`.
pub(super) fn is_asked(reference: &str) -> bool {
    let name = reference.split('/').next().unwrap_or_default();
    ASKED.contains(&name)
}

/// Whether rules need records of a type.
pub(super) fn is_asked_type(type_id: TypeId) -> bool {
    ASKED.contains(&facts().get(type_id).name)
}
