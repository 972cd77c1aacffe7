//! The payload of a card: its claims with the Bundle in them, minified and deflated.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::error::CardError;
use super::places::{Places, Resource};
use super::slim::{Inside, slim};
use crate::columns::json::{Edits, Tape, Value, push_quoted, write_compact};
use crate::fhir::facts;

/// The `type` of the credential in every card.
const TYPE: &str = "https://smarthealth.cards#health-card";
const FHIR_VERSION: &str = "4.0.1";
/// The compression level of deflate. Records are repetitive: level 5 compresses them to about 1/25.
const EFFORT: u32 = 5;

/// The contents of a card apart from its records.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The issuer: a URL without a trailing slash.
    pub issuer: &'r str,
    /// The base URL of this service's own references. It ends with `/fhir`.
    pub fhir_base: &'r str,
    /// The time of issue, in seconds since the Unix epoch.
    pub issued_at: i64,
    /// The revocation id of the card (`rid`).
    pub rid: &'r str,
}

/// Builds the deflated payload of a card. Each of `resources` becomes an entry of the card's Bundle, in the same order.
/// Contained resources become further entries after all of these.
pub fn payload(request: &Request<'_>, resources: &[Resource<'_>]) -> Result<Vec<u8>, CardError> {
    let mut out = DeflateEncoder::new(Vec::new(), Compression::new(EFFORT));
    out.write_all(&head(request))?;
    let places = Places::new(request.fhir_base, resources);
    // A record's entry number is its index in `resources`. So the entries of contained resources must come after those
    // of all records. They are collected in `behind`.
    let (mut behind, mut next) = (Vec::new(), resources.len());
    let (mut tape, mut edits, mut entry) = (Tape::new(), Edits::new(), Vec::new());
    for (number, resource) in resources.iter().enumerate() {
        let root = tape.parse(resource.text).map_err(|reason| CardError::Unreadable {
            resource_type: facts().get(resource.resource_type).name,
            reason,
        })?;
        edits.clear();
        let inside = Inside::new(number, root, next);
        next += inside.contained.len();
        slim(root, resource.resource_type, &places, &inside, &mut edits);
        entry.clear();
        push_entry(&mut entry, number, root, &edits);
        out.write_all(&entry)?;
        for one in &inside.contained {
            slim(one.json, one.resource_type, &places, &inside, &mut edits);
            push_entry(&mut behind, one.number, one.json, &edits);
        }
    }
    out.write_all(&behind)?;
    out.write_all(&tail(request))?;
    Ok(out.finish()?)
}

fn head(request: &Request<'_>) -> Vec<u8> {
    let mut out = b"{\"iss\":".to_vec();
    push_quoted(&mut out, request.issuer);
    let claims = format!(
        r#","nbf":{},"vc":{{"type":["{TYPE}"],"credentialSubject":{{"fhirVersion":"{FHIR_VERSION}","fhirBundle":"#,
        request.issued_at
    );
    out.extend_from_slice(claims.as_bytes());
    out.extend_from_slice(br#"{"resourceType":"Bundle","type":"collection","entry":["#);
    out
}

fn tail(request: &Request<'_>) -> Vec<u8> {
    let mut out = b"]}},\"rid\":".to_vec();
    push_quoted(&mut out, request.rid);
    out.extend_from_slice(b"}}");
    out
}

fn push_entry(out: &mut Vec<u8>, number: usize, resource: Value<'_>, edits: &Edits) {
    if number > 0 {
        out.push(b',');
    }
    out.extend_from_slice(format!(r#"{{"fullUrl":"resource:{number}","resource":"#).as_bytes());
    write_compact(resource, out, edits);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::DeflateDecoder;
    use serde_json::{Value, json};

    use super::*;

    const REQUEST: Request<'_> = Request {
        issuer: "https://here/health-cards",
        fhir_base: "https://here/fhir",
        issued_at: 1_700_000_000,
        rid: "abc",
    };

    fn claims(resources: &[(&str, &str, &str)]) -> (String, Value) {
        let resources: Vec<Resource<'_>> = resources
            .iter()
            .map(|(name, id, text)| Resource {
                resource_type: facts().lookup(name).unwrap(),
                id,
                text: text.as_bytes(),
            })
            .collect();
        let deflated = payload(&REQUEST, &resources).unwrap();
        let mut text = String::new();
        DeflateDecoder::new(&deflated[..]).read_to_string(&mut text).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    #[test]
    fn claims_are_minified_and_entries_numbered() {
        let request = r##"{"resourceType":"MedicationRequest","id":"m", "contained": [{"resourceType":"Medication","id":"d"}],
            "medicationReference":{"reference":"#d"},"subject":{"reference":"Patient/p"}}"##;
        let goal = r#"{"resourceType":"Goal","id":"g","addresses":[{"reference":"MedicationRequest/m"}]}"#;
        let patient = r#"{"resourceType":"Patient","id":"p","gender":"other"}"#;
        let (text, claims) = claims(&[
            ("Patient", "p", patient),
            ("Goal", "g", goal),
            ("MedicationRequest", "m", request),
        ]);
        assert!(!text.contains(": ") && !text.contains('\n'));
        let vc = &claims["vc"];
        assert_eq!(claims["iss"], "https://here/health-cards");
        assert_eq!(claims["nbf"], 1_700_000_000);
        assert_eq!(vc["type"], json!(["https://smarthealth.cards#health-card"]));
        assert_eq!(vc["rid"], "abc");
        assert_eq!(vc["credentialSubject"]["fhirVersion"], "4.0.1");
        assert_eq!(
            vc["credentialSubject"]["fhirBundle"],
            json!({"resourceType": "Bundle", "type": "collection", "entry": [
                {"fullUrl": "resource:0", "resource": {"resourceType": "Patient", "gender": "other"}},
                {"fullUrl": "resource:1", "resource": {"resourceType": "Goal", "addresses": [{"reference": "resource:2"}]}},
                {"fullUrl": "resource:2", "resource": {"resourceType": "MedicationRequest",
                    "medicationReference": {"reference": "resource:3"}, "subject": {"reference": "resource:0"}}},
                {"fullUrl": "resource:3", "resource": {"resourceType": "Medication"}},
            ]})
        );
    }

    #[test]
    fn a_damaged_record_is_an_error_that_tells_its_type() {
        let resource = Resource {
            resource_type: facts().lookup("Goal").unwrap(),
            id: "g",
            text: b"{\"secret\":",
        };
        let refused = payload(&REQUEST, &[resource]).unwrap_err().to_string();
        assert!(refused.contains("Goal") && !refused.contains("secret"), "{refused}");
    }
}
