//! The examples and operators of R4's page on `_filter` (<http://hl7.org/fhir/R4/search_filter.html>).

use serde_json::{Value, json};

use super::super::small::{Small, small};

const LOINC: &str = "http://loinc.org";

fn world() -> Small {
    let patient = |id: &str, given: &str, family: &str, born: &str| {
        json!({"resourceType": "Patient", "id": id, "name": [{"given": [given], "family": family}], "birthDate": born, "gender":
            if given == "Petra" { "female" } else { "male" }})
    };
    let observation = |id: &str, patient: &str, code: &str, value: Value| {
        json!({"resourceType": "Observation", "id": id, "status": "final", "subject": {"reference": format!("Patient/{patient}")},
            "code": {"coding": [{"system": LOINC, "code": code}]}, "valueQuantity": value, "effectiveDateTime": "2014-03"})
    };
    let group = |id: &str, pairs: &[(&str, &str)]| {
        let all: Vec<Value> = pairs
            .iter()
            .map(|(code, value)| {
                json!({"code": {"coding": [{"code": code}]}, "valueCodeableConcept": {"coding": [{"code": value}]}, "exclude": false})
            })
            .collect();
        json!({"resourceType": "Group", "id": id, "type": "person", "actual": false, "characteristic": all})
    };
    let document = |id: &str, related: &[(&str, &str)]| {
        let all: Vec<Value> = related
            .iter()
            .map(|(code, target)| json!({"code": code, "target": {"reference": format!("DocumentReference/{target}")}}))
            .collect();
        json!({"resourceType": "DocumentReference", "id": id, "status": if id == "old" { "superseded" } else { "current" },
            "content": [{"attachment": {"title": "x"}}], "relatesTo": all})
    };
    small(&[
        patient("peter", "Peter", "Carpet", "2014-10-10"),
        patient("petra", "Petra", "Miller", "2014-10-09"),
        patient("anna", "Anna", "Zeller", "1950"),
        observation(
            "weight",
            "peter",
            "1234-5",
            json!({"value": 5.4, "system": "http://unitsofmeasure.org", "code": "mg"}),
        ),
        observation("other", "anna", "1234-6", json!({"value": 100, "unit": "kg"})),
        group("mixed", &[("gender", "mixed"), ("owner", "x")]),
        group("crossed", &[("gender", "x"), ("owner", "mixed")]),
        document("old", &[]),
        document("new", &[("replaces", "old"), ("appends", "side")]),
        document("side", &[]),
        document("note", &[("appends", "old")]),
        json!({"resourceType": "RiskAssessment", "id": "risk", "status": "final", "subject": {"display": "x"},
            "prediction": [{"probabilityDecimal": 2.0}]}),
        json!({"resourceType": "Procedure", "id": "march", "status": "completed", "subject": {"reference": "Patient/peter"},
            "performedPeriod": {"start": "2013-03-01", "end": "2013-03-31"}}),
        json!({"resourceType": "ValueSet", "id": "set", "status": "active", "url": "http://acme.org/fhir/ValueSet/1"}),
    ])
}

#[test]
fn examples_of_the_page() {
    let world = world();
    world.check(&[
        ("Patient?_filter=name co \"pet\"", "peter petra"),
        (
            "Patient?_filter=given eq \"peter\" and birthdate ge 2014-10-10",
            "peter",
        ),
        ("Observation?_filter=code eq http://loinc.org|1234-5", "weight"),
        ("Observation?_filter=code eq loinc|1234-5", "weight"),
        ("Observation?_filter=subject.name co \"pet\"", "weight"),
        (
            "Observation?_filter=code eq http://loinc.org|1234-5 and subject.name co \"peter\"",
            "weight",
        ),
    ]);
    // R4 does not have the element and the parameters in this example of the page.
    world.refused(&[
        (
            "Observation?_filter=related[type eq \"has-component\"].target pr true",
            "related",
        ),
        (
            "Observation?_filter=related[type eq has-component].target re Observation/4",
            "related",
        ),
    ]);
}

#[test]
fn what_is_asked_in_brackets_is_asked_of_the_same_item() {
    world().check(&[
        ("Group?_filter=characteristic[code eq gender].value eq mixed", "mixed"),
        ("Group?_filter=characteristic[code eq owner].value eq mixed", "crossed"),
        (
            "Group?_filter=characteristic[code eq gender or code eq owner].value eq mixed",
            "mixed crossed",
        ),
        (
            "Group?_filter=characteristic[not (code eq gender)].value eq mixed",
            "crossed",
        ),
        (
            "Group?_filter=characteristic[code eq gender].value pr true",
            "mixed crossed",
        ),
        (
            "Group?_filter=not (characteristic[code eq gender].value eq mixed)",
            "crossed",
        ),
        (
            "DocumentReference?_filter=relatesTo[code eq replaces].target re DocumentReference/old",
            "new",
        ),
        (
            "DocumentReference?_filter=relatesTo[code eq appends].target re DocumentReference/old",
            "note",
        ),
        (
            "DocumentReference?_filter=relatesTo[code eq appends].target.status eq superseded",
            "note",
        ),
        (
            "DocumentReference?_filter=relatesTo[code eq replaces].target.status eq current",
            "",
        ),
        (
            "Observation?_filter=subject[gender eq male].name co \"er\"",
            "other weight",
        ),
        (
            "Observation?_filter=subject:Patient[birthdate lt 2000 and gender eq male].family sw \"z\"",
            "other",
        ),
        ("Observation?_filter=subject[gender eq female].name co \"pet\"", ""),
    ]);
}

#[test]
fn operators() {
    let world = world();
    world.check(&[
        ("Patient?_filter=family eq \"MILLER\"", "petra"),
        ("Patient?_filter=family ne miller", "peter anna"),
        ("Patient?_filter=family sw ca", "peter"),
        ("Patient?_filter=family ew LLER", "petra anna"),
        ("Patient?_filter=family gt \"miller\"", "anna"),
        ("Patient?_filter=family ge \"miller\"", "anna petra"),
        ("Patient?_filter=family lt miller", "peter"),
        ("Patient?_filter=family le \" Miller \"", "peter petra"),
        ("Patient?_filter=birthdate eq 2014-10-09", "petra"),
        ("Patient?_filter=birthdate sa 2014-10-09", "peter"),
        ("Patient?_filter=birthdate eb 2014-10-10", "petra anna"),
        ("Patient?_filter=birthdate co 1950-06-01", "anna"),
        ("Procedure?_filter=date po 2013-03-31", "march"),
        ("Procedure?_filter=date po 2013-04", ""),
        ("Procedure?_filter=date co 2013-03-15", "march"),
        ("Procedure?_filter=date ap 2013-03", "march"),
        ("RiskAssessment?_filter=probability eq 2.0", "risk"),
        ("RiskAssessment?_filter=probability co 2", "risk"),
        ("RiskAssessment?_filter=probability co 2.04", "risk"),
        ("RiskAssessment?_filter=probability co 2.06", ""),
        (
            "RiskAssessment?_filter=probability gt 1.9 and probability lt 2.1",
            "risk",
        ),
        ("Observation?_filter=value-quantity eq 5.4|ucum|mg", "weight"),
        ("Observation?_filter=value-quantity ge 5.4||kg", "other"),
        ("Observation?_filter=value-quantity ne 5.4", "other"),
        ("Patient?_filter=gender ne male", "petra"),
        ("Observation?_filter=subject re Patient/peter", "weight"),
        (
            "Observation?_filter=subject re http://example.org/fhir/Patient/peter",
            "weight",
        ),
        ("Observation?_filter=subject ne Patient/peter", "other"),
        ("ValueSet?_filter=url ss http://acme.org/fhir/ValueSet", "set"),
        ("ValueSet?_filter=url sb http://acme.org/fhir/ValueSet/1/x", "set"),
        ("Patient?_filter=death-date pr false", "peter petra anna"),
        // Evaluated from left to right: (a or b) and c.
        (
            "Patient?_filter=family eq miller or family eq carpet and gender eq male",
            "peter",
        ),
        (
            "Patient?_filter=family eq miller or (family eq carpet and gender eq male)",
            "peter petra",
        ),
        (
            "Patient?_filter=not (gender eq male) OR not(birthdate lt 2000)",
            "petra peter",
        ),
    ]);
    world.refused(&[
        ("Patient?_filter=family in x", "in"),
        ("Patient?_filter=gender co ma", "co"),
        ("Patient?_filter=gender gt ma", "gt"),
        ("Patient?_filter=family co \"\"", "\"\""),
        ("Patient?_filter=characteristic[code eq x] pr true", "followed by .path"),
        ("Group?_filter=characteristic[nothing eq x].value eq y", "nothing"),
        ("Group?_filter=characteristic[code eq x].nothing eq y", "characteristic"),
        ("Group?_filter=characteristic[code eq x.value eq y", "_filter"),
    ]);
}
