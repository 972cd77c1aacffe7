//! Decides which modifiers a parameter accepts, by the parameter's type and by the types of its values (R4 search,
//! 3.1.1.4.4).

use super::parameter::Compiled;
use crate::fhir::search_parameter::SearchType;

/// The types of values that have a human-readable label.
const LABELLED: [&str; 3] = ["CodeableConcept", "Coding", "Identifier"];

/// The types of tokens that have no code system. So `:in`, `:below` and the like make no sense for them.
const UNCODED: [&str; 4] = ["Identifier", "ContactPoint", "boolean", "id"];

/// Checks whether the types of a parameter's values allow a modifier. The parameter's search type allows it. If no
/// value can be compared as the modifier requires, returns a description of the parameter for the error. Otherwise
/// returns `None`.
pub(in crate::search) fn misfit(compiled: &Compiled, modifier: &str) -> Option<&'static str> {
    let mut types = compiled
        .program
        .origins()
        .map(|origin| origin.item_type.name())
        .peekable();
    types.peek()?;
    let is_among = |names: &[&str], type_name: &str| names.iter().any(|name| name.eq_ignore_ascii_case(type_name));
    let (fits, otherwise) = match (compiled.parameter.search_type, modifier) {
        (SearchType::Token, "text") => (
            types.any(|type_name| is_among(&LABELLED, type_name)),
            "token without texts for people",
        ),
        (SearchType::Token, "of-type") => (
            types.any(|type_name| type_name == "Identifier"),
            "token other than identifiers",
        ),
        (SearchType::Token, "in" | "not-in" | "below" | "above") => (
            types.any(|type_name| !is_among(&UNCODED, type_name)),
            "token without code systems",
        ),
        (SearchType::Reference, "identifier") => (
            types.any(|type_name| type_name == "Reference"),
            "reference by canonical URLs",
        ),
        (SearchType::Reference, "below") => {
            let fits = types.any(|type_name| matches!(type_name, "Reference" | "canonical" | "uri"));
            (fits, "reference to resources without a hierarchy")
        }
        (SearchType::Reference, "above") => (
            types.any(|type_name| type_name == "Reference"),
            "reference by canonical URLs",
        ),
        _ => return None,
    };
    (!fits).then_some(otherwise)
}
