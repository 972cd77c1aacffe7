//! Writes the text of a synced resource, with our id and with what shows its origin: `meta.source`, our tags after the
//! source's own, and an identifier with the source's id.

use super::super::input::copy::{Edit, Writer, is_commit_property};
use super::super::rows::block::Splice;
use super::synced::Naming;
use crate::columns::json::{Value, push_quoted};
use crate::fhir::{TypeId, facts};

/// Writes one synced resource.
pub(in crate::ingest) struct Marked<'e>(Writer<'e>);

impl<'e> Marked<'e> {
    /// Creates a writer that reuses the memory of `out`.
    pub(in crate::ingest) fn new(mut out: Vec<u8>, edits: &'e [Edit]) -> Marked<'e> {
        out.clear();
        Marked(Writer { out, edits, next: 0 })
    }

    /// Returns the written text.
    pub(in crate::ingest) fn finish(self) -> Vec<u8> {
        self.0.out
    }

    /// Writes the resource. Returns where the commit inserts `meta.versionId` and `meta.lastUpdated`.
    pub(in crate::ingest) fn write(
        &mut self,
        root: Value<'_>,
        type_id: TypeId,
        id: &str,
        source_id: &str,
        naming: &Naming,
    ) -> Splice {
        let mut splice = Splice { at: 0, in_meta: true };
        let identifier = facts().element(type_id, "identifier");
        let (mut has_id, mut has_meta, mut has_identifier) = (false, false, false);
        for (key, _) in root.entries() {
            has_id |= key.is("id");
            has_meta |= key.is("meta");
            has_identifier |= key.is("identifier");
        }
        self.0.out.push(b'{');
        let mut first = true;
        for (key, value) in root.entries() {
            if !std::mem::take(&mut first) {
                self.0.out.push(b',');
            }
            self.0.key(key.raw());
            // The source's `meta` stays in its place. A new `meta` comes after the id, and a new id after
            // `resourceType`.
            if key.is("meta") {
                splice.at = self.meta(value, type_id, source_id, naming);
                continue;
            } else if key.is("identifier") && identifier.is_some_and(|element| element.many) {
                self.list(value, &[naming.identifier(source_id)], |_| true);
                continue;
            } else if key.is("id") {
                push_quoted(&mut self.0.out, id);
            } else {
                self.0.value(value);
            }
            if key.is("resourceType") && !has_id {
                self.0.out.extend_from_slice(b",\"id\":");
                push_quoted(&mut self.0.out, id);
            }
            if !has_meta && (key.is("id") || (key.is("resourceType") && !has_id)) {
                self.0.out.extend_from_slice(b",\"meta\":");
                splice.at = self.fresh_meta(type_id, source_id, naming);
            }
        }
        if let Some(element) = identifier.filter(|_| !has_identifier) {
            let ours = naming.identifier(source_id);
            let ours = if element.many { format!("[{ours}]") } else { ours };
            self.0
                .out
                .extend_from_slice(format!(",\"identifier\":{ours}").as_bytes());
        }
        self.0.out.push(b'}');
        splice
    }

    /// Writes the source's `meta` with our `source` and our tags. Returns the offset of the first property of `meta`,
    /// where the commit inserts its own properties.
    fn meta(&mut self, meta: Value<'_>, type_id: TypeId, source_id: &str, naming: &Naming) -> usize {
        if !meta.is_object() {
            return self.fresh_meta(type_id, source_id, naming);
        }
        self.0.out.push(b'{');
        let at = self.0.out.len();
        let kept = |name: &str| !is_commit_property(name) && !matches!(name, "source" | "_source");
        let mut tagged = false;
        for (key, value) in meta.entries().filter(|(key, _)| kept(&key.name())) {
            self.0.key(key.raw());
            if key.is("tag") && !tagged {
                tagged = true;
                let is_ours = |tag: Value<'_>| {
                    tag.get_str("system")
                        .is_some_and(|system| naming.is_our_system(&system))
                };
                self.list(value, &naming.tags(type_id, source_id), |tag| !is_ours(tag));
            } else {
                self.0.value(value);
            }
            self.0.out.push(b',');
        }
        self.source(type_id, source_id, naming);
        if !tagged {
            self.tags(type_id, source_id, naming);
        }
        self.0.out.push(b'}');
        at
    }

    fn fresh_meta(&mut self, type_id: TypeId, source_id: &str, naming: &Naming) -> usize {
        self.0.out.push(b'{');
        let at = self.0.out.len();
        self.source(type_id, source_id, naming);
        self.tags(type_id, source_id, naming);
        self.0.out.push(b'}');
        at
    }

    fn source(&mut self, type_id: TypeId, source_id: &str, naming: &Naming) {
        self.0.out.extend_from_slice(b"\"source\":");
        push_quoted(&mut self.0.out, &naming.address(type_id, source_id));
    }

    fn tags(&mut self, type_id: TypeId, source_id: &str, naming: &Naming) {
        self.0.out.extend_from_slice(b",\"tag\":[");
        self.0
            .out
            .extend_from_slice(naming.tags(type_id, source_id).join(",").as_bytes());
        self.0.out.push(b']');
    }

    /// Writes a list: the items of `value` that `kept` accepts, and then `more`. If `value` is no list, writes only
    /// `more`.
    fn list(&mut self, value: Value<'_>, more: &[String], kept: impl Fn(Value<'_>) -> bool) {
        self.0.out.push(b'[');
        if value.is_array() {
            for item in value.items().filter(|item| kept(*item)) {
                self.0.value(item);
                self.0.out.push(b',');
            }
        }
        self.0.out.extend_from_slice(more.join(",").as_bytes());
        self.0.out.push(b']');
    }
}

#[cfg(test)]
mod tests {
    use super::super::base::SourceBase;
    use super::super::synced::Synced;
    use super::*;
    use crate::columns::json::Tape;
    use crate::ingest::error::Reason;
    use crate::ingest::input::normalize::Normalizer;
    use crate::ingest::references::condition::Keys;
    use crate::ingest::references::links::Links;
    use crate::ingest::references::rewrite::Rewrite;
    use crate::lake::Mode;
    use crate::lake::owners::owner::OwnerKey;
    use serde_json::json;
    use std::sync::Arc;

    fn key() -> OwnerKey {
        OwnerKey::from_hex("000102030405060708090a0b0c0d0e0f").unwrap()
    }

    fn id(resource_type: &str, id: &str) -> String {
        key().synced_id(0x1234_8000, "e1", resource_type, id)
    }

    /// Returns the text to store, with a version, or the reason of a refusal.
    fn stored(json: &str) -> Result<serde_json::Value, Reason> {
        let synced = Synced {
            owner: 0x1234_8000,
            authorization: "a1".to_owned(),
            endpoint: "e1".to_owned(),
            base: SourceBase::new("https://payer.example/fhir/"),
            identifier_system: "urn:payer".to_owned(),
            source_patient: "p".to_owned(),
            alias: Some("alias".to_owned()),
            linked: ["linked".to_owned()].into(),
            tags: "https://records.example/tags".to_owned(),
            generated_patient: false,
            addresses: Arc::default(),
        };
        let naming = Naming::new(key(), "app", Mode::Test, synced);
        let mut normalizer = Normalizer::new(Keys::new(), Some(Arc::new(Rewrite::Synced(Box::new(naming)))));
        let mut tape = Tape::new();
        let root = tape.parse(json.as_bytes()).unwrap();
        let normalized = normalizer
            .normalize(root, None, &Links::default())
            .map_err(|rejected| rejected.reason)?;
        let mut text = normalizer.text().to_owned();
        assert!(normalized.splice.in_meta);
        assert!(normalized.shared_refs.is_empty());
        text.insert_str(normalized.splice.at, r#""versionId":"1","#);
        Ok(serde_json::from_str(&text).unwrap())
    }

    fn tags() -> Vec<serde_json::Value> {
        let tag =
            |name: &str, code: &str| json!({"system": format!("https://records.example/tags/{name}"), "code": code});
        vec![
            tag("PatientAccessTokenId", "a1"),
            tag("EndpointId", "e1"),
            tag("ApplicationId", "app"),
            tag("PatientAuthorizationMode", "TEST"),
        ]
    }

    #[test]
    fn a_synced_resource_says_where_it_came_from() {
        let ours = json!({"system": "urn:payer", "value": "o"});
        let meta = json!({"versionId": "1", "source": "https://payer.example/fhir/Organization/o", "tag": tags()});
        for (source, expected) in [
            (
                json!({"resourceType": "Organization", "id": "o", "name": "x"}),
                json!({"resourceType": "Organization", "id": id("Organization", "o"), "meta": meta, "name": "x", "identifier": [ours]}),
            ),
            (
                json!({"meta": {"versionId": "9", "lastUpdated": "2020-01-01T00:00:00Z", "source": "#x"}, "id": "o",
                       "resourceType": "Organization", "identifier": [{"value": "1"}]}),
                json!({"resourceType": "Organization", "id": id("Organization", "o"), "meta": meta,
                       "identifier": [{"value": "1"}, ours]}),
            ),
            (
                json!({"resourceType": "Organization", "id": "o", "meta": "none", "identifier": "none"}),
                json!({"resourceType": "Organization", "id": id("Organization", "o"), "meta": meta, "identifier": [ours]}),
            ),
        ] {
            assert_eq!(stored(&source.to_string()).unwrap(), expected);
        }
        // The source's own tags stay, before ours, and so does the rest of `meta`. Tags that only we may set are
        // removed.
        let forged = json!({"system": "https://records.example/tags/PatientAccessTokenId", "code": "a2"});
        let tagged = json!({"resourceType": "Organization", "id": "o",
                            "meta": {"tag": [forged, {"code": "t"}], "profile": ["p"]}});
        let found = stored(&tagged.to_string()).unwrap();
        let mut expected = vec![json!({"code": "t"})];
        expected.extend(tags());
        assert_eq!(found["meta"]["tag"], json!(expected));
        assert_eq!(found["meta"]["profile"], json!(["p"]));
        // A type with at most one identifier gets our identifier only if the source gives none. A type without
        // identifiers gets no identifier.
        let single = stored(r#"{"resourceType":"Composition","id":"o"}"#).unwrap();
        assert_eq!(single["identifier"], ours);
        let own = stored(r#"{"resourceType":"Composition","id":"o","identifier":{"value":"1"}}"#).unwrap();
        assert_eq!(own["identifier"], json!({"value": "1"}));
        assert_eq!(
            stored(r#"{"resourceType":"Binary","id":"o"}"#)
                .unwrap()
                .get("identifier"),
            None
        );
    }

    #[test]
    fn the_patient_has_one_id_under_whichever_the_source_writes() {
        let patient = stored(r#"{"resourceType":"Patient","id":"alias"}"#).unwrap();
        assert_eq!(patient["id"], id("Patient", "p"));
        let record = json!({"resourceType": "Observation", "id": "alias", "subject": {"reference": "Patient/alias"}});
        let found = stored(&record.to_string()).unwrap();
        assert_eq!(found["subject"]["reference"], format!("Patient/{}", id("Patient", "p")));
        assert_eq!(found["id"], id("Observation", "alias"));
        let linked = json!({"resourceType": "Observation", "id": "o", "subject": {"reference": "Patient/linked"}});
        let found = stored(&linked.to_string()).unwrap();
        assert_eq!(
            found["subject"]["reference"],
            format!("Patient/{}", id("Patient", "linked"))
        );
    }

    #[test]
    fn references_into_the_source_follow_its_ids() {
        let refer = |text: &str| {
            let json = json!({"resourceType": "Observation", "id": "o", "subject": {"reference": "Patient/p"},
                              "performer": [{"reference": text}]});
            let found = stored(&json.to_string()).unwrap();
            assert_eq!(found["subject"]["reference"], format!("Patient/{}", id("Patient", "p")));
            found["performer"][0]["reference"].as_str().unwrap().to_owned()
        };
        let here = format!("Practitioner/{}", id("Practitioner", "d"));
        for text in [
            "Practitioner/d",
            "Practitioner/d/_history/3",
            "https://payer.example/fhir/Practitioner/d",
            "https://payer.example/fhir/Practitioner/d/_history/3",
        ] {
            assert_eq!(refer(text), here, "{text}");
        }
        for text in [
            "https://other.example/fhir/Practitioner/d",
            "https://payer.example/fhirx/Practitioner/d",
            "https://payer.example/fhir/Nothing/d",
            "urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0",
            "#c",
        ] {
            assert_eq!(refer(text), text);
        }
        let contained = json!({"resourceType": "Observation", "id": "o", "identifier": [{"assigner": {"reference": "Organization/x"}}],
                               "contained": [{"resourceType": "Practitioner", "id": "c", "identifier": [{"value": "1"}]}]});
        let found = stored(&contained.to_string()).unwrap();
        assert_eq!(found["contained"], contained["contained"]);
        let assigner = &found["identifier"][0]["assigner"]["reference"];
        assert_eq!(*assigner, format!("Organization/{}", id("Organization", "x")));
    }

    #[test]
    fn what_is_somebody_elses_is_refused() {
        for json in [
            json!({"resourceType": "Patient", "id": "q"}),
            json!({"resourceType": "Observation", "id": "o", "subject": {"reference": "Patient/q"}}),
            json!({"resourceType": "Observation", "id": "o", "subject": {"reference": "https://payer.example/fhir/Patient/q"}}),
            json!({"resourceType": "Coverage", "id": "o", "beneficiary": {"reference": "Patient/q"}, "subscriber": {"reference": "Patient/p"}}),
        ] {
            assert_eq!(stored(&json.to_string()), Err(Reason::OtherPerson), "{json}");
        }
        for json in [
            json!({"resourceType": "Patient", "id": "p"}),
            json!({"resourceType": "Patient", "id": "linked"}),
            json!({"resourceType": "Observation", "id": "o", "subject": {"reference": "Patient/linked"}}),
            json!({"resourceType": "Coverage", "id": "o", "beneficiary": {"reference": "Patient/p"}, "subscriber": {"reference": "Patient/q"}}),
            json!({"resourceType": "Organization", "id": "o"}),
        ] {
            assert!(stored(&json.to_string()).is_ok(), "{json}");
        }
    }
}
