//! The examples about combined parameters: chains, composites, lists, text and places.

use serde_json::{Value, json};

use super::{LOINC, UCUM, coded, observation, of, patient};
use crate::search::small::small;

#[test]
fn chains_and_reverse_chains() {
    let code = |code: &str| coded(LOINC, code);
    let of_patient = |id: &str, patient: &str, more: Value| {
        let mut made = observation(id, more);
        made["subject"] = json!({"reference": format!("Patient/{patient}")});
        made
    };
    let report = |id: &str, subject: &str| {
        of(
            "DiagnosticReport",
            id,
            json!({"status": "final", "code": {"text": "x"}, "subject": {"reference": subject}}),
        )
    };
    let event = |id: &str, entity: &str, agent: &str| {
        of(
            "AuditEvent",
            id,
            json!({"type": {"code": "x"}, "recorded": "2020-01-01T00:00:00Z", "source": {"observer": {"display": "x"}},
            "agent": [{"requestor": true, "who": {"reference": agent}}], "entity": [{"what": {"reference": entity}}]}),
        )
    };
    let world = small(&[
        patient(
            "peter",
            json!({"name": [{"given": ["Peter"]}], "generalPractitioner": [{"reference": "Practitioner/joe"},
            {"reference": "Practitioner/jane"}]}),
        ),
        patient(
            "paul",
            json!({"name": [{"given": ["Paul"]}], "generalPractitioner": [{"reference": "Practitioner/joe"}]}),
        ),
        of(
            "Practitioner",
            "joe",
            json!({"name": [{"given": ["Joe"]}], "address": [{"state": "CA"}]}),
        ),
        of(
            "Practitioner",
            "jane",
            json!({"name": [{"given": ["Jane"]}], "address": [{"state": "MN"}]}),
        ),
        of(
            "Group",
            "peters",
            json!({"type": "person", "actual": true, "name": "peter"}),
        ),
        of_patient("one", "peter", json!({"code": code("1234-5")})),
        of_patient("two", "paul", json!({"code": code("123")})),
        of_patient("three", "paul", json!({"code": code("456")})),
        of_patient(
            "potassium",
            "peter",
            json!({"code": code("2823-3"), "valueQuantity": {"value": 5.5, "system": UCUM, "code": "mmol/L"}}),
        ),
        report("of-peter", "Patient/peter"),
        report("of-paul", "Patient/paul"),
        report("of-group", "Group/peters"),
        of(
            "DiagnosticReport",
            "high",
            json!({"status": "final", "code": {"text": "x"}, "result": [{"reference": "Observation/potassium"}]}),
        ),
        event("seen", "Observation/one", "Practitioner/MyUserId"),
        event("seen2", "Observation/two", "Practitioner/Other"),
    ]);
    world.check(&[
        ("DiagnosticReport?subject:Patient.name=peter", "of-peter"),
        ("DiagnosticReport?subject.name=peter", "of-peter"),
        ("DiagnosticReport?patient.given=paul", "of-paul"),
        // Each chain is evaluated separately: Joe is from CA, and Jane from MN.
        ("Patient?general-practitioner.name=Joe&general-practitioner.address-state=MN", "peter"),
        ("Patient?_has:Observation:patient:code=1234-5", "peter"),
        ("Patient?_has:Observation:patient:code=123,1234-5", "peter paul"),
        ("Patient?_has:Observation:patient:code=123&_has:Observation:patient:code=456", "paul"),
        ("Patient?_has:Observation:patient:_has:AuditEvent:entity:agent=MyUserId", "peter"),
        (
            "DiagnosticReport?result.code-value-quantity=http://loinc.org|2823-3$gt5.4|http://unitsofmeasure.org|mmol/L",
            "high",
        ),
        (
            "DiagnosticReport?result.code-value-quantity=http://loinc.org|2823-3$gt5.5|http://unitsofmeasure.org|mmol/L",
            "",
        ),
    ]);
}

#[test]
fn composites_and_repetition() {
    let group = |id: &str, characteristics: Value| {
        of(
            "Group",
            id,
            json!({"type": "person", "actual": false, "characteristic": characteristics}),
        )
    };
    let is = |code: &str, value: &str| json!({"code": {"coding": [{"code": code}]}, "valueCodeableConcept": {"coding": [{"code": value}]}, "exclude": false});
    let speaks = |id: &str, languages: &[&str]| {
        let all: Vec<Value> = languages
            .iter()
            .map(|code| json!({"language": {"coding": [{"code": code}]}}))
            .collect();
        patient(id, json!({"communication": all}))
    };
    let pressure = |id: &str, systolic: u32, diastolic: u32| {
        let part = |code: &str, value: u32| json!({"code": coded(LOINC, code), "valueQuantity": {"value": value}});
        observation(
            id,
            json!({"component": [part("8480-6", systolic), part("8462-4", diastolic)]}),
        )
    };
    let world = small(&[
        group("mixed", json!([is("gender", "mixed"), is("owner", "John")])),
        group("eve", json!([is("gender", "female"), is("owner", "Eve")])),
        group("crossed", json!([is("gender", "owner"), is("x", "mixed")])),
        speaks("both", &["FR", "NL"]),
        speaks("french", &["FR"]),
        speaks("three", &["NL", "EN"]),
        pressure("low", 55, 50),
        pressure("usual", 120, 55),
        of(
            "Questionnaire",
            "abuse",
            json!({"status": "active", "useContext": [{"code": {"code": "focus"},
            "valueCodeableConcept": coded("http://snomed.info/sct", "408934002")}]}),
        ),
        of(
            "Questionnaire",
            "other",
            json!({"status": "active", "useContext": [{"code": {"code": "venue"},
            "valueCodeableConcept": coded("http://snomed.info/sct", "408934002")}]}),
        ),
    ]);
    world.check(&[
        ("Patient?language=FR&language=NL", "both"),
        ("Patient?language=FR,NL", "both french three"),
        ("Patient?language=FR,NL&language=EN", "three"),
        ("Group?characteristic-value=gender$mixed", "mixed"),
        ("Group?characteristic-value=gender$mixed,owner$Eve", "mixed eve"),
        (
            "Observation?component-code-value-quantity=http://loinc.org|8480-6$lt60",
            "low",
        ),
        (
            "Questionnaire?context-type-value=focus$http://snomed.info/sct|408934002",
            "abuse",
        ),
    ]);
    world.refused(&[("Group?characteristic-value:exact=gender$mixed", ":exact")]);
}

#[test]
fn missing_words_and_lists() {
    let allergy = |id: &str, status: Option<&str>| {
        let mut made = of(
            "AllergyIntolerance",
            id,
            json!({"patient": {"reference": "Patient/42"}}),
        );
        if let Some(status) = status {
            made["clinicalStatus"] = coded(
                "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical",
                status,
            );
        }
        made
    };
    let told = |id: &str, text: &str| {
        let div = format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{text}</div>");
        of(
            "Condition",
            id,
            json!({"subject": {"reference": "Patient/42"}, "text": {"status": "generated", "div": div}}),
        )
    };
    let world = small(&[
        allergy("active", Some("active")),
        allergy("resolved", Some("resolved")),
        allergy("unknown", None),
        patient("42", json!({"gender": "female"})),
        patient("43", json!({"gender": "male"})),
        patient("44", json!({"gender": "female"})),
        of(
            "List",
            "42",
            json!({"status": "current", "mode": "working", "entry": [{"item": {"reference": "Patient/42"}},
            {"item": {"reference": "Patient/43"}}, {"deleted": true, "item": {"reference": "Patient/44"}}]}),
        ),
        told("bone", "Bone with <b>metastases</b>"),
        told("liver", "metastases of the liver"),
        told("benign", "bone, benign"),
    ]);
    let active = "clinical-status=http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical|active";
    world.check(&[
        (&format!("AllergyIntolerance?{active}"), "active"),
        ("AllergyIntolerance?clinical-status:missing=true", "unknown"),
        (&format!("AllergyIntolerance?{active}&clinical-status:missing=true"), ""),
        ("Condition?_text=(bone OR liver) and metastases", "bone liver"),
        ("Condition?_content=benign", "benign"),
        ("Patient?_list=42", "42 43"),
        ("Patient?_list=42&gender=female", "42"),
        (
            "AllergyIntolerance?_filter=clinical-status eq active or clinical-status pr false",
            "active unknown",
        ),
    ]);
    world.refused(&[("AllergyIntolerance?_list=$current-allergies", "_list")]);
}

#[test]
fn near_a_place() {
    let place = |id: &str, latitude: f64, longitude: f64| {
        of(
            "Location",
            id,
            json!({"position": {"latitude": latitude, "longitude": longitude}}),
        )
    };
    let world = small(&[
        place("here", 42.2565, -83.6948),
        // 0.1 degrees north is 11.1 km; 0.15 degrees north is 16.7 km.
        place("inside", 42.3565, -83.6948),
        place("outside", 42.4065, -83.6948),
    ]);
    world.check(&[
        ("Location?near=42.256500|-83.694810|11.20|km", "here inside"),
        ("Location?near=42.256500|-83.694810|10.4|[mi_us]", "here inside outside"),
        ("Location?near=42.256500|-83.694810", "here inside outside"),
    ]);
    world.refused(&[
        ("Location?near=142.2|-83.7", "near"),
        ("Location?near:missing=x", "near"),
    ]);
}
