//! The data that a statement reads, and the scan's decisions before a row is decoded, as shown by plans.

use super::Lake;

/// The lines of a plan with scans.
fn scans(lake: &Lake, statement: &str) -> Vec<String> {
    let plan = lake.answer_with(statement, &["--explain"]);
    let lines = plan
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("LakeScanExec"));
    lines.map(str::to_owned).collect()
}

fn scan(lake: &Lake, statement: &str) -> String {
    let scans = scans(lake, statement);
    assert_eq!(scans.len(), 1, "{statement}: {scans:?}");
    scans.into_iter().next().unwrap()
}

#[test]
fn only_what_is_named_is_read() {
    let lake = Lake::new();
    for (statement, expected) in [
        ("SELECT count(*) FROM Observation", "LakeScanExec: columns=[]"),
        ("SELECT gender FROM Patient", "LakeScanExec: columns=[gender]"),
        (
            "SELECT name[1]['family'] FROM Patient",
            "LakeScanExec: columns=[name.family]",
        ),
        ("SELECT code.text FROM Observation", "LakeScanExec: columns=[code.text]"),
        (
            "SELECT fhirpath(Patient, 'gender') FROM Patient",
            "LakeScanExec: columns=[gender]",
        ),
        (
            "SELECT fhirpath(Patient, 'name.family.first()') FROM Patient",
            "LakeScanExec: columns=[name.family]",
        ),
        ("SELECT count(*) FROM patients", "LakeScanExec: columns=[__row]"),
        ("SELECT family FROM patients", "LakeScanExec: columns=[name.family]"),
        (
            "SELECT part FROM parts",
            "LakeScanExec: columns=[component.code.coding.code]",
        ),
    ] {
        assert_eq!(scan(&lake, statement), expected, "{statement}");
    }
}

#[test]
fn filters_reach_the_scan() {
    let lake = Lake::new();
    for (statement, expected) in [
        (
            "SELECT birthDate FROM Patient WHERE gender = 'male'",
            "LakeScanExec: columns=[birthDate], prune=[gender = 'male'], items=[gender = 'male']",
        ),
        (
            "SELECT id FROM Observation WHERE code.text = 'pulse'",
            "LakeScanExec: columns=[id], prune=[code.text = 'pulse'], items=[code.text = 'pulse']",
        ),
        (
            "SELECT value FROM observations WHERE code = 'pulse'",
            "code.coding.code = 'pulse'",
        ),
        (
            "SELECT id FROM observations WHERE day >= '2020-02-01'",
            "effectiveDateTime__end >= ",
        ),
        (
            "SELECT value FROM parts WHERE part = 'systolic'",
            "component.code.coding.code = 'systolic'",
        ),
        (
            "SELECT id FROM Patient WHERE fhirpath(row, 'gender') = 'male'",
            "prune=[gender = 'male']",
        ),
    ] {
        let scan = scan(&lake, statement);
        assert!(scan.contains(expected), "{statement}: {scan}");
    }
}

#[test]
fn each_side_of_a_join_reads_its_own() {
    let lake = Lake::new();
    let statement =
        "SELECT p.family, o.code FROM patients p JOIN observations o ON o.patient = p.id WHERE o.code = 'pulse'";
    let mut scans = scans(&lake, statement);
    scans.sort();
    assert_eq!(scans.len(), 2, "{scans:?}");
    assert!(
        scans
            .iter()
            .any(|scan| scan.contains("name.family") && !scan.contains("gender")),
        "{scans:?}"
    );
    assert!(
        scans.iter().any(|scan| scan.contains("code.coding.code = 'pulse'")),
        "{scans:?}"
    );
}

#[test]
fn a_plan_is_shown_with_what_came_of_it() {
    let lake = Lake::new();
    let statement = "SELECT gender, count(*) FROM Patient GROUP BY gender";
    let explained = lake.answer(&format!("EXPLAIN {statement}"));
    assert_eq!(explained, lake.answer_with(statement, &["--explain"]));
    assert!(
        explained.contains("Aggregate: groupBy=[[Patient.gender]]") && explained.contains("LakeScanExec"),
        "{explained}"
    );
    let analyzed = lake.answer(&format!("EXPLAIN ANALYZE {statement}"));
    assert!(
        analyzed.contains("output_rows=3") && analyzed.contains("bytes_read="),
        "{analyzed}"
    );
}
