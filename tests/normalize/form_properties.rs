//! Properties of normalization that hold for any records of a consent.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use tabularium::columns::json::Tape;
use tabularium::normalize::form::check;

use super::harness::{Consent, Few};
use super::real::leaves;

fn coding() -> impl Strategy<Value = Value> {
    let system = select(vec![
        "http://hl7.org/fhir/sid/icd-10-cm",
        "urn:oid:2.16.840.1.113883.6.90",
        "https://loinc.org/",
        "http://loinc.org",
        "http://hl7.org/fhir/sid/ndc",
        "urn:oid:2.16.840.1.113883.6.69",
        "http://nucc.org/provider-taxonomy",
        "https://payer.example/codes",
    ]);
    let code = select(vec![
        "e119",
        "E11.9",
        " 8302-2 ",
        "0002-8215-01",
        "0002821501",
        "55555-4444-22",
        "207q00000x",
        "a b",
        "1",
    ]);
    let display = select(vec![None, Some("a"), Some("b"), Some("Undefined by source")]);
    (system, code, display).prop_map(|(system, code, display)| {
        let mut coding = json!({"system": system, "code": code});
        if let Some(display) = display {
            coding["display"] = json!(display);
        }
        coding
    })
}

fn concept() -> impl Strategy<Value = Value> {
    (prop::collection::vec(coding(), 1..4), any::<bool>()).prop_map(|(codings, has_text)| {
        let mut concept = json!({"coding": codings});
        if has_text {
            concept["text"] = json!("as the source says");
        }
        concept
    })
}

fn reference() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"reference": "Practitioner/0-0"}),
        json!({"reference": "Practitioner/gone"}),
        json!({"reference": "https://payer0.example/fhir/Practitioner/p1"}),
        json!({"reference": "https://payer1.example/fhir/Practitioner/p1"}),
        json!({"reference": "Practitioner?identifier=http://hl7.org/fhir/sid/us-npi|1"}),
        json!({"reference": "#c"}),
        json!({"identifier": {"system": "http://hl7.org/fhir/sid/us-npi", "value": "1"}}),
        json!({"identifier": {"type": {"coding": [{"code": "NPI"}]}, "value": "2"}, "display": "own"}),
        json!({"display": "somebody"}),
    ])
}

fn practitioner(npi: &str) -> Value {
    json!({"resourceType": "Practitioner", "identifier": [{"system": "urn:oid:2.16.840.1.113883.4.6", "value": npi}]})
}

fn record() -> impl Strategy<Value = Value> {
    let person = (
        select(vec!["1", "2"]),
        select(vec!["Stone", "Hill"]),
        prop::option::of(select(vec!["555-0100", "555-0101"])),
        prop::option::of(concept()),
    )
        .prop_map(|(npi, family, phone, taxonomy)| {
            let mut person = practitioner(npi);
            person["name"] = json!([{"family": family}]);
            if let Some(phone) = phone {
                person["telecom"] = json!([{"system": "phone", "value": phone}]);
            }
            if let Some(code) = taxonomy {
                person["qualification"] = json!([{"code": code}]);
            }
            person
        });
    let observation = (concept(), coding(), reference(), any::<bool>()).prop_map(|(code, tag, performer, is_whole)| {
        let mut contained = practitioner("1");
        contained["id"] = json!("c");
        let mut observation = json!({"resourceType": "Observation", "code": code, "performer": [performer, {"reference": "#c"}],
            "meta": {"security": [tag]}, "contained": [contained]});
        if is_whole {
            observation["status"] = json!("final");
        }
        observation
    });
    let encounter = (coding(), reference(), concept()).prop_map(|(class, provider, kind)| {
        json!({"resourceType": "Encounter", "class": class, "serviceProvider": provider, "type": [kind]})
    });
    let patient = Just(json!({"resourceType": "Patient", "name": [{"text": "Sam Hill"}]}));
    prop_oneof![3 => person, 4 => observation, 2 => encounter, 1 => patient]
}

fn consent() -> impl Strategy<Value = Consent> {
    let records = prop::collection::vec((0..3_u32, record()), 1..12);
    records.prop_map(|records| {
        let mut consent = Consent::new(3);
        for (at, (source, mut record)) in records.into_iter().enumerate() {
            record["id"] = json!(format!("{source}-{at}"));
            record["meta"]["source"] = json!(format!(
                "https://payer{source}.example/fhir/{}/p{at}",
                record["resourceType"].as_str().unwrap()
            ));
            consent = consent.with(source, record);
        }
        consent
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn twice_is_once(consent in consent()) {
        let (once, _) = consent.normalize(&Few);
        let (twice, _) = once.normalize(&Few);
        prop_assert_eq!(&twice.records, &once.records);
        // The third sync marks dangling references; a fourth adds nothing.
        let (third, _) = twice.normalize(&Few);
        let (fourth, _) = third.normalize(&Few);
        prop_assert_eq!(fourth.records, third.records);
    }

    #[test]
    fn order_does_not_matter(consent in consent(), seed in any::<u64>()) {
        let (expected, report) = consent.normalize(&Few);
        let mut order: Vec<usize> = (0..consent.records.len()).collect();
        order.sort_by_key(|at| (*at as u64 + 1).wrapping_mul(seed | 1).rotate_left(17));
        let mut turned = consent.clone();
        turned.records = order.iter().map(|at| consent.records[*at].clone()).collect();
        let (found, found_report) = turned.normalize(&Few);
        let expected: Vec<_> = order.iter().map(|at| expected.records[*at].clone()).collect();
        prop_assert_eq!(found.records, expected);
        prop_assert_eq!(found_report, report);
    }

    #[test]
    fn nothing_is_lost_and_all_is_valid(consent in consent()) {
        let (after, _) = consent.normalize(&Few);
        for ((_, before), (_, after)) in consent.records.iter().zip(&after.records) {
            let mut tape = Tape::new();
            prop_assert_eq!(check(tape.parse(after.as_bytes()).unwrap()), []);
            let after = leaves(after);
            for (leaf, count) in leaves(before) {
                // An address of the source itself becomes a relative reference; a condition becomes an identifier.
                let is_written_anew = leaf.contains("/fhir/Practitioner/p") || leaf.starts_with("Practitioner?");
                prop_assert!(is_written_anew || after.get(&leaf).copied().unwrap_or_default() >= count, "{}", leaf);
            }
        }
    }

    #[test]
    fn nothing_stays_of_a_source_that_is_gone(consent in consent(), gone in 0..3_u32) {
        let (both, _) = consent.normalize(&Few);
        let without = |consent: &Consent| {
            let mut rest = consent.clone();
            rest.records.retain(|(source, _)| source.0 != gone);
            rest
        };
        let (expected, _) = without(&consent).normalize(&Few);
        let (found, _) = without(&both).normalize(&Few);
        prop_assert_eq!(found.records, expected.records);
    }

    #[test]
    fn nothing_of_another_consent_is_used(one in consent(), other in consent()) {
        let (expected, _) = one.normalize(&Few);
        other.normalize(&Few);
        prop_assert_eq!(one.normalize(&Few).0.records, expected.records);
    }
}
