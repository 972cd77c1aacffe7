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
            after += 1;
        } else {
            // No command takes the folder for a lake or creates one over it.
            let info = super::program(["info", "--data", to.to_str().unwrap()]);
            assert_ne!(info.status.code(), Some(0), "{}", said(&info));
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
