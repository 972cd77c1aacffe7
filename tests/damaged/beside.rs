//! A long-running process notices what other processes did to the lake.

use tabularium::lake::{Lake, LakeError, Mode};

use super::{Copy, Made, tabularium};
use crate::harness::lake::{add, row};
use crate::harness::records;

fn patients(lake: &Lake) -> u64 {
    let snapshot = lake.snapshot();
    let table = snapshot.table(Mode::Live, records::type_named("Patient")).unwrap();
    table.rows
}

/// A server continued with its open catalog. Its next commit could go into the new catalog, with numbers of the old
/// one.
#[test]
fn a_process_is_told_that_the_catalog_was_replaced() {
    let made = Made::new();
    let lake = made.copy();
    let opened = Lake::open(lake.path()).unwrap();
    drop(opened.writer().unwrap());
    std::fs::remove_file(lake.catalog()).unwrap();
    let done = tabularium(lake.path(), &["check", "--adopt"]);
    assert!(done.status.success());
    assert!(matches!(opened.writer(), Err(LakeError::Replaced(_))));
    let error = opened.refresh().unwrap_err().to_string();
    assert!(error.contains("was replaced"), "{error}");
    let again = Lake::open(lake.path()).unwrap();
    assert_eq!(patients(&again), 2);
    drop(again.writer().unwrap());
}

/// A process that opens the lake to write again checks it, unless no other process has written since.
#[test]
fn a_process_that_writes_again_notices_what_was_done_between() {
    let made = Made::new();
    let lake = made.copy();
    let opened = Lake::open(lake.path()).unwrap();
    let rewrite = || drop(opened.writer().unwrap());
    rewrite();
    made.import(lake.path(), "third");
    rewrite();
    assert_eq!(patients(&opened), 3);
    rewrite();
    // A killed writer leaves its number in the lock file.
    let orphan = lake.path().join("data/live/Patient/0000000000000000.parquet");
    std::fs::write(&orphan, "half a file").unwrap();
    std::fs::write(lake.path().join("lock"), "12345\n").unwrap();
    rewrite();
    assert!(!orphan.exists());
    type Damage = fn(&Copy<'_>);
    let damages: [Damage; 3] = [
        |lake| lake.sql("UPDATE ducklake_data_file SET record_count = record_count + 1 WHERE data_file_id = 0"),
        |lake| std::fs::write(lake.catalog(), &lake.made.older).unwrap(),
        |lake| {
            let whole = std::fs::read(lake.catalog()).unwrap();
            std::fs::write(lake.catalog(), &whole[..whole.len() / 2]).unwrap();
        },
    ];
    for damage in damages {
        let lake = made.copy();
        let opened = Lake::open(lake.path()).unwrap();
        drop(opened.writer().unwrap());
        drop(opened.writer().unwrap());
        damage(&lake);
        assert!(matches!(opened.writer(), Err(LakeError::Mismatch { .. })));
    }
}

/// A process keeps its connection to the catalog open, and reads from it what others commit.
#[test]
fn a_process_that_has_written_sees_later_commits_of_others() {
    let made = Made::new();
    let lake = made.copy();
    let opened = Lake::open(lake.path()).unwrap();
    drop(opened.writer().unwrap());
    for number in 0..3 {
        let input = made.scratch.path().join("one.ndjson");
        let text = format!(r#"{{"resourceType":"Patient","id":"later-{number}"}}"#);
        std::fs::write(&input, text).unwrap();
        let done = tabularium(lake.path(), &["import", &input.display().to_string()]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        opened.refresh().unwrap();
        assert_eq!(patients(&opened), 3 + number);
    }
}

/// A process loses all its locks on the catalog as soon as it closes the file in any way. Older programs with SQLite
/// then take themselves for the only ones, and remove the write-ahead log when they close the catalog.
#[cfg(target_os = "linux")]
#[test]
fn a_writer_keeps_the_locks_of_the_catalog() {
    use std::os::unix::fs::MetadataExt;

    let made = Made::new();
    let lake = made.copy();
    let opened = Lake::open(lake.path()).unwrap();
    let inode = std::fs::metadata(lake.catalog()).unwrap().ino();
    // A line is: 1: POSIX ADVISORY READ process device:device:inode first last
    let has_lock = || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let is_ours = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words[4] == std::process::id().to_string() && words[5].ends_with(&format!(":{inode}"))
        };
        locks.lines().any(is_ours)
    };
    assert!(has_lock());
    let writer = opened.writer().unwrap();
    assert!(has_lock());
    drop(writer);
    assert!(has_lock());
}

/// The digest was computed over all rows when the writer ended, including rows that another process had changed.
#[test]
fn a_row_that_is_changed_while_somebody_writes_is_refused_afterwards() {
    let made = Made::new();
    let lake = made.copy();
    let opened = Lake::open(lake.path()).unwrap();
    let mut writer = opened.writer().unwrap();
    lake.sql("UPDATE tabularium_file_bounds SET owner_max = owner_min");
    let mut transaction = writer.begin();
    add(&mut transaction, &[row(5)]);
    transaction.commit("test", "").unwrap();
    drop(writer);
    drop(opened);
    lake.is_refused("a row changed meanwhile");
}
