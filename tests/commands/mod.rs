//! The command line as its users see it: settings, help, previews, written files, and messages about mistakes.

mod configuration;
mod demo;
mod looked_at;
mod read_only;
mod safe;
pub(crate) mod service_commands;
mod source_commands;
mod talk;
mod written;
mod wrong_uses;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::harness::command::PROGRAM;

/// Patients and their Observations.
const PEOPLE: &str = r#"{"resourceType":"Patient","id":"ann","gender":"female","birthDate":"1980-02-03","name":[{"family":"Smith","given":["Ann","B."]}]}
{"resourceType":"Patient","id":"bob","gender":"male","birthDate":"1975","name":[{"text":"Bob"}]}
{"resourceType":"Patient","id":"cid"}
{"resourceType":"Observation","id":"o1","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"8480-6","display":"Systolic"}]},"subject":{"reference":"Patient/ann"},"valueQuantity":{"value":120.0,"unit":"mmHg"},"effectiveDateTime":"2024-05-06"}
{"resourceType":"Observation","id":"o2","status":"final","code":{"text":"Mood"},"subject":{"reference":"Patient/ann"},"valueString":"good"}
{"resourceType":"Condition","id":"c1","subject":{"reference":"Patient/bob"},"onsetDateTime":"2020"}
"#;
const VIEW: &str = r#"{"resourceType":"ViewDefinition","status":"active","resource":"Patient","name":"people","select":[{"column":[
    {"name":"id","path":"id","type":"id"},{"name":"born","path":"birthDate","type":"date"}]}]}"#;

/// A folder to run commands in: people.ndjson, view.json, and the same people in `lake`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("people.ndjson"), PEOPLE).unwrap();
    std::fs::write(folder.path().join("view.json"), VIEW).unwrap();
    let done = run(folder.path(), &["import", "--data", "lake", "people.ndjson"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    folder
}

/// A command without settings from the environment.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).args(arguments);
    for variable in [
        "TABULARIUM_DATA",
        "TABULARIUM_LAKE_KEY",
        "TABULARIUM_ERASURES",
        "RUST_LOG",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// The output of a command that succeeds.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The exit code of a command that fails, and its standard error.
fn failed(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(folder, arguments);
    (output.status.code(), text(&output.stderr))
}

/// Runs a command with this standard input.
fn fed(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = command(folder, arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The lines of a text, sorted, because the order of people differs between lakes.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}
