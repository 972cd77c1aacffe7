//! What others put into the place of a data file: no command follows a link there, or waits for a pipe.

use std::path::Path;
use std::process::Command;

use crate::harness::lake::files_in_place;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

/// Commands that read data files, with what they need beside the folder of the lake.
const COMMANDS: [(&str, &[&str]); 6] = [
    ("check", &[]),
    ("compact", &[]),
    ("erase", &["--yes", "--patient", "p1"]),
    ("seal", &[]),
    ("sql", &["SELECT resource FROM Patient"]),
    ("search", &["Patient"]),
];

fn run(data: &Path, (command, arguments): (&str, &[&str])) -> (bool, String) {
    let mut run = Command::new(PROGRAM);
    run.arg(command).arg("--data").arg(data).args(arguments);
    run.env("TABULARIUM_LAKE_KEY", "ab".repeat(32));
    let done = run.output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Makes a lake of one person, puts something else into the place of its data file, and runs each command.
fn refused_with(reason: &str, replace: impl Fn(&Path)) {
    for command in COMMANDS {
        let scratch = tempfile::tempdir().unwrap();
        let (data, input) = (scratch.path().join("lake"), scratch.path().join("p.ndjson"));
        std::fs::write(&input, r#"{"resourceType":"Patient","id":"p1"}"#).unwrap();
        let input = input.to_str().unwrap();
        assert!(run(&data, ("import", &[input])).0);
        let file = files_in_place(&data.join("data")).pop_first().unwrap();
        replace(&file);
        let (has_succeeded, said) = run(&data, command);
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(!has_succeeded, "{command:?}: {said}");
        assert!(said.contains(name) && said.contains(reason), "{command:?}: {said}");
        assert!(file.symlink_metadata().is_ok(), "{command:?} leaves it in place");
    }
}

#[test]
fn a_link_in_the_place_of_a_data_file_is_refused() {
    refused_with("it is a link", |file| {
        let elsewhere = file.ancestors().nth(4).unwrap().join("elsewhere.parquet");
        std::fs::rename(file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(elsewhere, file).unwrap();
    });
}

#[test]
fn a_pipe_in_the_place_of_a_data_file_is_refused() {
    refused_with("it is no regular file", |file| {
        std::fs::remove_file(file).unwrap();
        assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    });
}
