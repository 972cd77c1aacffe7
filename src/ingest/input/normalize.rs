//! Turns a parsed resource into the text to store: JSON without white space, with keys and digits unchanged, with
//! resolved references, and with an id. The text has no `meta.versionId` and no `meta.lastUpdated`. The commit adds
//! them.
//!
//! [`Links`] has the targets of references inside a Bundle. The module `filing` decides to which person a resource
//! belongs. The module `sequence` handles resources that must wait for others.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem;

use super::super::error::Reason;
use super::super::references::condition::{Key, Keys, resource_type};
use super::super::references::identifiers::keys_of;
use super::super::references::links::{Links, Resolution, Wait, resolve};
use super::super::references::rewrite::Rewrite;
use super::super::rows::block::Splice;
use super::super::sync::marked::Marked;
use super::super::sync::synced::{Naming, is_source_id, source_target};
use super::copy::{Edit, Writer, is_commit_property};
use super::filing::{Filing, file_under, is_never_shared, stands_for_another, texts_of_people};
use crate::columns::json::{Value, push_quoted};
use crate::fhir::reference::{Target as Relative, is_id};
use crate::fhir::{TypeId, facts};
use crate::lake::file::digest;

/// A normalized resource.
#[derive(Debug)]
pub(in crate::ingest) struct Normalized {
    pub(in crate::ingest) type_id: TypeId,
    /// The resource's id as stored, after rewriting.
    pub(in crate::ingest) id: String,
    /// The resource's id before rewriting, by which the input refers to it.
    pub(in crate::ingest) source_id: String,
    pub(in crate::ingest) splice: Splice,
    pub(in crate::ingest) filing: Filing,
    /// Whether another resource may decide the owner of this one.
    pub(in crate::ingest) stands_for_another: bool,
    pub(in crate::ingest) shared_refs: Vec<String>,
    pub(in crate::ingest) waits: Vec<Wait>,
    /// The number of references without a target: references to a missing entry of the Bundle, and conditional
    /// references without exactly one match or with an unsupported condition.
    pub(in crate::ingest) unresolved: u32,
}

/// Normalizes resources. One normalizer reuses its memory for many resources.
#[derive(Debug)]
pub(in crate::ingest) struct Normalizer {
    keys: Keys,
    rewrite: Option<Arc<Rewrite>>,
    /// Whether a sync fetched the records. Their ids are then ids of the source, for which `is_source_id` decides what
    /// is valid.
    of_source: bool,
    edits: Vec<Edit>,
    /// The text of the resource that was normalized last.
    text: Vec<u8>,
    /// The identifiers of the resource that was normalized last.
    pub(in crate::ingest) identifiers: Vec<Key>,
}

impl Normalizer {
    pub(in crate::ingest) fn new(keys: Keys, rewrite: Option<Arc<Rewrite>>) -> Self {
        Self {
            keys,
            of_source: rewrite.as_deref().and_then(Rewrite::naming).is_some(),
            rewrite,
            edits: Vec::new(),
            text: Vec::new(),
            identifiers: Vec::new(),
        }
    }

    /// Returns the text of the resource that was normalized last.
    pub(in crate::ingest) fn text(&self) -> &str {
        // The text consists of valid UTF-8 parts, so this never fails.
        simdutf8::basic::from_utf8(&self.text).unwrap_or_default()
    }

    pub(in crate::ingest) fn keys(&self) -> Keys {
        self.keys
    }

    /// Returns the id under which a resource of the input is stored.
    pub(in crate::ingest) fn stored_id(&self, type_id: TypeId, id: &str) -> String {
        self.rewrite
            .as_ref()
            .map_or_else(|| id.to_owned(), |rewrite| rewrite.id(type_id, id))
    }

    /// Returns the id under which a Patient of the input is stored.
    pub(in crate::ingest) fn stored_patient_id(&self, id: &str) -> String {
        match &self.rewrite {
            Some(rewrite) => rewrite.patient_id(id),
            None => id.to_owned(),
        }
    }

    /// Normalizes a resource that must wait. Unlike [`normalize`](Self::normalize), it does not rewrite ids: they are
    /// rewritten when the resource is normalized again.
    pub(in crate::ingest) fn normalize_unrewritten(
        &mut self,
        root: Value<'_>,
        given_id: Option<&str>,
        links: &Links,
    ) -> Result<Normalized, Rejected> {
        let rewrite = self.rewrite.take();
        let normalized = self.normalize(root, given_id, links);
        self.rewrite = rewrite;
        normalized
    }

    /// Returns the ids, tags and metadata that a sync gives to resources. Returns `None` for an import.
    pub(in crate::ingest) fn naming(&self) -> Option<&Naming> {
        self.rewrite.as_deref().and_then(Rewrite::naming)
    }

    /// Whether ids are rewritten.
    pub(in crate::ingest) fn rewrites(&self) -> bool {
        self.rewrite.is_some()
    }

    /// Normalizes a resource. `given_id` replaces the resource's own id.
    pub(in crate::ingest) fn normalize(
        &mut self,
        root: Value<'_>,
        given_id: Option<&str>,
        links: &Links,
    ) -> Result<Normalized, Rejected> {
        let head = Head::of(root)?;
        let type_id = head.type_id;
        let reject = |reason| Rejected {
            type_id: Some(type_id),
            reason,
        };
        let source_id = match (given_id, head.id) {
            (Some(id), _) => id.to_owned(),
            (None, Some(id)) => id
                .as_str()
                .map(Cow::into_owned)
                .ok_or_else(|| reject(Reason::InvalidId))?,
            (None, None) => content_id(root),
        };
        let is_sound = if self.of_source { is_source_id } else { is_id };
        if !is_sound(&source_id) {
            return Err(reject(Reason::InvalidId));
        }
        self.edits.clear();
        let mut found = Found::default();
        if memmem::find(root.raw().as_bytes(), b"reference").is_some() {
            self.references(root, "", links, &mut found);
        }
        let filing = file_under(type_id, &source_id, root, &|reference| self.resolved(reference));
        if self
            .naming()
            .is_some_and(|naming| self.is_of_another(naming, type_id, root, &filing))
        {
            return Err(reject(Reason::OtherPerson));
        }
        // All rows of a sync have the consent's owner, so no other resource decides it.
        let stands_for_another = self.naming().is_none() && stands_for_another(type_id, root, &filing);
        let id = self.stored_id(type_id, &source_id);
        let splice = match self.rewrite.clone().as_deref().and_then(Rewrite::naming) {
            Some(naming) => {
                let mut writer = Marked::new(std::mem::take(&mut self.text), &self.edits);
                let splice = writer.write(root, type_id, &id, &source_id, naming);
                self.text = writer.finish();
                splice
            }
            None => self.write(root, &head, &id),
        };
        self.identifiers.clear();
        if let Some(identifier) = head.identifier {
            keys_of(type_id, identifier, self.keys, &mut self.identifiers);
        }
        found.shared_refs.sort_unstable();
        found.shared_refs.dedup();
        let Found {
            shared_refs,
            waits,
            unresolved,
        } = found;
        Ok(Normalized {
            type_id,
            id,
            source_id,
            splice,
            filing,
            stands_for_another,
            shared_refs,
            waits,
            unresolved,
        })
    }

    /// Whether a synced resource belongs to another person: filing gives it to another Patient, or it refers to other
    /// Patients and not to the synced one.
    fn is_of_another(&self, naming: &Naming, type_id: TypeId, root: Value<'_>, filing: &Filing) -> bool {
        if let Filing::Person(patient) = filing {
            return naming.is_of_another(patient);
        }
        let (mut own, mut other) = (false, false);
        texts_of_people(type_id, root, &|reference| self.resolved(reference), &mut |text| {
            if let Some(patient) = naming.patient_of(text) {
                own |= !naming.is_of_another(patient);
                other |= naming.is_of_another(patient);
            }
        });
        other && !own
    }

    /// Resolves every `reference` property with a string value in a JSON value and below it. For imports, it skips a
    /// `reference` property that is no Reference in R4. Such a property is in a resource itself (DetectedIssue), in an
    /// Expression (which always has a `language`), or in Immunization's `education`. A test compares this list with R4.
    /// For syncs, it skips none, because otherwise a neighbouring property could hide the id of another person's
    /// record.
    fn references(&mut self, value: Value<'_>, property: &str, links: &Links, found: &mut Found) {
        if value.is_array() {
            for item in value.items().filter(|item| item.is_object()) {
                self.references(item, property, links, found);
            }
            return;
        }
        for (key, child) in value.entries() {
            if child.is_object() || child.is_array() {
                self.references(child, key.raw(), links, found);
            } else if key.is("reference")
                && let Some(text) = child.as_str()
                && (self.naming().is_some()
                    || property != "education"
                        && value.get("language").is_none()
                        && value.get("resourceType").is_none())
            {
                self.reference(child, &text, links, found);
            }
        }
    }

    fn reference(&mut self, value: Value<'_>, text: &str, links: &Links, found: &mut Found) {
        if text.starts_with('#') {
            return;
        }
        let resolution = resolve(text, links, self.keys);
        let target = match &resolution {
            Resolution::Keep => Some(text),
            Resolution::To(target) => Some(target.as_str()),
            Resolution::Nothing => {
                found.unresolved += 1;
                None
            }
            Resolution::Wait(_) => None,
        };
        let target = match self.naming() {
            Some(naming) => target.map(|target| naming.local(target)),
            None => target,
        };
        let mut written = None;
        let target_of = |text| {
            if self.of_source {
                source_target(text)
            } else {
                Relative::parse(text)
            }
        };
        if let Some(Relative { type_id, id, version }) = target.and_then(target_of) {
            let name = facts().get(type_id).name;
            let new_id = self.rewrite.as_ref().map(|rewrite| rewrite.id(type_id, id));
            // All rows of a sync have the consent's owner, so they refer to no shared row.
            if self.naming().is_none() && !is_never_shared(type_id) {
                found
                    .shared_refs
                    .push(format!("{name}/{}", new_id.as_deref().unwrap_or(id)));
            }
            written = new_id.map(|new_id| match version {
                // A synced reference loses its version, because the source's version numbers differ from ours.
                Some(version) if self.naming().is_none() => format!("{name}/{new_id}/_history/{version}"),
                _ => format!("{name}/{new_id}"),
            });
        }
        let local = target.map(str::to_owned);
        match resolution {
            Resolution::To(resolved) => self.edits.push(Edit {
                start: value.span().start,
                resolved,
                written,
            }),
            Resolution::Keep if written.is_some() => {
                self.edits.push(Edit {
                    start: value.span().start,
                    resolved: local.unwrap_or_default(),
                    written,
                });
            }
            Resolution::Wait(wait) => found.waits.push(wait),
            Resolution::Keep | Resolution::Nothing => {}
        }
    }

    /// Returns the resolved form of a `reference` value, for filing.
    fn resolved(&self, reference: Value<'_>) -> Option<String> {
        match self
            .edits
            .binary_search_by_key(&reference.span().start, |edit| edit.start)
        {
            Ok(at) => Some(self.edits[at].resolved.clone()),
            Err(_) => reference.as_str().map(Cow::into_owned),
        }
    }

    /// Writes the text. Returns where the commit inserts `meta.versionId` and `meta.lastUpdated`.
    fn write(&mut self, root: Value<'_>, head: &Head<'_>, id: &str) -> Splice {
        let mut writer = Writer {
            out: std::mem::take(&mut self.text),
            edits: &self.edits,
            next: 0,
        };
        writer.out.clear();
        writer.out.reserve(root.span().len() / 2);
        let meta = head
            .meta
            .filter(|meta| meta.entries().any(|(key, _)| !is_commit_property(key.raw())));
        let mut splice = Splice {
            at: 0,
            in_meta: meta.is_some(),
        };
        writer.out.push(b'{');
        let mut first = true;
        for (key, value) in root.entries() {
            let is_meta = key.is("meta");
            if is_meta && meta.is_none() {
                continue;
            }
            if !std::mem::take(&mut first) {
                writer.out.push(b',');
            }
            writer.key(key.raw());
            if is_meta {
                writer.out.push(b'{');
                splice.at = writer.out.len();
                writer.entries(value, |name| !is_commit_property(name));
                writer.out.push(b'}');
                continue;
            }
            let here = head.id.map_or_else(|| key.is("resourceType"), |_| key.is("id"));
            if here {
                if head.id.is_none() {
                    writer.value(value);
                    writer.out.push(b',');
                    writer.key("id");
                }
                push_quoted(&mut writer.out, id);
                if meta.is_none() {
                    splice.at = writer.out.len();
                }
            } else {
                writer.value(value);
            }
        }
        writer.out.push(b'}');
        self.text = writer.out;
        splice
    }
}

/// The reason of a refusal, and the resource's type if it is known.
#[derive(Debug)]
pub(in crate::ingest) struct Rejected {
    pub(in crate::ingest) type_id: Option<TypeId>,
    pub(in crate::ingest) reason: Reason,
}

/// The root properties that normalization must know before it writes the text.
struct Head<'t> {
    type_id: TypeId,
    id: Option<Value<'t>>,
    meta: Option<Value<'t>>,
    identifier: Option<Value<'t>>,
}

impl<'t> Head<'t> {
    fn of(root: Value<'t>) -> Result<Self, Rejected> {
        let reject = |reason| Rejected { type_id: None, reason };
        if !root.is_object() {
            return Err(reject(Reason::NotAnObject));
        }
        let (mut name, mut id, mut meta, mut identifier) = (None, None, None, None);
        let mut repeated = false;
        for (key, value) in root.entries() {
            let place = match key.name().as_ref() {
                "resourceType" => &mut name,
                "id" => &mut id,
                "meta" => &mut meta,
                "identifier" => {
                    identifier = Some(value);
                    continue;
                }
                _ => continue,
            };
            repeated |= place.replace(value).is_some();
        }
        let name = name
            .and_then(|name: Value<'_>| name.as_str())
            .ok_or_else(|| reject(Reason::NoResourceType))?;
        let type_id = resource_type(&name).ok_or_else(|| reject(Reason::UnknownResourceType))?;
        if repeated {
            return Err(Rejected {
                type_id: Some(type_id),
                reason: Reason::Repeated,
            });
        }
        Ok(Self {
            type_id,
            id,
            meta,
            identifier,
        })
    }
}

/// Returns an id for a resource without one: a hash of its content. The same content gives the same id.
pub(in crate::ingest) fn content_id(root: Value<'_>) -> String {
    let mut writer = Writer {
        out: Vec::new(),
        edits: &[],
        next: 0,
    };
    writer.value(root);
    digest(&writer.out).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Default)]
struct Found {
    shared_refs: Vec<String>,
    waits: Vec<Wait>,
    unresolved: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;
    use crate::fhir::Kind;

    fn normalized(json: &str, given_id: Option<&str>) -> String {
        let mut tape = Tape::new();
        let mut normalizer = Normalizer::new(Keys::new(), None);
        let root = tape.parse(json.as_bytes()).unwrap();
        let splice = normalizer.normalize(root, given_id, &Links::default()).unwrap().splice;
        let mut text = normalizer.text().to_owned();
        text.insert_str(splice.at, if splice.in_meta { "<in>" } else { "<new>" });
        text
    }

    /// The parent property's name, or a neighbouring property, shows which `reference` properties are no References.
    #[test]
    fn other_texts_named_reference_are_told_apart() {
        let is_text = |type_id| {
            let child = facts()
                .child(type_id, "reference")
                .map(|child| facts().get(child.type_id).kind);
            matches!(child, Some(Kind::Primitive(_)))
        };
        let mut types: Vec<&str> = facts()
            .types()
            .filter(|type_id| is_text(*type_id))
            .map(|type_id| facts().get(type_id).name)
            .collect();
        types.sort_unstable();
        assert_eq!(
            types,
            ["DetectedIssue", "Expression", "Immunization.education", "Reference"]
        );
        for type_id in facts().types() {
            let child = facts()
                .child(type_id, "education")
                .map(|child| facts().get(child.type_id).name);
            assert!(
                child.is_none_or(|child| child == "Immunization.education"),
                "{}",
                facts().get(type_id).name
            );
        }
        let language = |name| {
            facts()
                .element(facts().lookup(name).unwrap(), "language")
                .map(|element| element.min)
        };
        assert_eq!((language("Expression"), language("Reference")), (Some(1), None));

        let mut tape = Tape::new();
        let mut normalizer = Normalizer::new(Keys::new(), None);
        let mut links = Links::default();
        links.full_urls.insert(
            "urn:uuid:1".to_owned(),
            crate::ingest::references::links::Target::Known("Library/l".to_owned()),
        );
        let json = r#"{"resourceType":"Basic","id":"a","extension":[{"url":"e","valueExpression":{"language":"text/cql","reference":"urn:uuid:1"}},{"url":"r","valueReference":{"reference":"urn:uuid:1"}}],"contained":[{"resourceType":"Immunization","education":[{"reference" :"urn:uuid:1"}]},{"resourceType":"DetectedIssue","reference":"urn:uuid:1"}]}"#;
        normalizer
            .normalize(tape.parse(json.as_bytes()).unwrap(), None, &links)
            .unwrap();
        let expected = json.replace(r#"{"reference":"urn:uuid:1"}"#, r#"{"reference":"Library/l"}"#);
        assert_eq!(normalizer.text(), expected.replace(" :", ":"));
    }

    #[test]
    fn order_digits_and_escapes_stay() {
        for (json, expected) in [
            (
                r#" { "id" : "a" , "resourceType" : "Basic" , "extension" : [ { "url" : "\u00e9 x" , "valueDecimal" : 1.50 } ] } "#,
                r#"{"id":"a"<new>,"resourceType":"Basic","extension":[{"url":"\u00e9 x","valueDecimal":1.50}]}"#,
            ),
            (
                r#"{"meta":{"versionId":"3","tag":[ ],"lastUpdated":"x"},"resourceType":"Basic","id":"a"}"#,
                r#"{"meta":{<in>"tag":[]},"resourceType":"Basic","id":"a"}"#,
            ),
            (
                r#"{"resourceType":"Basic","meta":{"lastUpdated":"x"},"id":"a","language":"de"}"#,
                r#"{"resourceType":"Basic","id":"a"<new>,"language":"de"}"#,
            ),
            (
                r#"{"resourceType":"Basic","meta":"x","id":"a"}"#,
                r#"{"resourceType":"Basic","id":"a"<new>}"#,
            ),
            (
                r#"{"meta":{},"resourceType":"Basic","id":"a"}"#,
                r#"{"resourceType":"Basic","id":"a"<new>}"#,
            ),
        ] {
            assert_eq!(normalized(json, None), expected);
        }
        assert_eq!(
            normalized(r#"{"language":"de","resourceType":"Basic","code":{}}"#, Some("given")),
            r#"{"language":"de","resourceType":"Basic","id":"given"<new>,"code":{}}"#
        );
        assert_eq!(
            normalized(r#"{"resourceType":"Basic","id":"own"}"#, Some("given")),
            r#"{"resourceType":"Basic","id":"given"<new>}"#
        );
    }
}
