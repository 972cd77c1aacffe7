//! Commands' reports on what they wrote, results for programs, and standard input.

use serde_json::Value;

use super::{PEOPLE, VIEW, done, failed, fed, folder, sorted, text};

#[test]
fn what_was_written_is_said_in_a_line() {
    let folder = folder();
    let path = folder.path();
    let data = ["--data", "lake"];
    let told = |arguments: &[&str]| done(path, &[arguments, &data].concat());
    assert_eq!(
        told(&["run", "view.json", "--out", "rows.parquet"]),
        "3 rows to rows.parquet\n"
    );
    std::fs::create_dir(path.join("views")).unwrap();
    std::fs::write(path.join("views/one.json"), VIEW).unwrap();
    std::fs::write(
        path.join("views/two.json"),
        VIEW.replace("\"Patient\"", "\"Condition\"").replace("birthDate", "id"),
    )
    .unwrap();
    let lines = told(&["run", "--views", "views", "--out", "tables"]);
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1 row to tables/two.csv", "3 rows to tables/one.csv"]);
    assert_eq!(
        told(&["sql", "SELECT id FROM Patient LIMIT 1", "--out", "one.json"]),
        "1 row to one.json\n"
    );
    let size = |name: &str| std::fs::metadata(path.join(name)).unwrap().len();
    let record = told(&["everything", "--patient", "ann", "--out", "ann.json"]);
    assert!(record.ends_with(" to ann.json\n") && size("ann.json") > 0, "{record}");
    // No message is mixed into results on standard output.
    let rows = told(&["run", "view.json", "--out", "/dev/stdout"]);
    assert!(rows.starts_with("id,born\n") && rows.lines().count() == 4, "{rows}");
}

#[test]
fn standard_input_is_taken_where_files_are() {
    let folder = folder();
    let path = folder.path();
    let rows = fed(path, &["run", "view.json", "--input", "-"], PEOPLE);
    assert_eq!(text(&rows.stdout), "id,born\nann,1980-02-03\nbob,1975\ncid,\n");
    let rows = fed(path, &["run", "-", "--data", "lake"], VIEW);
    assert_eq!(
        sorted(&text(&rows.stdout)),
        ["ann,1980-02-03", "bob,1975", "cid,", "id,born"]
    );
    let checked = fed(path, &["validate-view", "-"], VIEW);
    assert!(
        text(&checked.stdout).starts_with("-: view people of Patient"),
        "{}",
        text(&checked.stdout)
    );
    let one = fed(
        path,
        &["fhirpath", "name.family", "--input", "-"],
        PEOPLE.lines().next().unwrap(),
    );
    assert_eq!(text(&one.stdout), "[{\"type\": \"string\", \"value\": \"Smith\"}]\n");
    let normalized = fed(path, &["normalize", "-", "--dry-run"], PEOPLE);
    assert!(normalized.status.success(), "{}", text(&normalized.stderr));
    assert!(
        text(&normalized.stdout).starts_with("rule "),
        "{}",
        text(&normalized.stdout)
    );
    // Input that is read twice is complete both times.
    let imported = fed(path, &["import", "--data", "new", "--rewrite-ids", "-"], PEOPLE);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    assert!(
        text(&imported.stdout).contains("total           6       6"),
        "{}",
        text(&imported.stdout)
    );
    let refused = fed(path, &["import", "--data", "new", "-"], "{\"id\":\"x\"}\n");
    assert!(
        text(&refused.stderr).contains("standard-input:1: has no resourceType"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn results_are_there_for_programs() {
    let folder = folder();
    let path = folder.path();
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&done(path, &[arguments, &["--json"]].concat())).unwrap()
    };
    let again = json(&["import", "--data", "lake", "people.ndjson"]);
    assert_eq!(
        (&again["total"]["unchanged"], &again["refused"]),
        (&6.into(), &0.into())
    );
    assert_eq!(again["types"]["Patient"]["read"], 3);
    assert_eq!(json(&["check", "--data", "lake"])["findings"], serde_json::json!([]));
    assert!(json(&["compact", "--data", "lake"])["merges"].is_u64());
    assert_eq!(
        json(&["generate", "--patients", "2", "--out", "made"])["types"]["Patient"],
        2
    );
    let data = ["--data", "lake"];
    let rows = json(
        &[
            &["run", "Patient", "--column", "id", "--where", "id = 'ann'"],
            &data[..],
        ]
        .concat(),
    );
    assert_eq!(rows, serde_json::json!([{"id": "ann"}]));
    let rows = json(&[&["sql", "SELECT id FROM Patient WHERE id = 'ann'"], &data[..]].concat());
    assert_eq!(rows, serde_json::json!([{"id": "ann"}]));
    assert_eq!(json(&["fhirpath", "1 + 1"])[0]["value"], 2);
    // The result of these is JSON with the option and without it.
    for line in [
        ["search", "Patient?gender=female"].as_slice(),
        &["everything", "--patient", "ann"],
        &["summary", "--patient", "ann"],
    ] {
        let line = [line, &data].concat();
        assert_eq!(json(&line)["resourceType"], "Bundle", "{line:?}");
        assert_eq!(done(path, &line).lines().count(), 1, "{line:?}");
    }
    for (line, said) in [
        (["run", "view.json", "--json", "--format", "csv"], "cannot be used with"),
        (
            ["fhirpath", "id", "--json", "--explain", "--type=Patient"],
            "--explain prints text",
        ),
    ] {
        let (code, told) = failed(path, &[&line[..], &data].concat());
        assert!(code == Some(2) && told.contains(said), "{line:?}: {told}");
    }
    done(path, &["erase", "--data", "lake", "--patient", "cid", "--yes"]);
    let receipts = json(&["receipt", "list", "--data", "lake"]);
    let id = receipts[0]["erasure"].as_str().unwrap();
    std::fs::write(
        path.join("receipt"),
        done(path, &["receipt", "show", id, "--data", "lake"]),
    )
    .unwrap();
    assert_eq!(json(&["receipt", "verify", "receipt", "--data", "lake"])["jti"], id);
}
