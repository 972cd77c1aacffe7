//! Questions answered by SQL over views, and the same answers computed from the output of `tabularium run`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Lake, observation, text};
use crate::harness::command;

/// Many people with measurements in all combinations of codes, dates and values.
fn many() -> Vec<Value> {
    let mut all = Vec::new();
    for person in 0..40 {
        let id = format!("p{person}");
        let mut patient = json!({"resourceType": "Patient", "id": id, "birthDate": format!("19{:02}-0{}-1{}", 40 + person, 1 + person % 9, person % 10)});
        if person % 3 != 0 {
            patient["gender"] = json!(["male", "female", "other"][person % 3]);
        }
        all.push(patient);
        for measured in 0..person % 7 {
            let code = ["weight", "pulse", "height"][(person + measured) % 3];
            let taken = format!("20{:02}-0{}-0{}", 10 + measured, 1 + person % 9, 1 + measured);
            all.push(observation(
                &format!("o{person}-{measured}"),
                &id,
                code,
                &taken,
                json!(50 + person * 3 + measured),
            ));
        }
    }
    all
}

/// The rows of a view, as `tabularium run` writes them.
fn rows(lake: &Lake, view: &str) -> Vec<Value> {
    let file = lake.views().join(format!("{view}.view.json"));
    let data = lake.data();
    let written = command::done(&["run", text(&file), "--data", text(&data), "--format", "ndjson"]);
    let lines = String::from_utf8(written).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn answer(lake: &Lake, statement: &str) -> Vec<Value> {
    let lines = lake.answer_with(statement, &["--format", "ndjson"]);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn field<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_default()
}

#[test]
fn groups_are_those_of_the_rows() {
    let lake = Lake::of(&many());
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    for row in rows(&lake, "observations") {
        *expected.entry(field(&row, "code").to_owned()).or_default() += 1;
    }
    let expected: Vec<Value> = expected
        .into_iter()
        .map(|(code, n)| json!({"code": code, "n": n}))
        .collect();
    assert!(expected.len() == 3);
    assert_eq!(
        answer(
            &lake,
            "SELECT code, count(*) AS n FROM observations GROUP BY code ORDER BY code"
        ),
        expected
    );
    let by_table = "SELECT fhirpath(Observation, 'code.coding.code.first()') AS code, count(*) AS n FROM Observation GROUP BY 1 ORDER BY 1";
    assert_eq!(answer(&lake, by_table), expected);
}

#[test]
fn filters_on_columns_keep_the_same_rows() {
    let lake = Lake::of(&many());
    let all = rows(&lake, "observations");
    type Keep = fn(&Value) -> bool;
    let cases: [(&str, Keep); 7] = [
        ("code = 'pulse'", |row| field(row, "code") == "pulse"),
        ("code IN ('pulse', 'height')", |row| {
            ["pulse", "height"].contains(&field(row, "code"))
        }),
        ("code <> 'pulse'", |row| field(row, "code") != "pulse"),
        ("taken >= '2012-05' AND taken < '2014'", |row| {
            field(row, "taken") >= "2012-05" && field(row, "taken") < "2014"
        }),
        ("day = '2013-03-04'", |row| field(row, "taken") == "2013-03-04"),
        ("code = 'pulse' OR patient = 'p6'", |row| {
            field(row, "code") == "pulse" || field(row, "patient") == "p6"
        }),
        ("value >= 100.5", |row| row["value"].as_f64().unwrap() >= 100.5),
    ];
    for (condition, keep) in cases {
        let mut expected: Vec<&str> = all.iter().filter(|row| keep(row)).map(|row| field(row, "id")).collect();
        expected.sort_unstable();
        assert!(!expected.is_empty() && expected.len() < all.len(), "{condition}");
        let found = answer(
            &lake,
            &format!("SELECT id FROM observations WHERE {condition} ORDER BY id"),
        );
        let found: Vec<&str> = found.iter().map(|row| field(row, "id")).collect();
        assert_eq!(found, expected, "{condition}");
    }
}

#[test]
fn a_join_pairs_the_rows_that_nested_loops_pair() {
    let lake = Lake::of(&many());
    let (patients, observations) = (rows(&lake, "patients"), rows(&lake, "observations"));
    let mut expected = Vec::new();
    for patient in &patients {
        for observation in &observations {
            if patient["id"] == observation["patient"] && patient["gender"] == "female" {
                expected.push(json!({"person": patient["id"], "id": observation["id"], "code": observation["code"]}));
            }
        }
    }
    expected.sort_by_key(|row| (field(row, "person").to_owned(), field(row, "id").to_owned()));
    assert!(!expected.is_empty());
    let statement = "SELECT p.id AS person, o.id, o.code FROM patients p JOIN observations o ON o.patient = p.id \
        WHERE p.gender = 'female' ORDER BY person, id";
    assert_eq!(answer(&lake, statement), expected);
}

#[test]
fn all_columns_are_those_of_the_view() {
    let lake = Lake::of(&many());
    let expected = rows(&lake, "patients");
    let mut expected: Vec<(String, Value, Value)> = expected
        .into_iter()
        .map(|row| (field(&row, "id").to_owned(), row["gender"].clone(), row["born"].clone()))
        .collect();
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    let found: Vec<(String, Value, Value)> = answer(&lake, "SELECT * FROM patients ORDER BY id")
        .into_iter()
        .map(|row| (field(&row, "id").to_owned(), row["gender"].clone(), row["born"].clone()))
        .collect();
    assert_eq!(found, expected);
}

/// A statement's column may have the same name as an expression's value within the plan.
#[test]
fn a_column_beside_an_expression_is_its_own() {
    let lake = Lake::of(&many());
    let statement = "SELECT id FROM (SELECT id, resource, gender, birthDate AS value FROM Patient) \
        WHERE fhirpath('gender') = 'male' OR value = '1940-01-10'";
    assert_eq!(answer(&lake, statement), [json!({"id": "p0"})]);
}

/// A list without values is not null, whatever else is stored beside it.
#[test]
fn a_list_without_values_is_not_null() {
    let lake = Lake::of(&many());
    let statement = "SELECT count(*) AS n FROM patients WHERE given IS NOT NULL";
    assert_eq!(answer(&lake, statement), [json!({"n": 40})]);
}
