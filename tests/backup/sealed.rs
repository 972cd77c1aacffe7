//! Backups of sealed lakes: everything is restored whose keys still exist.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tabularium::lake::seal::KeyStore;
use tabularium::lake::{KeyId, Lake, LakeOptions};

use super::{PEOPLE, is_good_with, said, succeeds};
use crate::harness::kind::{self, KEK};
use crate::harness::lake::files_below;
use crate::harness::process::PROGRAM;
use crate::lake::attachments::{bring, files as attached, own};

struct Scene {
    scratch: tempfile::TempDir,
}

impl Scene {
    /// A sealed lake with two files per table. An erasure from one leaves the other's key.
    fn new() -> Scene {
        let scratch = tempfile::tempdir().unwrap();
        let scene = Scene { scratch };
        scene.import(PEOPLE);
        scene.import(
            &PEOPLE
                .replace("ann-of-athlone", "cid-of-cork")
                .replace("ben-of-belfast", "dan-of-derry")
                .replace("o-", "p-"),
        );
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(PROGRAM)
            .args(arguments)
            .env(KEK.0, KEK.1)
            .output()
            .unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        succeeds(&self.run(arguments))
    }

    fn import(&self, text: &str) {
        let input = self.path("input.ndjson");
        std::fs::write(&input, text).unwrap();
        self.done(&[
            "import",
            "--sealed",
            "--data",
            &self.text("lake"),
            input.to_str().unwrap(),
        ]);
    }

    fn erase(&self, patient: &str) {
        self.done(&["erase", "--yes", "--data", &self.text("lake"), "--patient", patient]);
    }

    fn backup(&self) -> String {
        let said = self.done(&["backup", "--data", &self.text("lake"), "--to", &self.text("backups")]);
        let line = said.lines().find_map(|line| line.strip_prefix("snapshot ")).unwrap();
        line.split(':').next().unwrap().to_owned()
    }

    fn restore(&self, to: &str, more: &[&str]) -> Output {
        let (from, to, ledger) = (self.text("backups"), self.text(to), self.text("lake.erasures"));
        let restore = ["restore", "--from", &from, "--data", &to, "--erasures", &ledger];
        self.run(&[&restore[..], more].concat())
    }

    /// Restores with the lake's current keys.
    fn restored(&self, to: &str, more: &[&str]) -> String {
        let keys = self.text("lake/keys.sqlite");
        let said = succeeds(&self.restore(to, &[&["--keys", &keys][..], more].concat()));
        is_good_with(&self.path(to), Some(KEK.1));
        said
    }

    /// The ids of the resources of a lake, with their types.
    fn all(&self, name: &str) -> Vec<String> {
        let lake = self.text(name);
        let types = ["Patient", "Observation", "Organization"];
        let mut all = Vec::new();
        for resource_type in types {
            let said = self.done(&["search", "--data", &lake, resource_type]);
            let bundle: serde_json::Value = serde_json::from_str(&said).unwrap();
            for entry in bundle["entry"].as_array().into_iter().flatten() {
                all.push(format!("{resource_type}/{}", entry["resource"]["id"].as_str().unwrap()));
            }
        }
        all.sort();
        all
    }
}

fn lines(output: &Output) -> usize {
    String::from_utf8_lossy(&output.stderr).lines().count()
}

#[test]
fn a_restored_lake_is_the_sealed_one_with_keys_of_its_own() {
    let scene = Scene::new();
    let first = scene.backup();
    let before = scene.all("lake");
    scene.import(r#"{"resourceType":"Patient","id":"eve"}"#);
    scene.backup();
    scene.restored("restored", &[]);
    assert_eq!(scene.all("restored"), scene.all("lake"));
    scene.restored("first", &["--snapshot", &first]);
    assert_eq!(scene.all("first"), before);
    for path in files_below(&scene.path("backups")) {
        assert!(!path.to_string_lossy().contains("keys"), "{}", path.display());
    }
    // It can be written, backed up and erased from like the first lake, whose keys do not change.
    let restored = scene.text("restored");
    scene.done(&["erase", "--yes", "--data", &restored, "--patient", "ann-of-athlone"]);
    scene.done(&["compact", "--data", &restored]);
    scene.done(&["backup", "--data", &restored, "--to", &scene.text("others")]);
    is_good_with(&scene.path("restored"), Some(KEK.1));
    is_good_with(&scene.path("lake"), Some(KEK.1));
    assert_eq!(scene.all("lake").len(), scene.all("restored").len() + 2);
}

#[test]
fn without_its_keys_nothing_is_restored() {
    let scene = Scene::new();
    scene.backup();
    let keys = scene.text("lake/keys.sqlite");
    let cut = scene.path("cut.sqlite");
    let whole = std::fs::read(&keys).unwrap();
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let nowhere = scene.text("nowhere.sqlite");
    for (more, says) in [
        (vec![], "name its keys with --keys"),
        (vec!["--keys", &nowhere], "is missing"),
        (vec!["--keys", cut.to_str().unwrap()], "is damaged"),
    ] {
        let refused = scene.restore("restored", &more);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(
            said(&refused).contains(says) && lines(&refused) == 1,
            "{}",
            said(&refused)
        );
        assert!(!scene.path("restored").exists());
    }
    for (kek, says) in [
        (None, "give its key-encryption key"),
        (Some("00".repeat(32)), "the key-encryption key given is not the one of"),
    ] {
        let (from, to, ledger) = (
            scene.text("backups"),
            scene.text("restored"),
            scene.text("lake.erasures"),
        );
        let mut program = Command::new(PROGRAM);
        program.args([
            "restore",
            "--from",
            &from,
            "--data",
            &to,
            "--erasures",
            &ledger,
            "--keys",
            &keys,
        ]);
        let refused = program
            .env_remove(KEK.0)
            .envs(kek.map(|kek| (KEK.0, kek)))
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(
            said(&refused).contains(says) && lines(&refused) == 1,
            "{}",
            said(&refused)
        );
        assert!(!scene.path("restored").exists());
    }
    scene.restored("restored", &[]);
}

/// An erasure destroys the keys of the files that it replaces. An older backup has these files, and with them other
/// people's rows. A restore lost them silently.
#[test]
fn a_snapshot_from_before_an_erasure_is_restored_without_what_cannot_be_read_only_if_that_is_accepted() {
    let scene = Scene::new();
    let before = scene.backup();
    scene.erase("ann-of-athlone");
    let keys = scene.text("lake/keys.sqlite");
    let refused = scene.restore("restored", &["--keys", &keys]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let error = said(&refused);
    assert!(
        lines(&refused) == 1 && error.contains(&before) && error.contains("--accept-loss"),
        "{error}"
    );
    assert!(
        error.contains("2 of its data files with 4 rows, and 0 attachments,"),
        "{error}"
    );
    assert!(
        error.contains(&format!("tabularium backup --data DIR --to {}", scene.text("backups"))),
        "{error}"
    );
    assert!(!scene.path("restored").exists());

    let accepted = scene.restored("restored", &["--accept-loss"]);
    assert!(
        accepted.contains("left out 2 of its data files with 4 rows"),
        "{accepted}"
    );
    let rest = [
        "Observation/p-ann",
        "Observation/p-ben",
        "Organization/h",
        "Patient/cid-of-cork",
        "Patient/dan-of-derry",
    ];
    assert_eq!(scene.all("restored"), rest);
    scene.done(&["check", "--rows", "--data", &scene.text("restored")]);

    // The next backup into the same folder is current: the newest snapshot is whole.
    let after = scene.backup();
    scene.restored("after", &[]);
    assert_eq!(scene.all("after"), scene.all("lake"));
    assert_eq!(scene.all("after").len(), rest.len() + 2);
    scene.restored("named", &["--snapshot", &after]);
    succeeds(&scene.run(&["backup", "--verify", "--to", &scene.text("backups")]));
    // The earlier snapshot is unchanged.
    let older = scene.restore("older", &["--keys", &keys, "--snapshot", &before]);
    assert_eq!(older.status.code(), Some(2), "{}", said(&older));
}

#[test]
fn a_copy_of_the_keys_from_before_an_erasure_brings_nobody_back() {
    let scene = Scene::new();
    let before = scene.backup();
    let copy = scene.text("copy.sqlite");
    std::fs::copy(scene.path("lake/keys.sqlite"), &copy).unwrap();
    scene.erase("ann-of-athlone");
    let whole = std::fs::read(&copy).unwrap();
    // The next backup counted the erasure as done in the first snapshot, without the keys to do it. The restore below
    // then brought the person back.
    scene.backup();
    let done = succeeds(&scene.restore("restored", &["--keys", &copy, "--snapshot", &before]));
    assert!(done.contains("erased again what was erased since"), "{done}");
    is_good_with(&scene.path("restored"), Some(KEK.1));
    assert_eq!(scene.all("restored"), scene.all("lake"));
    assert!(std::fs::read(&copy).unwrap() == whole, "the copy stays as it is");
    let is_in = |folder: &Path| {
        files_below(folder)
            .iter()
            .any(|path| memchr::memmem::find(&std::fs::read(path).unwrap(), b"athlone").is_some())
    };
    assert!(!is_in(&scene.path("restored")));
}

/// A snapshot of the open lake is restored as an open lake. One from after sealing needs the keys.
#[test]
fn snapshots_of_both_kinds_lie_in_one_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let scene = Scene { scratch };
    let input = scene.path("input.ndjson");
    std::fs::write(&input, PEOPLE).unwrap();
    scene.done(&["import", "--data", &scene.text("lake"), input.to_str().unwrap()]);
    let open = scene.backup();
    scene.done(&["seal", "--data", &scene.text("lake")]);
    scene.backup();
    scene.restored("sealed", &[]);
    succeeds(&scene.restore("open", &["--snapshot", &open]));
    is_good_with(&scene.path("open"), None);
    assert_eq!(scene.all("open"), scene.all("sealed"));
    assert!(!scene.path("open/keys.sqlite").exists() && scene.path("sealed/keys.sqlite").exists());
    // Erased rows leave the snapshots of both kinds.
    scene.erase("ann-of-athlone");
    scene.backup();
    succeeds(&scene.restore("later", &["--snapshot", &open]));
    assert!(scene.all("later").iter().all(|id| !id.contains("ann")));
}

/// A row of `Binary` says that there is a document. If the document's key was destroyed but not the row's, a restored
/// lake had a row without a document.
#[test]
fn a_row_whose_attachment_no_key_opens_is_left_out_with_it() {
    let scratch = tempfile::tempdir().unwrap();
    let scene = Scene { scratch };
    let options = || LakeOptions {
        sealed: Some(true),
        kek: kind::kek(),
        ..LakeOptions::default()
    };
    let lake = Lake::create_with(scene.path("lake"), options()).unwrap();
    bring(&lake, 1, b"of the first");
    let first = attached(&scene.path("lake"));
    bring(&lake, 2, b"of the second");
    drop(lake);
    let snapshot = scene.backup();
    // The current keys are the old ones except the first document's.
    let keys = scene.text("today/keys.sqlite");
    std::fs::create_dir(scene.path("today")).unwrap();
    std::fs::copy(scene.path("lake/keys.sqlite"), &keys).unwrap();
    let store = KeyStore::open(&scene.path("today"), kind::kek().load().unwrap()).unwrap();
    let name = first[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let id: KeyId = name.split_once('-').unwrap().1.parse().unwrap();
    store.destroy(&[id]).unwrap();
    drop(store);

    let refused = scene.restore("restored", &["--keys", &keys]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let error = said(&refused);
    assert!(
        lines(&refused) == 1 && error.contains("0 of its data files with 0 rows, and 1 attachments,"),
        "{error}"
    );
    assert!(error.contains(&snapshot) && !scene.path("restored").exists(), "{error}");

    let accepted = scene.restore("restored", &["--keys", &keys, "--accept-loss", "--json"]);
    assert!(succeeds(&accepted).contains("1 attachments"), "{}", said(&accepted));
    let object: serde_json::Value = serde_json::from_slice(&accepted.stdout).unwrap();
    let expected = serde_json::json!({"files": 0, "rows": 0, "attachments": 1});
    assert_eq!((&object["lost"], &object["left"]), (&expected, &serde_json::json!([])));
    // Each row has its document, and each document its row.
    is_good_with(&scene.path("restored"), Some(KEK.1));
    scene.done(&["check", "--rows", "--data", &scene.text("restored")]);
    assert_eq!(attached(&scene.path("restored")).len(), 1);
    let opening = LakeOptions {
        sealed: None,
        ..options()
    };
    let restored = Lake::open_with(scene.path("restored"), opening).unwrap();
    assert_eq!(own(&restored, 1), None);
    assert_eq!(own(&restored, 2).unwrap(), b"of the second");
}
