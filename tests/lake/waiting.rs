//! Writing commands wait for each other, name the other writer, and end in the same way after a timeout.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use tabularium::lake::Lake;

fn command(lake: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabularium"));
    command.args(arguments).arg("--data").arg(lake);
    command
}

/// Beside a server that merged files, 12 of 433 imports failed at once, with exit codes that differed between commands.
#[test]
fn a_command_waits_for_another_writer_as_long_as_it_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let input = scratch.path().join("p.json");
    std::fs::write(&input, r#"{"resourceType":"Patient","id":"p"}"#).unwrap();
    let input = input.to_str().unwrap();
    let folder = scratch.path().join("lake");
    let lake = Lake::open_or_create(&folder).unwrap();
    let commands: [&[&str]; 3] = [&["import", input], &["compact"], &["erase", "--yes", "--patient", "p"]];

    let held = lake.writer().unwrap();
    for arguments in commands {
        let done = command(&folder, &[arguments, &["--wait", "0"]].concat())
            .output()
            .unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{said}");
        let whom = format!("is being written by process {}", std::process::id());
        assert!(said.lines().count() == 1 && said.contains(&whom), "{said}");
    }
    drop(held);
    for arguments in commands {
        let held = lake.writer().unwrap();
        let mut waiting = command(&folder, arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(waiting.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert!(
            line.starts_with("tabularium: waiting up to 60 seconds, because the lake at "),
            "{line}"
        );
        assert!(waiting.try_wait().unwrap().is_none());
        drop(held);
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(rest.iter().all(|line| !line.contains("waiting")), "{rest:?}");
        assert!(waiting.wait().unwrap().success(), "{arguments:?}: {rest:?}");
    }
}
