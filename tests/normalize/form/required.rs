//! Placeholders of required elements.

use serde_json::{Value, json};
use tabularium::normalize::{NoCodes, Rule};

use super::super::harness::Consent;

fn normalized(record: Value) -> (Value, u64) {
    let (after, report) = Consent::new(1).with(0, record).normalize(&NoCodes);
    let left = report.rules.get(&Rule::Required).map_or(0, |counts| counts.left);
    (after.get("x"), left)
}

#[test]
fn placeholders_stand_for_what_is_missing() {
    let absent = json!({"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason",
        "valueCode": "unknown"}]});
    let undefined = "Undefined by source";
    for (before, expected) in [
        (
            json!({"resourceType": "Observation", "id": "x"}),
            json!({"resourceType": "Observation", "id": "x", "status": "unknown", "code": {"text": undefined}}),
        ),
        (
            json!({"resourceType": "Encounter", "id": "x", "status": "", "class": null}),
            json!({"resourceType": "Encounter", "id": "x", "status": "unknown", "class": {"display": undefined}}),
        ),
        (
            json!({"resourceType": "Immunization", "id": "x", "status": "completed",
                "vaccineCode": {"text": "flu"}, "patient": {"reference": "#p"},
                "contained": [{"resourceType": "Patient", "id": "p", "communication": [{"preferred": true}]}]}),
            json!({"resourceType": "Immunization", "id": "x", "status": "completed",
                "vaccineCode": {"text": "flu"}, "patient": {"reference": "#p"}, "occurrenceString": undefined,
                "contained": [{"resourceType": "Patient", "id": "p",
                    "communication": [{"preferred": true, "language": {"text": undefined}}]}]}),
        ),
        (
            json!({"resourceType": "ExplanationOfBenefit", "id": "x", "status": "active", "type": {"text": "pharmacy"},
                "use": "claim", "patient": {"display": "somebody"}, "insurer": {"display": "payer"}, "outcome": "complete"}),
            json!({"resourceType": "ExplanationOfBenefit", "id": "x", "status": "active", "type": {"text": "pharmacy"},
                "use": "claim", "patient": {"display": "somebody"}, "insurer": {"display": "payer"}, "outcome": "complete",
                "_created": absent, "provider": {"display": undefined},
                "insurance": [{"_focal": absent, "coverage": {"display": undefined}}]}),
        ),
    ] {
        let (after, left) = normalized(before);
        assert_eq!(after, expected);
        assert_eq!(left, 0);
        assert_eq!(normalized(after.clone()).0, after, "twice is once");
    }
}

#[test]
fn a_resource_that_cannot_be_valid_stays_as_it_came() {
    for record in [
        json!({"resourceType": "Observation", "id": "x", "code": {"text": "x"}, "color": "red"}),
        json!({"resourceType": "Observation", "id": "x", "code": "x"}),
        json!({"resourceType": "Patient", "id": "x", "extension": [{"valueString": "without url"}]}),
    ] {
        assert_eq!(normalized(record.clone()), (record, 1));
    }
}

/// A second run took the placeholder of a Reference for a name, so a resource generated from the claim got another id.
#[test]
fn what_is_made_does_not_change_with_placeholders() {
    let coded =
        |code: &str| json!({"coding": [{"system": "http://terminology.hl7.org/CodeSystem/claim-type", "code": code}]});
    let claim = |id: &str, code: &str, item: Value| {
        json!({"resourceType": "ExplanationOfBenefit", "id": id, "status": "active", "type": coded(code), "use": "claim",
            "patient": {"reference": "Patient/p"}, "created": "2024-05-01", "outcome": "complete",
            "careTeam": [{"sequence": 1, "role": {"coding": [{"code": "prescribing"}]}}],
            "item": [item]})
    };
    let cpt = json!({"coding": [{"system": "http://www.ama-assn.org/go/cpt", "code": "11042"}]});
    let consent = Consent::new(1)
        .with(
            0,
            claim("fill", "pharmacy", json!({"sequence": 1, "servicedDate": "2024-05-01"})),
        )
        .with(
            0,
            claim(
                "visit",
                "professional",
                json!({"sequence": 1, "servicedDate": "2024-05-01", "productOrService": cpt}),
            ),
        );
    let made = |consent: &Consent| {
        let plan = consent.plan(&NoCodes);
        let generated = plan.generated.into_iter();
        generated.map(|made| (made.id, made.json)).collect::<Vec<_>>()
    };
    let (after, _) = consent.normalize(&NoCodes);
    assert_eq!(after.get("fill")["provider"], json!({"display": "Undefined by source"}));
    let first = made(&consent);
    assert!(first.len() >= 5, "{first:#?}");
    assert_eq!(made(&after), first);
}
