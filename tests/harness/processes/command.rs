//! Runs the program's commands on a folder of records.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

/// Runs a command.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// Runs a command that must succeed. Returns its standard output.
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

/// Checks that such a command ends with one sentence containing this text, exit code 2, and no standard output.
pub(crate) fn refused(command: &str, folder: &Path, arguments: &[&str], told: &str) {
    let done = record(command, folder, arguments);
    let error = String::from_utf8(done.stderr).unwrap();
    let ended = (done.status.code(), error.lines().count());
    assert_eq!(ended, (Some(2), 1), "{arguments:?}: {error}");
    assert!(error.contains(told), "{error}");
    assert!(done.stdout.is_empty());
}

/// Checks the refusals that all such commands share, for the patient `ann`.
pub(crate) fn refuses_what_all_refuse(command: &str, folder: &Path) {
    let inside = folder.join("data/ann.json");
    for (options, told) in [
        (&["--patient", "cid"][..], "there is no Patient with the id \"cid\""),
        (&["--patient", "no id"], "there is no Patient with the id \"no id\""),
        (
            &["--patient", "ann", "--mode", "test"],
            "there is no Patient with the id \"ann\"",
        ),
        (
            &["--patient", "ann", "--out", inside.to_str().unwrap()],
            "lies in the data folder",
        ),
    ] {
        refused(command, folder, options, told);
    }
}

/// Imports NDJSON into a folder.
pub(crate) fn imported(folder: &Path, text: &str) {
    let input = folder.with_extension("ndjson");
    std::fs::write(&input, text).unwrap();
    done(&["import", "--data", folder.to_str().unwrap(), input.to_str().unwrap()]);
}

/// The peak memory of a command in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn peak(arguments: &[&str]) -> u64 {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        // The allocator keeps freed memory for some milliseconds, on a busy machine a sixth of the peak.
        .env("MIMALLOC_PURGE_DELAY", "0")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(kilobytes.unwrap_or(0) * 1_024);
        std::thread::yield_now();
    }
    assert!(child.wait().unwrap().success());
    most
}
