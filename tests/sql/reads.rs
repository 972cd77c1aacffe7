//! The data that a statement reads, and the scan's decisions before a row is decoded, as shown by plans.

use std::collections::BTreeSet;

use serde_json::{Value, json};

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
    lake.view(&loincs());
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
        (
            "SELECT value FROM observations WHERE patient = 'ann'",
            "items=[item [subject.reference__type = 'Patient' and subject.reference__id = 'ann']]",
        ),
        (
            "SELECT value FROM observations WHERE patient IN ('ann', 'ben')",
            "item [subject.reference__type = 'Patient' and subject.reference__id = 'ann' or",
        ),
        (
            "SELECT value FROM observations WHERE id = 'o2'",
            "items=[item [id = 'o2']]",
        ),
        (
            "SELECT part FROM parts WHERE observation = 'o5'",
            "items=[item [id = 'o5']]",
        ),
        (
            "SELECT id FROM Observation WHERE fhirpath(row, 'subject.getReferenceKey(Patient)') = 'ann'",
            "items=[item [subject.reference__type = 'Patient' and subject.reference__id = 'ann']]",
        ),
        (
            "SELECT id FROM loincs WHERE code = 'pulse'",
            "item [code.coding.system = 'http://loinc.org']",
        ),
    ] {
        let scan = scan(&lake, statement);
        assert!(scan.contains(expected), "{statement}: {scan}");
    }
}

/// A view whose column depends on a constant.
fn loincs() -> Value {
    json!({"resourceType": "ViewDefinition", "name": "loincs", "status": "active", "resource": "Observation",
        "constant": [{"name": "system", "valueString": "http://loinc.org"}],
        "select": [{"column": [{"name": "id", "path": "id", "type": "id"},
            {"name": "code", "path": "code.coding.where(system = %system).code.first()", "type": "code"}]}]})
}

/// A filter gives the rows that it keeps of all rows, whatever it tells the scan.
#[test]
fn filters_on_keys_and_constants_keep_their_rows() {
    let mut records = super::records();
    let mut refers = |id: &str, subject: Value| {
        let mut observation = super::observation(id, "x", "pulse", "2020-01-01", json!(1));
        observation["subject"] = subject;
        records.push(observation);
    };
    refers("r1", json!({"reference": "Patient/ann/_history/2"}));
    refers("r2", json!({"reference": "https://example.org/fhir/Patient/ann"}));
    refers("r3", json!({"reference": "Group/ann"}));
    refers("r4", json!({"reference": "#ann", "type": "Patient"}));
    refers("r5", json!({"display": "ann"}));
    let lake = Lake::of(&records);
    lake.view(&loincs());
    let rows =
        |statement: &str| -> BTreeSet<String> { lake.answer(statement).lines().skip(1).map(str::to_owned).collect() };
    for (table, column, filters) in [
        (
            "observations",
            "patient",
            ["= 'ann'", "IN ('ann', 'ben')", "= 'nobody'"].as_slice(),
        ),
        ("observations", "id", &["= 'o2'", "IN ('o2', 'r1', 'none')", "= 'none'"]),
        ("loincs", "code", &["= 'pulse'", "IN ('pulse', 'weight')"]),
    ] {
        for filter in filters {
            let filtered = rows(&format!(
                "SELECT id, {column} AS found FROM {table} WHERE {column} {filter}"
            ));
            // The scan knows nothing of a filter on a computed value.
            let afterwards = rows(&format!(
                "SELECT id, {column} AS found FROM {table} WHERE concat({column}, '') {filter}"
            ));
            assert_eq!(filtered, afterwards, "{table}.{column} {filter}");
            assert_eq!(
                filtered.is_empty(),
                filter.contains("'nobody'") || *filter == "= 'none'",
                "{filter}"
            );
        }
    }
    let of_ann = rows("SELECT id FROM observations WHERE patient = 'ann'");
    assert!(
        of_ann.contains("r1") && !of_ann.contains("r2") && !of_ann.contains("r3"),
        "{of_ann:?}"
    );
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
    assert!(analyzed.contains("files       1 of 1 read"), "{analyzed}");
    // A statement over a view, with what the scan skipped and why.
    let statement = "SELECT value FROM observations WHERE day >= '2030-01-01'";
    let plan = lake.answer_with(statement, &["--explain"]);
    assert!(!plan.contains("files "), "{plan}");
    let analyzed = lake.answer_with(statement, &["--explain=analyze"]);
    for part in [
        "Observation: scanned for",
        "row groups  0 of 1 met are read; 1 skipped: statistics of effectiveDateTime__end",
    ] {
        assert!(analyzed.contains(part), "{part}: {analyzed}");
    }
    let read = lake.answer("EXPLAIN ANALYZE SELECT code.text FROM Observation");
    assert!(
        read.contains("bytes  ") && read.lines().any(|line| line.ends_with("  code.text")),
        "{read}"
    );
}

/// A comparison with a decimal is decided by statistics, whichever way the number is written.
#[test]
fn decimals_are_compared_by_statistics() {
    let observation = |at: usize| {
        json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final", "code": {"text": "x"},
            "valueQuantity": {"value": at as f64 + 0.5}})
    };
    let lake = Lake::of(&(0..20).map(observation).collect::<Vec<_>>());
    let answer = |filter: &str, explain: &str| {
        let statement =
            format!("{explain} SELECT count(*) FROM Observation WHERE \"valueQuantity\"['value__number'] {filter}");
        lake.answer_with(statement.trim(), &["--format", "csv"])
    };
    for (filter, count) in [
        ("> 19", 1),
        (">= 19.5", 1),
        ("> 19.5", 0),
        ("= 3.5", 1),
        ("= 3.25", 0),
        ("< 0.75", 1),
        ("<= 0.5", 1),
        ("< 0.5", 0),
        ("< 0", 0),
        ("= CAST(7.5 AS DECIMAL(38,18))", 1),
    ] {
        let counted = answer(filter, "");
        assert_eq!(
            counted.lines().nth(1),
            Some(count.to_string().as_str()),
            "{filter}: {counted}"
        );
    }
    for filter in [
        "> 20",
        "> 20.75",
        "< -0.5",
        "= 1000.5",
        "> CAST(19.5 AS DECIMAL(38,18))",
    ] {
        let explained = answer(filter, "EXPLAIN ANALYZE");
        let skipped = "1 skipped: statistics of valueQuantity.value__number";
        assert!(explained.contains(skipped), "{filter}: {explained}");
    }
}
