//! Memory for reading is bounded by the current data, not by the number of changes. Data about replaced files and
//! snapshots is dropped when newer ones come.

use std::sync::Arc;

use serde_json::json;
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::scan::{MemoryLimits, MemoryUse};
use tabularium::lake::{Lake, LakeOptions, Mode, Person, Snapshot};

use super::leaves;
use crate::harness::records::{Record, application, commit, commit_deleting, lake, patient, type_named};

const PEOPLE: [&str; 3] = ["ann", "bob", "cem"];

fn observation(id: &str, patient: &str) -> Record {
    Record::new(json!({
        "resourceType": "Observation", "id": id, "status": "final", "code": {"text": "weight"},
        "subject": {"reference": format!("Patient/{patient}")},
        "performer": [{"reference": "Practitioner/doc"}],
    }))
    .refs(&["Practitioner/doc"])
}

/// Reads the data in each way that fills a cache.
fn look(lake: &Lake, snapshot: &Arc<Snapshot>, id: &str) {
    let all = lake.table(snapshot, type_named("Observation"), &application("local"));
    assert!(all.read(id).unwrap().is_some());
    assert!(all.read("absent").unwrap().is_none());
    for person in PEOPLE {
        let owner = Person::Owner(lake.owner_of("local", person));
        for column in ["status", "code.text"] {
            all.person_batch(owner, &leaves(&[column])).unwrap();
        }
        let scope = patient(lake, "local", person);
        let own = lake.table(snapshot, type_named("Observation"), &scope);
        own.person_batch(Person::OfScope, &leaves(&["status"])).unwrap();
        let doctors = lake.table(snapshot, type_named("Practitioner"), &scope);
        doctors.person_batch(Person::OfScope, &leaves(&["id"])).unwrap();
    }
}

/// Compacts as a server's upkeep does, expires snapshots, and releases caches.
fn tidy(lake: &Lake) {
    let mut writer = lake.writer().unwrap();
    compact::run(&mut writer, &CompactOptions::new(Effort::Thrifty), |_, _, _| {}).unwrap();
    writer.expire().unwrap();
    drop(writer);
    lake.release();
}

fn files(lake: &Lake) -> usize {
    lake.snapshot().tables.values().map(|table| table.files.len()).sum()
}

/// Imports this many times. Reads follow each import, and upkeep some of them.
fn imports(lake: &Lake, count: usize) -> MemoryUse {
    commit(
        lake,
        &[Record::new(json!({"resourceType": "Practitioner", "id": "doc"}))],
    );
    for n in 0..count {
        let (id, person) = (format!("o-{n}"), PEOPLE[n % 3]);
        let snapshot = commit(lake, &[observation(&id, person).of(lake, person)]);
        look(lake, &snapshot, &id);
        drop(snapshot);
        if n % 20 == 19 {
            tidy(lake);
        }
    }
    tidy(lake);
    lake.memory()
}

/// With imports and searches, a server kept footers, columns and positions of every searched snapshot. That was 1.7 MB
/// per import, until the cache was full.
#[test]
fn two_hundred_imports_with_searches_keep_no_more_than_the_newest_files_have() {
    let (_dir, lake) = lake();
    let kept = imports(&lake, 200);
    let files = files(&lake);
    assert!(files < 40, "{files} files");
    assert!(
        kept.files <= files && kept.handles <= files,
        "{kept:?} of {files} files"
    );
    // Three people in up to two tables, each read by an application and by their own token.
    assert!(kept.people <= 9, "{kept:?}");
    assert!(kept.shared <= 3 && kept.rows <= 201 && kept.deletes == 0, "{kept:?}");
    assert!(kept.bytes < 8 << 20 && kept.bytes < kept.limit, "{kept:?}");
    // The caches are useful: repeated reads find their data there.
    let snapshot = lake.snapshot();
    look(&lake, &snapshot, "o-199");
    let before = lake.memory();
    look(&lake, &snapshot, "o-199");
    assert_eq!(lake.memory(), before);
    assert!(before.files > 0 && before.people > 0, "{before:?}");
}

#[test]
fn what_replaced_files_had_goes_when_nobody_holds_a_snapshot_of_them() {
    let (_dir, lake) = lake();
    let ids: Vec<String> = (0..20).map(|n| format!("o-{n}")).collect();
    for id in &ids {
        commit(&lake, &[observation(id, "ann").of(&lake, "ann")]);
    }
    let old = lake.snapshot();
    look(&lake, &old, "o-3");
    let before = lake.memory();
    assert_eq!(before.files, 20);
    tidy(&lake);
    // The reads continue.
    assert!(files(&lake) < 20);
    assert_eq!(lake.memory().files, before.files);
    look(&lake, &old, "o-3");
    drop(old);
    lake.release();
    let kept = lake.memory();
    assert!(
        kept.files <= files(&lake) && kept.bytes < before.bytes / 2,
        "{kept:?} after {before:?}"
    );
    assert_eq!(kept.rows, 0, "{kept:?}");
    look(&lake, &lake.snapshot(), "o-3");
}

#[test]
fn deleted_positions_and_peoples_rows_go_with_the_deletions_that_newer_ones_replaced() {
    let (_dir, lake) = lake();
    let rows: Vec<Record> = (0..8)
        .map(|n| observation(&format!("o-{n}"), "ann").of(&lake, "ann"))
        .collect();
    commit(&lake, &rows);
    let file = lake
        .snapshot()
        .table(Mode::Live, type_named("Observation"))
        .unwrap()
        .files[0]
        .id;
    for row in 0..4 {
        let snapshot = commit_deleting(&lake, &[], &[(type_named("Observation"), file, row)]);
        look(&lake, &snapshot, "o-7");
    }
    assert_eq!(lake.memory().deletes, 4);
    let mut writer = lake.writer().unwrap();
    writer.expire().unwrap();
    drop(writer);
    lake.release();
    let kept = lake.memory();
    assert_eq!((kept.deletes, kept.files), (1, 1), "{kept:?}");
    let table = lake.table(&lake.snapshot(), type_named("Observation"), &application("local"));
    assert_eq!(super::ids(&table), ["o-4", "o-5", "o-6", "o-7"]);
}

#[test]
fn everything_shares_one_budget() {
    let dir = tempfile::tempdir().unwrap();
    let memory = MemoryLimits {
        bytes: 1 << 20,
        ..MemoryLimits::default()
    };
    let options = LakeOptions {
        memory,
        ..crate::harness::kind::options()
    };
    let lake = Lake::create_with(dir.path(), options).unwrap();
    for n in 0..60 {
        let (id, person) = (format!("o-{n}"), PEOPLE[n % 3]);
        let snapshot = commit(&lake, &[observation(&id, person).of(&lake, person)]);
        look(&lake, &snapshot, &id);
        let kept = lake.memory();
        assert!(kept.bytes <= kept.limit && kept.limit <= 1 << 20, "{kept:?}");
    }
    let kept = lake.memory();
    // The sixty files do not all fit.
    assert!((1..60).contains(&kept.files), "{kept:?}");
}
