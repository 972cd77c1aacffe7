//! The program's commands on a folder of records.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

/// Runs a command.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// Runs a command that must end well; what it wrote to standard output.
pub(crate) fn done(arguments: &[&str]) -> Vec<u8> {
    let done = run(arguments);
    assert!(
        done.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    done.stdout
}

/// Runs a command on all of a patient's records: `everything`, `summary` or `pdf`.
pub(crate) fn record(command: &str, folder: &Path, arguments: &[&str]) -> Output {
    run(&[&[command, "--data", folder.to_str().unwrap()], arguments].concat())
}

/// Imports NDJSON into a folder.
pub(crate) fn imported(folder: &Path, text: &str) {
    let input = folder.with_extension("ndjson");
    std::fs::write(&input, text).unwrap();
    done(&["import", "--data", folder.to_str().unwrap(), input.to_str().unwrap()]);
}
