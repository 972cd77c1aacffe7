//! Sealing and unsealing killed at random points. The lake keeps all rows in files of either kind, and the next call
//! completes it. The processes and the kills are real (`harness::kills`).

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use rand::RngExt;
use tabularium::lake::Lake;
use tabularium::lake::seal::KeyStore;

use super::clear::assert_nothing_in_clear;
use super::turned::filled;
use super::{PROGRAM, Scene};
use crate::harness::kills::{chance, kill_when, rounds};
use crate::harness::kind::{KEK, kek, stray_keys};
use crate::harness::lake::files_in_place;

/// The number of rounds, with two kills each.
const USUAL: usize = 8;

/// Starts a command and kills it a moment after it has written this many files.
fn kill(scene: &Scene, command: &str, files: usize, moment: Duration) -> bool {
    let mut program = Command::new(PROGRAM);
    program.args([command, "--data"]).arg(scene.data()).env(KEK.0, KEK.1);
    let child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut met = BTreeSet::new();
    let mut seen = move || {
        met.extend(files_in_place(&scene.data().join("data")));
        met.len()
    };
    let start = seen();
    kill_when(child, moment, || seen() >= start + files)
}

/// An empty lake was sealed by a process that was killed before it wrote the mark. Then every writer refused the lake.
#[test]
fn an_empty_lake_whose_sealing_was_killed_before_the_mark_can_be_written() {
    let scene = Scene::new();
    // A first import was killed, and another command has written the mark.
    drop(Lake::open_or_create(scene.data()).unwrap());
    scene.done("compact", &[]);
    let mark = scene.data().join("catalog.mark");
    let before = std::fs::read(&mark).unwrap();
    let refused = scene.dir.path().join("refused.ndjson");
    std::fs::write(&refused, "{}").unwrap();
    let import = ["--sealed", refused.to_str().unwrap()];
    assert_eq!(scene.run("import", &import).status.code(), Some(3));
    assert_ne!(std::fs::read(&mark).unwrap(), before);
    std::fs::write(&mark, &before).unwrap();
    scene.done("check", &[]);
    scene.import(&super::people(3), &["--sealed"]);
    assert_eq!(scene.resources().len(), 6);
    assert_eq!(scene.kinds().1, 0);
    scene.done("check", &["--rows"]);
    scene.done("unseal", &[]);
    assert_eq!(scene.resources().len(), 6);
}

/// `seal` made the keys database and was killed before it turned the lake. `unseal` left the database, and then no
/// other key could seal the lake.
#[test]
fn a_seal_that_was_killed_early_leaves_no_keys_after_unseal_and_does_not_hinder_another_key() {
    let other = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    let scene = Scene::new();
    scene.import(&super::people(3), &[]);
    let before = scene.history();
    let keys = scene.data().join("keys.sqlite");
    let kill_early = || {
        drop(KeyStore::create(&scene.data(), kek().load().unwrap()).unwrap());
        std::fs::write(scene.data().join("keys.sqlite.new"), "half").unwrap();
    };
    kill_early();
    scene.done("unseal", &[]);
    assert!(!keys.exists() && !scene.data().join("keys.sqlite.new").exists());
    kill_early();
    scene.done("seal", &[]);
    scene.done("unseal", &[]);
    assert!(!keys.exists());
    kill_early();
    let sealed = scene.run_with("seal", &[], Some(other));
    assert_eq!(
        sealed.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&sealed.stderr)
    );
    let unsealed = scene.run_with("unseal", &[], Some(other));
    assert_eq!(
        unsealed.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&unsealed.stderr)
    );
    assert_eq!(scene.history(), before);
    // A database with keys stays: its files may be in a backup.
    let store = KeyStore::create(&scene.data(), kek().load().unwrap()).unwrap();
    store.keep(&[store.make().unwrap()]).unwrap();
    drop(store);
    scene.done("unseal", &[]);
    assert!(keys.exists());
    assert_eq!(scene.run_with("seal", &[], Some(other)).status.code(), Some(2));
}

#[test]
fn a_lake_that_is_killed_on_its_way_has_every_row_and_is_ended_by_the_next_call() {
    let (scene, records) = filled();
    let before = scene.history();
    let mut random = chance(16);
    let rounds = rounds(USUAL);
    let mut killed = 0;
    for round in 0..rounds {
        let (command, back) = if round % 2 == 0 {
            ("seal", "unseal")
        } else {
            ("unseal", "seal")
        };
        for _ in 0..2 {
            // The process writes a data file and a delete file for each file of each snapshot, then keys and the
            // catalog. Then it removes files.
            let files = random.random_range(0..30);
            let moment = Duration::from_micros(random.random_range(0..30_000));
            killed += usize::from(kill(&scene, command, files, moment));
            assert_eq!(scene.history(), before, "round {round}");
        }
        if round % 4 == 1 {
            // The opposite command works too.
            scene.done(back, &[]);
            assert_eq!(scene.history(), before, "round {round}");
        }
        scene.done(command, &[]);
        assert_eq!(scene.history(), before, "round {round}");
        let (sealed, clear) = scene.kinds();
        if command == "seal" {
            assert_eq!(clear, 0, "round {round}");
            assert_nothing_in_clear(&scene, &records, "after a kill");
            assert_eq!(stray_keys(&scene.data(), &scene.keys()), [], "round {round}");
        } else {
            assert!(
                sealed == 0 && !scene.data().join("keys.sqlite").exists(),
                "round {round}"
            );
        }
        scene.done("check", &[]);
    }
    println!("{killed} of {} were killed", 2 * rounds);
    assert!(rounds < 8 || killed > 2);
}
