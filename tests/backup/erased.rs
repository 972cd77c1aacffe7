//! An erased person is gone from all backups after the next one, and from restored lakes.

use std::path::{Path, PathBuf};

use arrow::array::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::{PEOPLE, Scene, all, program, said, succeeds};
use crate::harness::lake::files_below;
use crate::harness::server::Server;

/// Files that contain a text, in their bytes or in a decoded text column.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        memchr::memmem::find(&bytes, text.as_bytes()).is_some() || has_value(path, text)
    };
    files_below(folder).into_iter().filter(holds).collect()
}

fn has_value(path: &Path, text: &str) -> bool {
    let file = std::fs::File::open(path).unwrap();
    let Ok(reader) = ParquetRecordBatchReaderBuilder::try_new(file) else {
        return false;
    };
    reader.build().unwrap().any(|batch| {
        let batch = batch.unwrap();
        let texts = batch
            .columns()
            .iter()
            .filter_map(|column| column.as_string_opt::<i32>());
        let mut values = texts.flat_map(|column| column.iter().flatten().map(str::to_owned).collect::<Vec<_>>());
        values.any(|value| value.contains(text))
    })
}

#[test]
fn the_next_backup_takes_an_erased_person_out_of_all_snapshots() {
    let scene = Scene::with(PEOPLE);
    let first = scene.backup(&[]);
    scene.import(r#"{"resourceType":"Patient","id":"ann-of-athlone","birthDate":"1971"}"#);
    let second = scene.backup(&[]);
    assert!(
        files_with(&scene.backups(), "ann-of-athlone").len() >= 2,
        "it would be found"
    );
    let rest = |id: &str| {
        let restored = scene.restore(&format!("before-{id}"), &["--snapshot", id]);
        all(&restored)
            .into_iter()
            .filter(|text| !text.contains("athlone"))
            .collect::<Vec<_>>()
    };
    let expected = [rest(&first), rest(&second)];
    scene.erase("ann-of-athlone");
    let said = succeeds(&scene.run_backup(&[]));
    assert!(
        said.contains("what was erased since was taken out of 2 snapshots"),
        "{said}"
    );
    assert_eq!(files_with(&scene.backups(), "athlone"), Vec::<PathBuf>::new());
    succeeds(&scene.verify());
    for (id, expected) in [first, second].iter().zip(expected) {
        let restored = scene.restore(&format!("after-{id}"), &["--snapshot", id]);
        assert_eq!(all(&restored), expected, "others are as they were");
        assert_eq!(files_with(&restored, "athlone"), Vec::<PathBuf>::new());
    }
    let again = succeeds(&scene.run_backup(&[]));
    assert!(!again.contains("taken out"), "{again}");
}

#[test]
fn an_erased_person_does_not_come_back() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    scene.erase("ann-of-athlone");
    // The ledger does not reveal the person.
    let ledger = std::fs::read_to_string(scene.ledger()).unwrap();
    assert!(ledger.lines().count() == 2 && !ledger.contains("athlone"), "{ledger}");
    let to = scene.path("restored");
    let said = succeeds(&scene.run_restore(&to, &[]));
    assert!(said.contains("erased again what was erased since"), "{said}");
    assert_eq!(files_with(&to, "athlone"), Vec::<PathBuf>::new());
    assert_eq!(all(&to), all(&scene.data()));
    // The ledger is copied with the restored folder, so that its own backups know about the erasure.
    assert_eq!(
        std::fs::read_to_string(scene.path("restored.erasures")).unwrap(),
        ledger
    );
    // The restore did not change the backup.
    succeeds(&scene.verify());
    assert!(!files_with(&scene.backups(), "athlone").is_empty());
}

/// A person who is imported again after the erasure is in later snapshots, and stays in lakes restored from them.
#[test]
fn who_came_back_by_an_import_stays() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    scene.erase("ann-of-athlone");
    scene.import(PEOPLE);
    let expected = all(&scene.data());
    let later = scene.backup(&[]);
    let restored = scene.restore("restored", &["--snapshot", &later]);
    assert_eq!(all(&restored), expected);
    // The restored lake continues the count. Its own erasures apply to lakes restored from its backups, and to no
    // others.
    let (again, to) = (scene.path("again"), scene.path("again-backups"));
    let backup = || {
        program([
            "backup",
            "--data",
            restored.to_str().unwrap(),
            "--to",
            to.to_str().unwrap(),
        ])
    };
    succeeds(&backup());
    succeeds(&program([
        "erase",
        "--yes",
        "--data",
        restored.to_str().unwrap(),
        "--patient",
        "ben-of-belfast",
    ]));
    let ledger = scene.path("restored.erasures");
    let arguments = [
        "restore",
        "--from",
        to.to_str().unwrap(),
        "--data",
        again.to_str().unwrap(),
        "--erasures",
    ];
    succeeds(&program(arguments.iter().chain(&[ledger.to_str().unwrap()])));
    let left = expected.into_iter().filter(|text| !text.contains("belfast"));
    assert_eq!(all(&again), left.collect::<Vec<_>>());
}

#[test]
fn without_the_ledger_nothing_is_restored_unless_that_is_accepted() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let early = std::fs::read(scene.ledger()).unwrap();
    scene.erase("ann-of-athlone");
    scene.backup(&[]);
    let to = scene.path("restored");
    let older = scene.path("older.erasures");
    std::fs::write(&older, &early).unwrap();
    let other = scene.path("other.erasures");
    let foreign = Scene::with(PEOPLE);
    foreign.backup(&[]);
    std::fs::copy(foreign.ledger(), &other).unwrap();
    for (ledger, why) in [
        (scene.path("nowhere"), "is missing"),
        (older, "is an older copy, or not the one of this backup"),
        (other, "is an older copy, or not the one of this backup"),
    ] {
        let refused = scene.run_restore(&to, &["--erasures", ledger.to_str().unwrap()]);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        let said = said(&refused);
        assert!(said.contains(why) && said.contains("--accept-resurrection"), "{said}");
        assert!(said.lines().count() == 1 && !to.exists(), "{said}");
    }
    let broken = scene.path("broken.erasures");
    std::fs::write(&broken, "no ledger\n").unwrap();
    let refused = scene.run_restore(&to, &["--erasures", broken.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let nowhere = scene.path("nowhere");
    let more = ["--accept-resurrection", "--erasures", nowhere.to_str().unwrap()];
    let accepted = succeeds(&scene.run_restore(&to, &more));
    assert!(accepted.contains("may be back"), "{accepted}");
}

/// If the ledger cannot be written, the erasure stays recorded. The records are hidden, and the next writer adds the
/// entry.
#[test]
fn an_erasure_is_not_over_before_the_ledger_tells_of_it() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let ledger = std::fs::read(scene.ledger()).unwrap();
    std::fs::write(scene.ledger(), "no ledger\n").unwrap();
    let data = scene.data();
    let done = program([
        "erase",
        "--yes",
        "--data",
        data.to_str().unwrap(),
        "--patient",
        "ann-of-athlone",
    ]);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert!(
        said(&done).contains("backups, because the ledger of erasures"),
        "{}",
        said(&done)
    );
    assert!(all(&data).iter().all(|text| !text.contains("athlone")));
    std::fs::write(scene.ledger(), &ledger).unwrap();
    scene.import(r#"{"resourceType":"Patient","id":"cid"}"#);
    let entered = std::fs::read(scene.ledger()).unwrap();
    assert!(entered.starts_with(&ledger) && entered.len() > ledger.len());
    let restored = scene.restore("restored", &[]);
    assert_eq!(files_with(&restored, "athlone"), Vec::<PathBuf>::new());
}

/// The ledger was found by the folder's path only. After a move of the folder, erasures were entered nowhere, and a
/// restore with the earlier ledger brought people back.
#[test]
fn no_erasure_ends_while_the_ledger_of_the_backups_is_elsewhere() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let (moved, ledger) = (scene.path("moved"), scene.path("moved.erasures"));
    std::fs::rename(scene.data(), &moved).unwrap();
    let data = moved.to_str().unwrap();
    let erase = |patient: &str| program(["erase", "--yes", "--data", data, "--patient", patient]);
    let refused = erase("ann-of-athlone");
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    let clause = format!(
        "backups, because the ledger of erasures {} is missing",
        ledger.display()
    );
    assert!(
        said(&refused).contains(&clause) && said(&refused).contains("TABULARIUM_ERASURES"),
        "{}",
        said(&refused)
    );
    assert!(all(&moved).iter().all(|text| !text.contains("athlone")), "hidden");
    // Another lake's ledger is no help.
    let foreign = Scene::with(PEOPLE);
    foreign.backup(&[]);
    std::fs::copy(foreign.ledger(), &ledger).unwrap();
    let refused = erase("ben-of-belfast");
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(
        said(&refused).contains("is another one than that of the lake's backups"),
        "{}",
        said(&refused)
    );

    // The next writer finishes both.
    std::fs::rename(scene.ledger(), &ledger).unwrap();
    let done = program(["compact", "--data", data]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(std::fs::read_to_string(&ledger).unwrap().lines().count(), 3);
    let restored = scene.restore("restored", &["--erasures", ledger.to_str().unwrap()]);
    assert_eq!(files_with(&restored, "athlone"), Vec::<PathBuf>::new());
    assert_eq!(files_with(&restored, "belfast"), Vec::<PathBuf>::new());
    // The restored lake needs the ledger that came with it.
    let own = scene.path("restored.erasures");
    std::fs::remove_file(&own).unwrap();
    let import = |text: &str| {
        let input = scene.path("input.ndjson");
        std::fs::write(&input, text).unwrap();
        let arguments = ["import", "--data", restored.to_str().unwrap(), input.to_str().unwrap()];
        succeeds(&program(arguments));
    };
    import(PEOPLE);
    let arguments = ["--data", restored.to_str().unwrap(), "--patient", "ann-of-athlone"];
    let refused = program(["erase", "--yes"].iter().chain(&arguments));
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    // If the ledger is lost, a backup makes another one, and the erasure ends.
    let to = scene.path("others");
    let backup = [
        "backup",
        "--data",
        restored.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
    ];
    succeeds(&program(backup));
    import(r#"{"resourceType":"Patient","id":"cid"}"#);
    assert_eq!(files_with(&restored, "athlone"), Vec::<PathBuf>::new());
    assert_eq!(std::fs::read_to_string(&own).unwrap().lines().count(), 2);
}

/// An erasure that a restore finished was in no ledger. If the lake itself was lost before its end, older snapshots
/// kept the person.
#[test]
fn an_erasure_that_a_restore_finishes_leaves_older_snapshots_too() {
    let scene = Scene::with(PEOPLE);
    let first = scene.backup(&[]);
    hide(&scene, "ann-of-athlone");
    scene.backup(&[]);
    std::fs::remove_dir_all(scene.data()).unwrap();
    let restored = scene.restore("restored", &[]);
    assert_eq!(files_with(&restored, "athlone"), Vec::<PathBuf>::new());
    let ledger = scene.path("restored.erasures");
    assert_eq!(std::fs::read_to_string(&ledger).unwrap().lines().count(), 2);
    let older = ["--snapshot", &first, "--erasures", ledger.to_str().unwrap()];
    assert_eq!(
        files_with(&scene.restore("older", &older), "athlone"),
        Vec::<PathBuf>::new()
    );
    let (data, to) = (restored.to_str().unwrap(), scene.backups());
    succeeds(&program(["backup", "--data", data, "--to", to.to_str().unwrap()]));
    assert_eq!(files_with(&scene.backups(), "athlone"), Vec::<PathBuf>::new());
}

/// Records an erasure and does not finish it.
pub(super) fn hide(scene: &Scene, patient: &str) {
    let lake = tabularium::lake::Lake::open(scene.data()).unwrap();
    let intent = tabularium::lake::Intent {
        mode: tabularium::lake::Mode::Live,
        application: "local".to_owned(),
        patient: tabularium::lake::PatientScope {
            patients: vec![patient.to_owned()],
            owners: lake.owners_of("local", patient),
            authorizations: Vec::new(),
        },
    };
    lake.writer().unwrap().record_erasures(&[intent]).unwrap();
}

/// All commands use the ledger that the environment names. The first one creates it.
#[test]
fn the_ledger_lies_where_the_environment_says() {
    let scene = Scene::with(PEOPLE);
    let ledger = scene.path("elsewhere");
    let (data, to, restored) = (scene.data(), scene.backups(), scene.path("restored"));
    let (data, to, restored) = (data.to_str().unwrap(), to.to_str().unwrap(), restored.to_str().unwrap());
    for arguments in [
        vec!["backup", "--data", data, "--to", to],
        vec!["erase", "--yes", "--data", data, "--patient", "ann-of-athlone"],
        vec!["restore", "--from", to, "--data", restored],
    ] {
        let mut command = std::process::Command::new(crate::harness::process::PROGRAM);
        let done = command
            .args(&arguments)
            .env("TABULARIUM_ERASURES", &ledger)
            .output()
            .unwrap();
        succeeds(&done);
    }
    assert!(ledger.exists() && !scene.ledger().exists() && !scene.path("restored.erasures").exists());
    assert_eq!(files_with(Path::new(restored), "athlone"), Vec::<PathBuf>::new());
}

/// The backup was made while an erasure was recorded but not finished, so its files contain the rows.
#[test]
fn an_erasure_that_was_under_way_is_finished_in_the_snapshot() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    hide(&scene, "ann-of-athlone");
    let said = succeeds(&scene.run_backup(&[]));
    assert!(
        said.contains("taken out of 1 snapshots"),
        "the one that was under way: {said}"
    );
    let newest = scene.snapshots().pop().unwrap();
    let restored = scene.restore("restored", &["--snapshot", &newest]);
    assert_eq!(files_with(&restored, "athlone"), Vec::<PathBuf>::new());
    // Once the erasure is finished, the first snapshot loses the rows too.
    scene.import(r#"{"resourceType":"Patient","id":"cid"}"#);
    scene.backup(&[]);
    assert_eq!(files_with(&scene.backups(), "athlone"), Vec::<PathBuf>::new());
}

/// The restored store has no tokens for an erased person's records.
#[test]
fn the_store_of_the_service_forgets_the_person_again() {
    let resources: Vec<serde_json::Value> = PEOPLE.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let server = Server::imported_at(&resources, tabularium::consent::Clock::System);
    server.patient_token("ann-of-athlone");
    server.patient_token("ben-of-belfast");
    let data = server.folder().to_str().unwrap().to_owned();
    let scratch = tempfile::tempdir().unwrap();
    let (to, restored) = (scratch.path().join("backups"), scratch.path().join("restored"));
    let ledger = format!("{data}.erasures");
    let backup = ["backup", "--data", &data, "--to", to.to_str().unwrap()];
    succeeds(&program(backup));
    succeeds(&program([
        "erase",
        "--yes",
        "--data",
        &data,
        "--patient",
        "ann-of-athlone",
    ]));
    let arguments = [
        "restore",
        "--from",
        to.to_str().unwrap(),
        "--data",
        restored.to_str().unwrap(),
    ];
    succeeds(&program(arguments.iter().chain(&["--erasures", &ledger])));
    let named = |folder: &Path| {
        let store = rusqlite::Connection::open(folder.join("service.sqlite")).unwrap();
        let mut patients = store.prepare("SELECT patient FROM consent_patient").unwrap();
        let rows = patients.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap()
    };
    assert_eq!(named(&restored), ["ben-of-belfast"]);
    assert_eq!(files_with(&restored, "athlone"), Vec::<PathBuf>::new());
    // The snapshot's own copy of the store loses the name with the next backup.
    succeeds(&program(backup));
    assert_eq!(files_with(&to, "athlone"), Vec::<PathBuf>::new());
    std::fs::remove_file(ledger).unwrap();
}
