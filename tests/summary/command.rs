//! `tabularium summary`: a document on standard output or in a file.

use std::path::Path;
use std::process::Output;

use super::harness::Document;
use crate::harness::command::{imported, record, refused, refuses_what_all_refuse};

const PEOPLE: &str = r#"{"resourceType":"Patient","id":"ann","name":[{"family":"Ash"}],"birthDate":"1980-01-02"}
{"resourceType":"Patient","id":"ben","name":[{"family":"Birch"}]}
{"resourceType":"Condition","id":"c","code":{"text":"Asthma"},"subject":{"reference":"Patient/ann"}}
{"resourceType":"Condition","id":"d","code":{"text":"Secret"},"subject":{"reference":"Patient/ben"}}
{"resourceType":"AllergyIntolerance","id":"a","code":{"text":"Peanut"},"patient":{"reference":"Patient/ann"}}
"#;

fn summary(folder: &Path, arguments: &[&str]) -> Output {
    record("summary", folder, arguments)
}

fn document(text: &[u8]) -> Document {
    let document = Document(serde_json::from_slice(text).unwrap());
    document.check();
    document
}

#[test]
fn a_summary_is_one_document() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    imported(&folder, PEOPLE);
    let done = summary(&folder, &["--patient", "ann"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let printed = document(&done.stdout);
    assert_eq!(
        (printed.names("problems"), printed.names("allergies")),
        (vec!["Asthma".into()], vec!["Peanut".into()])
    );
    let file = scratch.path().join("ann.json");
    let path = file.to_str().unwrap();
    let written = summary(
        &folder,
        &["--patient", "ann", "--section", "allergies,medications", "--out", path],
    );
    let told = String::from_utf8(written.stdout).unwrap();
    assert!(
        written.status.success() && told.ends_with(&format!(" to {path}\n")),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1);
    let written = document(&std::fs::read(&file).unwrap());
    assert_eq!(written.names("allergies"), ["Peanut"]);
    assert_eq!(written.empty("problems"), Some("withheld"));
}

#[test]
fn what_is_wrong_is_one_sentence_and_exit_code_2() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    imported(&folder, PEOPLE);
    refuses_what_all_refuse("summary", &folder);
    refused(
        "summary",
        &folder,
        &["--patient", "ann", "--section", "alerts"],
        "it is 'alerts'",
    );
}
