//! Lets the disk fail to sync the catalog's log, in the processes of real commands. Such a commit has failed, but its
//! pages are in the log, and the next process takes them for valid. No record may be lost, whichever of the two states
//! that process finds.

use std::path::{Path, PathBuf};
use std::process::Command;

use tabularium::lake::{Lake, LakeOptions};

use crate::harness::kind::{KEK, kek};
use crate::harness::lake::resources;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");
/// More syncs than any of the commands needs.
const NEVER: usize = 1_000_000;

/// A library that lets a process fail to sync files whose name ends with `-wal`, from a number of calls on.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int calls;

static int fails(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    if (length < 4 || memcmp(path + length - 4, "-wal", 4) != 0) return 0;
    int call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    int from = atoi(getenv("FAILS_FROM"));
    FILE *seen = fopen(getenv("FAILS_SEEN"), "w");
    fprintf(seen, "%d", call);
    fclose(seen);
    return call >= from;
}

int fsync(int file) {
    if (fails(file)) { errno = EIO; return -1; }
    return ((int (*)(int)) dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
    if (fails(file)) { errno = EIO; return -1; }
    return ((int (*)(int)) dlsym(RTLD_NEXT, "fdatasync"))(file);
}
"#;

struct Disk {
    scratch: tempfile::TempDir,
    shim: PathBuf,
}

impl Disk {
    fn new() -> Disk {
        let scratch = tempfile::tempdir().unwrap();
        let (source, shim) = (scratch.path().join("shim.c"), scratch.path().join("shim.so"));
        std::fs::write(&source, SHIM).unwrap();
        let mut compiler = Command::new("cc");
        let compiler = compiler
            .args(["-shared", "-fPIC", "-o"])
            .args([&shim, &source])
            .arg("-ldl");
        assert!(compiler.status().unwrap().success());
        Disk { scratch, shim }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Imports people into a lake, and some of them again with a change.
    fn lake(&self, options: &[&str]) -> PathBuf {
        let (data, input) = (self.path("before"), self.path("people.ndjson"));
        for version in 1..=2 {
            let person = |at| {
                format!(r#"{{"resourceType":"Patient","id":"p{at}","name":[{{"family":"Of {at} in {version}"}}]}}"#)
            };
            let people: Vec<String> = (version - 1..5).map(person).collect();
            std::fs::write(&input, people.join("\n")).unwrap();
            let mut import = Command::new(PROGRAM);
            let import = import.args(["import", "--data"]).args([&data, &input]).args(options);
            assert!(import.env(KEK.0, KEK.1).output().unwrap().status.success());
        }
        data
    }

    /// Runs a command on a copy of the lake while all syncs fail from the call `from` on. Then runs it again on a sound
    /// disk. Returns the copy and how often the first run has synced a log.
    fn run(&self, before: &Path, (command, options): (&str, &[&str]), from: usize) -> (PathBuf, usize) {
        let (data, seen) = (self.path(&format!("{command}-{from}")), self.path("seen"));
        assert!(
            Command::new("cp")
                .arg("-a")
                .args([before, &data])
                .status()
                .unwrap()
                .success()
        );
        std::fs::write(&seen, "0").unwrap();
        let command = || {
            let mut run = Command::new(PROGRAM);
            run.arg(command)
                .arg("--data")
                .arg(&data)
                .args(options)
                .env(KEK.0, KEK.1);
            run
        };
        let mut failing = command();
        failing.env("LD_PRELOAD", &self.shim).env("FAILS_SEEN", &seen);
        failing.env("FAILS_FROM", from.to_string());
        failing.output().unwrap();
        let again = command().output().unwrap();
        let said = String::from_utf8_lossy(&again.stderr).into_owned();
        // Nothing is left to erase if the first run, or the next start, has finished the erasure.
        let is_done = again.status.success() || said.contains("has no records of Patient/p2");
        assert!(is_done, "{from}: {said}");
        (data, std::fs::read_to_string(&seen).unwrap().parse().unwrap())
    }

    /// Runs a command as often as it syncs the log, so that each sync is once the first to fail.
    fn at_each_sync(&self, before: &Path, command: (&str, &[&str]), whole: impl Fn(&Path)) {
        let (data, syncs) = self.run(before, command, NEVER);
        whole(&data);
        assert!(syncs > 0, "the library counts");
        for from in 1..=syncs {
            let (data, _) = self.run(before, command, from);
            whole(&data);
            std::fs::remove_dir_all(data).unwrap();
        }
    }
}

/// Asserts that `check` finds no fault in a lake, and that the newest snapshot has exactly these people.
fn assert_people(data: &Path, people: &[usize]) {
    let mut check = Command::new(PROGRAM);
    let check = check
        .args(["check", "--data"])
        .arg(data)
        .env(KEK.0, KEK.1)
        .output()
        .unwrap();
    assert!(
        check.status.success(),
        "{data:?}: {}",
        String::from_utf8_lossy(&check.stdout)
    );
    let options = LakeOptions {
        kek: kek(),
        ..LakeOptions::default()
    };
    let lake = Lake::open_with(data, options).unwrap();
    let mut found = resources(&lake.snapshot());
    found.sort_unstable();
    assert_eq!(found.len(), people.len(), "{data:?}");
    for (text, person) in found.iter().zip(people) {
        let version = 1 + usize::from(*person > 0);
        assert!(text.contains(&format!("Of {person} in {version}")), "{data:?}: {text}");
    }
}

#[test]
fn an_erasure_loses_nothing_when_the_log_cannot_be_synced() {
    let disk = Disk::new();
    let before = disk.lake(&[]);
    let erase = ("erase", &["--yes", "--patient", "p2"][..]);
    disk.at_each_sync(&before, erase, |data| assert_people(data, &[0, 1, 3, 4]));
}

#[test]
fn an_erasure_in_a_sealed_lake_loses_nothing_when_the_log_cannot_be_synced() {
    let disk = Disk::new();
    let before = disk.lake(&["--sealed"]);
    let erase = ("erase", &["--yes", "--patient", "p2"][..]);
    disk.at_each_sync(&before, erase, |data| assert_people(data, &[0, 1, 3, 4]));
}

#[test]
fn sealing_loses_nothing_when_the_log_cannot_be_synced() {
    let disk = Disk::new();
    let before = disk.lake(&[]);
    disk.at_each_sync(&before, ("seal", &[]), |data| assert_people(data, &[0, 1, 2, 3, 4]));
}

#[test]
fn unsealing_loses_nothing_when_the_log_cannot_be_synced() {
    let disk = Disk::new();
    let before = disk.lake(&["--sealed"]);
    disk.at_each_sync(&before, ("unseal", &[]), |data| assert_people(data, &[0, 1, 2, 3, 4]));
}
