//! The key of a sealed lake on the command line: messages about a missing or wrong key, and a rotation killed at random
//! points. The processes and the kills are real (`harness::kills`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rand::RngExt;
use tabularium::lake::seal::{Kek, KeyStore};

use crate::harness::kills::{chance, rounds};
use crate::harness::process::PROGRAM;

const RECORDS: &str = r#"{"resourceType":"Patient","id":"ann-of-athlone","birthDate":"1970-01-01"}
{"resourceType":"Observation","id":"o-ann","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ann-of-athlone"}}
"#;
const OLD: &str = "a1";
const NEW: &str = "b2";

struct Scene {
    scratch: tempfile::TempDir,
}

impl Scene {
    /// A sealed lake, a file with its key, and a file with another key.
    fn new() -> Scene {
        let scene = Scene {
            scratch: tempfile::tempdir().unwrap(),
        };
        for digits in [OLD, NEW] {
            let path = scene.key(digits);
            std::fs::write(&path, digits.repeat(32)).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        std::fs::write(scene.path("records.ndjson"), RECORDS).unwrap();
        let input = scene.path("records.ndjson");
        let made = scene.run(&["import", "--sealed", input.to_str().unwrap()], Some(OLD));
        assert_eq!(made.status.code(), Some(0), "{}", said(&made));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn key(&self, digits: &str) -> PathBuf {
        self.path(&format!("{digits}.key"))
    }

    fn keys(&self) -> PathBuf {
        self.path("lake/keys.sqlite")
    }

    fn command(&self, arguments: &[&str], key: Option<&str>) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).arg("--data").arg(self.path("lake"));
        command.env_remove("TABULARIUM_LAKE_KEY");
        if let Some(digits) = key {
            command.arg("--key-file").arg(self.key(digits));
        }
        command
    }

    fn run(&self, arguments: &[&str], key: Option<&str>) -> Output {
        self.command(arguments, key).output().unwrap()
    }

    /// The command that rotates from the old key to the new one.
    fn rotation(&self, more: &[&str]) -> Command {
        let new = self.key(NEW);
        let arguments = ["keys", "rotate", "--lake", "--new-key-file", new.to_str().unwrap()];
        self.command(&[&arguments, more].concat(), Some(OLD))
    }

    /// Whether a key opens the lake and all its files.
    fn opens(&self, digits: &str) -> bool {
        let checked = self.run(&["check", "--rows"], Some(digits));
        checked.status.success()
    }
}

fn said(done: &Output) -> String {
    String::from_utf8([&done.stdout[..], &done.stderr[..]].concat()).unwrap()
}

fn kek(digits: &str) -> Kek {
    Kek::parse(&digits.repeat(32)).unwrap()
}

/// The number of keys. Each must open.
fn kept(folder: &Path, digits: &str) -> usize {
    let store = KeyStore::open(folder, kek(digits)).unwrap();
    let ids = store.ids().unwrap();
    ids.iter().for_each(|id| drop(store.key(id).unwrap()));
    ids.len()
}

#[test]
fn a_key_that_is_missing_or_wrong_is_said_in_one_sentence() {
    let scene = Scene::new();
    let refused = |arguments: &[&str], key: Option<&str>, expected: &str| {
        let done = scene.run(arguments, key);
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("a1a1") && !error.contains("b2b2"), "{error}");
    };
    for arguments in [&["info"][..], &["check"], &["compact"]] {
        refused(arguments, None, "--key-file, --key-command or TABULARIUM_LAKE_KEY");
        refused(arguments, Some(NEW), "the key-encryption key given is not the one of");
    }
    std::fs::set_permissions(scene.key(OLD), std::fs::Permissions::from_mode(0o644)).unwrap();
    refused(&["info"], Some(OLD), "`chmod 600` it");
    std::fs::set_permissions(scene.key(OLD), std::fs::Permissions::from_mode(0o600)).unwrap();
    let whole = std::fs::read(scene.keys()).unwrap();
    std::fs::write(scene.keys(), &whole[..whole.len() / 2]).unwrap();
    refused(&["info"], Some(OLD), "is damaged: ");
    std::fs::remove_file(scene.keys()).unwrap();
    refused(&["info"], Some(OLD), "is missing, without which no file");
    std::fs::write(scene.keys(), &whole).unwrap();
    assert!(scene.opens(OLD), "nothing was lost");
}

#[test]
fn the_key_comes_from_a_file_the_environment_or_a_command() {
    let scene = Scene::new();
    let variable = scene
        .command(&["info"], None)
        .env("TABULARIUM_LAKE_KEY", OLD.repeat(32))
        .output();
    assert!(variable.unwrap().status.success());
    let print = format!("cat '{}'", scene.key(OLD).display());
    let mut command = scene.command(&["info", "--key-command", &print], None);
    // An option has priority over the environment.
    let command = command.env("TABULARIUM_LAKE_KEY", NEW.repeat(32)).output().unwrap();
    assert!(command.status.success(), "{}", said(&command));
    let both = scene.run(&["info", "--key-command", &print], Some(OLD));
    assert_eq!(both.status.code(), Some(2));
    assert!(said(&both).contains("give --key-file or --key-command, not both"));
}

#[test]
fn a_rotation_takes_the_new_key_and_then_gives_the_old_one_up() {
    let scene = Scene::new();
    let half = scene.rotation(&["--keep-earlier"]).output().unwrap();
    assert!(half.status.success(), "{}", said(&half));
    assert!(scene.opens(OLD) && scene.opens(NEW));
    let whole = scene.rotation(&["--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&whole.stdout).unwrap();
    assert_eq!(told, serde_json::json!({"keys": 2, "acceptsEarlier": false}));
    assert!(scene.opens(NEW) && !scene.opens(OLD));
    // New records are sealed with the new key too.
    let input = scene.path("records.ndjson");
    std::fs::write(&input, RECORDS.replace("1970", "1971")).unwrap();
    let again = scene.run(&["import", input.to_str().unwrap()], Some(NEW));
    assert!(again.status.success(), "{}", said(&again));
    assert!(scene.opens(NEW));
}

/// The earlier key opened an operator's copy of the database after the rotation.
#[test]
fn a_rotation_reaches_the_registered_copies() {
    let scene = Scene::new();
    let (safe, away) = (scene.path("safe"), scene.path("away"));
    std::fs::create_dir(&safe).unwrap();
    let copy = safe.join("keys.copy");
    let made = scene.run(&["keys", "copy", "--to", copy.to_str().unwrap()], Some(OLD));
    assert!(made.status.success(), "{}", said(&made));
    let opens = |digits: &str| KeyStore::open_file(copy.clone(), kek(digits)).is_ok();
    assert!(opens(OLD) && !opens(NEW));
    std::fs::rename(&safe, &away).unwrap();
    let half = scene.rotation(&[]).output().unwrap();
    assert_eq!(half.status.code(), Some(3), "{}", said(&half));
    assert!(said(&half).contains(copy.to_str().unwrap()), "{}", said(&half));
    assert!(scene.opens(NEW) && !scene.opens(OLD));
    std::fs::rename(&away, &safe).unwrap();
    assert!(opens(OLD));
    let again = scene.rotation(&[]).output().unwrap();
    assert!(again.status.success(), "{}", said(&again));
    assert!(opens(NEW) && !opens(OLD));
    let store = KeyStore::open_file(copy, kek(NEW)).unwrap();
    let ids = store.ids().unwrap();
    assert_eq!(ids.len(), kept(&scene.path("lake"), NEW));
    ids.iter().for_each(|id| drop(store.key(id).unwrap()));
}

/// A rotation killed at any point leaves a lake that one of the two keys opens. Repeating the command completes it.
#[test]
fn a_killed_rotation_goes_on() {
    let scene = Scene::new();
    let lake = scene.path("lake");
    let store = KeyStore::open(&lake, kek(OLD)).unwrap();
    // More than are rewrapped in one transaction, so that some kills hit between two.
    let made: Vec<_> = (0..4_000).map(|_| store.make().unwrap()).collect();
    store.keep(&made).unwrap();
    drop(store);
    let keys = kept(&lake, OLD);
    let before = std::fs::read(scene.keys()).unwrap();
    let begun = Instant::now();
    assert!(scene.rotation(&[]).output().unwrap().status.success());
    let whole = begun.elapsed();
    let mut random = chance(13);
    let (mut old_left, mut both, mut new_only) = (0, 0, 0);
    for round in 0..rounds(16) {
        std::fs::write(scene.keys(), &before).unwrap();
        std::fs::write(lake.join("keys.sqlite-journal"), "").unwrap();
        let mut command = scene.rotation(&[]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let moment = Duration::from_micros(random.random_range(0..whole.as_micros() as u64));
        std::thread::park_timeout(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        let opens = [OLD, NEW].map(|digits| KeyStore::open(&lake, kek(digits)).is_ok());
        match opens {
            [true, false] => old_left += 1,
            [true, true] => both += 1,
            [false, true] => new_only += 1,
            [false, false] => panic!("round {round}: no key opens the lake"),
        }
        for (digits, _) in [OLD, NEW].into_iter().zip(opens).filter(|(_, opens)| *opens) {
            assert_eq!(kept(&lake, digits), keys, "round {round}");
        }
        let again = scene.rotation(&[]).output().unwrap();
        assert!(again.status.success(), "round {round}: {}", said(&again));
        assert_eq!(kept(&lake, NEW), keys, "round {round}");
        assert!(KeyStore::open(&lake, kek(OLD)).is_err());
    }
    println!("{old_left} kills before, {both} within, {new_only} after");
    assert!(scene.opens(NEW));
}

/// SQLite commits a VACUUM before it cuts the file. A kill between these steps leaves a longer file, which is not
/// damaged.
#[test]
fn a_database_longer_than_its_pages_opens_and_is_cut() {
    let scene = Scene::new();
    let bytes = std::fs::read(scene.keys()).unwrap();
    std::fs::write(scene.keys(), [bytes.as_slice(), &[7; 8192]].concat()).unwrap();
    assert!(scene.opens(OLD));
    let rotated = scene.rotation(&[]).output().unwrap();
    assert!(rotated.status.success(), "{}", said(&rotated));
    assert!(scene.opens(NEW));
    let after = std::fs::read(scene.keys()).unwrap();
    assert!(!after.windows(64).any(|bytes| bytes == [7; 64]), "the rest was cut off");
}

/// Without space for the rewrapped keys, the command fails with one sentence. The lake still opens with the old key,
/// and the command succeeds later.
#[test]
fn a_rotation_on_a_full_disk_loses_nothing() {
    let scene = Scene::new();
    let lake = scene.path("lake");
    let store = KeyStore::open(&lake, kek(OLD)).unwrap();
    let made: Vec<_> = (0..3_000).map(|_| store.make().unwrap()).collect();
    store.keep(&made).unwrap();
    drop(store);
    let keys = kept(&lake, OLD);
    let rotation = scene.rotation(&[]);
    let length = std::fs::metadata(scene.keys()).unwrap().len();
    // In turn, nothing can be written, no journal can, and the database cannot grow.
    for blocks in [0, 16, length / 512 + 8] {
        // No file can grow beyond a number of blocks of 512 bytes, as on a full disk.
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &limited, PROGRAM]).args(rotation.get_args());
        let done = shell.env_remove("TABULARIUM_LAKE_KEY").output().unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{blocks}: {error}");
        assert!(
            error.lines().count() == 1 && error.contains("keys.sqlite"),
            "{blocks}: {error}"
        );
        assert_eq!(kept(&lake, OLD), keys, "{blocks}");
        assert!(scene.opens(OLD), "{blocks}");
    }
    let done = scene.rotation(&[]).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    assert_eq!(kept(&lake, NEW), keys);
    assert!(scene.opens(NEW) && !scene.opens(OLD));
}
