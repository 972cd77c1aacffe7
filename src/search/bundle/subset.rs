//! Cuts parts of a resource from its stored JSON text, for `_summary` and `_elements` (R4 search, 3.1.1.5.8 and
//! 3.1.1.5.9) in searches and reads.
//!
//! The tokens of the remaining elements are copied unchanged, without the white space between them. The result has the
//! tag SUBSETTED. Mandatory elements stay, and modifier elements stay with `_elements` and `_summary=true`.

use std::collections::BTreeSet;

use super::super::SearchError;
use super::super::parameters::raw::{Handling, RawParameter, refuse_modifier};
use super::super::parameters::result::{Summary, invalid, invalid_name};
use crate::columns::json::{Edits, Tape, Value, write_compact};
use crate::fhir::nearest::did_you_mean;
use crate::fhir::{Element, TypeId, facts};

const SUBSETTED: &str = concat!(
    r#"{"system":"http://terminology.hl7.org/CodeSystem/v3-ObservationValue","code":"SUBSETTED","#,
    r#""display":"subsetted"}"#
);

/// The maximum number of different names in `_elements`. A search of several types may name elements of all of them.
const MAX_ELEMENTS: usize = 200;

/// The part of each resource that the client requests.
#[derive(Clone, Debug, Default)]
pub struct Subset {
    /// The value of `_summary`.
    pub(in crate::search) summary: Summary,
    /// The names in `_elements`. Empty if the request has no `_elements`.
    pub(in crate::search) elements: BTreeSet<String>,
}

impl Subset {
    /// Returns the subset that the parameters of a read request. `type_id` is the type of the read resource. Other
    /// parameters than `_summary` and `_elements` are ignored (R4 HTTP, general parameters).
    pub fn of_read(type_id: TypeId, parameters: &[RawParameter]) -> Result<Subset, SearchError> {
        let mut subset = Subset::default();
        for raw in parameters.iter().filter(|raw| raw.counts(Handling::Lenient)) {
            match raw.name.as_str() {
                "_summary" => {
                    refuse_modifier(raw, "special")?;
                    subset.summary = Summary::parse(&raw.value)?;
                    if subset.summary == Summary::Count {
                        let expected = "one of true, text, data, false: only what a search finds is counted";
                        return Err(invalid("_summary", &raw.value, expected));
                    }
                }
                "_elements" => {
                    refuse_modifier(raw, "special")?;
                    subset.take_elements(type_id, &raw.value, false)?;
                }
                _ => {}
            }
        }
        Ok(subset)
    }

    /// Adds the names in a value of `_elements`. A name that is not an element of the type is an error, unless
    /// `known_elsewhere` is true. A search over several types sets `known_elsewhere`, because it has already checked
    /// that each name is an element of at least one of these types.
    pub(in crate::search) fn take_elements(
        &mut self,
        type_id: TypeId,
        value: &str,
        known_elsewhere: bool,
    ) -> Result<(), SearchError> {
        for name in elements(value) {
            if !known_elsewhere && !is_element(type_id, name) {
                let expected =
                    "a top-level element of the type, by its name in R4: 'value' for valueQuantity and its like";
                return Err(invalid_name(
                    "_elements",
                    name,
                    expected,
                    meant_element(&[type_id], name),
                ));
            }
            if !self.elements.contains(name) {
                self.elements.insert(name.to_owned());
            }
            if self.elements.len() > MAX_ELEMENTS {
                return Err(SearchError::Many {
                    parameter: "_elements".to_owned(),
                    what: "different names",
                    max: MAX_ELEMENTS,
                });
            }
        }
        Ok(())
    }

    /// Whether resources are returned with all of their elements, or not at all (`_summary=count`).
    pub fn is_whole(&self) -> bool {
        self.elements.is_empty() && matches!(self.summary, Summary::False | Summary::Count)
    }

    /// Returns the requested part of `resource`, whose type is `type_id`. Returns `None` if the text is not a JSON
    /// object.
    pub fn cut(&self, type_id: TypeId, resource: &[u8]) -> Option<Vec<u8>> {
        let mut tape = Tape::new();
        let root = tape.parse(resource).ok().filter(Value::is_object)?;
        let mut edits = Edits::new();
        for (key, value) in root.entries() {
            let name = key.name();
            if !self.keeps_root(type_id, &name) {
                edits.omit(value);
            } else if self.summary == Summary::True && self.elements.is_empty() {
                omit_beyond_summary(type_id, &name, value, &mut edits);
            }
        }
        tag(root, &mut edits);
        let mut out = Vec::with_capacity(resource.len() / 2);
        write_compact(root, &mut out, &edits);
        Some(out)
    }

    fn keeps_root(&self, type_id: TypeId, property: &str) -> bool {
        if matches!(property, "resourceType" | "id" | "meta") {
            return true;
        }
        let Some(child) = facts().child(type_id, property.strip_prefix('_').unwrap_or(property)) else {
            return false;
        };
        let element = child.element;
        if !self.elements.is_empty() {
            return self.elements.contains(element.name) || is_required(element);
        }
        match self.summary {
            Summary::True => element.summary || is_required(element),
            Summary::Text => element.name == "text" || element.min > 0,
            Summary::Data => element.name != "text",
            Summary::False | Summary::Count => true,
        }
    }
}

/// Whether `name` is allowed in `_elements` for resources of this type. Besides the elements of the type, clients may
/// name `resourceType`.
pub(in crate::search) fn is_element(type_id: TypeId, name: &str) -> bool {
    name == "resourceType" || facts().element(type_id, name).is_some()
}

/// Returns a suggestion for a name that is no element of these types, as the end of an error message.
pub(in crate::search) fn meant_element(types: &[TypeId], name: &str) -> String {
    let mut properties = types.iter().filter_map(|type_id| facts().child(*type_id, name));
    match properties.next() {
        // The JSON name of a choice element, such as `valueQuantity`.
        Some(property) => format!("; did you mean '{}'?", property.element.name),
        None => {
            let elements = types.iter().flat_map(|type_id| &facts().get(*type_id).elements);
            did_you_mean(name, elements.map(|element| element.name))
        }
    }
}

/// Splits a value of `_elements` into names.
pub(in crate::search) fn elements(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn is_required(element: &Element) -> bool {
    element.min > 0 || element.modifier
}

/// Omits from `value` all elements that are not in the summary form. `value` is the value of the property `name` in an
/// object of type `parent`. The omissions are added to `edits`.
fn omit_beyond_summary(parent: TypeId, name: &str, value: Value<'_>, edits: &mut Edits) {
    let Some(child) = facts().child(parent, name) else {
        return;
    };
    if value.is_array() {
        for item in value.items() {
            omit_within(child.type_id, item, edits);
        }
    } else {
        omit_within(child.type_id, value, edits);
    }
}

fn omit_within(type_id: TypeId, object: Value<'_>, edits: &mut Edits) {
    for (key, value) in object.entries() {
        let name = key.name();
        let kept = match facts().child(type_id, name.strip_prefix('_').unwrap_or(&name)) {
            Some(child) => child.element.summary || is_required(child.element),
            None => false,
        };
        if kept {
            omit_beyond_summary(type_id, &name, value, edits);
        } else {
            edits.omit(value);
        }
    }
}

fn tag(root: Value<'_>, edits: &mut Edits) {
    let Some(meta) = root.get("meta").filter(Value::is_object) else {
        edits.append(root, "meta", &format!(r#"{{"tag":[{SUBSETTED}]}}"#));
        return;
    };
    match meta.get("tag").filter(Value::is_array) {
        Some(tags) => {
            let kept = tags
                .items()
                .last()
                .map(|last| &tags.raw()[1..last.span().end - tags.span().start]);
            let all = kept
                .map(|kept| format!("{kept},{SUBSETTED}"))
                .unwrap_or_else(|| SUBSETTED.to_owned());
            edits.replace(tags, format!("[{all}]"));
        }
        None => edits.append(meta, "tag", &format!("[{SUBSETTED}]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(subset: Subset, text: &str) -> serde_json::Value {
        let type_id = facts().lookup("Observation").unwrap();
        serde_json::from_slice(&subset.cut(type_id, text.as_bytes()).unwrap()).unwrap()
    }

    const OBSERVATION: &str = r#"{"resourceType":"Observation","id":"o","meta":{"versionId":"1","tag":[ {"code":"x"} ]},
        "text":{"status":"generated","div":"<div/>"},"status":"final","code":{"text":"c"},"note":[{"text":"n"}],
        "component":[{"code":{"text":"d"},"referenceRange":[{"text":"r"}]}]}"#;

    fn names(value: &serde_json::Value) -> String {
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn parts_of_a_resource() {
        let summary = |summary| Subset {
            summary,
            elements: BTreeSet::new(),
        };
        let short = cut(summary(Summary::True), OBSERVATION);
        assert_eq!(names(&short), "code component id meta resourceType status");
        assert_eq!(names(&short["component"][0]), "code");
        assert_eq!(short["meta"]["tag"][1]["code"], "SUBSETTED");
        assert_eq!(short["meta"]["tag"][0]["code"], "x");
        assert_eq!(
            names(&cut(summary(Summary::Text), OBSERVATION)),
            "code id meta resourceType status text"
        );
        assert_eq!(
            names(&cut(summary(Summary::Data), OBSERVATION)),
            "code component id meta note resourceType status"
        );
        let elements = Subset {
            summary: Summary::False,
            elements: BTreeSet::from(["note".to_owned()]),
        };
        assert_eq!(
            names(&cut(elements, OBSERVATION)),
            "code id meta note resourceType status"
        );
    }

    #[test]
    fn the_tag_comes_where_there_is_no_meta() {
        let subset = Subset {
            summary: Summary::Data,
            elements: BTreeSet::new(),
        };
        let cut = cut(subset, r#"{"resourceType":"Observation","text":{"div":""}}"#);
        assert_eq!(cut["meta"]["tag"][0]["code"], "SUBSETTED");
        assert!(cut.get("text").is_none());
    }
}
