//! At least sixty queries compared with a plain reading of all resources.

use serde_json::Value;

use super::super::brute::{at, begins, coded, has, identified, is, numbers, relates, spans, texts};
use super::super::corpus::{corpus, ids};

type Reading = fn(&Value) -> bool;

const LOINC: &str = "http://loinc.org";
const COLE: &str = "Patient/32cd9fa4-7a32-4de1-bce2-548e37151540";
const EVELYN: &str = "Patient/3e26303e-a72a-4c60-866f-e5b81a9f1989";
const UCUM: &str = "http://unitsofmeasure.org";

fn observed(resource: &Value, prefix: &str, text: &str) -> bool {
    let found = spans(resource, "effectiveDateTime", "effectivePeriod");
    found.into_iter().any(|target| relates(prefix, target, text))
}

fn during(resource: &Value, prefix: &str, text: &str) -> bool {
    spans(resource, "none", "period")
        .into_iter()
        .any(|target| relates(prefix, target, text))
}

fn born(resource: &Value, prefix: &str, text: &str) -> bool {
    spans(resource, "birthDate", "none")
        .into_iter()
        .any(|target| relates(prefix, target, text))
}

fn measured(resource: &Value, holds: impl Fn(f64) -> bool) -> bool {
    numbers(resource, "valueQuantity.value").into_iter().any(holds)
}

/// Queries by type, value and prefix, each with its plain reading.
const QUERIES: &[(&str, Reading)] = &[
    // Tokens.
    ("Observation?code=http://loinc.org|72166-2", |r| {
        coded(r, "code.coding", Some(LOINC), "72166-2")
    }),
    ("Observation?code=29463-7", |r| coded(r, "code.coding", None, "29463-7")),
    ("Observation?code=29463-7,http://loinc.org|8302-2", |r| {
        coded(r, "code.coding", None, "29463-7") || coded(r, "code.coding", Some(LOINC), "8302-2")
    }),
    ("Observation?code=http://snomed.info/sct|29463-7", |r| {
        coded(r, "code.coding", Some("http://snomed.info/sct"), "29463-7")
    }),
    ("Observation?code=http://loinc.org|", |r| {
        is(r, "code.coding.system", LOINC)
    }),
    ("Observation?code=|29463-7", |r| {
        at(r, "code.coding")
            .into_iter()
            .any(|coding| coding["code"] == "29463-7" && coding.get("system").is_none())
    }),
    ("Observation?code:not=29463-7", |r| {
        !coded(r, "code.coding", None, "29463-7")
    }),
    ("Observation?category=vital-signs", |r| {
        coded(r, "category.coding", None, "vital-signs")
    }),
    ("Observation?category=laboratory&status=final", |r| {
        coded(r, "category.coding", None, "laboratory") && is(r, "status", "final")
    }),
    ("Observation?status=FINAL", |r| is(r, "status", "final")),
    ("Observation?status:not=final", |r| !is(r, "status", "final")),
    ("Observation?combo-code=8480-6", |r| {
        coded(r, "code.coding", None, "8480-6") || coded(r, "component.code.coding", None, "8480-6")
    }),
    ("Observation?component-code=http://loinc.org|8462-4", |r| {
        coded(r, "component.code.coding", Some(LOINC), "8462-4")
    }),
    ("Observation?value-concept=266919005", |r| {
        coded(r, "valueCodeableConcept.coding", None, "266919005")
    }),
    ("Patient?gender=female", |r| is(r, "gender", "female")),
    ("Patient?gender=http://hl7.org/fhir/administrative-gender|female", |r| {
        is(r, "gender", "female")
    }),
    ("Patient?gender=http://loinc.org|female", |_| false),
    ("Patient?gender=|female", |r| is(r, "gender", "female")),
    ("Patient?gender:missing=true", |r| !has(r, "gender")),
    ("Patient?gender:missing=false", |r| has(r, "gender")),
    ("Patient?active=true", |r| r["active"] == true),
    ("Organization?active=http://hl7.org/fhir/special-values|true", |r| {
        r["active"] == true
    }),
    ("Organization?active=http://loinc.org|true", |_| false),
    ("Patient?deceased=true", |r| {
        r["deceasedBoolean"] == true || has(r, "deceasedDateTime")
    }),
    ("Patient?language=es", |r| {
        coded(r, "communication.language.coding", None, "es")
    }),
    ("Patient?identifier=http://hospital.smarthealthit.org|", |r| {
        is(r, "identifier.system", "http://hospital.smarthealthit.org")
    }),
    (
        "Patient?identifier=https://github.com/synthetichealth/synthea|a8376487-72d8-ac29-a654-91f3622cc7a4",
        |r| {
            let system = "https://github.com/synthetichealth/synthea";
            identified(r, "identifier", system, "a8376487-72d8-ac29-a654-91f3622cc7a4")
        },
    ),
    ("Patient?_id=907,908", |r| is(r, "id", "907") || is(r, "id", "908")),
    ("Patient?phone:missing=true", |r| !is(r, "telecom.system", "phone")),
    ("Condition?clinical-status=active", |r| {
        coded(r, "clinicalStatus.coding", None, "active")
    }),
    (
        "Condition?clinical-status=active,recurrence&verification-status=confirmed",
        |r| {
            (coded(r, "clinicalStatus.coding", None, "active") || coded(r, "clinicalStatus.coding", None, "recurrence"))
                && coded(r, "verificationStatus.coding", None, "confirmed")
        },
    ),
    ("Condition?code=http://snomed.info/sct|15777000", |r| {
        coded(r, "code.coding", Some("http://snomed.info/sct"), "15777000")
    }),
    ("Encounter?class=AMB", |r| coded(r, "class", None, "AMB")),
    (
        "Encounter?class=http://terminology.hl7.org/CodeSystem/v3-ActCode|EMER",
        |r| coded(r, "class", None, "EMER"),
    ),
    ("Encounter?type=185349003", |r| {
        coded(r, "type.coding", None, "185349003")
    }),
    ("Immunization?vaccine-code=http://hl7.org/fhir/sid/cvx|140", |r| {
        coded(r, "vaccineCode.coding", None, "140")
    }),
    ("MedicationRequest?code:missing=true", |r| {
        !has(r, "medicationCodeableConcept")
    }),
    ("MedicationRequest?status=active&intent=order", |r| {
        is(r, "status", "active") && is(r, "intent", "order")
    }),
    ("Goal?lifecycle-status=accepted,active", |r| {
        is(r, "lifecycleStatus", "accepted") || is(r, "lifecycleStatus", "active")
    }),
    ("Observation?_tag=https://smarthealthit.org/tags|synthea-5-2019", |r| {
        coded(r, "meta.tag", Some("https://smarthealthit.org/tags"), "synthea-5-2019")
    }),
    // Strings.
    ("Patient?family=co", |r| begins(r, "name.family", "co")),
    ("Patient?family=Ordonez", |r| is(r, "name.family", "Ordóñez")),
    ("Patient?family:exact=Ordonez", |_| false),
    ("Patient?family:exact=Cole", |r| is(r, "name.family", "Cole")),
    ("Patient?family:contains=hal", |r| {
        texts(r, "name.family")
            .iter()
            .any(|name| name.to_lowercase().contains("hal"))
    }),
    ("Patient?given=V,E", |r| {
        begins(r, "name.given", "v") || begins(r, "name.given", "e")
    }),
    ("Patient?name=mr", |r| {
        ["family", "given", "prefix", "suffix", "text"]
            .iter()
            .any(|part| begins(r, &format!("name.{part}"), "mr"))
    }),
    ("Patient?address-city=boston", |r| begins(r, "address.city", "boston")),
    ("Patient?address-state:missing=true", |r| !has(r, "address.state")),
    ("Organization?name:contains=HOSPITAL", |r| {
        texts(r, "name")
            .iter()
            .any(|name| name.to_lowercase().contains("hospital"))
    }),
    ("Practitioner?family=smith", |r| begins(r, "name.family", "smith")),
    ("Observation?value-string:missing=false", |r| {
        has(r, "valueString") || has(r, "valueCodeableConcept.text")
    }),
    // Dates.
    ("Observation?date=2014", |r| observed(r, "eq", "2014")),
    ("Observation?date=ne2014", |r| observed(r, "ne", "2014")),
    ("Observation?date=gt2018-06-15", |r| observed(r, "gt", "2018-06-15")),
    ("Observation?date=lt2011-05", |r| observed(r, "lt", "2011-05")),
    ("Observation?date=ge2016-01-01&date=le2016-12-31", |r| {
        observed(r, "ge", "2016-01-01") && observed(r, "le", "2016-12-31")
    }),
    ("Observation?date=sa2019-01-01T00:00:00Z", |r| {
        observed(r, "sa", "2019-01-01T00:00:00Z")
    }),
    ("Observation?date=eb2010-01-01T12:00:00-05:00", |r| {
        observed(r, "eb", "2010-01-01T12:00:00-05:00")
    }),
    ("Observation?date:missing=true", |r| {
        !has(r, "effectiveDateTime") && !has(r, "effectivePeriod")
    }),
    ("Patient?birthdate=lt1940-01-01", |r| born(r, "lt", "1940-01-01")),
    ("Patient?birthdate=1976", |r| born(r, "eq", "1976")),
    ("Encounter?date=2014-05", |r| during(r, "eq", "2014-05")),
    ("Encounter?date=ge2019-01-01", |r| during(r, "ge", "2019-01-01")),
    ("Encounter?date=eb1990", |r| during(r, "eb", "1990")),
    ("Condition?onset-date=gt2010&onset-date=lt2015", |r| {
        let onset = |prefix, text| {
            spans(r, "onsetDateTime", "onsetPeriod")
                .into_iter()
                .any(|target| relates(prefix, target, text))
        };
        onset("gt", "2010") && onset("lt", "2015")
    }),
    ("Immunization?date=2012-05-01", |r| {
        spans(r, "occurrenceDateTime", "none")
            .into_iter()
            .any(|target| relates("eq", target, "2012-05-01"))
    }),
    ("Procedure?date=ge2014-05-06T04:03:34Z", |r| {
        let found = spans(r, "performedDateTime", "performedPeriod");
        found
            .into_iter()
            .any(|target| relates("ge", target, "2014-05-06T04:03:34Z"))
    }),
    // References.
    (
        "Observation?subject=Patient/32cd9fa4-7a32-4de1-bce2-548e37151540",
        |r| is(r, "subject.reference", COLE),
    ),
    ("Observation?patient=32cd9fa4-7a32-4de1-bce2-548e37151540", |r| {
        is(r, "subject.reference", COLE)
    }),
    (
        "Observation?subject:Patient=32cd9fa4-7a32-4de1-bce2-548e37151540&category=laboratory",
        |r| is(r, "subject.reference", COLE) && coded(r, "category.coding", None, "laboratory"),
    ),
    (
        "Observation?subject=http://records.example/fhir/Patient/32cd9fa4-7a32-4de1-bce2-548e37151540",
        |r| is(r, "subject.reference", COLE),
    ),
    (
        "Condition?patient=32cd9fa4-7a32-4de1-bce2-548e37151540,Patient/3e26303e-a72a-4c60-866f-e5b81a9f1989",
        |r| is(r, "subject.reference", COLE) || is(r, "subject.reference", EVELYN),
    ),
    ("Encounter?service-provider:missing=true", |r| {
        !has(r, "serviceProvider")
    }),
    (
        "ExplanationOfBenefit?patient=Patient/3e26303e-a72a-4c60-866f-e5b81a9f1989",
        |r| is(r, "patient.reference", EVELYN),
    ),
    ("DiagnosticReport?result:missing=true", |r| !has(r, "result")),
    ("Observation?subject=Group/32cd9fa4-7a32-4de1-bce2-548e37151540", |_| {
        false
    }),
    // Quantities and numbers.
    ("Observation?value-quantity=gt200", |r| {
        measured(r, |value| value > 200.0)
    }),
    (
        "Observation?value-quantity=le1.5|http://unitsofmeasure.org|mg/dL",
        |r| {
            at(r, "valueQuantity").into_iter().any(|quantity| {
                quantity["value"].as_f64().is_some_and(|value| value <= 1.5)
                    && quantity["system"] == UCUM
                    && quantity["code"] == "mg/dL"
            })
        },
    ),
    ("Observation?value-quantity=100", |r| {
        measured(r, |value| (99.5..100.5).contains(&value))
    }),
    ("Observation?value-quantity=ap100||kg", |r| {
        at(r, "valueQuantity").into_iter().any(|quantity| {
            quantity["value"]
                .as_f64()
                .is_some_and(|value| (90.0..=110.0).contains(&value))
                && (quantity["code"] == "kg" || quantity["unit"] == "kg")
        })
    }),
    (
        "Observation?code=29463-7&value-quantity=ge80&value-quantity=lt90",
        |r| coded(r, "code.coding", None, "29463-7") && measured(r, |value| (80.0..90.0).contains(&value)),
    ),
    ("Observation?component-value-quantity=gt140", |r| {
        numbers(r, "component.valueQuantity.value")
            .into_iter()
            .any(|value| value > 140.0)
    }),
    ("Observation?combo-value-quantity=lt0", |r| {
        let all = [
            numbers(r, "valueQuantity.value"),
            numbers(r, "component.valueQuantity.value"),
        ]
        .concat();
        all.into_iter().any(|value| value < 0.0)
    }),
    ("Encounter?length:missing=true", |r| !has(r, "length")),
    ("Immunization?lot-number:missing=false", |r| has(r, "lotNumber")),
    // URIs.
    ("SearchParameter?url:missing=false", |r| has(r, "url")),
    (
        "Observation?_profile=http://hl7.org/fhir/us/core/StructureDefinition/us-core-smokingstatus",
        |r| {
            // A canonical without a version means all versions.
            let profile = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-smokingstatus";
            texts(r, "meta.profile")
                .iter()
                .any(|one| one.split('|').next() == Some(profile))
        },
    ),
];

#[test]
fn queries_find_what_a_plain_reading_finds() {
    let corpus = corpus();
    let mut wrong = Vec::new();
    let mut with_matches = 0;
    for (query, reading) in QUERIES {
        let resource_type = query.split('?').next().unwrap();
        let expected: Vec<Value> = corpus.everything(resource_type).into_iter().filter(reading).collect();
        let expected = ids(&expected);
        with_matches += usize::from(!expected.is_empty());
        let paged = format!("{query}&_count=500");
        let found = corpus.all(&corpus.application(), &paged);
        if ids(&found) != expected || found.len() != expected.len() {
            let missing: Vec<_> = expected.difference(&ids(&found)).take(2).cloned().collect();
            let extra: Vec<_> = ids(&found).difference(&expected).take(2).cloned().collect();
            wrong.push(format!(
                "{query}: {} not {}, missing {missing:?}, extra {extra:?}",
                found.len(),
                expected.len()
            ));
        }
        let counted = corpus
            .page(&corpus.application(), &format!("{query}&_summary=count"))
            .unwrap();
        if counted["total"] != expected.len() {
            wrong.push(format!("{query}: counts {} not {}", counted["total"], expected.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        QUERIES.len() >= 60 && with_matches >= if crate::harness::real().is_whole { 55 } else { 30 },
        "{} queries, {with_matches} with matches",
        QUERIES.len()
    );
}
