//! Kills backups and restores at random points. A snapshot is whole or absent, and so is a restored lake. The processes
//! and the kills are real (`harness::kills`).

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::RngExt;
use tabularium::lake::seal::KeyStore;

use super::{Scene, all, is_good, said, succeeds};
use crate::harness::kills::{chance, files_seen, kill_when, rounds};
use crate::harness::kind;
use crate::harness::lake::files_below;
use crate::harness::process::PROGRAM;

/// The number of kills of each test.
const USUAL: usize = 16;

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the process a moment after a folder has this many files. `false` if it ended before.
fn kill_at(child: Child, folder: &Path, files: usize, moment: Duration) -> bool {
    kill_when(child, moment, || files_seen(folder) >= files)
}

fn population(scene: &Scene) -> String {
    let out = scene.path("population");
    let made = super::program(["generate", "--patients", "2", "--out", out.to_str().unwrap()]);
    succeeds(&made);
    let texts = files_below(&out)
        .into_iter()
        .map(|file| std::fs::read_to_string(file).unwrap());
    texts.collect::<Vec<_>>().concat()
}

#[test]
fn a_killed_backup_is_none_and_the_next_one_is_whole() {
    let scene = Scene::new();
    let population = population(&scene);
    scene.import(&population);
    let first = scene.backup(&["--copy"]);
    let first_state = all(&scene.data());
    let (data, to) = (scene.data(), scene.backups());
    let arguments = [
        "backup",
        "--copy",
        "--keep",
        "2",
        "--data",
        data.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
    ];
    let mut random = chance(11);
    let mut killed = 0;
    for round in 0..rounds(USUAL) {
        // All of it is new to the backups, because every file is rewritten under another name.
        scene.import(&population.replace(
            r#""resourceType":"#,
            &format!(r#""implicitRules":"urn:round:{round}","resourceType":"#),
        ));
        if round % 4 == 3 {
            let patient = first_state
                .iter()
                .find_map(|text| text.split(r#""subject":{"reference":"Patient/"#).nth(1));
            scene.erase(patient.unwrap().split('"').next().unwrap());
        }
        let before = scene.snapshots();
        let files = files_seen(&to);
        let within = random.random_range(0..60);
        let moment = Duration::from_micros(random.random_range(0..20_000));
        killed += usize::from(kill_at(start(&arguments), &to, files + within, moment));
        // All visible snapshots are whole.
        let after = scene.snapshots();
        assert!(
            before.iter().all(|id| after.contains(id)) || after.len() >= 2,
            "{before:?} {after:?}"
        );
        succeeds(&scene.verify());
        // Nobody writes meanwhile, so a new snapshot equals the lake.
        if let Some(new) = after.iter().find(|id| !before.contains(id)) {
            let restored = scene.restore(&format!("round{round}"), &["--snapshot", new]);
            assert_eq!(all(&restored), all(&data));
        }
    }
    println!("{killed} of {} were killed", rounds(USUAL));
    assert!(rounds(USUAL) < 16 || killed > 4);
    assert!(!scene.snapshots().is_empty());
    let last = scene.backup(&["--keep", "1"]);
    assert_ne!(first, last);
    let restored = scene.restore("last", &[]);
    assert_eq!(all(&restored), all(&data));
    let manifest = std::fs::read_to_string(to.join(format!("snapshots/{last}.json"))).unwrap();
    for path in scene.stored() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(manifest.contains(name), "killed runs leave no files behind");
    }
    assert_eq!(files_below(&to.join("work")).len(), 0);
}

/// A copy of a sealed lake's keys from before an erasure, with a key that no file of the snapshot has.
struct KeysCopy {
    path: PathBuf,
    /// The bytes of the unwanted key in the copy.
    unwanted: Vec<u8>,
}

impl KeysCopy {
    fn of(scene: &Scene) -> KeysCopy {
        let path = scene.path("copy.sqlite");
        std::fs::copy(scene.data().join("keys.sqlite"), &path).unwrap();
        let store = KeyStore::open_file(path.clone(), kind::kek().load().unwrap()).unwrap();
        store.keep(&[store.make().unwrap()]).unwrap();
        drop(store);
        let sql = "SELECT wrapped FROM file_key ORDER BY number DESC LIMIT 1";
        let copy = rusqlite::Connection::open(&path).unwrap();
        let unwanted = copy.query_row(sql, [], |row| row.get(0)).unwrap();
        KeysCopy { path, unwanted }
    }

    /// Whether any file below a folder has the unwanted key.
    fn has_unwanted(&self, folder: &Path) -> bool {
        folder.exists()
            && files_below(folder)
                .iter()
                .any(|path| memchr::memmem::find(&std::fs::read(path).unwrap(), &self.unwanted).is_some())
    }
}

/// A sealed lake's restore copied all keys first, so a kill left them.
#[test]
fn a_killed_restore_is_no_lake_and_the_next_one_is_whole() {
    let scene = Scene::new();
    let population = population(&scene);
    scene.import(&population);
    scene.backup(&[]);
    let keys = kind::is_sealed().then(|| KeysCopy::of(&scene));
    let patient = all(&scene.data()).iter().find_map(|text| {
        text.split(r#""subject":{"reference":"Patient/"#)
            .nth(1)
            .map(str::to_owned)
    });
    let patient = patient.unwrap().split('"').next().unwrap().to_owned();
    scene.erase(&patient);
    let expected = all(&scene.data());
    let (from, ledger, to) = (scene.backups(), scene.ledger(), scene.path("restored"));
    let mut arguments = vec![
        "restore",
        "--from",
        from.to_str().unwrap(),
        "--data",
        to.to_str().unwrap(),
    ];
    arguments.extend(["--erasures", ledger.to_str().unwrap()]);
    if let Some(keys) = &keys {
        arguments.extend(["--keys", keys.path.to_str().unwrap()]);
    }
    let most = files_below(&scene.backups()).len();
    let mut random = chance(12);
    let (mut before, mut after) = (0, 0);
    for round in 0..rounds(USUAL) {
        let files = random.random_range(0..most + 60);
        let moment = Duration::from_micros(random.random_range(0..60_000));
        kill_at(start(&arguments), &to, files, moment);
        if let Some(keys) = &keys {
            assert!(
                !keys.has_unwanted(&to),
                "round {round}: a key of no file of the snapshot"
            );
        }
        if to.join("catalog.sqlite").exists() {
            // Everything is restored except erased people.
            let found = all(&to);
            assert!(found == expected, "round {round}: {} resources", found.len());
            succeeds(&super::program(["check", "--data", to.to_str().unwrap()]));
            if to.join("restoring").exists() {
                // The same command ends it.
                succeeds(&super::program(&arguments));
                is_good(&to);
                assert_eq!(all(&to), expected);
            }
            after += 1;
        } else {
            // No command takes the folder for a lake or creates one over it.
            let info = super::program(["info", "--data", to.to_str().unwrap()]);
            assert_ne!(info.status.code(), Some(0), "{}", said(&info));
            if to.join("restoring").exists() {
                is_no_empty_folder(&scene, &to);
            }
            succeeds(&super::program(&arguments));
            is_good(&to);
            assert_eq!(all(&to), expected);
            before += 1;
        }
        std::fs::remove_dir_all(&to).unwrap();
        let _ = std::fs::remove_file(scene.path("restored.erasures"));
    }
    println!("{before} kills before there was a lake, {after} after");
    assert!(rounds(USUAL) < 16 || before > 0);
    succeeds(&scene.verify());
}

/// Checks that no command makes a lake, or anything else, in the folder of a killed restore.
fn is_no_empty_folder(scene: &Scene, to: &Path) {
    let input = scene.path("one.ndjson");
    std::fs::write(&input, r#"{"resourceType":"Patient","id":"other"}"#).unwrap();
    let (to, input) = (to.to_str().unwrap(), input.to_str().unwrap());
    let before = files_below(Path::new(to));
    for arguments in [
        vec!["import", "--data", to, input],
        vec!["import", "--sealed", "--data", to, input],
        vec!["check", "--adopt", "--data", to],
        vec!["serve", "--listen", "127.0.0.1:0", "--data", to],
        vec!["app", "add", "--data", to, "other"],
        vec!["terminology", "load", "--data", to, input],
    ] {
        let mut command = Command::new(PROGRAM);
        let done = command.args(&arguments).env(kind::KEK.0, kind::KEK.1).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", said(&done));
    }
    assert_eq!(files_below(Path::new(to)), before);
}

/// A restore that is killed between two of its moves left a folder in which `import` made a new lake. All moments
/// between the moves are played here.
#[test]
fn a_restore_killed_between_its_moves_can_be_repeated_and_its_folder_is_not_taken_for_an_empty_one() {
    let scene = Scene::new();
    scene.import(super::PEOPLE);
    let id = scene.backup(&[]);
    let whole = scene.restore("whole", &[]);
    let expected = all(&whole);
    let entries = std::fs::read_dir(&whole).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| name != "lock" && name != "catalog.sqlite");
    names.sort();
    let written = written(&id, &names);
    let to = scene.path("restored");
    // The folder of parts is read in any order.
    for _ in 0..names.len() {
        names.rotate_left(1);
        for moved in 0..=names.len() {
            let building = to.join("restoring");
            std::fs::create_dir_all(&building).unwrap();
            std::fs::write(to.join("lock"), "").unwrap();
            std::fs::write(building.join("restored.json"), &written).unwrap();
            std::fs::write(building.join("tabularium-restore"), "").unwrap();
            for (at, name) in names.iter().enumerate() {
                let place = if at < moved { &to } else { &building };
                copy(&whole.join(name), &place.join(name));
            }
            copy(&whole.join("catalog.sqlite"), &building.join("catalog.sqlite"));
            is_no_empty_folder(&scene, &to);
            succeeds(&scene.run_restore(&to, &[]));
            is_good(&to);
            assert_eq!(all(&to), expected);
            std::fs::remove_dir_all(&to).unwrap();
            let _ = std::fs::remove_file(scene.path("restored.erasures"));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).unwrap();
    }
}

/// What a restore writes down before it moves its parts.
pub(super) fn written(id: &str, parts: &[impl AsRef<std::ffi::OsStr>]) -> String {
    let parts: Vec<_> = parts.iter().map(|part| part.as_ref().to_str().unwrap()).collect();
    let result = serde_json::json!({"id": id, "files": 7, "bytes": 1, "owners": 0, "ended": 0, "without_ledger": false,
        "lost": {"files": 0, "rows": 0, "attachments": 0}, "left": [], "parts": parts});
    result.to_string()
}

/// The catalog is in its place, and the killed restore has not removed all of its folder of parts.
#[test]
fn a_restore_killed_after_its_last_move_is_ended_by_the_same_command() {
    let scene = Scene::new();
    scene.import(super::PEOPLE);
    let id = scene.backup(&[]);
    let to = scene.restore("restored", &[]);
    let building = to.join("restoring");
    for left in [
        &[
            "restoring/tabularium-restore",
            "restoring/restored.json",
            "restoring/lock",
        ][..],
        &["restoring/tabularium-restore", "restoring/restored.json"],
        &["restoring/tabularium-restore", "restored.json"],
        &["restoring/", "restored.json"],
        &["restored.json"],
    ] {
        for name in left {
            let path = to.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match *name {
                "restoring/" => std::fs::create_dir_all(&building).unwrap(),
                name if name.ends_with(".json") => std::fs::write(&path, written(&id, &["data"])).unwrap(),
                _ => std::fs::write(&path, "").unwrap(),
            }
        }
        let ended = succeeds(&scene.run_restore(&to, &[]));
        assert!(
            ended.contains(&format!("restored snapshot {id}: 7 files")),
            "{left:?}: {ended}"
        );
        is_good(&to);
        assert!(!to.join("restored.json").exists());
        // Now the folder is that of a lake like any other.
        assert_eq!(scene.run_restore(&to, &[]).status.code(), Some(2));
    }
    // Without a result nobody knows which snapshot it was. But the empty folder goes.
    std::fs::create_dir(&building).unwrap();
    let refused = scene.run_restore(&to, &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("is not empty"), "{}", said(&refused));
    is_good(&to);
}

/// The same over sealed lakes, in a process of its own.
#[test]
fn a_killed_restore_of_a_sealed_lake_leaves_no_key_that_it_does_not_need() {
    if kind::is_sealed() {
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .arg("backup::killed::a_killed_restore_is")
        .env("TABULARIUM_KILLS", "6");
    let done = again
        .env(kind::SEALED, "1")
        .env(kind::KEK.0, kind::KEK.1)
        .output()
        .unwrap();
    let printed = said(&done);
    assert!(done.status.success() && printed.contains("1 passed"), "{printed}");
}
