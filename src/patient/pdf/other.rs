//! Resources without a section of their own: all elements with their names.

use super::cells::{address, contact, identifier, scalar};
use super::resource::Resource;
use crate::columns::json::Value;
use crate::patient::words;

/// Elements that describe the copy rather than the patient, or are shown elsewhere.
const LEFT_OUT: &[&str] = &["resourceType", "meta", "text", "implicitRules", "language"];
/// The maximum depth of elements shown.
const MAX_DEPTH: usize = 12;

/// All elements of a resource as one text: `Status: active; Name: ...`.
pub(super) fn elements(resource: &Resource<'_>) -> String {
    let mut parts = Vec::new();
    for (key, value) in resource.json.entries() {
        let name = key.name();
        if !LEFT_OUT.contains(&name.as_ref()) {
            push(&mut parts, &label(&name), value, 0);
        }
    }
    parts.join("; ")
}

fn push(parts: &mut Vec<String>, label: &str, value: Value<'_>, depth: usize) {
    if value.is_array() {
        let simple = words::join(value.items().filter_map(simple), ", ");
        if let Some(text) = simple {
            parts.push(format!("{label}: {text}"));
        }
        for item in value.items().filter(|item| simple_of(*item).is_none()) {
            push(parts, label, item, depth + 1);
        }
    } else if let Some(text) = simple(value) {
        parts.push(format!("{label}: {text}"));
    } else if value.is_object() && depth < MAX_DEPTH {
        for (key, inner) in value.entries() {
            push(
                parts,
                &format!("{label}, {}", self::label(&key.name()).to_lowercase()),
                inner,
                depth + 1,
            );
        }
    }
}

fn simple(value: Value<'_>) -> Option<String> {
    simple_of(value)
}

/// A value that fits in one text: a primitive, or a datatype recognized by its elements.
fn simple_of(value: Value<'_>) -> Option<String> {
    if !value.is_object() {
        return scalar(value).map(|text| if text.len() > 2_000 { shortened(&text) } else { text });
    }
    let has = |name: &str| value.get(name).is_some();
    if has("coding") {
        return words::concept(value);
    }
    if has("reference") || (has("display") && !has("code")) {
        return words::text(value.get("display")).or_else(|| words::text(value.get("reference")));
    }
    if has("family") || has("given") {
        return words::human(value);
    }
    if has("line") || has("postalCode") {
        return address(value);
    }
    if has("start") || has("end") {
        return words::period(value);
    }
    if value.get("value").is_some_and(|number| number.number().is_some()) {
        return words::quantity(value);
    }
    if has("value") && (has("system") || has("type")) {
        let is_contact = value.get_str("system").is_some_and(|system| !system.contains(':'));
        return if is_contact { contact(value) } else { identifier(value) };
    }
    if has("code") && has("system") {
        return words::text(value.get("display")).or_else(|| words::text(value.get("code")));
    }
    let only_text = value
        .entries()
        .all(|(key, _)| matches!(&*key.name(), "text" | "status" | "id"));
    if only_text {
        words::text(value.get("text"))
    } else {
        None
    }
}

/// The beginning of a long text, such as an attachment in base64.
fn shortened(text: &str) -> String {
    let start: String = text.chars().take(200).collect();
    format!("{start}... ({} characters)", text.chars().count())
}

/// An element's name in words: `recordedDate` is `Recorded date`.
pub(super) fn label(name: &str) -> String {
    let mut label = String::with_capacity(name.len() + 4);
    for (place, letter) in name.trim_start_matches('_').chars().enumerate() {
        if place == 0 {
            label.extend(letter.to_uppercase());
        } else if letter.is_uppercase() {
            label.push(' ');
            label.extend(letter.to_lowercase());
        } else {
            label.push(letter);
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;
    use crate::fhir::facts;

    #[test]
    fn every_element_is_said_by_name() {
        let text = br#"{"resourceType":"Organization","id":"o","active":true,"name":"Clinic","identifier":[{"system":"http://x","value":"77"}],
            "telecom":[{"system":"phone","value":"555"}],"address":[{"line":["1 Way"],"city":"Here"}],
            "type":[{"coding":[{"display":"Payer"}]}],"contact":[{"name":{"family":"Ruiz"},"purpose":{"text":"Billing"}}]}"#;
        let mut tape = Tape::new();
        let resource = Resource::read(facts().lookup("Organization").unwrap(), text, &mut tape).unwrap();
        assert_eq!(
            elements(&resource),
            "Id: o; Active: yes; Name: Clinic; Identifier: 77; Telecom: 555 (phone); Address: 1 Way, Here; Type: Payer; \
             Contact, name: Ruiz; Contact, purpose: Billing"
        );
        assert_eq!(label("recordedDate"), "Recorded date");
    }
}
