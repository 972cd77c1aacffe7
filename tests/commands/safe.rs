//! Mistakes that commands prevent: lakes in unwanted places, erasures, and files in the place of folders.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::{done, failed, folder, run, text};
use crate::harness::command::PROGRAM;

#[test]
fn an_import_of_nothing_leaves_no_lake() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("empty.ndjson"), "").unwrap();
    std::fs::write(path.join("refused.ndjson"), "{\"id\":\"x\"}\n").unwrap();
    std::fs::create_dir(path.join("nothing")).unwrap();
    for input in ["empty.ndjson", "refused.ndjson", "nothing"] {
        let (code, said) = failed(path, &["import", "--data", "new/lake", input]);
        assert_eq!(code, Some(3), "{input}: {said}");
        assert!(said.contains("nothing was stored"), "{input}: {said}");
        assert!(!path.join("new/lake").exists(), "{input}");
    }
    // An existing folder with loaded tables is unchanged.
    std::fs::create_dir_all(path.join("loaded/terminology")).unwrap();
    assert_eq!(
        failed(path, &["import", "--data", "loaded", "refused.ndjson"]).0,
        Some(3)
    );
    let left: Vec<_> = std::fs::read_dir(path.join("loaded"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["terminology"]);
    // An existing lake stays.
    assert_eq!(failed(path, &["import", "--data", "lake", "refused.ndjson"]).0, Some(3));
    assert!(done(path, &["info", "--data", "lake"]).contains("live.Patient"));
}

/// An import of nothing used to remove every new file whose name began as one of a data folder.
#[test]
fn an_import_of_nothing_removes_only_its_own_lake() {
    let folder = folder();
    let path = folder.path();
    std::fs::create_dir_all(path.join("loaded/terminology")).unwrap();
    for data in ["new", "loaded"] {
        let mut import = Command::new(PROGRAM)
            .args(["import", "--data", data, "-"])
            .current_dir(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The lake is there before the input is read.
        let data = path.join(data);
        while !data.join("catalog.sqlite").exists() {
            assert!(import.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
        let theirs = [
            "service.key",
            "service.sqlite",
            "keys.sqlite",
            "catalog.sqlite.kept",
            "catalog.txt",
            "plans/list.txt",
            "audit/2026-01.ndjson",
            "data/notes.txt",
            "data/live/Patient/export.parquet",
            "data.txt",
            "population-2026.csv",
            "spool/j1/x",
        ];
        for name in theirs {
            let name = data.join(name);
            std::fs::create_dir_all(name.parent().unwrap()).unwrap();
            std::fs::write(name, "theirs").unwrap();
        }
        std::os::unix::fs::symlink(path.join("lake/data"), data.join("data/live/Group")).unwrap();
        let lake = crate::harness::lake::files_below(&path.join("lake"));
        drop(import.stdin.take());
        assert_eq!(import.wait().unwrap().code(), Some(3));
        std::fs::remove_file(data.join("data/live/Group")).unwrap();
        let left = crate::harness::lake::files_below(&data);
        assert_eq!(left, theirs.map(|name| data.join(name)).into());
        assert_eq!(crate::harness::lake::files_below(&path.join("lake")), lake);
    }
}

#[test]
fn without_a_usable_key_no_sealed_lake_is_begun() {
    let folder = folder();
    let path = folder.path();
    let wrong = path.join("wrong.key");
    std::fs::write(&wrong, "no key").unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&wrong, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::create_dir(path.join("empty")).unwrap();
    for key in ["missing.key", "wrong.key"] {
        for data in ["new", "empty"] {
            let import = ["import", "--data", data, "--sealed", "--key-file", key, "people.ndjson"];
            let serve = [
                "serve",
                "--data",
                data,
                "--sealed",
                "--key-file",
                key,
                "--listen",
                "127.0.0.1:0",
            ];
            for arguments in [&import[..], &serve] {
                let (code, said) = failed(path, arguments);
                assert!(code == Some(2) && said.contains(key), "{arguments:?}: {said}");
                assert!(!path.join("new").exists(), "{arguments:?}");
                assert_eq!(
                    std::fs::read_dir(path.join("empty")).unwrap().count(),
                    0,
                    "{arguments:?}"
                );
            }
        }
    }
}

#[test]
fn a_patient_is_named_by_id_or_by_reference() {
    let folder = folder();
    let path = folder.path();
    let lake = |arguments: &[&str]| done(path, &[arguments, &["--data", "lake"]].concat());
    for arguments in [
        &["run", "view.json"][..],
        &["show", "Observation"],
        &["fhirpath", "id", "--type", "Observation"],
        &["erase", "--dry-run"],
    ] {
        let of = |patient: &str| lake(&[arguments, &["--patient", patient]].concat());
        assert_eq!(of("Patient/ann"), of("ann"), "{arguments:?}");
        assert_ne!(of("Patient/ann"), of("bob"), "{arguments:?}");
    }
}

#[test]
fn a_folder_of_other_things_becomes_no_lake() {
    let folder = folder();
    let path = folder.path();
    std::fs::create_dir(path.join("documents")).unwrap();
    std::fs::write(path.join("documents/letter.txt"), "Dear").unwrap();
    for arguments in [
        &["import", "--data", "documents", "people.ndjson"][..],
        &["app", "create", "Mine", "--data", "documents"],
        &[
            "demo",
            "--data",
            "documents",
            "--listen",
            "127.0.0.1:0",
            "--sandbox-listen",
            "127.0.0.1:0",
        ],
    ] {
        let (code, said) = failed(path, arguments);
        assert!(
            code == Some(2) && said.contains("holds no lake but other things (letter.txt)"),
            "{arguments:?}: {said}"
        );
    }
    assert_eq!(std::fs::read_dir(path.join("documents")).unwrap().count(), 1);
}

#[test]
fn an_erasure_can_be_tried_out() {
    let folder = folder();
    let path = folder.path();
    let before = done(path, &["info", "--data", "lake"]);
    let told = done(path, &["erase", "--data", "lake", "--patient", "ann", "--dry-run"]);
    assert_eq!(
        told,
        "Observation  2\nPatient      1\ntotal        3\nwould be erased, with all earlier versions; --dry-run erased nothing\n"
    );
    assert_eq!(done(path, &["info", "--data", "lake"]), before);
    let erased = done(path, &["erase", "--data", "lake", "--patient", "ann", "--yes"]);
    assert!(
        erased.starts_with("Observation  2\nPatient      1\ntotal        3\n"),
        "{erased}"
    );
    assert_eq!(
        failed(path, &["erase", "--data", "lake", "--patient", "ann", "--dry-run"]).0,
        Some(2)
    );
}

#[test]
fn several_views_do_not_become_one_file() {
    let folder = folder();
    let path = folder.path();
    std::fs::copy(path.join("view.json"), path.join("other.json")).unwrap();
    let (code, said) = failed(
        path,
        &[
            "run",
            "view.json",
            "other.json",
            "--data",
            "lake",
            "--out",
            "single.csv",
        ],
    );
    assert!(
        code == Some(2) && said.contains("single.csv is the name of a file"),
        "{said}"
    );
    assert!(!path.join("single.csv").exists());
}

#[test]
fn who_is_nobody_is_warned_of() {
    let folder = folder();
    let path = folder.path();
    for arguments in [
        &["run", "view.json", "--patient", "Patient/nobody"][..],
        &["search", "Patient", "--patient", "nobody"],
        &["sql", "SELECT 1", "--patient", "nobody"],
        &["fhirpath", "id", "--type", "Patient", "--patient", "nobody"],
        &["show", "Patient", "--patient", "nobody"],
    ] {
        let output = run(path, &[arguments, &["--data", "lake"]].concat());
        let said = text(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        let warning = "tabularium: warning: there is no Patient \"nobody\" among the live records of \"local\"\n";
        assert_eq!(said, warning, "{arguments:?}");
    }
}

#[test]
fn the_operator_revokes_a_consent() {
    let folder = folder();
    let path = folder.path();
    // A token for a person's imported records belongs to a consent that the operator gave.
    done(path, &["token", "--data", "lake", "--patient", "ann"]);
    let list = || -> serde_json::Value {
        serde_json::from_str(&done(path, &["consents", "--data", "lake", "--json"])).unwrap()
    };
    let id = list()[0]["id"].as_str().unwrap().to_owned();
    let (code, said) = failed(path, &["consents", "revoke", &id, "--data", "lake"]);
    assert!(
        code == Some(2) && said.contains("nothing was revoked: add --yes"),
        "{said}"
    );
    assert_ne!(list()[0]["state"], "REVOKED");
    let told = done(path, &["consents", "revoke", &id[..8], "--data", "lake", "--yes"]);
    assert!(told.starts_with(&format!("revoked {id}; ")), "{told}");
    assert_eq!(list()[0]["state"], "REVOKED");
    let log = done(path, &["audit", "--data", "lake", "--consent", &id, "--json"]);
    assert!(log.contains("operator"), "{log}");
    // Repeating it changes nothing.
    let again = done(path, &["consents", "revoke", &id, "--data", "lake", "--yes", "--json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&again).unwrap(),
        serde_json::json!({"id": id, "authorizations": 0, "already": true, "state": "REVOKED", "erasing": false})
    );
    assert_eq!(
        done(path, &["consents", "revoke", &id, "--data", "lake", "--yes"]),
        format!("{id} was revoked already; nothing was changed\nno records that it brought are left to erase\n")
    );
    assert_eq!(
        failed(path, &["consents", "revoke", "nobody", "--data", "lake", "--yes"]).0,
        Some(2)
    );
}
