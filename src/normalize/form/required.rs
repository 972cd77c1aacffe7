//! Placeholders for elements that R4 requires and a source left out.

use super::check::{Fault, problems};
use crate::columns::json::{Edits, Value};
use crate::fhir::{Element, Kind, Primitive, TypeId, facts};
use crate::normalize::marks::{DATA_ABSENT_REASON, PLACEHOLDER};
use crate::normalize::report::{Report, Rule};
use crate::normalize::walk::{choice_name, required};

/// The maximum depth of a placeholder. R4's required elements are nested less deeply.
const MAX_DEPTH: usize = 8;

/// Adds placeholders for missing required elements. `trimmed` is the number of codes from which white space was already
/// removed. If the resource would be invalid in spite of the placeholders, adds none.
pub(super) fn fill(
    root: Value<'_>,
    type_id: TypeId,
    lacking: &[(Value<'_>, TypeId, u64)],
    trimmed: usize,
    edits: &mut Edits,
    report: &mut Report,
) {
    let problems = problems(root, type_id);
    if problems.is_empty() {
        return;
    }
    let places = || {
        lacking.iter().flat_map(|(object, type_id, has)| {
            let elements = required(*type_id)
                .iter()
                .enumerate()
                .filter(move |(bit, _)| *has & (1 << bit) == 0);
            elements.map(|(_, element)| (*object, *element))
        })
    };
    // The only faults of the resource must be the missing elements in `places` and the white space that was removed. If
    // it has others, add no placeholders.
    let count = |fault| problems.iter().filter(|problem| problem.fault == fault).count();
    let (missing, spaces) = (count(Fault::Missing), count(Fault::Space));
    let is_broken = missing != places().count() || spaces != trimmed || missing + spaces != problems.len();
    if is_broken || places().any(|(_, element)| placeholder(element, 0).is_none()) {
        report.of(Rule::Required).left += 1;
        return;
    }
    for (object, element) in places() {
        let Some((name, json)) = placeholder(element, 0) else {
            continue;
        };
        // If the element is there without content, remove it, so that the placeholder replaces it.
        for (key, value) in object.entries() {
            let key = key.name();
            let leads_here = |key: &str| element.types.iter().any(|type_id| key == json_name(element, *type_id));
            if leads_here(key.trim_start_matches('_')) {
                edits.omit(value);
            }
        }
        edits.append(object, &name, &json);
        report.of(Rule::Required).changed += 1;
    }
}

fn json_name(element: &Element, type_id: TypeId) -> String {
    if element.choice {
        choice_name(element.name, facts().get(type_id).name)
    } else {
        element.name.to_owned()
    }
}

/// Returns the name and the JSON of the placeholder for an element. Returns `None` if the element requires a resource,
/// or is nested too deeply.
fn placeholder(element: &Element, depth: usize) -> Option<(String, String)> {
    // For a choice element, prefer a type that can hold words.
    let preferred = ["CodeableConcept", "Reference", "string", "markdown", "Coding"];
    let named = |name: &&str| facts().lookup(name).filter(|type_id| element.types.contains(type_id));
    let type_id = preferred.iter().find_map(named).or(element.types.first().copied())?;
    let name = json_name(element, type_id);
    let (name, json) = match primitive(element, type_id) {
        Some(Some(text)) => (name, text),
        Some(None) => (format!("_{name}"), absent()),
        None => (name, object(type_id, depth)?),
    };
    Some((name, if element.many { format!("[{json}]") } else { json }))
}

/// Returns the placeholder for a primitive. The outer `None` means that the type is no primitive. The inner value is
/// the JSON of the placeholder. The inner `None` means that an extension is needed in place of a value.
fn primitive(element: &Element, type_id: TypeId) -> Option<Option<String>> {
    let Kind::Primitive(primitive) = facts().get(type_id).kind else {
        return None;
    };
    Some(match primitive {
        Primitive::String | Primitive::Markdown => Some(format!("\"{PLACEHOLDER}\"")),
        Primitive::Xhtml => Some(format!(
            r#""<div xmlns=\"http://www.w3.org/1999/xhtml\">{PLACEHOLDER}</div>""#
        )),
        Primitive::Code if element.has_unknown => Some("\"unknown\"".to_owned()),
        _ => None,
    })
}

fn absent() -> String {
    format!(r#"{{"extension":[{{"url":"{DATA_ABSENT_REASON}","valueCode":"unknown"}}]}}"#)
}

fn object(type_id: TypeId, depth: usize) -> Option<String> {
    let def = facts().get(type_id);
    let is_a = |name: &str| {
        facts()
            .lookup(name)
            .is_some_and(|ancestor| facts().is_a(type_id, ancestor))
    };
    if def.kind == Kind::Resource || depth > MAX_DEPTH {
        return None;
    }
    if is_a("CodeableConcept") {
        return Some(format!(r#"{{"text":"{PLACEHOLDER}"}}"#));
    }
    if is_a("Coding") || is_a("Reference") {
        return Some(format!(r#"{{"display":"{PLACEHOLDER}"}}"#));
    }
    let required = required(type_id);
    if required.is_empty() {
        return Some(absent());
    }
    let mut properties = Vec::new();
    for element in required {
        let (name, json) = placeholder(element, depth + 1)?;
        properties.push(format!("\"{name}\":{json}"));
    }
    Some(format!("{{{}}}", properties.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;
    use crate::normalize::form::check;

    /// With placeholders for its required elements, an empty resource of each type of R4 is valid.
    #[test]
    fn every_type_can_be_made_valid() {
        for type_id in facts().resources() {
            let name = facts().get(type_id).name;
            let mut json = format!(r#"{{"resourceType":"{name}""#);
            for element in required(type_id) {
                let (name, value) = placeholder(element, 0).unwrap();
                json += &format!(",\"{name}\":{value}");
            }
            json.push('}');
            let mut tape = Tape::new();
            assert_eq!(check(tape.parse(json.as_bytes()).unwrap()), [], "{json}");
        }
    }
}
