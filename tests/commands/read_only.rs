//! Commands over a folder that the user may only read.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::harness::lake::files_below;
use crate::harness::process::PROGRAM;

/// An unprivileged user. Root may write everywhere.
const NOBODY: u32 = 65_534;

/// SQLite makes a log beside a catalog that it reads. So every command used to fail over a folder that it may only
/// read, and `check` called its lake damaged.
#[test]
fn a_lake_that_may_only_be_read_is_read() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    std::fs::write(path("in.ndjson"), r#"{"resourceType":"Patient","id":"ann"}"#).unwrap();
    let (data, input) = (path("lake"), path("in.ndjson"));
    let run = |program: &Path, is_root: bool, arguments: &[&str]| -> Output {
        let mut command = Command::new(program);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.args(arguments).arg("--data").arg(&data).output().unwrap()
    };
    let made = run(Path::new(PROGRAM), false, &["import", input.to_str().unwrap()]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for log in ["catalog.sqlite-wal", "catalog.sqlite-shm"] {
        let _ = std::fs::remove_file(data.join(log));
    }
    let is_root = chown(scratch.path(), Some(NOBODY), Some(NOBODY)).is_ok();
    let program = path("tabularium");
    std::fs::copy(PROGRAM, &program).unwrap();
    let mut all: Vec<_> = files_below(&data).into_iter().collect();
    for file in all.clone() {
        all.extend(
            file.ancestors()
                .skip(1)
                .take_while(|path| path.starts_with(&data))
                .map(Path::to_owned),
        );
    }
    for path in &all {
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        if is_root {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    for arguments in [&["check"][..], &["search", "Patient?_id=ann"], &["info"]] {
        let done = run(&program, is_root, arguments);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {said}");
    }
    // The tokens of a server and its consents need a store, which the message names.
    for arguments in [&["token"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let done = run(&program, is_root, arguments);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(data.join("service.sqlite").to_str().unwrap()), "{said}");
    }
    for path in all.iter().filter(|path| path.is_dir()) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}
