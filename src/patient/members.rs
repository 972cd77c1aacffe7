//! Decides which types a patient's record has, and in which order.

use std::sync::LazyLock;

use crate::fhir::{TypeId, compartment, facts};

/// Types outside the compartment, sorted by name. Their resources are returned, too, if resources of the compartment
/// refer to them.
pub const REFERRED: [&str; 4] = ["Location", "Medication", "Organization", "Practitioner"];

/// Returns the types of a Patient's compartment (R4 CompartmentDefinition/patient): Patient first, then the others by
/// name.
pub(super) fn types() -> &'static [TypeId] {
    static TYPES: LazyLock<Vec<TypeId>> = LazyLock::new(|| {
        let name = |type_id: &TypeId| facts().get(*type_id).name;
        let mut types: Vec<TypeId> = facts().resources().collect();
        types.retain(|type_id| name(type_id) == "Patient" || !compartment::patient_params(*type_id).is_empty());
        types.sort_by_key(|type_id| (name(type_id) != "Patient", name(type_id)));
        types
    });
    &TYPES
}

/// Returns the types in [`REFERRED`].
pub(super) fn referred() -> &'static [TypeId] {
    static TYPES: LazyLock<Vec<TypeId>> = LazyLock::new(|| named(&REFERRED));
    &TYPES
}

/// Looks up types by name, and keeps the order of the names. Unknown names are left out.
pub(super) fn named(names: &[&str]) -> Vec<TypeId> {
    names.iter().filter_map(|name| facts().lookup(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patient_comes_first_and_nothing_referred_to_is_a_member() {
        let names: Vec<&str> = types().iter().map(|type_id| facts().get(*type_id).name).collect();
        assert_eq!(names.len(), 66);
        assert_eq!(names[..3], ["Patient", "Account", "AdverseEvent"]);
        assert!(names[1..].is_sorted());
        assert_eq!(referred().len(), REFERRED.len());
        assert!(REFERRED.is_sorted() && REFERRED.iter().all(|name| !names.contains(name)));
    }
}
