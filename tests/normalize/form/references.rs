//! References, and contributions between copies of one practitioner.

use serde_json::{Value, json};
use tabularium::normalize::{NoCodes, Rule};

use super::super::harness::{BASE, Consent, Few};

const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

fn practitioner(id: &str, npi: &str) -> Value {
    json!({"resourceType": "Practitioner", "id": id, "identifier": [{"system": NPI, "value": npi}],
        "name": [{"family": "Stone", "given": ["Ann"], "prefix": ["Dr."]}]})
}

fn claim(provider: Value) -> Value {
    json!({"resourceType": "ExplanationOfBenefit", "id": "eob", "status": "active", "type": {"text": "x"}, "use": "claim",
        "patient": {"display": "somebody"}, "created": "2024-01-01", "insurer": {"display": "payer"}, "provider": provider,
        "outcome": "complete", "insurance": [{"focal": true, "coverage": {"display": "c"}}]})
}

fn provider(consent: Consent) -> Value {
    let (after, _) = consent.normalize(&NoCodes);
    let (again, _) = after.normalize(&NoCodes);
    assert_eq!(again.records, after.records, "twice is once");
    after.get("eob")["provider"].clone()
}

#[test]
fn an_absolute_url_of_the_source_becomes_relative() {
    let mut ann = practitioner("1-ann", "1111111111");
    ann["meta"] = json!({"source": "https://payer0.example/fhir/Practitioner/ann"});
    let with = |url: &str| {
        provider(
            Consent::new(1)
                .with(0, ann.clone())
                .with(0, claim(json!({"reference": url}))),
        )
    };
    let relative = json!({"reference": "Practitioner/1-ann", "display": "Dr. Ann Stone"});
    assert_eq!(with("https://payer0.example/fhir/Practitioner/ann"), relative);
    assert_eq!(with("http://payer0.example/fhir/Practitioner/ann/_history/3"), relative);
    for other in [
        "https://payer1.example/fhir/Practitioner/ann",
        "https://payer0.example/fhir/Practitioner/bob",
    ] {
        assert_eq!(with(other), json!({"reference": other}));
    }
}

#[test]
fn conditional_and_logical_references_lead_to_the_one_that_answers() {
    let conditional = json!({"reference": format!("Practitioner?identifier={NPI}|1111111111")});
    let logical = json!({"identifier": {"system": "urn:oid:2.16.840.1.113883.4.6", "value": "1111111111"}});
    let typed = json!({"identifier": {"type": {"coding": [{"code": "NPI"}]}, "value": "1111111111"}});
    let with = |reference: &Value| Consent::new(2).with(0, claim(reference.clone()));
    let ann = |source, id| move |consent: Consent| consent.with(source, practitioner(id, "1111111111"));
    let found = |id: &str, own: &Value| {
        let mut found = json!({"reference": format!("Practitioner/{id}"), "display": "Dr. Ann Stone"});
        found["identifier"] = match own.get("identifier") {
            Some(identifier) => identifier.clone(),
            None => json!({"system": NPI, "value": "1111111111"}),
        };
        found
    };
    for own in [&conditional, &logical, &typed] {
        assert_eq!(provider(with(own)), *own, "nobody answers");
        assert_eq!(provider(ann(0, "a")(with(own))), found("a", own));
        let others = provider(ann(1, "b")(with(own)));
        assert_eq!(others["reference"], "Practitioner/b", "another source's");
        assert_eq!(
            provider(ann(1, "b")(ann(0, "a")(with(own)))),
            found("a", own),
            "the source's own goes first"
        );
        assert_eq!(provider(ann(0, "b")(ann(0, "a")(with(own)))), *own, "two answer");
    }
}

#[test]
fn a_member_id_finds_the_sources_own_patient_only() {
    let patient = |id: &str| {
        json!({"resourceType": "Patient", "id": id, "name": [{"text": "Sam Hill"}],
            "identifier": [{"system": "https://payer.example/members", "value": "M1"}]})
    };
    let coverage = json!({"resourceType": "Coverage", "id": "c", "status": "active", "payor": [{"display": "payer"}],
        "beneficiary": {"identifier": {"system": "https://payer.example/members", "value": "M1"}}});
    let beneficiary = |source| {
        let consent = Consent::new(2).with(0, coverage.clone()).with(source, patient("p"));
        consent.normalize(&NoCodes).0.get("c")["beneficiary"].clone()
    };
    let identifier = &coverage["beneficiary"]["identifier"];
    assert_eq!(
        beneficiary(0),
        json!({"identifier": identifier, "reference": "Patient/p", "display": "Sam Hill"})
    );
    assert_eq!(beneficiary(1), json!({"identifier": identifier}));
}

#[test]
fn a_contained_practitioner_with_an_npi_is_linked_to_the_one_that_is_there() {
    let mut eob = claim(json!({"reference": "#ann"}));
    eob["contained"] = json!([practitioner("ann", "1111111111")]);
    let consent = Consent::new(1).with(0, eob.clone());
    assert_eq!(
        provider(consent.clone().with(0, practitioner("a", "1111111111"))),
        json!({"reference": "Practitioner/a", "display": "Dr. Ann Stone",
            "extension": [{"url": format!("{BASE}/StructureDefinition/source-reference"),
                "valueReference": {"reference": "#ann"}}]})
    );
    assert_eq!(
        provider(consent.with(0, practitioner("a", "2222222222"))),
        json!({"reference": "#ann"})
    );
}

#[test]
fn copies_of_a_practitioner_gain_what_the_other_knows() {
    let mut one = practitioner("a", "1111111111");
    one["telecom"] = json!([{"system": "phone", "value": "555-0100"}]);
    let mut other = practitioner("b", "1111111111");
    other["telecom"] = json!([{"system": "phone", "value": "(555) 0100"}, {"system": "fax", "value": "555-0101"}]);
    other["address"] = json!([{"city": "Boston", "id": "x"}]);
    other["qualification"] =
        json!([{"code": {"coding": [{"system": "urn:oid:2.16.840.1.113883.6.101", "code": "207q00000x"}]}}]);
    let consent = Consent::new(2).with(0, one.clone()).with(1, other);
    let (after, report) = consent.normalize(&Few);
    let marks = json!([
        {"url": format!("{BASE}/StructureDefinition/normalized"), "valueCode": "Knowledge"},
        {"url": format!("{BASE}/StructureDefinition/known-from"), "valueReference": {"reference": "Practitioner/b"}}]);
    let mut expected = one.clone();
    expected["telecom"]
        .as_array_mut()
        .unwrap()
        .push(json!({"system": "fax", "value": "555-0101", "extension": marks}));
    expected["address"] = json!([{"city": "Boston", "extension": marks}]);
    expected["qualification"] = json!([{"extension": marks, "code": {"coding": [
        {"system": "http://nucc.org/provider-taxonomy", "code": "207Q00000X", "display": "Family Medicine Physician"},
        {"system": "urn:oid:2.16.840.1.113883.6.101", "code": "207q00000x"}], "text": "Family Medicine Physician"}}]);
    assert_eq!(after.get("a"), expected);
    assert_eq!(report.rules[&Rule::Knowledge].changed, 3);
    assert_eq!(after.normalize(&Few).0.records, after.records, "twice is once");
    // When the other source is gone, its contributions are gone.
    let mut alone = after;
    alone.records.remove(1);
    assert_eq!(alone.normalize(&Few).0.get("a"), one);
}

#[test]
fn an_organization_gains_a_name_where_it_has_none() {
    let organization = |id: &str| json!({"resourceType": "Organization", "id": id, "identifier": [{"system": NPI, "value": "3333333333"}]});
    let mut named = organization("b");
    named["name"] = json!("General Hospital");
    let consent = Consent::new(2).with(0, organization("a")).with(1, named.clone());
    let (after, _) = consent.normalize(&NoCodes);
    assert_eq!(after.get("a")["name"], "General Hospital");
    assert_eq!(
        after.get("a")["_name"]["extension"][1]["valueReference"]["reference"],
        "Organization/b"
    );
    assert_eq!(after.get("b"), named);
    assert_eq!(after.normalize(&NoCodes).0.records, after.records);
    let mut alone = after;
    alone.records.remove(1);
    assert_eq!(alone.normalize(&NoCodes).0.get("a"), organization("a"));
}

#[test]
fn the_patients_of_several_sources_are_linked() {
    let patient = |id: &str| json!({"resourceType": "Patient", "id": id});
    let consent = Consent::new(2).with(0, patient("a")).with(1, patient("b"));
    let (after, _) = consent.normalize(&NoCodes);
    let mark = json!([{"url": format!("{BASE}/StructureDefinition/normalized"), "valueCode": "References"}]);
    for (one, other) in [("a", "b"), ("b", "a")] {
        let links = json!([{"extension": mark, "other": {"reference": format!("Patient/{other}")}, "type": "seealso"}]);
        assert_eq!(after.get(one)["link"], links);
    }
    assert_eq!(after.normalize(&NoCodes).0.records, after.records);
    // If a source has two Patients, it is unclear which one the others are.
    let (unsure, _) = consent.with(1, patient("c")).normalize(&NoCodes);
    assert!(["a", "b", "c"].iter().all(|id| unsure.get(id).get("link").is_none()));
    let mut alone = after;
    alone.records.remove(1);
    assert_eq!(alone.normalize(&NoCodes).0.get("a"), patient("a"));
}

#[test]
fn a_reference_that_leads_nowhere_in_three_syncs_says_so() {
    let reference = json!({"reference": "Practitioner/gone"});
    let mut consent = Consent::new(1).with(0, claim(reference.clone()));
    for sync in 1..=2 {
        let (after, report) = consent.normalize(&NoCodes);
        assert_eq!(report.rules[&Rule::References].dangling, 1);
        assert_eq!(report.dangling.values().collect::<Vec<_>>(), [&sync]);
        assert_eq!(after.records, consent.records);
        consent = after;
    }
    let (said, _) = consent.normalize(&NoCodes);
    assert_eq!(
        said.get("eob")["provider"],
        json!({"reference": "Practitioner/gone", "extension": [
            {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"},
            {"url": format!("{BASE}/StructureDefinition/dangling"), "valueBoolean": true}]})
    );
    assert_eq!(
        said.normalize(&NoCodes).0.records,
        said.records,
        "a fourth sync changes nothing"
    );
    let back = said.with(0, json!({"resourceType": "Practitioner", "id": "gone"}));
    let (back, report) = back.normalize(&NoCodes);
    assert_eq!(back.get("eob")["provider"], reference);
    assert!(report.dangling.is_empty());
}
