//! A command names a damaged file in one sentence, and loses nothing.

use std::path::Path;
use std::process::{Command, Output};

use super::{PEOPLE, Scene, all, program, said, succeeds};
use crate::harness::lake::files_below;
use crate::harness::process::PROGRAM;

/// Checks for one sentence on standard error, and this exit code.
fn fails(done: &Output, code: i32, with: &str) {
    let error = String::from_utf8(done.stderr.clone()).unwrap();
    assert_eq!(done.status.code(), Some(code), "{error}");
    assert!(error.lines().count() == 1 && error.contains(with), "{with}: {error}");
}

/// A data file of the backup.
fn table(scene: &Scene) -> std::path::PathBuf {
    let is_table = |path: &&std::path::PathBuf| std::fs::read(path).unwrap().starts_with(b"PAR1");
    scene.stored().iter().find(is_table).unwrap().clone()
}

#[test]
fn a_damaged_backup_is_not_restored() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&["--copy"]);
    let file = table(&scene);
    let whole = std::fs::read(&file).unwrap();
    let mut altered = whole.clone();
    altered[whole.len() / 2] ^= 4;
    let name = file.to_str().unwrap();
    for (content, what) in [
        (Some(&whole[..whole.len() / 2]), "differs from its SHA-256"),
        (Some(&altered[..]), "differs from its SHA-256"),
        (None, "is missing"),
    ] {
        match content {
            Some(content) => std::fs::write(&file, content).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let to = scene.path("restored");
        let refused = scene.run_restore(&to, &[]);
        fails(&refused, 3, what);
        assert!(said(&refused).contains(name) && said(&refused).contains("data/live/"));
        assert!(!to.join("catalog.sqlite").exists() && !to.join("restoring").exists());
        fails(&scene.verify(), 3, what);
        std::fs::write(&file, &whole).unwrap();
        // Once the backup is repaired, the same folder can be restored into.
        succeeds(&scene.run_restore(&to, &[]));
        assert_eq!(all(&to), all(&scene.data()));
        std::fs::remove_dir_all(&to).unwrap();
        std::fs::remove_file(scene.path("restored.erasures")).unwrap();
    }
}

#[test]
fn a_damaged_manifest_is_named_and_keeps_files_from_being_removed() {
    let scene = Scene::with(PEOPLE);
    let first = scene.backup(&[]);
    let manifest = scene.backups().join(format!("snapshots/{first}.json"));
    let whole = std::fs::read(&manifest).unwrap();
    scene.import(r#"{"resourceType":"Patient","id":"cid"}"#);
    let second = scene.backup(&[]);
    let stored = scene.stored();
    let mut altered = whole.clone();
    altered[20] ^= 1;
    for content in [&whole[..whole.len() / 2], &altered[..], b""] {
        std::fs::write(&manifest, content).unwrap();
        fails(
            &scene.run_restore(&scene.path("refused"), &["--snapshot", &first]),
            3,
            &first,
        );
        fails(&scene.verify(), 3, &first);
        let restored = scene.restore("restored", &["--snapshot", &second]);
        std::fs::remove_dir_all(&restored).unwrap();
        std::fs::remove_file(scene.path("restored.erasures")).unwrap();
        // The manifest's files are unknown, so a further backup removes nothing.
        fails(&scene.run_backup(&["--keep", "9"]), 3, &first);
        assert!(scene.stored().is_superset(&stored));
    }
    std::fs::write(&manifest, &whole).unwrap();
    scene.restore("first", &["--snapshot", &first]);
    // A snapshot without a manifest does not exist, so its files are removed.
    std::fs::remove_file(&manifest).unwrap();
    scene.backup(&[]);
    fails(
        &scene.run_restore(&scene.path("gone"), &["--snapshot", &first]),
        2,
        "has no snapshot",
    );
}

#[test]
fn a_damaged_lake_is_not_backed_up_over_a_good_backup() {
    let scene = Scene::with(PEOPLE);
    let first = scene.backup(&["--copy"]);
    let before = all(&scene.data());
    scene.import(r#"{"resourceType":"Patient","id":"cid"}"#);
    let old: Vec<_> = files_below(&scene.data().join("data")).into_iter().collect();
    let is_new = |path: &&std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        scene
            .stored()
            .iter()
            .all(|stored| std::fs::read(stored).unwrap() != bytes)
    };
    let file = old.iter().find(is_new).unwrap();
    let whole = std::fs::read(file).unwrap();
    let mut altered = whole.clone();
    altered[whole.len() / 2] ^= 4;
    for content in [Some(&altered[..]), Some(&whole[..100]), None] {
        match content {
            Some(content) => std::fs::write(file, content).unwrap(),
            None => std::fs::remove_file(file).unwrap(),
        }
        fails(&scene.run_backup(&["--keep", "1"]), 3, file.to_str().unwrap());
        assert_eq!(scene.snapshots(), std::slice::from_ref(&first));
    }
    let restored = scene.restore("restored", &[]);
    assert_eq!(all(&restored), before);
    std::fs::write(file, &whole).unwrap();
    scene.backup(&[]);
}

#[test]
fn folders_that_do_not_go_are_refused() {
    let scene = Scene::with(PEOPLE);
    let data = scene.data().to_str().unwrap().to_owned();
    let backup = |data: &str, to: &Path| program(["backup", "--data", data, "--to", to.to_str().unwrap()]);
    fails(
        &backup(&data, &scene.data().join("backups")),
        2,
        "lies in the data folder",
    );
    fails(
        &backup(&data, scene.data().parent().unwrap()),
        2,
        "lies in the data folder",
    );
    fails(
        &backup(scene.path("nothing").to_str().unwrap(), &scene.backups()),
        2,
        "there is no lake",
    );
    assert!(!scene.backups().exists() && !scene.path("nothing").exists());
    let other = scene.path("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter.txt"), "dear").unwrap();
    fails(&backup(&data, &other), 2, "is no folder of backups");
    let file = scene.path("file");
    std::fs::write(&file, "").unwrap();
    fails(&backup(&data, &file), 1, "cannot");
    scene.backup(&[]);
    let foreign = Scene::with(PEOPLE);
    fails(
        &backup(foreign.data().to_str().unwrap(), &scene.backups()),
        2,
        "of another lake",
    );
    fails(&scene.run_restore(&scene.data(), &[]), 2, "is not empty");
    fails(&scene.run_restore(&other, &[]), 2, "is not empty");
    assert_eq!(std::fs::read(other.join("letter.txt")).unwrap(), b"dear");
    let restore = ["restore", "--data", "x", "--from", other.to_str().unwrap()];
    fails(&program(restore), 2, "is no folder of backups");
}

/// No file can grow beyond a limit, as on a disk that is nearly full.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_nothing() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&["--copy"]);
    let before = all(&scene.data());
    scene.import(r#"{"resourceType":"Patient","id":"cid"}"#);
    let limited = |kilobytes: usize, arguments: &[&str]| {
        let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
        Command::new("bash")
            .args(["-c", &script, PROGRAM])
            .args(arguments)
            .output()
            .unwrap()
    };
    let (data, to, ledger) = (scene.data(), scene.backups(), scene.ledger());
    let (data, to, ledger) = (data.to_str().unwrap(), to.to_str().unwrap(), ledger.to_str().unwrap());
    let mut failed = 0;
    for kilobytes in [0, 1, 2, 4, 8, 16, 32, 64, 128] {
        let snapshots = scene.snapshots();
        let done = limited(kilobytes, &["backup", "--copy", "--data", data, "--to", to]);
        if done.status.code() != Some(0) {
            fails(&done, 1, "");
            assert_eq!(scene.snapshots(), snapshots);
            failed += 1;
        }
        let restored = scene.path("restored");
        let arguments = [
            "restore",
            "--copy",
            "--from",
            to,
            "--data",
            restored.to_str().unwrap(),
            "--erasures",
            ledger,
        ];
        let first = ["--snapshot", snapshots[0].as_str()];
        let arguments: Vec<&str> = arguments.into_iter().chain(first).collect();
        let done = limited(kilobytes, &arguments);
        if done.status.code() != Some(0) {
            fails(&done, 1, "");
            assert!(!restored.join("catalog.sqlite").exists());
            succeeds(&program(&arguments));
            failed += 1;
        }
        assert_eq!(all(&restored), before);
        std::fs::remove_dir_all(&restored).unwrap();
        let _ = std::fs::remove_file(scene.path("restored.erasures"));
    }
    assert!(failed > 4, "the limit was met {failed} times");
    succeeds(&scene.verify());
    scene.backup(&[]);
}
