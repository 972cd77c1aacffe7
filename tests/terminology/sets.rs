//! Value sets over loaded systems: by hierarchy and by property, in FHIRPath, searches and views over a lake.

use serde_json::{Value, json};
use tabularium::terminology::Terminology;

use super::files;
use super::{World, done};

const ICD: &str = "http://hl7.org/fhir/sid/icd-10-cm";
const RXNORM: &str = "http://www.nlm.nih.gov/research/umls/rxnorm";

fn set(name: &str, system: &str, filter: &Value) -> String {
    let url = format!("http://example.org/{name}");
    json!({"resourceType": "ValueSet", "url": url, "compose": {"include": [{"system": system, "filter": [filter]}]}})
        .to_string()
}

fn below(name: &str, system: &str, code: &str) -> String {
    set(
        name,
        system,
        &json!({"property": "concept", "op": "is-a", "value": code}),
    )
}

/// A lake of two Conditions, with ICD-10-CM, RxNorm and value sets beside it.
fn world() -> World {
    let world = World::new();
    let condition = |id: &str, code: &str| {
        json!({"resourceType": "Condition", "id": id, "subject": {"reference": "Patient/p"},
            "code": {"coding": [{"system": ICD, "code": code}]}})
    };
    let records = [
        json!({"resourceType": "Patient", "id": "p"}),
        condition("sugar", "E11.65"),
        condition("pressure", "I10"),
    ];
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    done(&world.data(), &["import", &world.file("records.ndjson", lines)]);
    world.load(&[
        &world.file("icd", files::diagnoses()),
        &world.file("conso", files::rxnconso()),
        &world.file("sugar", below("sugar", ICD, "E11")),
        &world.file(
            "drugs",
            set("drugs", RXNORM, &json!({"property": "TTY", "op": "=", "value": "SCD"})),
        ),
        &world.file("loinc", below("loinc", "http://loinc.org", "LP1")),
    ]);
    world
}

fn found(world: &World, query: &str) -> Vec<String> {
    let bundle: Value = serde_json::from_str(&done(&world.data(), &["search", query])).unwrap();
    let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn searches_and_expressions_over_a_lake_ask_what_lies_beside_it() {
    let world = world();
    assert_eq!(found(&world, "Condition?code:in=http://example.org/sugar"), ["sugar"]);
    assert_eq!(
        found(&world, "Condition?code:not-in=http://example.org/sugar"),
        ["pressure"]
    );
    assert_eq!(found(&world, &format!("Condition?code:below={ICD}|E11")), ["sugar"]);
    let expression = "code.memberOf('http://example.org/sugar')";
    let lines = done(&world.data(), &["fhirpath", expression, "--type", "Condition"]);
    let answer = |id: &str| {
        let line = lines
            .lines()
            .find(|line| line.contains(&format!("Condition/{id}")))
            .unwrap();
        let line: Value = serde_json::from_str(line).unwrap();
        line["result"][0]["value"].clone()
    };
    assert_eq!((answer("sugar"), answer("pressure")), (json!(true), json!(false)));
    let view = json!({"resourceType": "ViewDefinition", "resource": "Condition", "status": "active",
        "select": [{"column": [{"path": "id", "name": "id"}]}], "where": [{"path": expression}]});
    let rows = done(&world.data(), &["run", &world.file("view.json", view.to_string())]);
    assert!(rows.contains("sugar") && !rows.contains("pressure"), "{rows}");
}

#[test]
fn filters_are_answered_from_columns_and_what_they_cannot_answer_stays_open() {
    let world = world();
    let terminology = Terminology::open(&world.data(), None).unwrap();
    let drugs = terminology.value_set("http://example.org/drugs").unwrap();
    assert_eq!(drugs.contains(RXNORM, "2001"), Some(true));
    assert_eq!(drugs.contains(RXNORM, "3002"), Some(false));
    let loinc = terminology.value_set("http://example.org/loinc").unwrap();
    assert_eq!(loinc.contains("http://loinc.org", "99991-0"), None);
    assert_eq!(terminology.subsumes(ICD, "E11", "E11.65"), Some(true));
    assert_eq!(terminology.subsumes(ICD, "E11.65", "E11"), Some(false));
    assert_eq!(terminology.subsumes("http://loinc.org", "LP1", "99991-0"), None);
}

#[test]
fn files_on_the_command_line_count_before_what_lies_beside_the_lake() {
    let world = world();
    let other = world.file("other", below("sugar", ICD, "I10"));
    let bundle = done(
        &world.data(),
        &[
            "search",
            "Condition?code:in=http://example.org/sugar",
            "--terminology",
            &other,
        ],
    );
    let bundle: Value = serde_json::from_str(&bundle).unwrap();
    assert_eq!(bundle["entry"][0]["resource"]["id"], "pressure");
}

#[test]
fn a_value_set_replaces_the_one_of_its_url_and_leaves_others() {
    let world = world();
    world.load(&[&world.file("sugar", below("sugar", ICD, "I10"))]);
    assert_eq!(
        found(&world, "Condition?code:in=http://example.org/sugar"),
        ["pressure"]
    );
    assert_eq!(world.list()["valueSets"]["count"], 3);
}
