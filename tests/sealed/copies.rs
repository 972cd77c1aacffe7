//! Registered copies of `keys.sqlite`: an erasure destroys its keys in them too, or gets no receipt.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rand::RngExt;
use rusqlite::Connection;
use serde_json::Value;
use tabularium::lake::seal::KeyStore;
use tabularium::lake::{KeyId, Keys};

use super::{KEK, PROGRAM, Scene, people, stderr, texts};
use crate::harness::kills::{chance, kill_when, rounds};
use crate::harness::lake::files_below;

/// A sealed lake with a registered copy of its keys, and copies of its data files.
struct Kept {
    scene: Scene,
    files: Vec<PathBuf>,
}

impl Kept {
    fn with(count: usize) -> Kept {
        let scene = Scene::with(&people(count));
        let folder = scene.dir.path().join("old");
        std::fs::create_dir(&folder).unwrap();
        std::fs::create_dir(scene.dir.path().join("safe")).unwrap();
        let kept = Kept {
            scene,
            files: Vec::new(),
        };
        let done = kept.keys("copy", "--to");
        assert!(done.status.success(), "{}", stderr(&done));
        let files = files_below(&kept.scene.data().join("data")).into_iter();
        let files = files.map(|path| {
            let copy = folder.join(path.file_name().unwrap());
            std::fs::copy(&path, &copy).unwrap();
            copy
        });
        Kept {
            files: files.collect(),
            ..kept
        }
    }

    fn copy(&self) -> PathBuf {
        self.scene.dir.path().join("safe/keys.copy")
    }

    /// Runs `keys copy` or `keys forget` on the copy.
    fn keys(&self, command: &str, option: &str) -> Output {
        self.keys_at(command, option, &self.copy())
    }

    fn keys_at(&self, command: &str, option: &str, path: &Path) -> Output {
        let arguments = [command.to_owned(), option.to_owned(), path.display().to_string()];
        self.scene.run_keys(&arguments, Some(KEK.1))
    }

    /// Erases a person. Returns the exit code, the printed object, and the errors.
    fn erase(&self, patient: &str) -> (Option<i32>, Value, String) {
        let done = self.scene.run("erase", &["--yes", "--json", "--patient", patient]);
        let object = serde_json::from_slice(&done.stdout).unwrap_or_default();
        (done.status.code(), object, stderr(&done))
    }

    fn store(&self) -> KeyStore {
        KeyStore::open_file(self.copy(), self.scene.kek().load().unwrap()).unwrap()
    }

    fn ids(&self) -> BTreeSet<KeyId> {
        self.store().ids().unwrap().into_iter().collect()
    }

    fn own_ids(&self) -> BTreeSet<KeyId> {
        self.scene.keys().ids().unwrap().into_iter().collect()
    }

    /// Whether the copy opens an old file with this text.
    fn shows(&self, text: &str) -> bool {
        let keys = Keys::of(self.store());
        let read = self.files.iter().filter_map(|path| texts(path, &keys).ok());
        read.flatten().any(|resource| resource.contains(text))
    }

    /// Makes the copy unreachable, or reachable again.
    fn take_away(&self, is_away: bool) {
        let [safe, away] = ["safe", "away"].map(|name| self.scene.dir.path().join(name));
        let (from, to) = if is_away { (safe, away) } else { (away, safe) };
        std::fs::rename(from, to).unwrap();
    }
}

/// The wrapped texts of some keys of a keys database.
fn wrapped(database: &Path) -> Vec<(KeyId, Vec<u8>)> {
    let connection = Connection::open(database).unwrap();
    let mut rows = connection.prepare("SELECT id, wrapped FROM file_key").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)));
    rows.unwrap()
        .map(|row| row.unwrap())
        .map(|(id, wrapped)| (KeyId::from_bytes(&id).unwrap(), wrapped))
        .collect()
}

#[test]
fn an_erasure_destroys_its_keys_in_the_copy_and_gives_it_the_new_ones() {
    let kept = Kept::with(8);
    assert_eq!(
        std::fs::metadata(kept.copy()).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(kept.shows("Zwiebelturm0003"));
    assert_eq!(kept.ids(), kept.own_ids());
    let before = wrapped(&kept.copy());
    let (code, said, errors) = kept.erase("person-0003");
    assert_eq!(code, Some(0), "{errors}");
    assert!(said["receipt"].is_string());
    assert!(!kept.shows("Zwiebelturm0003"));
    assert_eq!(kept.ids(), kept.own_ids());
    let now = kept.ids();
    let bytes: Vec<Vec<u8>> = files_below(&kept.scene.dir.path().join("safe"))
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    let mut destroyed = before.iter().filter(|(id, _)| !now.contains(id)).peekable();
    assert!(destroyed.peek().is_some());
    for (id, wrapped) in destroyed {
        let is_in = |bytes: &Vec<u8>| memchr::memmem::find(bytes, wrapped).is_some();
        assert!(!bytes.iter().any(is_in), "{id}");
    }
    // The lake opens with the copy in place of a lost database.
    std::fs::copy(kept.copy(), kept.scene.data().join("keys.sqlite")).unwrap();
    kept.scene.done("check", &["--rows"]);
    assert_eq!(kept.scene.resources().len(), 14);
}

#[test]
fn a_copy_that_is_away_keeps_the_receipt_from_being_signed() {
    let kept = Kept::with(4);
    kept.take_away(true);
    for _ in 0..2 {
        let (code, said, errors) = kept.erase("person-0001");
        assert_eq!(code, Some(3), "{errors}");
        assert!(errors.contains(kept.copy().to_str().unwrap()), "{errors}");
        assert!(errors.contains("it is missing"), "{errors}");
        assert!(said["receipt"].is_null(), "{said}");
    }
    assert_eq!(kept.scene.resources().len(), 6);
    kept.take_away(false);
    assert!(kept.shows("Zwiebelturm0001"));
    let (code, said, errors) = kept.erase("person-0001");
    assert_eq!(code, Some(0), "{errors}");
    assert!(said["receipt"].is_string());
    assert!(!kept.shows("Zwiebelturm0001"));
    assert_eq!(kept.ids(), kept.own_ids());
}

#[test]
fn the_next_writer_reaches_a_copy_that_is_back() {
    let kept = Kept::with(4);
    kept.take_away(true);
    assert_eq!(kept.erase("person-0001").0, Some(3));
    kept.take_away(false);
    kept.scene.import(&people(1), &[]);
    assert!(!kept.shows("Zwiebelturm0001"));
}

#[test]
fn another_file_at_the_place_of_a_copy_is_not_changed() {
    let kept = Kept::with(4);
    let other = Scene::with(&people(1));
    std::fs::copy(other.data().join("keys.sqlite"), kept.copy()).unwrap();
    let before = std::fs::read(kept.copy()).unwrap();
    let (code, _, errors) = kept.erase("person-0001");
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains("another file took its place"), "{errors}");
    assert_eq!(std::fs::read(kept.copy()).unwrap(), before);
}

#[test]
fn a_forgotten_copy_holds_no_erasure_back_and_the_audit_log_names_it() {
    let kept = Kept::with(4);
    kept.take_away(true);
    assert_eq!(kept.erase("person-0001").0, Some(3));
    let path = kept.copy().display().to_string();
    let listed = kept.scene.run_keys(&["copies".to_owned()], Some(KEK.1));
    assert_eq!(String::from_utf8_lossy(&listed.stdout).trim(), path);
    let forgotten = kept.keys("forget", "--copy");
    assert!(forgotten.status.success(), "{}", stderr(&forgotten));
    let (code, said, errors) = kept.erase("person-0001");
    assert_eq!(code, Some(0), "{errors}");
    assert!(said["receipt"].is_string());
    let log = kept.scene.done("audit", &["--json"]);
    let log: Value = serde_json::from_str(&log).unwrap();
    let log = log.to_string();
    for action in ["keys.copy", "keys.forget_copy"] {
        assert!(log.contains(&format!("\"{action}\"")), "{log}");
    }
    assert!(log.contains(&path), "{log}");
    let again = kept.keys("forget", "--copy");
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
    // Nothing has changed the file.
    kept.take_away(false);
    assert!(kept.shows("Zwiebelturm0001"));
}

/// The process was killed between the destruction in the database and that in the copy.
#[test]
fn a_killed_erasure_is_finished_in_the_copy_by_the_next_writer() {
    let mut random = chance(21);
    let rounds = rounds(4);
    let mut killed = 0;
    for round in 0..rounds {
        let kept = Kept::with(4);
        let data = kept.scene.data();
        let first = files_below(&data.join("data")).into_iter().next().unwrap();
        let mut program = Command::new(PROGRAM);
        program.args(["erase", "--yes", "--patient", "person-0002", "--data"]);
        program.arg(&data).env(KEK.0, KEK.1);
        let child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The old files go right before their keys.
        let moment = Duration::from_micros(random.random_range(0..60_000));
        killed += usize::from(kill_when(child, moment, || !first.exists()));
        kept.scene.import(&people(1), &[]);
        assert!(!kept.shows("Zwiebelturm0002"), "round {round}");
        assert!(kept.ids().is_subset(&kept.own_ids()), "round {round}");
        kept.scene.done("check", &["--rows"]);
    }
    println!("{killed} of {rounds} were killed");
}

#[test]
fn a_copied_lake_does_not_change_the_copies_of_the_first_one() {
    let kept = Kept::with(4);
    let clone = kept.scene.dir.path().join("clone");
    let copied = Command::new("cp").arg("-r").arg(kept.scene.data()).arg(&clone).status();
    assert!(copied.unwrap().success());
    let mut erase = Command::new(PROGRAM);
    erase.args(["erase", "--yes", "--patient", "person-0001", "--data"]);
    let done = erase.arg(&clone).env(KEK.0, KEK.1).output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", stderr(&done));
    assert!(
        stderr(&done).contains("it was made for the lake in"),
        "{}",
        stderr(&done)
    );
    assert_eq!(kept.ids(), kept.own_ids());
    assert!(kept.shows("Zwiebelturm0001"));
}

#[test]
fn a_copy_is_made_only_where_it_is_apart_from_the_files() {
    let kept = Kept::with(2);
    let refused = |path: PathBuf, expected: &str| {
        let done = kept.keys_at("copy", "--to", &path);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    refused(kept.scene.data().join("keys.copy"), "the data folder");
    let backups = kept.scene.dir.path().join("backups");
    kept.scene.done("backup", &["--to", backups.to_str().unwrap()]);
    refused(backups.join("keys.copy"), "a folder of backups");
    refused(backups.join("files/keys.copy"), "a folder of backups");
    let other = kept.scene.dir.path().join("other");
    std::fs::write(&other, "something").unwrap();
    refused(other.clone(), "is there already");
    assert_eq!(std::fs::read(other).unwrap(), b"something");
    refused(kept.scene.dir.path().join("no/folder"), "cannot find");
    // The registered copy is written again, with the keys that were made since.
    kept.scene.import(&people(3)[4..], &[]);
    assert!(kept.ids() != kept.own_ids());
    assert!(kept.keys("copy", "--to").status.success());
    assert_eq!(kept.ids(), kept.own_ids());
    let listed = kept.scene.run_keys(&["copies".to_owned()], Some(KEK.1));
    let paths = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(paths.lines().count(), 1, "{paths}");
}

#[test]
fn a_lake_with_registered_copies_is_not_unsealed() {
    let kept = Kept::with(2);
    let refused = kept.scene.run("unseal", &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains(kept.copy().to_str().unwrap()),
        "{}",
        stderr(&refused)
    );
    assert!(kept.keys("forget", "--copy").status.success());
    kept.scene.done("unseal", &[]);
    let open = kept.keys("copy", "--to");
    assert_eq!(open.status.code(), Some(2));
    assert!(stderr(&open).contains("is not sealed"), "{}", stderr(&open));
}
