//! `tabularium backup` and `restore`: everything is restored except people who were erased since.

mod damaged;
mod erased;
mod killed;
mod ledger;
mod older;
mod refused;
mod sealed;
mod strangers;
mod whole;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tabularium::lake::Lake;

use crate::harness::kind;
use crate::harness::lake::{files_below, resources};
use crate::harness::process::PROGRAM;

pub(crate) fn program<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// What a command printed on both streams.
pub(crate) fn said(done: &Output) -> String {
    let said = [&done.stdout[..], &done.stderr[..]].concat();
    String::from_utf8(said).unwrap()
}

/// A data folder, a folder of backups, and a folder for restored lakes.
pub(crate) struct Scene {
    scratch: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        let scratch = tempfile::tempdir().unwrap();
        Scene { scratch }
    }

    /// A data folder with these resources.
    pub(crate) fn with(text: &str) -> Scene {
        let scene = Scene::new();
        scene.import(text);
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("lake")
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.path("backups")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path("lake.erasures")
    }

    pub(crate) fn import(&self, text: &str) {
        let input = self.path("input.ndjson");
        std::fs::write(&input, text).unwrap();
        let (data, input) = (self.data(), input.to_str().unwrap().to_owned());
        let import = ["import", "--data", data.to_str().unwrap(), &input];
        succeeds(&program(import.iter().chain(kind::flags())));
    }

    pub(crate) fn erase(&self, patient: &str) {
        let data = self.data();
        succeeds(&program([
            "erase",
            "--yes",
            "--data",
            data.to_str().unwrap(),
            "--patient",
            patient,
        ]));
    }

    pub(crate) fn run_backup(&self, more: &[&str]) -> Output {
        let (data, to) = (self.data(), self.backups());
        let arguments = ["backup", "--data", data.to_str().unwrap(), "--to", to.to_str().unwrap()];
        program(arguments.iter().chain(more))
    }

    /// Makes a backup and returns its id.
    pub(crate) fn backup(&self, more: &[&str]) -> String {
        let said = succeeds(&self.run_backup(more));
        let line = said.lines().find_map(|line| line.strip_prefix("snapshot ")).unwrap();
        line.split(':').next().unwrap().to_owned()
    }

    pub(crate) fn run_restore(&self, to: &Path, more: &[&str]) -> Output {
        let (from, ledger) = (self.backups(), self.ledger());
        let mut arguments = vec![
            "restore",
            "--from",
            from.to_str().unwrap(),
            "--data",
            to.to_str().unwrap(),
        ];
        if !more.contains(&"--erasures") {
            arguments.extend(["--erasures", ledger.to_str().unwrap()]);
        }
        let keys = self.data().join("keys.sqlite");
        if kind::is_sealed() {
            arguments.extend(["--keys", keys.to_str().unwrap()]);
        }
        program(arguments.iter().chain(more))
    }

    /// Restores into a new folder, which must be a good lake.
    pub(crate) fn restore(&self, name: &str, more: &[&str]) -> PathBuf {
        let to = self.path(name);
        succeeds(&self.run_restore(&to, more));
        is_good(&to);
        to
    }

    pub(crate) fn verify(&self) -> Output {
        program(["backup", "--verify", "--to", self.backups().to_str().unwrap()])
    }

    /// Names of the shared files, which are their SHA-256.
    pub(crate) fn stored(&self) -> BTreeSet<PathBuf> {
        files_below(&self.backups().join("files"))
    }

    pub(crate) fn snapshots(&self) -> Vec<String> {
        let manifests = files_below(&self.backups().join("snapshots")).into_iter();
        let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        manifests.map(name).collect()
    }
}

pub(crate) fn succeeds(done: &Output) -> String {
    let said = said(done);
    assert_eq!(done.status.code(), Some(0), "{said}");
    said
}

/// Checks that a folder has a faultless lake, and no files that a served folder does not have.
pub(crate) fn is_good(data: &Path) {
    succeeds(&program(["check", "--data", data.to_str().unwrap()]));
    assert!(!data.join("restoring").exists());
}

/// The same for a lake that needs this key-encryption key, or none.
pub(crate) fn is_good_with(data: &Path, kek: Option<&str>) {
    let mut check = Command::new(PROGRAM);
    check.args(["check", "--data", data.to_str().unwrap()]);
    let name = kind::KEK.0;
    succeeds(
        &check
            .env_remove(name)
            .envs(kek.map(|kek| (name, kek)))
            .output()
            .unwrap(),
    );
    assert!(!data.join("restoring").exists());
}

/// All resources of the newest snapshot, with their versions and dates.
pub(crate) fn all(data: &Path) -> Vec<String> {
    let mut all = resources(&Lake::open(data).unwrap().snapshot());
    all.sort_unstable();
    all
}

/// Two people with an observation each, and an organization.
pub(crate) const PEOPLE: &str = r#"{"resourceType":"Patient","id":"ann-of-athlone","birthDate":"1970"}
{"resourceType":"Patient","id":"ben-of-belfast","birthDate":"1980"}
{"resourceType":"Observation","id":"o-ann","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ann-of-athlone"}}
{"resourceType":"Observation","id":"o-ben","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ben-of-belfast"}}
{"resourceType":"Organization","id":"h","name":"H"}
"#;
