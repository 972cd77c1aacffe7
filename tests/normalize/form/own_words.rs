//! A source's own text of a CodeableConcept is used in the resources generated from its claim.

use serde_json::{Value, json};

use super::super::claims::encounters::{bill, service, world};
use super::super::claims::prescriptions::fill;
use super::super::harness::{Consent, Few};

const CPT: &str = "http://www.ama-assn.org/go/cpt";
const ICD: &str = "http://hl7.org/fhir/sid/icd-10-cm";
const NDC: &str = "http://hl7.org/fhir/sid/ndc";

/// A CodeableConcept of one coding without a display.
fn called(system: &str, code: &str, text: &str) -> Value {
    json!({"coding": [{"system": system, "code": code}], "text": text})
}

#[test]
fn a_condition_is_called_as_the_diagnosis() {
    let mut claim = service("1", "2024-01-01", "11", "99213");
    claim["diagnosis"] = json!([{"sequence": 1, "diagnosisCodeableConcept": called(ICD, "R42", "Dizzy spells")}]);
    let condition = world([claim]).run().only("Condition");
    assert_eq!(condition["code"], called(ICD, "R42", "Dizzy spells"));
}

#[test]
fn any_claim_of_the_encounter_may_name_the_diagnosis() {
    let silent = bill("1", "0131", "2024-01-01", "2024-01-01");
    let mut named = bill("2", "0131", "2024-01-01", "2024-01-01");
    named["diagnosis"][0]["diagnosisCodeableConcept"] = called(ICD, "I10", "High blood pressure");
    let condition = world([silent, named]).run().only("Condition");
    assert_eq!(condition["code"], called(ICD, "I10", "High blood pressure"));
}

#[test]
fn an_encounter_is_called_as_its_service() {
    let mut claim = service("1", "2024-01-01", "11", "99213");
    let mut second = claim["item"][0].clone();
    second["productOrService"] = called(CPT, "99213", "Visit, 20 minutes");
    claim["item"].as_array_mut().unwrap().push(second);
    let encounter = world([claim]).run().only("Encounter");
    assert_eq!(encounter["type"], json!([called(CPT, "99213", "Visit, 20 minutes")]));
}

#[test]
fn a_procedure_is_called_as_its_line() {
    let mut claim = service("1", "2024-01-01", "11", "20610");
    claim["item"][0]["productOrService"] = called(CPT, "20610", "Knee injection");
    let procedure = |claim: &Value| world([claim.clone()]).run().only("Procedure")["code"].clone();
    assert_eq!(procedure(&claim), called(CPT, "20610", "Knee injection"));
    claim["item"][0]["modifier"] = json!([{"coding": [{"code": "RT"}]}]);
    let expected = called(CPT, "20610", "Knee injection (modifiers: RT)");
    assert_eq!(procedure(&claim), expected);
}

#[test]
fn a_procedure_of_a_stay_is_called_as_any_claim_of_it_does() {
    let pcs = "http://www.cms.gov/Medicare/Coding/ICD10";
    let mut silent = bill("1", "0111", "2024-01-01", "2024-01-03");
    silent["procedure"] = json!([{"sequence": 1, "date": "2024-01-02",
        "procedureCodeableConcept": {"coding": [{"system": pcs, "code": "0SRD0J9"}]}}]);
    let mut named = silent.clone();
    named["id"] = "2".into();
    named["procedure"][0]["procedureCodeableConcept"]["text"] = "New left knee".into();
    let procedure = world([silent, named]).run().only("Procedure");
    assert_eq!(procedure["code"], called(pcs, "0SRD0J9", "New left knee"));
}

#[test]
fn a_prescription_is_called_as_the_latest_fill_that_names_it() {
    let mut named = fill("1", "2024-01-01", "00777-3105-02");
    named["item"][0]["productOrService"]["text"] = "Prozac 20 mg".into();
    let silent = fill("2", "2024-02-01", "00777-3105-02");
    let order = world([named, silent]).run().only("MedicationRequest");
    assert_eq!(
        order["medicationCodeableConcept"],
        called(NDC, "00777310502", "Prozac 20 mg")
    );
}

#[test]
fn a_compound_is_called_by_its_ingredients_or_as_a_whole() {
    let part = |code: &str, text: Value| json!({"productOrService": {"coding": [{"system": NDC, "code": code}], "text": text}});
    let compound = |first: Value, second: Value| {
        let mut claim = fill("1", "2024-01-01", "x");
        claim["item"][0]["productOrService"] = json!({"coding": [{"code": "compound"}], "text": "Hormone cream"});
        claim["item"][0]["detail"] = json!([part("11111-2222-33", first), part("11111-2222-44", second)]);
        world([claim]).run().only("MedicationRequest")["medicationCodeableConcept"]["text"].clone()
    };
    assert_eq!(
        compound("Estriol".into(), "Base cream".into()),
        "Compound of Estriol, Base cream"
    );
    assert_eq!(compound(Value::Null, Value::Null), "Hormone cream");
}

#[test]
fn a_substitution_is_told_in_the_sources_words() {
    let mut claim = fill("1", "2024-01-01", "00777-3105-02");
    claim["supportingInfo"] = json!([{"sequence": 1, "category": {"coding": [{"code": "dawcode"}]},
        "code": called("http://hl7.org/fhir/us/carin-bb/CodeSystem/NCPDPDispensedAsWrittenOrProductSelectionCode", "7", "State law")}]);
    let order = world([claim]).run().only("MedicationRequest");
    assert_eq!(order["substitution"]["allowedCodeableConcept"]["text"], "State law");
}

/// In the next sync, a text filled in from another coding's display looked like the source's own, and changed the
/// generated resources.
#[test]
fn a_text_that_an_earlier_run_filled_in_changes_nothing() {
    let two = |system: &str, code: &str, display: &str| json!({"coding": [{"system": system, "code": code}, {"system": "urn:local", "code": "x", "display": display}]});
    let mut claim = service("1", "2024-01-01", "11", "20610");
    claim["diagnosis"] = json!([{"sequence": 1, "diagnosisCodeableConcept": two(ICD, "M17.11", "Knee")}]);
    claim["item"][0]["productOrService"] = two(CPT, "20610", "Injection");
    let mut visit = claim["item"][0].clone();
    visit["productOrService"] = two(CPT, "99213", "Visit");
    claim["item"].as_array_mut().unwrap().push(visit);
    let first = Consent::new(1).with(0, claim);
    let (second, _) = first.normalize(&Few);
    assert_eq!(second.get("1")["item"][0]["productOrService"]["text"], "Injection");
    let generated = |consent: &Consent| {
        let plan = consent.plan(&Few);
        let made = plan.generated.iter().map(|made| made.json.clone());
        made.collect::<Vec<String>>()
    };
    assert_eq!(generated(&first), generated(&second));
}
