//! `tabularium validate-view`: its output for correct, doubtful and faulty views, and its exit codes.

use std::path::Path;
use std::process::{Command, Output};

use expect_test::expect;
use serde_json::{Value, json};

/// Runs the command in a folder, so that messages contain relative file names.
fn validated(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .current_dir(folder)
        .arg("validate-view")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, view: Value| std::fs::write(folder.path().join(name), view.to_string()).unwrap();
    put(
        "sound.json",
        json!({"resourceType": "ViewDefinition", "name": "names", "status": "active", "resource": "Patient", "select": [
            {"column": [{"name": "id", "path": "getResourceKey()", "type": "string"},
                {"name": "born", "path": "birthDate", "type": "date", "tag": [{"name": "ansi/type", "value": "DATE"}]}]},
            {"forEach": "name", "column": [{"name": "given", "path": "given", "type": "string", "collection": true}]}]}),
    );
    put(
        "doubtful.json",
        json!({"name": "my-view", "resource": "Patient", "select": [{"column": [{"name": "gender", "path": "gender"}]}]}),
    );
    put(
        "faulty.json",
        json!({"resource": "Patient", "status": "active", "resourceType": "ViewDefinition", "select": [{"column": [
            {"name": "a-b", "path": "id"}, {"name": "x", "path": "nam.family"}]}]}),
    );
    folder
}

#[test]
fn columns_and_doubts_are_shown() {
    let folder = folder();
    let found = validated(folder.path(), &["sound.json", "doubtful.json"]);
    assert_eq!((text(&found.stderr).as_str(), found.status.code()), ("", Some(0)));
    expect![[r#"
        sound.json: view names of Patient
          column  type    SQL type           collection
          id      string  CHARACTER VARYING  no
          born    date    DATE               no
          given   string  CHARACTER VARYING  yes

        doubtful.json: view my-view of Patient
          column  type  SQL type           collection
          gender  code  CHARACTER VARYING  no
        warning: ViewDefinition: has no resourceType, and is taken as a ViewDefinition
        warning: ViewDefinition: has no status
        warning: ViewDefinition.name: 'my-view' is no name by the specification, which allows letters, digits and underscores, a letter first
        warning: ViewDefinition.select[0].column[0]: column 'gender': has no type; its path gives code
    "#]]
    .assert_eq(&text(&found.stdout));
}

#[test]
fn every_faulty_view_is_one_sentence_and_the_others_are_shown() {
    let folder = folder();
    std::fs::write(folder.path().join("broken.json"), "{\"resource\":").unwrap();
    let found = validated(
        folder.path(),
        &["faulty.json", "sound.json", "broken.json", "missing.json"],
    );
    assert_eq!(found.status.code(), Some(2));
    let said = text(&found.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    // Each fault is reported once, beside its view.
    assert_eq!(lines[0], "tabularium: faulty.json: 2 errors");
    assert_eq!(lines[1], "tabularium: broken.json: 1 error");
    assert!(lines[2].contains("missing.json: "), "{said}");
    let shown = text(&found.stdout);
    assert!(
        shown.starts_with("faulty.json: cannot be run\nerror: ViewDefinition.select[0].column[0].name: "),
        "{shown}"
    );
    assert!(
        shown.contains(
            "error: ViewDefinition.select[0].column[1].path: column 'x': Patient has no element 'nam' (line 1, column 1); did \
             you mean 'name'?"
        ),
        "{shown}"
    );
    assert!(shown.contains("error: ViewDefinition: is not JSON: "), "{shown}");
    assert!(shown.contains("sound.json: view names of Patient"), "{shown}");
}

#[test]
fn programs_read_it_as_json() {
    let folder = folder();
    let found = validated(folder.path(), &["--json", "sound.json", "faulty.json"]);
    assert_eq!(found.status.code(), Some(2));
    let views: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(
        views[0]["columns"][1],
        json!({"name": "born", "type": "date", "sqlType": "DATE", "collection": false, "description": null,
            "tag": [{"name": "ansi/type", "value": "DATE"}]})
    );
    assert_eq!((&views[0]["valid"], &views[0]["findings"]), (&json!(true), &json!([])));
    assert_eq!(views[1]["valid"], json!(false));
    let finding = views[1]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["column"] == "x")
        .unwrap();
    assert_eq!(
        (&finding["severity"], &finding["expression"], &finding["position"]),
        (
            &json!("error"),
            &json!("ViewDefinition.select[0].column[1].path"),
            &json!({"line": 1, "column": 1})
        )
    );
}
