//! The official SQL on FHIR suite, over resources in memory and over lakes. `harness::report` explains how to write the
//! results to a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::{in_memory, over_lake};
use crate::harness::records::{self, Record};
use crate::harness::report::Report;
use crate::harness::shared;

/// Rows as a multiset: each as text with its columns sorted.
fn canonical(rows: &[Value]) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(Value::to_string).collect();
    rows.sort();
    rows
}

/// Why a case fails; `None` if it passes.
fn fault(case: &Map<String, Value>, found: &Result<(Vec<Value>, Vec<String>), String>) -> Option<String> {
    if case.get("expectError") == Some(&Value::Bool(true)) {
        return found
            .as_ref()
            .ok()
            .map(|(rows, _)| format!("gave {} rows instead of an error", rows.len()));
    }
    let (rows, columns) = match found {
        Ok(found) => found,
        Err(error) => return Some(error.clone()),
    };
    if let Some(expected) = case.get("expectColumns") {
        let expected: Vec<String> = serde_json::from_value(expected.clone()).unwrap();
        if *columns != expected {
            return Some(format!("columns {columns:?} instead of {expected:?}"));
        }
    }
    let expected = canonical(case["expect"].as_array().unwrap());
    let found = canonical(rows);
    (found != expected).then(|| format!("gave {found:?} instead of {expected:?}"))
}

/// All cases of the suite's files: `file: title`, the case, the file's resources.
pub(super) fn cases(folder: &Path) -> Vec<(String, Map<String, Value>, Vec<Value>)> {
    let mut cases = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for path in files
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
    {
        let suite: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        for case in suite["tests"].as_array().unwrap() {
            let name = format!("{file}: {}", case["title"].as_str().unwrap());
            cases.push((
                name,
                case.as_object().unwrap().clone(),
                suite["resources"].as_array().unwrap().clone(),
            ));
        }
    }
    cases
}

/// Runs all cases and reports failures, also in a file if requested.
fn check(
    report_name: &str,
    cases: &[(String, Map<String, Value>, Vec<Value>)],
    mut run: impl FnMut(&str, &Value, &[Value]) -> Result<(Vec<Value>, Vec<String>), String>,
) {
    assert_eq!(cases.len(), 148);
    let (mut faults, mut report) = (Vec::new(), Report::default());
    for (name, case, resources) in cases {
        let fault = fault(case, &run(name, &case["view"], resources));
        let (file, title) = name.split_once(": ").unwrap();
        report.add(&format!("{file}.json"), title, fault.is_none());
        faults.extend(fault.map(|fault| format!("{name}: {fault}")));
    }
    report.write_if_wanted(report_name);
    assert!(
        faults.is_empty(),
        "{} of 148 cases:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn the_official_suite_passes_over_resources_in_memory() {
    let folder = shared();
    let cases = cases(&folder.join("conformance/sql-on-fhir"));
    check("test_report.json", &cases, |_, view, resources| {
        in_memory(view, resources)
    });
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn the_official_suite_passes_over_lakes() {
    let folder = shared();
    let mut lakes = BTreeMap::new();
    check(
        "test_report_lake.json",
        &cases(&folder.join("conformance/sql-on-fhir")),
        |name, view, resources| {
            let file = name.split(':').next().unwrap().to_owned();
            let (_, lake) = lakes.entry(file).or_insert_with(|| {
                let (folder, lake) = records::lake();
                let records: Vec<Record> = resources
                    .iter()
                    .enumerate()
                    .map(|(place, one)| identified(one, place))
                    .collect();
                records::commit(&lake, &records);
                (folder, lake)
            });
            over_lake(lake, &records::application("local"), view)
        },
    );
}

/// A record of a resource. Lakes require an id, so a missing one is added.
pub(super) fn identified(resource: &Value, place: usize) -> Record {
    let mut resource = resource.clone();
    if resource.get("id").is_none() {
        resource["id"] = Value::String(format!("unnamed-{place}"));
    }
    Record::new(resource)
}
