//! A backup removes and reads only files of its own: in a folder with its mark, with names that it gives, and never
//! through a link.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::killed::written;
use super::{PEOPLE, Scene, all, is_good, program, said, succeeds};
use crate::harness::kind;
use crate::harness::lake::files_below;
use crate::harness::process::PROGRAM;

const SUM: &str = "ab00000000000000000000000000000000000000000000000000000000000000";

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Any folder with `snapshots/` and `files/` used to count as one of backups. Then the command removed all files below
/// `files/`.
#[test]
fn a_folder_that_only_looks_like_backups_keeps_its_files() {
    let scene = Scene::with(PEOPLE);
    let to = scene.backups();
    std::fs::create_dir_all(to.join("snapshots")).unwrap();
    for name in [
        "files/letters/to-ann.txt",
        "files/ab/x",
        &format!("files/ab/{SUM}"),
        "work/draft",
    ] {
        write(&to.join(name), "theirs");
    }
    let before = files_below(&to);
    let refused = scene.run_backup(&["--keep", "1"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("is no folder of backups"), "{}", said(&refused));
    let refused = scene.verify();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert_eq!(files_below(&to), before);
}

#[test]
fn a_folder_of_backups_without_the_mark_is_refused_with_what_to_do() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let mark = scene.backups().join("tabularium-backups");
    std::fs::remove_file(&mark).unwrap();
    let stored = scene.stored();
    for refused in [
        scene.run_backup(&[]),
        scene.verify(),
        scene.run_restore(&scene.path("again"), &[]),
    ] {
        let said = said(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(
            said.contains("earlier format") && said.contains("name a new folder with --to"),
            "{said}"
        );
    }
    std::fs::write(&mark, "tabularium backups 3\n").unwrap();
    let refused = scene.run_backup(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("another format"), "{}", said(&refused));
    assert_eq!(scene.stored(), stored);
    // A process that was killed while it wrote the mark has left a part of it, and nothing else.
    let other = Scene::with(PEOPLE);
    write(&other.backups().join("tabularium-backups"), "tabu");
    other.backup(&[]);
}

#[test]
fn a_backup_removes_only_files_with_its_own_names() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let to = scene.backups();
    let theirs = [
        "notes.txt",
        "files/letters/to-ann.txt",
        "files/ab/notes.txt",
        "files/ab/0000",
        &format!("files/cd/{SUM}"),
        &format!("files/ab/{}", SUM.to_uppercase()),
    ];
    for name in theirs {
        write(&to.join(name), "theirs");
    }
    write(&to.join(format!("files/ab/{SUM}")), "a file that no snapshot uses");
    scene.backup(&["--keep", "1"]);
    for name in theirs {
        assert_eq!(std::fs::read_to_string(to.join(name)).unwrap(), "theirs", "{name}");
    }
    assert!(!to.join(format!("files/ab/{SUM}")).exists());
}

/// A link to `/etc` in the place of `files/`, or of a folder in it, used to be followed.
#[test]
fn a_backup_follows_no_link_in_its_folder() {
    for place in ["files", "files/ab", "snapshots", "work", "lock", "tabularium-backups"] {
        let scene = Scene::with(PEOPLE);
        scene.backup(&[]);
        let theirs = scene.path("theirs");
        let victims = [
            format!("ab/{SUM}"),
            SUM.to_owned(),
            "20200101T000000.000Z.json".to_owned(),
        ];
        for name in &victims {
            write(&theirs.join(name), "theirs");
        }
        let at = scene.backups().join(place);
        let _ = std::fs::rename(&at, scene.path("moved"));
        let is_file = matches!(place, "lock" | "tabularium-backups");
        symlink(if is_file { theirs.join(SUM) } else { theirs.clone() }, &at).unwrap();
        let done = scene.run_backup(&["--keep", "1"]);
        for name in &victims {
            assert_eq!(std::fs::read_to_string(theirs.join(name)).unwrap(), "theirs", "{place}");
        }
        match place {
            // This removes the link, and nothing behind it.
            "work" => drop(succeeds(&done)),
            // The link is skipped, unless a new file belongs there.
            "files/ab" => {}
            _ => {
                assert_eq!(done.status.code(), Some(1), "{place}: {}", said(&done));
                assert!(said(&done).contains("it is a link"), "{place}: {}", said(&done));
            }
        }
    }
}

/// The folder that the user names may be a link, and so may the data folder.
#[test]
fn the_named_folders_may_be_links() {
    let scene = Scene::with(PEOPLE);
    for name in ["lake", "backups"] {
        let real = scene.path(&format!("real-{name}"));
        if name == "lake" {
            std::fs::rename(scene.data(), &real).unwrap();
        } else {
            std::fs::create_dir(&real).unwrap();
        }
        symlink(&real, scene.path(name)).unwrap();
    }
    scene.backup(&[]);
    scene.backup(&["--keep", "1"]);
    // The ledger is beside the folder to which the link leads.
    let ledger = scene.path("real-lake.erasures");
    let again = scene.restore("again", &["--erasures", ledger.to_str().unwrap()]);
    assert_eq!(all(&again), all(&scene.data()));
}

/// A backup used to copy what lay behind links in the data folder, and waited for pipes.
#[test]
fn a_backup_reads_through_no_link_and_waits_for_no_pipe() {
    for place in [
        "audit",
        "audit/2026-01.ndjson",
        "terminology",
        "service.key",
        "service.sqlite",
    ] {
        for is_pipe in [false, true] {
            let scene = Scene::with(PEOPLE);
            let theirs = scene.path("theirs");
            write(&theirs.join("2026-01.ndjson"), "theirs");
            write(&theirs.join("tables.json"), "theirs");
            let at = scene.data().join(place);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            let _ = std::fs::remove_file(&at);
            if is_pipe {
                let made = Command::new("mkfifo").arg(&at).status().unwrap();
                assert!(made.success());
            } else if place.contains('.') {
                symlink(theirs.join("2026-01.ndjson"), &at).unwrap();
            } else {
                symlink(&theirs, &at).unwrap();
            }
            let done = scene.run_backup(&[]);
            assert_eq!(done.status.code(), Some(1), "{place}: {}", said(&done));
            assert!(said(&done).contains(at.to_str().unwrap()), "{place}: {}", said(&done));
            assert!(scene.snapshots().is_empty(), "{place}");
        }
    }
}

/// A file of somebody else in `data/` used to be moved aside, and removed a day later. A link to a folder was followed.
#[test]
fn a_writer_moves_no_files_of_others_aside() {
    let scene = Scene::with(PEOPLE);
    let theirs = scene.path("theirs");
    let ours = "00112233445566aa.parquet";
    write(&theirs.join(ours), "theirs");
    write(&scene.data().join("data/notes.txt"), "theirs");
    write(&scene.data().join("data/live/Patient/export.parquet"), "theirs");
    symlink(&theirs, scene.data().join("data/live/Group")).unwrap();
    symlink(theirs.join(ours), scene.data().join("data/live/Patient").join(ours)).unwrap();
    write(
        &scene.data().join("data/live/Patient/ffeeddccbbaa0099.parquet"),
        "of a killed writer",
    );
    // A killed writer leaves its number in the lock file.
    std::fs::write(scene.data().join("lock"), "12345\n").unwrap();
    scene.import(&PEOPLE.replace("\"H\"", "\"I\""));
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(text(&theirs.join(ours)), "theirs");
    assert_eq!(text(&scene.data().join("data/notes.txt")), "theirs");
    assert_eq!(text(&scene.data().join("data/live/Patient/export.parquet")), "theirs");
    assert!(!scene.data().join("data/live/Patient/ffeeddccbbaa0099.parquet").exists());
}

/// `--out x.csv` used to write `.x.csv.part` first, also through a link that somebody had put there.
#[test]
fn an_output_is_not_written_through_a_link_with_its_temporary_name() {
    let scene = Scene::with(PEOPLE);
    let theirs = scene.path("theirs");
    std::fs::write(&theirs, "theirs").unwrap();
    symlink(&theirs, scene.path(".x.csv.part")).unwrap();
    let (data, out) = (scene.data(), scene.path("x.csv"));
    let sql = ["sql", "--data", data.to_str().unwrap(), "--out", out.to_str().unwrap()];
    succeeds(&program(sql.into_iter().chain(["SELECT 1 AS one"])));
    assert!(out.is_file());
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
}

/// Any folder with a subfolder `restoring` and without a catalog used to count as the remains of a killed restore.
#[test]
fn a_restore_does_not_empty_a_folder_of_others() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let to = scene.path("theirs");
    for names in [
        &["restoring/chairs.txt", "letter.txt"][..],
        &["restoring/chairs.txt"],
        &["restoring/restored.json", "data/file"],
    ] {
        for name in names {
            write(&to.join(name), "theirs");
        }
        let before = files_below(&to);
        let refused = scene.run_restore(&to, &[]);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains("is not empty"), "{}", said(&refused));
        assert_eq!(files_below(&to), before);
        std::fs::remove_dir_all(&to).unwrap();
    }
    // The mark behind a link is none.
    write(&scene.path("elsewhere/tabularium-restore"), "");
    std::fs::create_dir(&to).unwrap();
    symlink(scene.path("elsewhere"), to.join("restoring")).unwrap();
    assert_eq!(scene.run_restore(&to, &[]).status.code(), Some(2));
    assert!(scene.path("elsewhere/tabularium-restore").exists());
}

/// A repeated restore used to remove everything in the folder of the killed one.
#[test]
fn a_repeated_restore_leaves_what_others_have_put_there() {
    let scene = Scene::with(PEOPLE);
    let id = scene.backup(&[]);
    let expected = all(&scene.data());
    let to = scene.path("restored");
    let result = written(&id, &["data", "catalog.mark", "terminology"]);
    for (ours, theirs) in [
        // The restore was killed while it built the parts, or while it wrote its result. It has moved nothing.
        (&["restoring/data/x"][..], "letter.txt"),
        (&["restoring/data/x"], "data/letter.txt"),
        (&["restoring/restored.json"], "catalog.mark"),
        (&["restoring/data/x"], "restored.json"),
        // It was killed between its moves.
        (
            &["restoring/restored.json", "catalog.mark", "restoring/data/x"],
            "letter.txt",
        ),
        (&["restoring/restored.json", "data/x", "terminology/x"], "service.key"),
        (
            &["restoring/restored.json", "catalog.mark", "restoring/data/x"],
            "data/letter.txt",
        ),
    ] {
        let is_moving = ours.contains(&"restoring/restored.json") && ours.len() > 1;
        for name in ours {
            let text = if is_moving { &result } else { &result[..100] };
            write(&to.join(name), if name.ends_with(".json") { text } else { "ours" });
        }
        write(&to.join("restoring/tabularium-restore"), "");
        write(&to.join(theirs), "theirs");
        let before = files_below(&to);
        let refused = scene.run_restore(&to, &[]);
        let entry = theirs.split('/').next().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{theirs}: {}", said(&refused));
        let clause = format!("no restore has made {entry} there");
        assert!(said(&refused).contains(&clause), "{theirs}: {}", said(&refused));
        let mut after = files_below(&to);
        after.remove(&to.join("lock"));
        assert_eq!(after, before, "{theirs}");
        assert_eq!(std::fs::read_to_string(to.join(theirs)).unwrap(), "theirs");
        // If it is moved away, the restore can be repeated.
        std::fs::rename(to.join(entry), scene.path("moved")).unwrap();
        succeeds(&scene.run_restore(&to, &[]));
        is_good(&to);
        assert_eq!(all(&to), expected);
        std::fs::remove_dir_all(&to).unwrap();
        let moved = scene.path("moved");
        let _ = std::fs::remove_file(&moved).or_else(|_| std::fs::remove_dir_all(&moved));
        let _ = std::fs::remove_file(scene.path("restored.erasures"));
    }
}

/// A link in the place of the keys used to be followed: its target was overwritten.
#[test]
fn a_repeated_restore_destroys_no_keys_through_a_link() {
    let scene = Scene::with(PEOPLE);
    let id = scene.backup(&[]);
    let to = scene.path("restored");
    let sealed = Scene::new();
    let input = sealed.path("input.ndjson");
    write(&input, PEOPLE);
    let (data, input) = (sealed.data(), input.to_str().unwrap().to_owned());
    let mut import = Command::new(PROGRAM);
    import.args(["import", "--sealed", "--data", data.to_str().unwrap(), &input]);
    succeeds(&import.env(kind::KEK.0, kind::KEK.1).output().unwrap());
    let keys = data.join("keys.sqlite");
    let whole = std::fs::read(&keys).unwrap();
    for (place, is_refused) in [("keys.sqlite", true), ("restoring/keys.sqlite", false)] {
        write(&to.join("restoring/tabularium-restore"), "");
        write(
            &to.join("restoring/restored.json"),
            &written(&id, &["data", "keys.sqlite"]),
        );
        symlink(&keys, to.join(place)).unwrap();
        let done = scene.run_restore(&to, &[]);
        assert_eq!(std::fs::read(&keys).unwrap(), whole, "{place}");
        if is_refused {
            assert_eq!(done.status.code(), Some(2), "{}", said(&done));
            assert!(said(&done).contains("keys.sqlite"), "{}", said(&done));
            assert!(to.join(place).is_symlink());
        } else {
            succeeds(&done);
        }
        std::fs::remove_dir_all(&to).unwrap();
    }
    // The lake that owns the keys can still be read.
    let mut check = Command::new(PROGRAM);
    check.args(["check", "--data", data.to_str().unwrap()]);
    succeeds(&check.env(kind::KEK.0, kind::KEK.1).output().unwrap());
}

#[test]
fn a_restore_refuses_keys_in_its_own_folder() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let to = scene.path("restored");
    write(&to.join("restoring/tabularium-restore"), "");
    write(&to.join("restoring/restored.json"), &written("x", &["keys.sqlite"]));
    write(&to.join("keys.sqlite"), "keys");
    symlink(to.join("keys.sqlite"), scene.path("linked.sqlite")).unwrap();
    symlink(&to, scene.path("linked")).unwrap();
    let (from, ledger) = (scene.backups(), scene.ledger());
    for keys in [
        "restored/keys.sqlite",
        "linked.sqlite",
        "linked/keys.sqlite",
        "restored/missing",
    ] {
        let keys = scene.path(keys);
        let refused = program([
            "restore",
            "--from",
            from.to_str().unwrap(),
            "--data",
            to.to_str().unwrap(),
            "--erasures",
            ledger.to_str().unwrap(),
            "--keys",
            keys.to_str().unwrap(),
        ]);
        let said = said(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("move them to another place"), "{said}");
        assert_eq!(std::fs::read_to_string(to.join("keys.sqlite")).unwrap(), "keys");
    }
}

/// The end of a killed restore used to follow a link named `restoring`, and to take any folder with that name.
#[test]
fn the_end_of_a_restore_empties_no_folder_of_others() {
    let scene = Scene::with(PEOPLE);
    let id = scene.backup(&[]);
    let to = scene.restore("restored", &[]);
    let theirs = scene.path("theirs");
    let result = written(&id, &["data"]);
    for is_link in [true, false] {
        let restoring = to.join("restoring");
        let place = if is_link { &theirs } else { &restoring };
        write(&place.join("letter.txt"), "theirs");
        write(&place.join("restored.json"), &result);
        if is_link {
            write(&place.join("tabularium-restore"), "");
            symlink(&theirs, &restoring).unwrap();
        }
        let before = files_below(place);
        let refused = scene.run_restore(&to, &[]);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains("is not empty"), "{}", said(&refused));
        assert_eq!(files_below(place), before);
        let _ = std::fs::remove_file(&restoring);
    }
}
