//! The examples about token, quantity and reference parameters.

use serde_json::{Value, json};
use tabularium::terminology::Terminology;

use super::{LOINC, UCUM, coded, observation, of, patient};
use crate::search::small::{small, with_terminology};

#[test]
fn tokens() {
    let condition = |id: &str, code: Value| {
        of(
            "Condition",
            id,
            json!({"subject": {"reference": "Patient/1"}, "code": code}),
        )
    };
    let section = |id: &str, codes: &[&str]| {
        let sections: Vec<Value> = codes.iter().map(|code| json!({"code": coded(LOINC, code)})).collect();
        of(
            "Composition",
            id,
            json!({"status": "final", "type": {"text": "x"}, "date": "2020", "author": [{"display": "x"}],
            "title": "x", "section": sections}),
        )
    };
    let document = |id: &str, content_type: &str| {
        of(
            "DocumentReference",
            id,
            json!({"status": "current", "content": [{"attachment": {"contentType": content_type}}]}),
        )
    };
    let sets = Terminology::parse(
        &json!({"resourceType": "Bundle", "type": "collection", "entry": [
            {"resource": {"resourceType": "CodeSystem", "url": "http://snomed.info/sct", "status": "active", "content": "complete",
                "hierarchyMeaning": "is-a", "caseSensitive": true,
                "concept": [{"code": "126851005", "concept": [{"code": "93870000"}]}, {"code": "22298006"}]}},
            {"resource": {"resourceType": "ValueSet", "url": "http://acme.org/fhir/ValueSet/cardiac-conditions", "status": "active",
                "compose": {"include": [{"system": "http://snomed.info/sct", "concept": [{"code": "22298006"}]}]}}}
        ]})
        .to_string(),
    );
    let world = with_terminology(
        &[
            patient(
                "male",
                json!({"gender": "male", "active": true, "identifier": [{"system": "http://acme.org/patient", "value": "2345"}]}),
            ),
            patient(
                "female",
                json!({"gender": "female", "active": false, "identifier": [
                {"type": coded("http://terminology.hl7.org/CodeSystem/v2-0203", "MR"), "value": "446053"}, {"value": "2345"}]}),
            ),
            patient(
                "unsaid",
                json!({"identifier": [{"system": "http://other.org", "value": "2345"}]}),
            ),
            section("allergies", &["48765-2", "10160-0"]),
            section("medications", &["10160-0"]),
            condition("ha", coded("http://acme.org/conditions/codes", "ha125")),
            condition("ha-other", coded("http://other.org", "HA125")),
            condition("headache", json!({"text": "Headache, dull"})),
            condition(
                "cephalgia",
                json!({"coding": [{"display": "Headaches"}], "text": "Cephalgia"}),
            ),
            condition("liver", coded("http://snomed.info/sct", "93870000")),
            condition("heart", coded("http://snomed.info/sct", "22298006")),
            document("xml", "text/xml"),
            document("xml8", "text/xml; charset=UTF-8"),
            document("plain", "text/plain"),
            observation("ab", json!({"code": {"coding": [{"code": "a,b"}]}})),
            observation("a", json!({"code": {"coding": [{"code": "a"}]}})),
            observation("b", json!({"code": {"coding": [{"code": "b"}]}})),
            observation("pipe", json!({"code": {"coding": [{"code": "a|b"}]}})),
            observation("dollar", json!({"code": {"coding": [{"code": "xx$xx"}]}})),
            observation("backslash", json!({"code": {"coding": [{"code": r"xx\xx"}]}})),
        ],
        sets.unwrap(),
    );
    world.check(&[
        ("Patient?identifier=http://acme.org/patient|2345", "male"),
        ("Patient?identifier=2345", "male female unsaid"),
        ("Patient?identifier=|2345", "female"),
        ("Patient?identifier=http://other.org|", "unsaid"),
        ("Patient?gender=male", "male"),
        ("Patient?gender:not=male", "female unsaid"),
        ("Patient?gender:missing=true", "unsaid"),
        ("Patient?gender:missing=false", "male female"),
        ("Composition?section=48765-2", "allergies"),
        ("Composition?section:not=48765-2", "medications"),
        ("Patient?active=true", "male"),
        ("Condition?code=http://acme.org/conditions/codes|ha125", "ha"),
        ("Condition?code=ha125", "ha ha-other"),
        ("Condition?code:text=headache", "headache cephalgia"),
        ("Condition?code:text=headache,ceph", "headache cephalgia"),
        ("Condition?code:below=126851005", "liver"),
        ("Condition?code:below=http://snomed.info/sct|126851005", "liver"),
        ("Condition?code:above=http://snomed.info/sct|93870000", "liver"),
        (
            "Condition?code:in=http://acme.org/fhir/ValueSet/cardiac-conditions",
            "heart",
        ),
        (
            "Condition?code:not-in=http://acme.org/fhir/ValueSet/cardiac-conditions",
            "ha ha-other headache cephalgia liver",
        ),
        (
            "Patient?identifier:of-type=http://terminology.hl7.org/CodeSystem/v2-0203|MR|446053",
            "female",
        ),
        ("DocumentReference?contenttype=text/xml", "xml"),
        ("DocumentReference?contenttype:below=text/xml", "xml xml8"),
        ("Observation?code=a,b", "a b"),
        (r"Observation?code=a\,b", "ab"),
        (r"Observation?code=a\|b", "pipe"),
        (r"Observation?code=xx\$xx", "dollar"),
        (r"Observation?code=xx\\xx", "backslash"),
    ]);
    world.refused(&[
        ("Condition?code:in=http://acme.org/none", "http://acme.org/none"),
        ("Patient?identifier:of-type=MR|446053", "identifier:of-type"),
        ("Patient?identifier:otype=a|b|c", ":otype"),
    ]);
}

#[test]
fn quantities() {
    let value = |id: &str, value: f64, unit: Value| {
        let mut quantity = json!({"value": value});
        quantity
            .as_object_mut()
            .unwrap()
            .extend(unit.as_object().unwrap().clone());
        observation(id, json!({"valueQuantity": quantity}))
    };
    let ucum = |code: &str| json!({"system": UCUM, "code": code, "unit": code});
    let world = small(&[
        value("mg", 5.4, ucum("mg")),
        value("mg5.44", 5.44, ucum("mg")),
        value("mg5.45", 5.45, ucum("mg")),
        value("mg5.9", 5.9, ucum("mg")),
        value("mg1", 1.0, ucum("mg")),
        value("printed", 5.4, json!({"unit": "mg"})),
        value("other-system", 5.4, json!({"system": "http://other.org", "code": "mg"})),
        value("none", 5.4, json!({})),
        value("g", 0.0054, ucum("g")),
    ]);
    world.check(&[
        (
            "Observation?value-quantity=5.4|http://unitsofmeasure.org|mg",
            "mg mg5.44",
        ),
        ("Observation?value-quantity=5.40e-3|http://unitsofmeasure.org|g", "g"),
        ("Observation?value-quantity=5.4||mg", "mg mg5.44 printed other-system"),
        ("Observation?value-quantity=5.4", "mg mg5.44 printed other-system none"),
        (
            "Observation?value-quantity=le5.4|http://unitsofmeasure.org|mg",
            "mg mg1",
        ),
        (
            "Observation?value-quantity=ap5.4|http://unitsofmeasure.org|mg",
            "mg mg5.44 mg5.45 mg5.9",
        ),
        // Units are not converted: 0.0054 g does not find 5.4 mg.
        ("Observation?value-quantity=0.0054|http://unitsofmeasure.org|g", "g"),
        ("Observation?value-quantity=gt5.4||mg", "mg5.44 mg5.45 mg5.9"),
    ]);
}

#[test]
fn references() {
    let to = |id: &str, reference: &str| observation(id, json!({"subject": {"reference": reference}}));
    let world = small(&[
        patient("23", json!({})),
        of("Group", "23", json!({"type": "person", "actual": true})),
        to("patient", "Patient/23"),
        to("group", "Group/23"),
        to("versioned", "Patient/23/_history/2"),
        to("elsewhere", "http://other.org/fhir/Patient/23"),
        to("urn", "urn:uuid:7f4b9e5c-0000-4000-8000-000000000001"),
        observation(
            "logical",
            json!({"subject": {"identifier": {"system": "http://acme.org/fhir/identifier/mrn", "value": "123456"}}}),
        ),
        of("Location", "42", json!({"name": "Building"})),
        of("Location", "43", json!({"partOf": {"reference": "Location/42"}})),
        of("Location", "44", json!({"partOf": {"reference": "Location/43"}})),
        of(
            "Procedure",
            "p42",
            json!({"status": "completed", "subject": {"reference": "Patient/23"}, "location": {"reference": "Location/42"}}),
        ),
        of(
            "Procedure",
            "p44",
            json!({"status": "completed", "subject": {"reference": "Patient/23"}, "location": {"reference": "Location/44"}}),
        ),
    ]);
    world.check(&[
        ("Observation?subject=23", "patient group versioned"),
        ("Observation?subject=Patient/23", "patient versioned"),
        ("Observation?subject:Patient=23", "patient versioned"),
        ("Observation?patient=23", "patient versioned"),
        (
            "Observation?subject=http://example.org/fhir/Patient/23",
            "patient versioned",
        ),
        ("Observation?subject=http://other.org/fhir/Patient/23", "elsewhere"),
        (
            "Observation?subject=urn:uuid:7f4b9e5c-0000-4000-8000-000000000001",
            "urn",
        ),
        (
            "Observation?subject:identifier=http://acme.org/fhir/identifier/mrn|123456",
            "logical",
        ),
        ("Observation?subject:missing=true", ""),
        ("Procedure?location:below=42", "p42 p44"),
        ("Procedure?location:above=44", "p42 p44"),
        ("Procedure?location:above=42", "p42"),
    ]);
    world.refused(&[
        ("Observation?subject:Patient=Group/23", "subject:Patient"),
        ("Observation?subject:Nobody=1", ":Nobody"),
    ]);
}
