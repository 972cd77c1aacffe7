//! Writes the results of a conformance suite as a summary file, in the format that implementations of SQL on FHIR
//! publish: for each file of the suite, each test's name and whether it passed. It is written if `TABULARIUM_REPORT`
//! names a folder:
//!
//!     TABULARIUM_REPORT=/tmp/report cargo test --test main suite

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// The results of a suite.
#[derive(Default)]
pub(crate) struct Report(Map<String, Value>);

impl Report {
    /// Adds a test's result to those of its file.
    pub(crate) fn add(&mut self, file: &str, test: &str, passed: bool) {
        let file = self.0.entry(file).or_insert_with(|| json!({"tests": []}));
        let result = json!({"name": test, "result": {"passed": passed}});
        file["tests"].as_array_mut().unwrap().push(result);
    }

    /// Writes the file if a report is wanted.
    pub(crate) fn write_if_wanted(&self, name: &str) {
        if let Some(folder) = std::env::var_os("TABULARIUM_REPORT") {
            self.write(&PathBuf::from(folder), name);
        }
    }

    fn write(&self, folder: &Path, name: &str) {
        std::fs::create_dir_all(folder).unwrap();
        let text = serde_json::to_string_pretty(&self.0).unwrap();
        std::fs::write(folder.join(name), text + "\n").unwrap();
    }
}

/// Why a value is not a valid report, by the public schema `http://hl7.org/fhir/uv/sql-on-fhir/test-report`.
fn fault(report: &Value) -> Option<String> {
    let Some(files) = report.as_object() else {
        return Some("not an object".to_string());
    };
    files.iter().find_map(|(file, of_file)| {
        let Some(tests) = of_file.get("tests").and_then(Value::as_array) else {
            return Some(format!("{file} has no list of tests"));
        };
        tests.iter().find_map(|test| {
            let named = test.get("name").is_some_and(Value::is_string);
            let judged = test.pointer("/result/passed").is_some_and(Value::is_boolean);
            (!named || !judged).then(|| format!("{file}: {test}"))
        })
    })
}

#[test]
fn what_is_written_has_the_public_form() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = Report::default();
    report.add("basic.json", "column ordering", true);
    report.add("basic.json", "two \"columns\"", false);
    report.add("union.json", "basic", true);
    let below = folder.path().join("not/there");
    report.write(&below, "test_report.json");
    let written: Value = serde_json::from_slice(&std::fs::read(below.join("test_report.json")).unwrap()).unwrap();
    assert_eq!(fault(&written), None);
    assert_eq!(written["basic.json"]["tests"].as_array().unwrap().len(), 2);
    assert_eq!(written["basic.json"]["tests"][1]["result"]["passed"], false);
    assert_eq!(fault(&json!([])), Some("not an object".to_string()));
    assert!(fault(&json!({"a.json": {}})).is_some());
    assert!(fault(&json!({"a.json": {"tests": [{"name": "x", "result": {}}]}})).is_some());
    assert!(fault(&json!({"a.json": {"tests": [{"result": {"passed": true}}]}})).is_some());
}
