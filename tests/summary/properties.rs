//! Properties of every summary, for any records.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::harness::{Person, SECTIONS};

const TYPES: [&str; 19] = [
    "AllergyIntolerance",
    "CarePlan",
    "ClinicalImpression",
    "Condition",
    "Consent",
    "Device",
    "DeviceUseStatement",
    "DiagnosticReport",
    "DocumentReference",
    "Encounter",
    "Goal",
    "Immunization",
    "Medication",
    "MedicationDispense",
    "MedicationRequest",
    "MedicationStatement",
    "Observation",
    "Practitioner",
    "Procedure",
];
const STATUSES: [&str; 9] = [
    "active",
    "final",
    "completed",
    "current",
    "in-progress",
    "entered-in-error",
    "preliminary",
    "unknown",
    "",
];
const CATEGORIES: [&str; 8] = [
    "laboratory",
    "vital-signs",
    "social-history",
    "functional-status",
    "problem-list-item",
    "acd",
    "LAB",
    "34117-2",
];
const CODES: [&str; 7] = ["82810-3", "11778-8", "716186003", "E11.9", "42348-3", "1", "2"];
const TEXTS: [&str; 6] = [
    "plain",
    "<b>&",
    "\u{1}\u{fffe}",
    "Undefined by source",
    " ",
    "ünïcode 💊 \"'",
];
const NARRATIVES: [&str; 6] = [
    r#"<div xmlns="http://www.w3.org/1999/xhtml"><p>Fine</p></div>"#,
    r#"<div xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script>x</div>"#,
    r#"<div xmlns="http://www.w3.org/1999/xhtml"><a href="javascript:x()">x</a></div>"#,
    "<div>no namespace</div>",
    "plain text & <p>",
    "",
];
const SUBJECTS: [&str; 5] = [
    "Patient/p",
    "Patient/q",
    "Patient/other",
    "https://x/fhir/Patient/p",
    "",
];

/// A record generated from a number.
fn record(at: usize, mut seed: u64, records: usize) -> (Value, bool) {
    let mut draw = |below: usize| {
        // Splitmix: each call gives another number.
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    };
    let resource_type = TYPES[draw(TYPES.len())];
    let target = |draw: &mut dyn FnMut(usize) -> usize| {
        let text = match draw(5) {
            0 => "#c".to_owned(),
            1 => format!("urn:uuid:{}", draw(3)),
            2 => format!("{}/nowhere", TYPES[draw(TYPES.len())]),
            _ => format!("{}/r{}", TYPES[draw(TYPES.len())], draw(records + 1)),
        };
        json!({"reference": text})
    };
    let mut json = json!({"resourceType": resource_type, "id": format!("r{at}")});
    let status = STATUSES[draw(STATUSES.len())];
    json["status"] = json!(status);
    json["lifecycleStatus"] = json!(status);
    json["category"] = json!([{"coding": [{"code": CATEGORIES[draw(CATEGORIES.len())]}]}]);
    let concept = json!({
        "coding": [{"system": "http://loinc.org", "code": CODES[draw(CODES.len())]}], "text": TEXTS[draw(TEXTS.len())],
    });
    for name in ["code", "vaccineCode", "medicationCodeableConcept", "type"] {
        if draw(3) > 0 {
            json[name] = concept.clone();
        }
    }
    let subject = SUBJECTS[draw(SUBJECTS.len())];
    if !subject.is_empty() {
        json["subject"] = json!({"reference": subject});
        json["patient"] = json!({"reference": subject});
    }
    for name in ["performer", "hasMember", "result", "goal", "basedOn", "author"] {
        if draw(3) == 0 {
            json[name] = json!([target(&mut draw), target(&mut draw)]);
        }
    }
    for name in ["device", "encounter", "specimen", "medicationReference", "recorder"] {
        if draw(4) == 0 {
            json[name] = target(&mut draw);
        }
    }
    if draw(2) == 0 {
        let name = [
            "effectiveDateTime",
            "recordedDate",
            "occurrenceDateTime",
            "performedDateTime",
            "authoredOn",
        ][draw(5)];
        json[name] = json!(["2020", "2020-02-30", "2021-03-04T05:06:07Z", "yesterday"][draw(4)]);
    }
    match draw(5) {
        0 => json["valueString"] = json!(TEXTS[draw(TEXTS.len())]),
        1 => json["valueQuantity"] = json!({"value": 1.5, "unit": TEXTS[draw(TEXTS.len())]}),
        2 => json["component"] = json!([{"code": concept, "valueInteger": 3}, 7]),
        3 => json["meta"] = json!({"profile": [], "tag": [{"system": "https://x/GeneratedBy", "code": resource_type}]}),
        _ => json["performer"] = json!([]),
    }
    if draw(4) == 0 {
        json["text"] = json!({"status": "generated", "div": NARRATIVES[draw(NARRATIVES.len())]});
    }
    (json, draw(6) > 0)
}

fn person(seeds: &[u64]) -> Person {
    let mut person = Person::new();
    person.patients.push("q".to_owned());
    let other = json!({"resourceType": "Patient", "id": "q", "name": [{"family": "Roe"}]});
    person.records.push((other.to_string(), true));
    for (at, seed) in seeds.iter().enumerate() {
        let (json, is_own) = record(at, *seed, seeds.len());
        person.records.push((json.to_string(), is_own));
    }
    person
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// `Person::summary` checks that the document is complete. It has no dangling reference and no orphan, each section
    /// occurs once, and narratives are valid.
    #[test]
    fn any_records_make_a_whole_document(seeds in prop::collection::vec(any::<u64>(), 0..40), sections in 0usize..15) {
        let mut person = person(&seeds);
        if let Some((alias, _)) = SECTIONS.get(sections) {
            person = person.asking(&[*alias]);
        }
        let document = person.summary();
        for entry in document.0["entry"].as_array().unwrap() {
            let about = &entry["resource"]["subject"]["reference"];
            prop_assert!(about.is_null() || about == "https://records.example/fhir/Patient/p", "{about}");
        }
        for (alias, _) in SECTIONS {
            let is_asked = person.sections.is_empty() || person.sections[0] == alias;
            prop_assert_eq!(document.empty(alias) == Some("withheld"), !is_asked);
        }
    }

    /// The order of the records does not matter.
    #[test]
    fn the_same_records_make_the_same_document(seeds in prop::collection::vec(any::<u64>(), 0..30), turn in any::<usize>()) {
        let person = person(&seeds);
        let mut turned = person.clone();
        let count = turned.records.len();
        turned.records.rotate_left(turn % count);
        prop_assert_eq!(person.bytes(), turned.bytes());
        turned.records.reverse();
        prop_assert_eq!(person.bytes(), turned.bytes());
    }
}
