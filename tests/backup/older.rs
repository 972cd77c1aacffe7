//! A copy of a data folder from before an erasure is put back without `tabularium restore`, beside the ledger of today.
//! The erased person does not come back in silence.

use std::path::Path;
use std::process::Command;

use super::{Scene, all, is_good, program, said, succeeds};

const PEOPLE: &str = r#"{"resourceType":"Patient","id":"ann"}
{"resourceType":"Condition","id":"of-ann","subject":{"reference":"Patient/ann"}}
{"resourceType":"Patient","id":"ben"}
{"resourceType":"Patient","id":"cid"}"#;

fn copy(from: &Path, to: &Path) {
    assert!(
        Command::new("cp")
            .arg("-a")
            .args([from, to])
            .status()
            .unwrap()
            .success()
    );
}

/// Puts back a copy of the folder from before Ann's and Ben's erasures. The backups and the ledger are of today.
fn put_back(has_backup_before: bool) -> Scene {
    let scene = Scene::with(PEOPLE);
    if has_backup_before {
        scene.backup(&[]);
    }
    let (data, older) = (scene.data(), scene.path("older"));
    copy(&data, &older);
    scene.backup(&[]);
    scene.erase("ann");
    scene.erase("ben");
    std::fs::rename(&data, scene.path("of-today")).unwrap();
    std::fs::rename(older, data).unwrap();
    scene
}

fn run(scene: &Scene, command: &str, more: &[&str]) -> (Option<i32>, String) {
    let data = scene.data();
    let done = program([command, "--data", data.to_str().unwrap()].iter().chain(more));
    (done.status.code(), said(&done))
}

#[test]
fn erased_people_do_not_come_back_with_an_older_copy_of_the_folder() {
    for has_backup_before in [true, false] {
        let scene = put_back(has_backup_before);
        let ledger = std::fs::read(scene.ledger()).unwrap();
        let has_missed = "is an older copy";
        let (code, text) = run(&scene, "serve", &["--listen", "127.0.0.1:0"]);
        assert_eq!(code, Some(2), "{text}");
        assert!(
            text.contains(has_missed) && text.contains("has 2 that") && !text.contains("Serving"),
            "{text}"
        );
        let (code, text) = run(&scene, "check", &[]);
        assert_eq!(code, Some(3), "{text}");
        assert!(
            text.contains(has_missed) && text.contains("--repeat-erasures"),
            "{text}"
        );
        let refused = scene.run_backup(&[]);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains(has_missed), "{}", said(&refused));
        // A new erasure hides its person, and ends only after the earlier ones.
        let (code, text) = run(&scene, "erase", &["--yes", "--patient", "cid"]);
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains(has_missed), "{text}");
        // It is entered, because today's folder must lose the person, too.
        let now = std::fs::read(scene.ledger()).unwrap();
        assert!(now.starts_with(&ledger) && now.len() > ledger.len());

        let (code, text) = run(&scene, "check", &["--repeat-erasures"]);
        assert_eq!(code, Some(0), "{text}");
        assert!(
            text.contains("repeated 2 erasures of the ledger: records of 2 owners were erased"),
            "{text}"
        );
        is_good(&scene.data());
        assert_eq!(all(&scene.data()), Vec::<String>::new());
        let (code, text) = run(&scene, "check", &["--repeat-erasures"]);
        assert!(code == Some(0) && text.contains("has had all erasures"), "{text}");
        // The lake goes on, with other numbers than the repeated ones.
        scene.import(PEOPLE);
        scene.erase("ben");
        scene.backup(&[]);
        let restored = scene.restore("restored", &[]);
        assert_eq!(all(&restored), all(&scene.data()));
        assert_eq!(all(&restored).len(), 3);
    }
}

#[test]
fn the_numbers_of_erasures_go_on_when_the_catalog_is_lost() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    scene.erase("ann");
    scene.erase("ben");
    // Both are back, with consent.
    scene.import(PEOPLE);
    for name in ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"] {
        let _ = std::fs::remove_file(scene.data().join(name));
    }
    let (code, text) = run(&scene, "check", &["--adopt"]);
    assert_eq!(code, Some(0), "{text}");
    is_good(&scene.data());
    assert_eq!(all(&scene.data()).len(), 4);
    // A restore repeats what was erased after its snapshot, and nothing before it.
    let before = scene.backup(&[]);
    succeeds(&program([
        "erase",
        "--yes",
        "--data",
        scene.data().to_str().unwrap(),
        "--patient",
        "cid",
    ]));
    let restored = scene.restore("restored", &["--snapshot", &before]);
    assert_eq!(all(&restored), all(&scene.data()));
    assert_eq!(all(&restored).len(), 3);
}
