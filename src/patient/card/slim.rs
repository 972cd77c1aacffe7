//! Edits a record for a card: leaves out elements that verifiers do not need, and makes references lead to entries of
//! the card.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::places::Places;
use crate::columns::json::{Edits, Value, push_quoted};
use crate::fhir::reference::Reference;
use crate::fhir::{Kind, TypeId, facts};

/// The entry numbers of a record and of the resources that it contains. Contained resources become entries of their
/// own, because resources in a card have no `id` that a reference such as `#m` could name.
#[derive(Debug)]
pub(super) struct Inside<'t> {
    pub(super) number: usize,
    pub(super) contained: Vec<Contained<'t>>,
}

/// A contained resource.
#[derive(Debug)]
pub(super) struct Contained<'t> {
    pub(super) number: usize,
    pub(super) resource_type: TypeId,
    pub(super) json: Value<'t>,
    id: Option<Cow<'t, str>>,
}

impl<'t> Inside<'t> {
    /// Numbers the resources that a record contains: the first gets the number `next`. A resource without a known type
    /// gets no entry.
    pub(super) fn new(number: usize, root: Value<'t>, next: usize) -> Inside<'t> {
        let items = root.get("contained").into_iter().flat_map(|list| list.items());
        let typed = items.filter_map(|json| Some((resource_type(json)?, json)));
        let contained = typed.enumerate().map(|(at, (resource_type, json))| Contained {
            number: next + at,
            resource_type,
            json,
            id: json.get_str("id"),
        });
        Inside {
            number,
            contained: contained.collect(),
        }
    }

    fn find(&self, fragment: &str) -> Option<usize> {
        if fragment.is_empty() {
            return Some(self.number);
        }
        let mut contained = self.contained.iter();
        let found = contained.find(|one| one.id.as_deref() == Some(fragment))?;
        Some(found.number)
    }
}

/// Adds the edits that leave out elements of a resource and rewrite its references.
pub(super) fn slim(root: Value<'_>, type_id: TypeId, places: &Places<'_>, inside: &Inside<'_>, edits: &mut Edits) {
    for (key, value) in root.entries() {
        match key.raw() {
            "id" | "_id" | "contained" => edits.omit(value),
            "meta" => only_security(value, edits),
            "text"
                if facts()
                    .child(type_id, "text")
                    .is_some_and(|child| child.type_id == types().narrative) =>
            {
                edits.omit(value)
            }
            _ => {}
        }
    }
    let mut walk = Walk { places, inside, edits };
    walk.object(root, type_id);
}

/// Removes everything but the security labels from `meta`, because the service itself writes versions, sources and
/// tags. Removes `meta` if it has no security labels.
fn only_security(meta: Value<'_>, edits: &mut Edits) {
    let labels = meta.get("security").filter(|list| list.items().next().is_some());
    if labels.is_none() {
        return edits.omit(meta);
    }
    for (key, value) in meta.entries() {
        if !key.is("security") {
            edits.omit(value);
        }
    }
}

struct Walk<'w, 'r> {
    places: &'w Places<'r>,
    inside: &'w Inside<'w>,
    edits: &'w mut Edits,
}

impl Walk<'_, '_> {
    fn object(&mut self, object: Value<'_>, type_id: TypeId) {
        let types = types();
        if type_id == types.reference {
            self.reference(object);
        } else if type_id == types.coding && is_coded(object) {
            self.omit(object, &["display", "_display"]);
        } else if type_id == types.concept {
            let mut codings = object.get("coding").into_iter().flat_map(|list| list.items());
            if codings.any(is_coded) {
                self.omit(object, &["text", "_text"]);
            }
        }
        for (key, value) in object.entries() {
            if !value.is_object() && !value.is_array() {
                continue;
            }
            let name = key.name();
            let Some(child) = facts().child(type_id, name.strip_prefix('_').unwrap_or(&name)) else {
                continue;
            };
            if value.is_array() {
                value.items().for_each(|item| self.value(item, child.type_id, &name))
            } else {
                self.value(value, child.type_id, &name)
            }
        }
    }

    fn value(&mut self, value: Value<'_>, type_id: TypeId, name: &str) {
        if !value.is_object() || name == "contained" {
            return;
        }
        if type_id != types().resource {
            return self.object(value, type_id);
        }
        if let Some(type_id) = resource_type(value) {
            self.object(value, type_id);
        }
    }

    fn omit(&mut self, object: Value<'_>, names: &[&str]) {
        for (key, value) in object.entries() {
            if names.iter().any(|name| key.is(name)) {
                self.edits.omit(value);
            }
        }
    }

    /// Makes a reference lead to an entry of the card. If the card has no such entry, makes a logical reference:
    /// removes `reference`, and adds the type of the target and an identifier with the address, unless the object
    /// already has them.
    fn reference(&mut self, object: Value<'_>) {
        let Some((text, address)) = object.get("reference").and_then(|text| Some((text, text.as_str()?))) else {
            return;
        };
        let parsed = Reference::parse(&address);
        let found = match parsed {
            Reference::Fragment(id) => self.inside.find(id),
            parsed => self.places.find(parsed),
        };
        if let Some(number) = found {
            return self.edits.replace(text, format!("\"resource:{number}\""));
        }
        self.edits.omit(text);
        if let (None, Some(name)) = (object.get("type"), type_name(parsed)) {
            self.edits.append(object, "type", &quoted(name));
        }
        if object.get("identifier").is_none() {
            let is_uri = matches!(parsed, Reference::Absolute { .. } | Reference::Urn(_)) || address.contains("://");
            let system = if is_uri { r#""system":"urn:ietf:rfc:3986","# } else { "" };
            let identifier = format!("{{{system}\"value\":{}}}", quoted(&address));
            self.edits.append(object, "identifier", &identifier);
        }
    }
}

fn is_coded(coding: Value<'_>) -> bool {
    coding.get_str("code").is_some_and(|code| !code.is_empty())
}

fn type_name(reference: Reference<'_>) -> Option<&'static str> {
    match reference {
        Reference::Relative(target) | Reference::Absolute { target, .. } => Some(target.type_name()),
        Reference::Conditional { type_id, .. } => Some(facts().get(type_id).name),
        _ => None,
    }
}

/// Returns the type in `resourceType`, if R4 defines it as a resource type that is not abstract.
fn resource_type(resource: Value<'_>) -> Option<TypeId> {
    let type_id = facts().lookup(&resource.get_str("resourceType")?)?;
    let def = facts().get(type_id);
    (def.kind == Kind::Resource && !def.is_abstract).then_some(type_id)
}

fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// The R4 types that need special treatment.
struct Types {
    reference: TypeId,
    coding: TypeId,
    concept: TypeId,
    narrative: TypeId,
    resource: TypeId,
}

fn types() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| {
        let type_named = |name: &str| facts().lookup(name).expect("R4 has this type");
        Types {
            reference: type_named("Reference"),
            coding: type_named("Coding"),
            concept: type_named("CodeableConcept"),
            narrative: type_named("Narrative"),
            resource: type_named("Resource"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::{Tape, write_compact};
    use crate::patient::card::Resource;

    /// Returns a record and its contained resources as the entries of a card. The Patient `p` is `resource:0`, and the
    /// record is `resource:1`.
    fn slimmed(text: &str) -> Vec<String> {
        let type_named = |name: &str| facts().lookup(name).unwrap();
        let mut tape = Tape::new();
        let root = tape.parse(text.as_bytes()).unwrap();
        let own = resource_type(root).unwrap();
        let id = root.get_str("id").unwrap();
        let resources = [("Patient", "p", ""), (facts().get(own).name, &*id, text)];
        let resources = resources.map(|(name, id, text)| Resource {
            resource_type: type_named(name),
            id,
            text: text.as_bytes(),
        });
        let places = Places::new("http://here/fhir/", &resources);
        let inside = Inside::new(1, root, 2);
        let mut edits = Edits::new();
        slim(root, own, &places, &inside, &mut edits);
        for one in &inside.contained {
            slim(one.json, one.resource_type, &places, &inside, &mut edits);
        }
        let written = |value| {
            let mut out = Vec::new();
            write_compact(value, &mut out, &edits);
            String::from_utf8(out).unwrap()
        };
        std::iter::once(root)
            .chain(inside.contained.iter().map(|one| one.json))
            .map(written)
            .collect()
    }

    fn one(text: &str) -> String {
        let [only] = &slimmed(text)[..] else {
            panic!("one entry")
        };
        only.clone()
    }

    #[test]
    fn ids_narratives_and_displays_stay_out() {
        let text = r#"{"resourceType":"Observation","id":"o","meta":{"versionId":"1","tag":[{"code":"t"}]},"text":{"status":
            "generated","div":"<div/>"},"code":{"id":"e","coding":[{"system":"http://loinc.org","code":"1","display":"Glucose",
            "_display":{"extension":[]}}],"text":"Sugar","_text":{"id":"x"}},"valueString":"high","component":[{"code":{"text":
            "by hand"}},{"code":{"coding":[{"display":"only a word"}],"text":"kept"}}]}"#;
        assert_eq!(
            one(text),
            r#"{"resourceType":"Observation","code":{"id":"e","coding":[{"system":"http://loinc.org","code":"1"}]},"valueString":"high","component":[{"code":{"text":"by hand"}},{"code":{"coding":[{"display":"only a word"}],"text":"kept"}}]}"#
        );
    }

    #[test]
    fn labels_of_confidentiality_stay() {
        let text = r#"{"resourceType":"Basic","id":"b","meta":{"lastUpdated":"x","security":[{"system":"s","code":"R",
            "display":"restricted"}]},"extension":[{"url":"u","valueCodeableConcept":{"coding":[{"code":"c"}],"text":"t"}}]}"#;
        assert_eq!(
            one(text),
            r#"{"resourceType":"Basic","meta":{"security":[{"system":"s","code":"R"}]},"extension":[{"url":"u","valueCodeableConcept":{"coding":[{"code":"c"}]}}]}"#
        );
        let empty = r#"{"resourceType":"Basic","id":"b","meta":{"security":[]}}"#;
        assert_eq!(one(empty), r#"{"resourceType":"Basic"}"#);
    }

    #[test]
    fn references_lead_to_entries_or_are_logical() {
        let of = |reference: &str| {
            let text = format!(r#"{{"resourceType":"Basic","id":"b","subject":{reference}}}"#);
            let slim = one(&text);
            slim.strip_prefix(r#"{"resourceType":"Basic","subject":"#)
                .and_then(|rest| rest.strip_suffix('}'))
                .unwrap()
                .to_owned()
        };
        for (sent, expected) in [
            (
                r#"{"reference":"Patient/p","display":"P"}"#,
                r#"{"reference":"resource:0","display":"P"}"#,
            ),
            (
                r#"{"reference":"Patient/p/_history/3"}"#,
                r#"{"reference":"resource:0"}"#,
            ),
            (
                r#"{"reference":"http://here/fhir/Patient/p"}"#,
                r#"{"reference":"resource:0"}"#,
            ),
            (r##"{"reference":"#"}"##, r#"{"reference":"resource:1"}"#),
            (r#"{"reference":"Basic/b"}"#, r#"{"reference":"resource:1"}"#),
            (
                r#"{"reference":"Group/g"}"#,
                r#"{"type":"Group","identifier":{"value":"Group/g"}}"#,
            ),
            (
                r#"{"reference":"Patient/other","identifier":{"value":"7"},"type":"Patient"}"#,
                r#"{"identifier":{"value":"7"},"type":"Patient"}"#,
            ),
            (
                r#"{"reference":"http://there/fhir/Patient/p"}"#,
                r#"{"type":"Patient","identifier":{"system":"urn:ietf:rfc:3986","value":"http://there/fhir/Patient/p"}}"#,
            ),
            (
                r#"{"reference":"urn:uuid:7"}"#,
                r#"{"identifier":{"system":"urn:ietf:rfc:3986","value":"urn:uuid:7"}}"#,
            ),
            (
                r##"{"reference":"#nowhere"}"##,
                r##"{"identifier":{"value":"#nowhere"}}"##,
            ),
            (r#"{"display":"somebody"}"#, r#"{"display":"somebody"}"#),
        ] {
            assert_eq!(of(sent), expected, "{sent}");
        }
    }

    #[test]
    fn references_are_found_wherever_they_stand() {
        let text = r#"{"resourceType":"Observation","id":"o","_status":{"extension":[{"url":"u","valueReference":
            {"reference":"Patient/p"}}]},"identifier":[{"assigner":{"reference":"Patient/p"}}],"performer":
            [{"reference":"Patient/p","identifier":{"assigner":{"reference":"Observation/o"}}}]}"#;
        assert_eq!(
            one(text),
            r#"{"resourceType":"Observation","_status":{"extension":[{"url":"u","valueReference":{"reference":"resource:0"}}]},"identifier":[{"assigner":{"reference":"resource:0"}}],"performer":[{"reference":"resource:0","identifier":{"assigner":{"reference":"resource:1"}}}]}"#
        );
    }

    #[test]
    fn contained_resources_become_entries() {
        let text = r##"{"resourceType":"MedicationRequest","id":"m","contained":[{"resourceType":"Medication","id":"drug","text":
            {"div":"x"},"code":{"text":"a drug"},"manufacturer":{"reference":"#maker"}},{"resourceType":"Organization","id":"maker",
            "meta":{"profile":["x"]},"partOf":{"reference":"#"}}],"medicationReference":{"reference":"#drug"}}"##;
        assert_eq!(
            slimmed(text),
            [
                r#"{"resourceType":"MedicationRequest","medicationReference":{"reference":"resource:2"}}"#,
                r#"{"resourceType":"Medication","code":{"text":"a drug"},"manufacturer":{"reference":"resource:3"}}"#,
                r#"{"resourceType":"Organization","partOf":{"reference":"resource:1"}}"#,
            ]
        );
    }
}
