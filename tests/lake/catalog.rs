//! The catalog's guarantees: a commit is visible completely or not at all; older snapshots stay readable for an hour;
//! there is one writer at a time; a crashed writer's files are moved aside.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tabularium::ingest::{Options, Session};
use tabularium::lake::clock::ManualClock;
use tabularium::lake::{Lake, LakeError, LakeOptions, Mode};

use crate::harness::kind;
use crate::harness::lake::{Fixture, add, files_below, files_in_place, fixture, patient, row, table, with, write};

const HOUR: Duration = Duration::from_secs(3600);

impl Fixture {
    fn files_on_disk(&self) -> BTreeSet<PathBuf> {
        files_in_place(&self.lake.folder().data())
    }
}

#[test]
fn a_commit_shows_and_a_dropped_transaction_leaves_nothing() {
    let it = fixture();
    let empty = it.lake.snapshot();
    assert_eq!((empty.id, empty.tables.len()), (0, 0));
    {
        let mut writer = it.lake.writer().unwrap();
        let mut transaction = writer.begin();
        add(&mut transaction, &[row(5)]);
        assert_eq!(it.files_on_disk().len(), 1);
        drop(transaction);
    }
    assert_eq!(it.files_on_disk().len(), 0);
    assert_eq!(it.lake.refresh().unwrap().id, 0);

    let snapshot = it.commit(&[row(5), row(9)]);
    assert_eq!(it.lake.snapshot().id, snapshot.id);
    let file = &table(&snapshot).files[0];
    assert_eq!(
        (file.rows, file.owners.clone(), file.versions.clone()),
        (2, 5..=9, 1..=1)
    );
    assert_eq!(file.last_updated, snapshot.time..=snapshot.time);
    assert_eq!(file.bytes, std::fs::metadata(&file.path).unwrap().len());
    assert_eq!(empty.tables.len(), 0, "a snapshot never changes");
}

#[test]
fn a_transaction_without_changes_makes_no_snapshot() {
    let it = fixture();
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    transaction.new_file_path(Mode::Live, patient()).unwrap();
    assert!(transaction.is_empty());
    assert_eq!(transaction.commit("test", "").unwrap().id, 0);
}

#[test]
fn another_process_sees_the_same_snapshot_whole_or_in_steps() {
    let it = fixture();
    let stepwise = Lake::open(it.dir.path()).unwrap();
    it.commit(&[row(1)]);
    let first = stepwise.refresh().unwrap();
    it.commit(&[with(2, r#""name":[{"given":["Ann"]}]"#), row(3)]);
    let newest = it.lake.snapshot();
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    transaction
        .delete_rows(Mode::Live, patient(), table(&newest).files[1].id, [0])
        .unwrap();
    transaction.commit("test", "").unwrap();

    let seen = stepwise.refresh().unwrap();
    let whole = Lake::open(it.dir.path()).unwrap().snapshot();
    let own = it.lake.snapshot();
    for snapshot in [&seen, &own] {
        assert_eq!(snapshot.id, 3);
        assert_eq!(table(snapshot).files, table(&whole).files);
        assert_eq!(table(snapshot).layout.schema(), table(&whole).layout.schema());
        assert_eq!(
            (table(snapshot).rows, table(snapshot).bytes),
            (table(&whole).rows, table(&whole).bytes)
        );
    }
    assert!(
        Arc::ptr_eq(&table(&seen).files[0], &table(&first).files[0]),
        "what did not change is shared"
    );
    assert!(Arc::ptr_eq(&seen, &stepwise.refresh().unwrap()));
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let it = fixture();
    let held = it.lake.writer().unwrap();
    let other = Lake::open(it.dir.path()).unwrap();
    match other.writer() {
        Err(LakeError::Busy { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
    drop(held);
    other.writer().unwrap();
}

#[test]
fn a_missing_lake_is_said_to_be_missing() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Lake::open(dir.path()), Err(LakeError::Missing(_))));
    assert!(
        std::fs::read_dir(dir.path()).unwrap().next().is_none(),
        "looking leaves no trace"
    );
    Lake::open_or_create(dir.path().join("new")).unwrap();
    Lake::open(dir.path().join("new")).unwrap();
}

#[test]
fn files_of_an_interrupted_writer_are_moved_aside_by_the_next_and_removed_after_a_day() {
    let it = fixture();
    it.commit(&[row(1)]);
    let kept = it.files_on_disk();
    let orphan = it.lake.folder().data().join("live/Patient/0123012301230123.parquet");
    std::fs::write(&orphan, "half a file").unwrap();
    std::fs::create_dir_all(it.lake.folder().data().join("test/Group")).unwrap();
    let second = it
        .lake
        .folder()
        .data()
        .join("test/Group/00112233445566778899aabbccddeeff.attachment");
    std::fs::write(second, "").unwrap();
    drop(it.lake.writer().unwrap());
    assert_eq!(it.files_on_disk(), kept);
    let aside = || files_below(&it.lake.folder().data().join(".orphans"));
    let contents: Vec<String> = aside()
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(contents, ["half a file", ""]);
    it.clock.advance(24 * HOUR);
    drop(it.lake.writer().unwrap());
    assert_eq!(aside().len(), 2);
    it.clock.advance(HOUR);
    drop(it.lake.writer().unwrap());
    assert_eq!((aside().len(), it.files_on_disk()), (0, kept));
}

/// After the clock went back, `snapshot_time` still increased, but `last_updated` did not. Clients that asked for newer
/// records missed some.
#[test]
fn times_rise_though_the_clock_stands_or_goes_back() {
    let it = fixture();
    let text = |id: &str| format!(r#"{{"resourceType":"Patient","id":"{id}"}}"#);
    let import = |lake: &Lake, id: &str| {
        let mut writer = lake.writer().unwrap();
        let mut session = Session::begin(&mut writer, Options::default()).unwrap();
        session.add_document(text(id).as_bytes()).unwrap();
        session.finish().unwrap();
    };
    import(&it.lake, "a");
    import(&it.lake, "b");
    let options = LakeOptions {
        clock: Arc::new(ManualClock::at(1_600_000_000_000_000)),
        ..LakeOptions::default()
    };
    let earlier = Lake::open_with(it.dir.path(), options).unwrap();
    import(&earlier, "c");
    it.lake.refresh().unwrap();
    import(&it.lake, "d");
    let snapshot = it.lake.snapshot();
    let rows = it
        .lake
        .table(&snapshot, patient(), &crate::harness::records::application("local"));
    let updated = ["a", "b", "c", "d"].map(|id| {
        let row = rows.read(id).unwrap().unwrap();
        let resource: serde_json::Value = serde_json::from_slice(&row.resource).unwrap();
        let said = resource["meta"]["lastUpdated"].as_str().unwrap();
        let said = chrono::DateTime::parse_from_rfc3339(said).unwrap();
        assert_eq!(said.timestamp_micros(), row.last_updated, "{id}");
        row.last_updated
    });
    assert!(updated.is_sorted_by(|one, next| one < next), "{updated:?}");
    assert_eq!(updated[3], snapshot.time);
}

#[test]
fn deletions_add_up_and_a_file_without_rows_ends() {
    let it = fixture();
    let snapshot = it.commit(&[row(1), row(2), row(3)]);
    let id = table(&snapshot).files[0].id;
    let delete = |positions: &[u64]| {
        let mut writer = it.lake.writer().unwrap();
        let mut transaction = writer.begin();
        transaction
            .delete_rows(Mode::Live, patient(), id, positions.iter().copied())
            .unwrap();
        transaction.commit("test", "").unwrap()
    };
    let one = delete(&[2]);
    assert_eq!(table(&one).rows, 2);
    let two = delete(&[0, 2]);
    let file = &table(&two).files[0];
    let live = file.deletes.as_ref().unwrap();
    assert_eq!(kind::deleted(&live.path), [0, 2]);
    assert_eq!((live.count, table(&two).rows, file.live_rows()), (2, 1, 1));
    assert_eq!(delete(&[2]).id, 4);
    let none = delete(&[1]);
    assert!(table(&none).files.is_empty());
    assert_eq!((table(&none).rows, table(&none).bytes), (0, 0));
    // The earlier snapshot still reads its own delete file.
    assert_eq!(kind::deleted(&table(&one).files[0].deletes.as_ref().unwrap().path), [2]);
}

#[test]
fn deleting_what_is_not_there_is_refused() {
    let it = fixture();
    let snapshot = it.commit(&[row(1)]);
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    let id = table(&snapshot).files[0].id;
    assert!(matches!(
        transaction.delete_rows(Mode::Live, patient(), id, [1]),
        Err(LakeError::Unknown(_))
    ));
    assert!(matches!(
        transaction.delete_rows(Mode::Live, patient(), id + 7, [0]),
        Err(LakeError::Unknown(_))
    ));
    assert!(matches!(
        transaction.replace_files(Mode::Test, patient(), [id], []),
        Err(LakeError::Unknown(_))
    ));
}

#[test]
fn an_older_snapshot_is_readable_for_its_hour_and_its_files_go_afterwards() {
    let it = fixture();
    let first = it.commit(&[row(1)]);
    let (old_file, snapshot) = (table(&first).files[0].clone(), first.id);
    drop(first);
    it.clock.advance(HOUR);
    {
        let mut writer = it.lake.writer().unwrap();
        let mut transaction = writer.begin();
        let new = write(&mut transaction, &[row(1)]);
        transaction
            .replace_files(Mode::Live, patient(), [old_file.id], [new])
            .unwrap();
        transaction.commit("test", "").unwrap();
    }
    // It was the newest snapshot until now, so a page link to it may be new.
    it.clock.advance(HOUR);
    assert_eq!(it.lake.writer().unwrap().expire().unwrap().files, 0);
    let fresh = Lake::open(it.dir.path()).unwrap();
    let again = fresh.snapshot_at(snapshot).unwrap();
    assert_eq!(table(&again).files, std::slice::from_ref(&old_file));
    assert!(Arc::ptr_eq(&again, &fresh.snapshot_at(snapshot).unwrap()));

    it.clock.advance(Duration::from_secs(61));
    let held = it.lake.snapshot_at(snapshot).unwrap();
    assert_eq!(
        it.lake.writer().unwrap().expire().unwrap().files,
        0,
        "this process still reads it"
    );
    drop(held);
    let expired = it.lake.writer().unwrap().expire().unwrap();
    assert_eq!((expired.files, expired.snapshots), (1, 1));
    assert!(!old_file.path.exists());
    assert_eq!(it.files_on_disk().len(), 1);
    assert!(matches!(
        Lake::open(it.dir.path()).unwrap().snapshot_at(snapshot),
        Err(LakeError::SnapshotGone(_))
    ));
    assert!(matches!(it.lake.snapshot_at(99), Err(LakeError::SnapshotGone(99))));
}

#[test]
fn a_reader_that_slept_past_the_expiry_catches_up() {
    let it = fixture();
    let sleeper = Lake::open(it.dir.path()).unwrap();
    let snapshot = it.commit(&[row(1)]);
    sleeper.refresh().unwrap();
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    let new = write(&mut transaction, &[row(1)]);
    transaction
        .replace_files(Mode::Live, patient(), [table(&snapshot).files[0].id], [new])
        .unwrap();
    drop(snapshot);
    transaction.commit("test", "").unwrap();
    it.clock.advance(2 * HOUR);
    assert_eq!(writer.expire().unwrap().files, 1);
    let seen = sleeper.refresh().unwrap();
    assert_eq!(table(&seen).files, table(&it.lake.snapshot()).files);
}

#[test]
fn columns_keep_their_ids_across_commits_and_processes() {
    let it = fixture();
    let first = it.commit(&[row(1)]);
    let given = with(2, r#""name":[{"given":["Ann", "Bea"]}]"#);
    let second = Lake::open(it.dir.path()).unwrap();
    {
        let mut writer = second.writer().unwrap();
        let mut transaction = writer.begin();
        add(&mut transaction, &[given]);
        transaction.commit("test", "").unwrap();
    }
    let before = table(&first).layout.clone();
    let after = table(&second.snapshot()).layout.clone();
    assert!(after.len() > before.len());
    for field in before.schema().fields() {
        assert_eq!(after.column_id(field.name()), before.column_id(field.name()));
    }
    let reopened = Lake::open(it.dir.path()).unwrap().snapshot();
    assert_eq!(table(&reopened).layout.schema(), after.schema());
}

#[test]
fn a_commit_on_a_catalog_that_moved_is_refused_whole() {
    let it = fixture();
    it.commit(&[row(1)]);
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    add(&mut transaction, &[row(2)]);
    let catalog = rusqlite::Connection::open(it.lake.folder().catalog()).unwrap();
    catalog
        .execute_batch(
            "INSERT INTO ducklake_snapshot SELECT 2, snapshot_time, schema_version, next_catalog_id, next_file_id
             FROM ducklake_snapshot WHERE snapshot_id = 1",
        )
        .unwrap();
    let refused = transaction.commit("test", "").unwrap_err();
    assert!(matches!(refused, LakeError::Conflict { expected: 1, found: 2 }) && refused.retryable());
    assert_eq!(it.lake.snapshot().id, 2);
    assert_eq!(table(&it.lake.snapshot()).rows, 1);
    let mut transaction = writer.begin();
    add(&mut transaction, &[row(2)]);
    assert_eq!(table(&transaction.commit("test", "").unwrap()).rows, 2);
    drop(writer);
    drop(it.lake.writer().unwrap());
    assert_eq!(it.files_on_disk().len(), 2, "the refused commit's file is gone by now");
}

#[test]
fn a_newer_format_is_refused() {
    let it = fixture();
    let catalog = rusqlite::Connection::open(it.lake.folder().catalog()).unwrap();
    catalog
        .execute(
            "UPDATE ducklake_metadata SET value = '9' WHERE key = 'tabularium_layout_version'",
            [],
        )
        .unwrap();
    assert!(matches!(Lake::open(it.dir.path()), Err(LakeError::Version { .. })));
    assert!(matches!(it.lake.writer(), Err(LakeError::Version { .. })));
}
