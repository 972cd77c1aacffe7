//! Looks up resource types that the user typed.

use crate::fhir::nearest::did_you_mean_resource_type;
use crate::fhir::{Kind, TypeId, facts};

/// Looks up a concrete resource type by its name. The error suggests a similar name, if there is one.
pub(in crate::cli) fn named(name: &str) -> Result<TypeId, String> {
    let concrete =
        |type_id: &TypeId| facts().get(*type_id).kind == Kind::Resource && !facts().get(*type_id).is_abstract;
    facts()
        .lookup(name)
        .filter(concrete)
        .ok_or_else(|| format!("'{name}' is no R4 resource type{}", did_you_mean_resource_type(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_known_or_guessed() {
        assert_eq!(facts().get(named("Observation").unwrap()).name, "Observation");
        for (name, said) in [
            (
                "Observatoin",
                "'Observatoin' is no R4 resource type; did you mean 'Observation'?",
            ),
            ("patient", "'patient' is no R4 resource type; did you mean 'Patient'?"),
            ("Resource", "'Resource' is no R4 resource type"),
            ("", "'' is no R4 resource type"),
        ] {
            assert_eq!(named(name).unwrap_err(), said);
        }
    }
}
