//! Resources without a section of their own: all elements with their names.

use super::cells::{address, contact, identifier, label, reference, scalar};
use super::narrative::plain;
use super::resource::Resource;
use super::typed;
use crate::columns::json::Value;
use crate::fhir::{Kind, Primitive, TypeId, facts};
use crate::patient::words;

/// Elements that describe the copy rather than the patient, or are shown elsewhere.
const LEFT_OUT: &[&str] = &["resourceType", "meta", "text", "implicitRules", "language"];
/// The maximum depth of elements shown.
const MAX_DEPTH: usize = 12;
/// The maximum number of characters shown of bytes in base64.
const MAX_BASE64: usize = 200;

/// All elements of a resource as one text: `Status: active; Name: ...`.
pub(super) fn elements(resource: &Resource<'_>) -> String {
    let mut shown = Shown {
        resource,
        parts: Vec::new(),
    };
    for (key, value) in resource.json.entries() {
        let name = key.name();
        if !LEFT_OUT.contains(&name.as_ref()) {
            shown.push(&label(&name), value, typed::child(Some(resource.ty), &name), 0);
        }
    }
    shown.parts.join("; ")
}

/// The texts of elements while they are collected.
struct Shown<'r, 't> {
    resource: &'r Resource<'t>,
    parts: Vec<String>,
}

impl Shown<'_, '_> {
    /// Adds an element. `ty` is its type, if R4 defines it.
    fn push(&mut self, label: &str, value: Value<'_>, ty: Option<TypeId>, depth: usize) {
        if value.is_array() {
            let (mut simple, mut others) = (Vec::new(), Vec::new());
            for item in value.items() {
                match self.simple(item, ty) {
                    Some(text) => simple.push(text),
                    None => others.push(item),
                }
            }
            if let Some(text) = words::join(simple.into_iter(), ", ") {
                self.parts.push(format!("{label}: {text}"));
            }
            for item in others {
                self.push(label, item, ty, depth + 1);
            }
        } else if let Some(text) = self.simple(value, ty) {
            self.parts.push(format!("{label}: {text}"));
        } else if value.is_object() && depth < MAX_DEPTH {
            let ty = ty.and_then(|ty| typed::concrete(ty, value));
            for (key, inner) in value.entries() {
                let name = key.name();
                let label = format!("{label}, {}", self::label(&name).to_lowercase());
                self.push(&label, inner, typed::child(ty, &name), depth + 1);
            }
        }
    }

    /// A value that fits in one text: a primitive, or a datatype recognized by its elements.
    fn simple(&self, value: Value<'_>, ty: Option<TypeId>) -> Option<String> {
        if !value.is_object() {
            return scalar(value).map(|text| primitive(text, ty));
        }
        let has = |name: &str| value.get(name).is_some();
        if has("coding") {
            return words::concept(value);
        }
        if has("reference") || (has("display") && !has("code")) {
            return reference(self.resource, value);
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
}

/// The text of a primitive. Bytes in base64 are shortened, and a narrative loses its tags.
fn primitive(text: String, ty: Option<TypeId>) -> String {
    match ty.map(|ty| facts().get(ty).kind) {
        Some(Kind::Primitive(Primitive::Base64Binary)) => shortened(text),
        Some(Kind::Primitive(Primitive::Xhtml)) => plain(&text),
        _ => text,
    }
}

/// The beginning of long bytes in base64.
fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_BASE64) {
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;
    use crate::patient::pdf::resource::Index;

    fn shown(type_name: &str, text: &str) -> String {
        let mut tape = Tape::new();
        let index = Index::single(type_name, tape.parse(text.as_bytes()).unwrap());
        elements(&index.resources()[0])
    }

    #[test]
    fn every_element_is_said_by_name() {
        let text = r#"{"resourceType":"Organization","id":"o","active":true,"name":"Clinic","identifier":[{"system":"http://x","value":"77"}],
            "telecom":[{"system":"phone","value":"555"}],"address":[{"line":["1 Way"],"city":"Here"}],
            "type":[{"coding":[{"display":"Payer"}]}],"contact":[{"name":{"family":"Ruiz"},"purpose":{"text":"Billing"}}]}"#;
        assert_eq!(
            shown("Organization", text),
            "Id: o; Active: yes; Name: Clinic; Identifier: 77; Telecom: 555 (phone); Address: 1 Way, Here; Type: Payer; \
             Contact, name: Ruiz; Contact, purpose: Billing"
        );
        assert_eq!(label("recordedDate"), "Recorded date");
    }

    /// Every text of more than 2,000 bytes was cut to 200 letters, so long conclusions and messages were lost.
    #[test]
    fn only_bytes_in_base64_are_shortened() {
        let long = "word ".repeat(1_000);
        let long = long.trim();
        let report = format!(
            r#"{{"conclusion":"{long}","presentedForm":[{{"data":"{}"}}]}}"#,
            "QUJD".repeat(100)
        );
        let bytes = format!("{}... (400 characters)", "QUJD".repeat(50));
        assert_eq!(
            shown("DiagnosticReport", &report),
            format!("Conclusion: {long}; Presented form, data: {bytes}")
        );
        let message = format!(r#"{{"payload":[{{"contentString":"{long}"}}]}}"#);
        assert_eq!(
            shown("Communication", &message),
            format!("Payload, content string: {long}")
        );
        // An element that R4 does not define may be text.
        let unknown = format!(r#"{{"data":"{long}","contained":[{{"resourceType":"Binary","data":"{long}"}}]}}"#);
        let text = shown("Basic", &unknown);
        assert!(text.starts_with(&format!(
            "Data: {long}; Contained, resource type: Binary; Contained, data: word"
        )));
        assert!(text.ends_with("... (4999 characters)"), "{text}");
    }
}
