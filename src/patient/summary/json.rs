//! Writes JSON for resources that the summary adds.

use crate::columns::json::push_quoted;

/// The data-absent-reason extension as JSON.
pub(super) const UNKNOWN: &str =
    r#"{"url":"http://hl7.org/fhir/StructureDefinition/data-absent-reason","valueCode":"unknown"}"#;

/// Returns a text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// Returns a Reference as JSON.
pub(super) fn reference(full_url: &str) -> String {
    format!(r#"{{"reference":{}}}"#, quoted(full_url))
}

/// Returns a CodeableConcept with one coding as JSON.
pub(super) fn concept(system: &str, code: &str, display: &str) -> String {
    format!(r#"{{"coding":[{}]}}"#, coding(system, code, display))
}

/// Returns a Coding as JSON.
pub(super) fn coding(system: &str, code: &str, display: &str) -> String {
    let (system, code, display) = (quoted(system), quoted(code), quoted(display));
    format!(r#"{{"system":{system},"code":{code},"display":{display}}}"#)
}
