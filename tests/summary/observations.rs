//! Results, vital signs, social history, pregnancy.

use serde_json::{Value, json};

use super::harness::{Person, loinc, record};

fn category(code: &str) -> Value {
    json!([{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": code}]}])
}

fn observation(id: &str, kind: &str, code: &str, day: &str, value: Value) -> Value {
    let more = json!({
        "status": "final", "category": category(kind), "code": loinc(code, &format!("Test {code}")),
        "effectiveDateTime": day, "valueQuantity": value,
    });
    record("Observation", id, more)
}

#[test]
fn the_newest_result_of_a_code_is_an_entry_and_earlier_ones_are_in_its_row() {
    let mut newest = observation(
        "a",
        "laboratory",
        "4548-4",
        "2023-05-06T07:08:09Z",
        json!({"value": 6.10, "unit": "%"}),
    );
    newest["interpretation"] = json!([{"coding": [{"code": "H", "display": "High"}]}]);
    newest["referenceRange"] = json!([{"low": {"value": 4, "unit": "%"}, "high": {"value": 5.6, "unit": "%"}}]);
    let summary = Person::new()
        .with(observation(
            "b",
            "laboratory",
            "4548-4",
            "2021-01-01",
            json!({"value": 5.9, "unit": "%"}),
        ))
        .with(newest)
        .with(observation(
            "c",
            "laboratory",
            "4548-4",
            "2022-01-01",
            json!({"value": 6.0, "unit": "%"}),
        ))
        .summary();
    let row = [
        "Test 4548-4",
        "6.1%",
        "High",
        "4 to 5.6%",
        "2023-05-06",
        "6.0% (2022-01-01); 5.9% (2021-01-01)",
    ];
    assert_eq!(summary.rows("results"), [row]);
    assert_eq!(summary.entries("results").len(), 1);
    assert!(summary.get("Observation/b").is_none());
}

#[test]
fn many_earlier_values_are_counted() {
    let mut person = Person::new();
    for year in 2001..2010 {
        let value = json!({"value": year, "unit": "U"});
        person = person.with(observation(
            &format!("o{year}"),
            "laboratory",
            "1",
            &format!("{year}"),
            value,
        ));
    }
    let summary = person.summary();
    let earlier = "2008 U (2008); 2007 U (2007); 2006 U (2006); 2005 U (2005); 2004 U (2004); 3 more since 2001";
    assert_eq!(summary.rows("results")[0][5], earlier);
}

#[test]
fn results_that_are_not_final_are_left_out() {
    let mut person = Person::new();
    for status in [
        "final",
        "amended",
        "corrected",
        "preliminary",
        "registered",
        "cancelled",
        "entered-in-error",
    ] {
        let mut result = observation(status, "laboratory", status, "2020", json!({"value": 1}));
        result["status"] = json!(status);
        person = person.with(result);
    }
    let mut names = person.summary().names("results");
    names.sort();
    assert_eq!(names, ["Test amended", "Test corrected", "Test final"]);
}

#[test]
fn a_report_brings_its_results_and_a_note_is_no_report() {
    let report = |id: &str, category: Value, code: &str| {
        let more = json!({
            "status": "final", "category": [{"coding": [category]}], "code": loinc(code, &format!("Report {code}")),
            "effectiveDateTime": "2020-01-01", "conclusion": "All is well",
            "result": [{"reference": "Observation/old"}], "encounter": {"reference": "Encounter/e"},
        });
        record("DiagnosticReport", id, more)
    };
    let service = json!({"system": "http://terminology.hl7.org/CodeSystem/v2-0074", "code": "LAB"});
    let part = json!({"system": "http://loinc.org", "code": "LP29684-5"});
    let note = json!({"system": "http://loinc.org", "code": "34117-2"});
    let summary = Person::new()
        .with(report("a", service, "1"))
        .with(report("b", part, "2"))
        .with(report("c", note, "3"))
        .with(observation("old", "laboratory", "9", "2020-01-01", json!({"value": 1})))
        .with(observation("new", "laboratory", "9", "2021-01-01", json!({"value": 2})))
        .summary();
    assert_eq!(summary.names("results"), ["Report 1", "Report 2", "Test 9"]);
    assert_eq!(summary.rows("results")[0][1], "All is well");
    let report = summary.get("DiagnosticReport/a").unwrap();
    assert_eq!(
        report["result"][0]["reference"],
        "https://records.example/fhir/Observation/old"
    );
    assert_eq!(report["encounter"], json!({"display": "Encounter"}));
    assert!(summary.get("Observation/old").is_some() && summary.get("Observation/new").is_some());
}

#[test]
fn blood_pressure_is_one_row() {
    let part = |code: &str, value: u32| json!({"code": loinc(code, code), "valueQuantity": {"value": value, "unit": "mm[Hg]"}});
    let mut pressure = observation("a", "vital-signs", "85354-9", "2020-01-01", json!({}));
    pressure.as_object_mut().unwrap().remove("valueQuantity");
    pressure["component"] = json!([part("8480-6", 120), part("8462-4", 80), part("8867-4", 70)]);
    let summary = Person::new().with(pressure).summary();
    assert_eq!(summary.rows("vitalsigns")[0][1], "120/80 mmHg; 8867-4 70 mmHg");
}

#[test]
fn each_category_has_its_section_and_pregnancy_one_of_its_own() {
    let mut status = observation("preg", "social-history", "82810-3", "2020-01-01", json!({}));
    status.as_object_mut().unwrap().remove("valueQuantity");
    status["valueCodeableConcept"] = json!({"text": "Pregnant"});
    let mut due = observation("due", "exam", "11778-8", "2020-01-01", json!({}));
    due.as_object_mut().unwrap().remove("valueQuantity");
    due["valueDateTime"] = json!("2020-09-09");
    let mut early = observation("early", "vital-signs", "3", "2020-01-01", json!({"value": 1}));
    early["status"] = json!("preliminary");
    let summary = Person::new()
        .with(observation("v", "vital-signs", "1", "2020-01-01", json!({"value": 1})))
        .with(observation(
            "s",
            "social-history",
            "2",
            "2020-01-01",
            json!({"value": 1}),
        ))
        .with(observation("x", "survey", "4", "2020-01-01", json!({"value": 1})))
        .with(status)
        .with(due)
        .with(early)
        .summary();
    assert_eq!(summary.names("vitalsigns"), ["Test 1"]);
    assert_eq!(summary.names("socialhistory"), ["Test 2"]);
    let pregnancy: Vec<Vec<String>> = summary
        .rows("pregnancy")
        .into_iter()
        .map(|row| row[..2].to_vec())
        .collect();
    assert_eq!(
        pregnancy,
        [["Test 11778-8", "2020-09-09"], ["Test 82810-3", "Pregnant"]]
    );
    let profile = |name: &str| summary.get(name).unwrap()["meta"]["profile"][0].clone();
    let ips = "http://hl7.org/fhir/uv/ips/StructureDefinition/";
    assert_eq!(
        profile("Observation/preg"),
        format!("{ips}Observation-pregnancy-status-uv-ips")
    );
    assert_eq!(
        profile("Observation/due"),
        format!("{ips}Observation-pregnancy-edd-uv-ips")
    );
}

#[test]
fn values_of_every_type_are_written_as_people_write_them() {
    let values = [
        (json!({"valueString": "clear"}), "clear"),
        (json!({"valueBoolean": true}), "Yes"),
        (json!({"valueInteger": 3}), "3"),
        (
            json!({"valueCodeableConcept": {"coding": [{"code": "x", "display": "Positive"}]}}),
            "Positive",
        ),
        (
            json!({"valueRange": {"low": {"value": 1, "unit": "g"}, "high": {"value": 2, "unit": "g"}}}),
            "1 to 2 g",
        ),
        (
            json!({"valueRatio": {"numerator": {"value": 1}, "denominator": {"value": 128}}}),
            "1 / 128",
        ),
        (json!({"valuePeriod": {"start": "2020-01-01"}}), "since 2020-01-01"),
        (json!({"valueTime": "07:30:00"}), "07:30:00"),
        (json!({"dataAbsentReason": {"text": "Not performed"}}), "Not performed"),
        (json!({}), ""),
    ];
    for (value, text) in values {
        let mut observation = observation("o", "laboratory", "1", "2020", json!({}));
        observation.as_object_mut().unwrap().remove("valueQuantity");
        observation
            .as_object_mut()
            .unwrap()
            .extend(value.as_object().unwrap().clone());
        assert_eq!(
            Person::new().with(observation).summary().rows("results")[0][1],
            text,
            "{value}"
        );
    }
}
