//! Shows the resources that have no section of their own: all elements with their names.

use super::attached::size;
use super::cells::{address, contact, identifier, label, reference, scalar};
use super::narrative::plain;
use super::resource::Resource;
use super::typed;
use crate::columns::json::Value;
use crate::fhir::{Kind, Primitive, TypeId, facts};
use crate::patient::words;

/// Properties that are not shown: the type (a heading states it), elements about the stored copy, and the narrative (it
/// usually repeats what the other elements say).
const LEFT_OUT: &[&str] = &["resourceType", "meta", "text", "implicitRules", "language"];
/// The maximum depth of nested elements. Deeper ones are not shown.
const MAX_DEPTH: usize = 12;

/// Returns the elements of a resource as one text: `Status: active; Name: ...`. The narrative is added at the end if
/// its status is `additional`, or if there are no other elements to show. Other narratives are left out, because they
/// only repeat the elements.
pub(super) fn elements(resource: &Resource<'_>) -> String {
    let mut shown = Shown {
        resource,
        parts: Vec::new(),
    };
    let mut has_content = false;
    for (key, value) in resource.json.entries() {
        let name = key.name();
        if !LEFT_OUT.contains(&name.as_ref()) {
            let before = shown.parts.len();
            shown.push(&label(&name), value, typed::child(Some(resource.type_id), &name), 0);
            has_content |= name != "id" && shown.parts.len() > before;
        }
    }
    let says_more = |text: &Value<'_>| !has_content || text.get_str("status").as_deref() == Some("additional");
    let narrative = resource.json.get("text").filter(says_more);
    let narrative = narrative.and_then(|text| text.get_str("div")).map(|div| plain(&div));
    if let Some(narrative) = narrative.filter(|text| !text.is_empty()) {
        shown.parts.push(format!("Text: {narrative}"));
    }
    shown.parts.join("; ")
}

/// The texts of elements that were collected so far.
struct Shown<'r, 't> {
    resource: &'r Resource<'t>,
    parts: Vec<String>,
}

impl Shown<'_, '_> {
    /// Adds an element. `type_id` is its type, if R4 defines it.
    fn push(&mut self, label: &str, value: Value<'_>, type_id: Option<TypeId>, depth: usize) {
        if value.is_array() {
            let (mut simple, mut others) = (Vec::new(), Vec::new());
            for item in value.items() {
                match self.simple(item, type_id) {
                    Some(text) => simple.push(text),
                    None => others.push(item),
                }
            }
            if let Some(text) = words::join(simple.into_iter(), ", ") {
                self.parts.push(format!("{label}: {text}"));
            }
            for item in others {
                self.push(label, item, type_id, depth + 1);
            }
        } else if let Some(text) = self.simple(value, type_id) {
            self.parts.push(format!("{label}: {text}"));
        } else if value.is_object() && depth < MAX_DEPTH {
            let type_id = type_id.and_then(|type_id| typed::concrete(type_id, value));
            for (key, inner) in value.entries() {
                let name = key.name();
                let label = format!("{label}, {}", self::label(&name).to_lowercase());
                self.push(&label, inner, typed::child(type_id, &name), depth + 1);
            }
        }
    }

    /// Returns the text of a primitive, or of a datatype that is recognized by its elements. `None` for a value whose
    /// elements must be shown one by one.
    fn simple(&self, value: Value<'_>, type_id: Option<TypeId>) -> Option<String> {
        if !value.is_object() {
            return scalar(value).map(|text| primitive(text, type_id));
        }
        if type_id.is_some_and(|type_id| facts().get(type_id).name == "Attachment") {
            return Some(attachment(value));
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

/// Returns the text to show for a primitive. For base64 it is the number of bytes, because nobody can read base64. For
/// a narrative it is the text without tags.
fn primitive(text: String, type_id: Option<TypeId>) -> String {
    match type_id.map(|type_id| facts().get(type_id).kind) {
        Some(Kind::Primitive(Primitive::Base64Binary)) => counted(&text),
        Some(Kind::Primitive(Primitive::Xhtml)) => plain(&text),
        _ => text,
    }
}

/// Returns the size of base64 data in bytes. If the text is not base64, the result says so and has the number of its
/// characters.
fn counted(text: &str) -> String {
    match size(text) {
        Some(1) => "1 byte".to_owned(),
        Some(bytes) => format!("{bytes} bytes"),
        None => format!("{} characters that are not base64", text.chars().count()),
    }
}

/// Describes an Attachment by its title, type, size, date and address. Its content is among the attached documents of
/// the source.
fn attachment(value: Value<'_>) -> String {
    let text = |name: &str| words::text(value.get(name));
    let data = text("data");
    let declared = || Some(format!("{} bytes", value.get("size")?.number()?));
    let bytes = data.as_deref().map(counted).or_else(declared);
    let is_named = ["data", "url", "contentType"]
        .iter()
        .any(|name| value.get(name).is_some());
    let place = is_named.then(|| "under \u{201c}Attached documents\u{201d}".to_owned());
    let mut facts = vec![text("contentType"), bytes, text("creation"), text("url"), place];
    let title = text("title")
        .or_else(|| facts[0].take())
        .unwrap_or_else(|| "document".to_owned());
    match words::join(facts.into_iter().flatten(), ", ") {
        Some(facts) => format!("{title} ({facts})"),
        None => title,
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

    #[test]
    fn a_narrative_is_shown_if_it_says_more() {
        let narrative = |status: &str, rest: &str| {
            let div = r#"<div xmlns=\"http://www.w3.org/1999/xhtml\"><p>Lives alone</p></div>"#;
            format!(r#"{{"resourceType":"Basic","id":"b","text":{{"status":"{status}","div":"{div}"}}{rest}}}"#)
        };
        let code = r#","code":{"text":"Living situation"}"#;
        for (status, rest, expected) in [
            ("generated", code, "Id: b; Code: Living situation"),
            ("additional", code, "Id: b; Code: Living situation; Text: Lives alone"),
            ("generated", "", "Id: b; Text: Lives alone"),
        ] {
            assert_eq!(shown("Basic", &narrative(status, rest)), expected, "{status}{rest}");
        }
    }

    /// Regression: texts of more than 2,000 bytes were cut to 200 letters, so long conclusions and messages were lost.
    /// After that was corrected, base64 data were shown by their first 200 letters.
    #[test]
    fn long_texts_are_shown_and_bytes_in_base64_are_counted() {
        let long = "word ".repeat(1_000);
        let long = long.trim();
        let report = format!(
            r#"{{"conclusion":"{long}","presentedForm":[{{"data":"{}"}},
                {{"contentType":"text/plain","title":"Nurse note","creation":"2020-01-02","data":"aGk="}},
                {{"contentType":"application/pdf","size":1302,"url":"Binary/1"}},{{"title":"Nothing"}}]}}"#,
            "QUJD".repeat(100)
        );
        let place = "under \u{201c}Attached documents\u{201d}";
        assert_eq!(
            shown("DiagnosticReport", &report),
            format!(
                "Conclusion: {long}; Presented form: document (300 bytes, {place}), \
                 Nurse note (text/plain, 2 bytes, 2020-01-02, {place}), \
                 application/pdf (1302 bytes, Binary/1, {place}), Nothing"
            )
        );
        let message = format!(r#"{{"payload":[{{"contentString":"{long}"}}]}}"#);
        assert_eq!(
            shown("Communication", &message),
            format!("Payload, content string: {long}")
        );
        // An element that R4 does not define is shown as text, even if it is called `data`.
        let unknown = format!(r#"{{"data":"{long}","contained":[{{"resourceType":"Binary","data":"{long}"}}]}}"#);
        assert_eq!(
            shown("Basic", &unknown),
            format!("Data: {long}; Contained, resource type: Binary; Contained, data: 3000 bytes")
        );
        let signed = r#"{"signature":[{"sigFormat":"application/jose","data":"e30."}]}"#;
        assert_eq!(
            shown("Provenance", signed),
            "Signature, sig format: application/jose; Signature, data: 4 characters that are not base64"
        );
    }
}
