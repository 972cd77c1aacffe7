//! `show`, `describe`, `run` with columns on the command line, and rows as a table.

use serde_json::{Value, json};

use super::{done, failed, folder, run, sorted, text};

#[test]
fn a_table_is_shown_without_a_view() {
    let folder = folder();
    let path = folder.path();
    let shown = |arguments: &[&str]| done(path, &[&["show", "--data", "lake"], arguments].concat());
    assert_eq!(
        sorted(&shown(&["Patient"])),
        [
            "(3 rows)",
            "ann  Ann Smith  female  1980-02-03",
            "bob  Bob        male    1975",
            "cid",
            "id   name       gender  birthDate",
        ]
    );
    assert_eq!(
        sorted(&shown(&["Observation"])),
        [
            "(2 rows)",
            "id  status  code      subject      effective   value",
            "o1  final   Systolic  Patient/ann  2024-05-06  120.0 mmHg",
            "o2  final   Mood      Patient/ann              good",
        ]
    );
    let chosen = [
        "Patient",
        "--columns",
        "id,name,born=birthDate",
        "--columns",
        "name.given",
    ];
    assert_eq!(
        shown(&[&chosen[..], &["--where", "gender = 'female'", "--limit", "1"]].concat()),
        "id   name       born        name_given\nann  Ann Smith  1980-02-03  [\"Ann\",\"B.\"]\n(1 row)\n"
    );
    let limited = shown(&["Patient", "--columns", "id", "--limit", "1"]);
    assert!(limited.ends_with("\n(1 of 3 rows; --limit shows more)\n"), "{limited}");
    let tables = shown(&[]);
    assert!(tables.contains("live.Observation"), "{tables}");
    let rows: Value = serde_json::from_str(&shown(&["Patient", "--columns", "id", "--json"])).unwrap();
    let mut ids: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["ann", "bob", "cid"]);
    let filtered = shown(&["Patient", "--columns", "id", "--limit", "1", "--where", "true"]);
    assert!(filtered.ends_with("\n(1 row; --limit shows more)\n"), "{filtered}");
    assert!(shown(&["Patient", "--columns", "id", "--json"]).ends_with("]\n"));
}

/// Blood pressures have their values in `component`. So `show` and `describe` must not hide it.
#[test]
fn elements_with_elements_of_their_own_are_named() {
    let folder = folder();
    let path = folder.path();
    let component = |display: &str, value: u32| {
        let value = json!({"value": value, "unit": "mmHg"});
        json!({"code": {"coding": [{"display": display}]}, "valueQuantity": value})
    };
    let pressure = json!({"resourceType": "Observation", "id": "bp", "status": "final", "code": {"text": "Blood pressure"},
        "component": [component("Systolic", 120), component("Diastolic", 80)]});
    std::fs::write(path.join("pressure.json"), pressure.to_string()).unwrap();
    done(path, &["import", "--data", "lake", "pressure.json"]);
    let shown = done(path, &["show", "Observation", "--data", "lake"]);
    assert!(
        shown.ends_with("\n(3 rows; not shown: component (describe Observation lists the elements inside))\n"),
        "{shown}"
    );
    let columns = [
        "--columns",
        "id,component.code,n=component.value",
        "--where",
        "component.exists()",
    ];
    assert_eq!(
        done(
            path,
            &[&["show", "Observation", "--data", "lake"], &columns[..]].concat()
        ),
        "id  component_code  n\nbp  Systolic        120 mmHg\n(1 row)\n"
    );
    let described = done(path, &["describe", "Observation", "--data", "lake"]);
    let lines: Vec<Vec<&str>> = described
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|words: &Vec<&str>| words[0].starts_with("component"))
        .collect();
    assert_eq!(
        lines,
        [
            vec!["component", "BackboneElement", "33.3%", "2", "items"],
            vec!["component.code", "CodeableConcept", "33.3%", "1", "Systolic"],
            vec![
                "component.value",
                "Quantity",
                "|",
                "CodeableConcept",
                "and",
                "9",
                "more",
                "33.3%",
                "1",
                "120",
                "mmHg"
            ],
        ]
    );
    assert!(described.contains("empty: identifier, ") && !described.contains("component.interpretation"));
    let told: Value =
        serde_json::from_str(&done(path, &["describe", "Observation", "--data", "lake", "--json"])).unwrap();
    assert!(
        told["columns"]
            .as_array()
            .unwrap()
            .contains(&json!({"name": "component", "type": "BackboneElement", "filled": 1, "items": 2}))
    );
}

/// `show` reads rows too, so it must obey a patient's scope.
#[test]
fn only_the_patients_own_rows_are_shown() {
    let folder = folder();
    let path = folder.path();
    for (table, patient, expected) in [
        ("Patient", "bob", 1),
        ("Observation", "bob", 0),
        ("Observation", "ann", 2),
        ("Condition", "ann", 0),
    ] {
        let arguments = [
            "show",
            table,
            "--data",
            "lake",
            "--columns",
            "id",
            "--json",
            "--patient",
            patient,
        ];
        let rows: Value = serde_json::from_str(&done(path, &arguments)).unwrap();
        assert_eq!(rows.as_array().unwrap().len(), expected, "{table} {patient}");
        let told: Value = serde_json::from_str(&done(
            path,
            &["describe", table, "--data", "lake", "--json", "--patient", patient],
        ))
        .unwrap();
        assert_eq!(told["rows"], expected, "{table} {patient}");
    }
    let other: Value = serde_json::from_str(&done(
        path,
        &["show", "Patient", "--data", "lake", "--json", "--application", "other"],
    ))
    .unwrap();
    assert_eq!(other, json!([]));
    let test: Value = serde_json::from_str(&done(
        path,
        &["show", "Patient", "--data", "lake", "--json", "--mode", "test"],
    ))
    .unwrap();
    assert_eq!(test, json!([]));
}

#[test]
fn columns_are_described() {
    let folder = folder();
    let path = folder.path();
    let told: Value = serde_json::from_str(&done(path, &["describe", "Patient", "--data", "lake", "--json"])).unwrap();
    let column = |name: &str| {
        let found = told["columns"]
            .as_array()
            .unwrap()
            .iter()
            .find(|column| column["name"] == name);
        let mut column = found.unwrap().clone();
        column["examples"]
            .as_array_mut()
            .unwrap()
            .sort_by_key(ToString::to_string);
        column
    };
    assert_eq!(told["rows"], 3);
    assert_eq!(
        column("name"),
        json!({"name": "name", "type": "HumanName", "filled": 2, "distinct": 2, "distinctIsLowerBound": false,
               "examples": ["Ann Smith", "Bob"]})
    );
    assert_eq!(
        column("photo"),
        json!({"name": "photo", "type": "Attachment", "filled": 0, "distinct": 0, "distinctIsLowerBound": false,
               "examples": []})
    );
    let table = done(path, &["describe", "view.json", "--data", "lake", "--patient", "bob"]);
    expect_test::expect![[r#"
        column  type  filled  distinct  examples
        id      id      100%         1  bob
        born    date    100%         1  1975
        (1 row)
    "#]]
    .assert_eq(&table);
    let few = done(path, &["describe", "Patient", "--data", "lake", "--rows", "2"]);
    assert!(few.contains("\n(2 rows; empty: "), "{few}");
}

#[test]
fn a_view_can_be_typed() {
    let folder = folder();
    let path = folder.path();
    let typed = [
        "run",
        "Patient",
        "--data",
        "lake",
        "--column",
        "id",
        "--column",
        "born=birthDate",
    ];
    assert_eq!(
        sorted(&done(path, &typed)),
        ["ann,1980-02-03", "bob,1975", "cid,", "id,born"]
    );
    let where_born = [&typed[..], &["--where", "birthDate.exists()", "--format", "table"]].concat();
    assert_eq!(
        sorted(&done(path, &where_born)),
        ["ann  1980-02-03", "bob  1975", "id   born"]
    );
    let over_files = ["run", "Patient", "--input", "people.ndjson", "--column", "name.given"];
    assert_eq!(
        done(path, &over_files),
        "name_given\n\"[\"\"Ann\"\",\"\"B.\"\"]\"\n[]\n[]\n"
    );
    // The command accepts JSON's names and mentions FHIRPath's.
    let json_name = run(
        path,
        &["run", "Condition", "--data", "lake", "--column", "onset=onsetDateTime"],
    );
    assert_eq!(text(&json_name.stdout), "onset\n2020\n");
    assert!(
        text(&json_name.stderr).contains("onset.ofType(dateTime)"),
        "{}",
        text(&json_name.stderr)
    );
    let (code, said) = failed(
        path,
        &[
            "run",
            "Condition",
            "--data",
            "lake",
            "--strict",
            "--column",
            "onset=onsetDateTime",
        ],
    );
    assert!(code == Some(2) && said.contains("onset.ofType(dateTime)"), "{said}");
}

#[test]
fn statements_are_answered_as_tables_too() {
    let folder = folder();
    let told = done(
        folder.path(),
        &[
            "sql",
            "SELECT id, length(id) AS n FROM Patient ORDER BY id LIMIT 2",
            "--data",
            "lake",
            "--format",
            "table",
        ],
    );
    assert_eq!(told, "id   n\nann  3\nbob  3\n");
}
