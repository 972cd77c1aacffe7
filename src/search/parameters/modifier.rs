//! Which modifiers a parameter takes: by its type and by the types of its values (R4 search, 3.1.1.4.4).

use super::parameter::Compiled;
use crate::fhir::search_parameter::SearchType;

/// Types whose values have a human-readable label.
const LABELLED: [&str; 3] = ["CodeableConcept", "Coding", "Identifier"];

/// Types whose tokens have no code system.
const UNCODED: [&str; 4] = ["Identifier", "ContactPoint", "boolean", "id"];

/// The error for a modifier that the search type allows, if no value of this parameter can be compared in that way.
pub(in crate::search) fn misfit(compiled: &Compiled, modifier: &str) -> Option<&'static str> {
    let mut types = compiled.program.origins().map(|origin| origin.ty.name()).peekable();
    types.peek()?;
    let is_among = |names: &[&str], ty: &str| names.iter().any(|name| name.eq_ignore_ascii_case(ty));
    let (fits, otherwise) = match (compiled.parameter.ty, modifier) {
        (SearchType::Token, "text") => (
            types.any(|ty| is_among(&LABELLED, ty)),
            "token without texts for people",
        ),
        (SearchType::Token, "of-type") => (types.any(|ty| ty == "Identifier"), "token other than identifiers"),
        (SearchType::Token, "in" | "not-in" | "below" | "above") => {
            (types.any(|ty| !is_among(&UNCODED, ty)), "token without code systems")
        }
        (SearchType::Reference, "identifier") => (types.any(|ty| ty == "Reference"), "reference by canonical URLs"),
        (SearchType::Reference, "below") => {
            let fits = types.any(|ty| matches!(ty, "Reference" | "canonical" | "uri"));
            (fits, "reference to resources without a hierarchy")
        }
        (SearchType::Reference, "above") => (types.any(|ty| ty == "Reference"), "reference by canonical URLs"),
        _ => return None,
    };
    (!fits).then_some(otherwise)
}
