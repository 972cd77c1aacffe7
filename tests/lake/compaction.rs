//! Compaction's guarantees: it keeps all rows, in fewer files with disjoint owners. It handles columns added later,
//! removes deleted rows, and does not disturb readers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::{Lake, Mode, TableSnapshot};

use crate::harness::lake::{Fixture, Row, fixture, patient, row, rows, table, with};

fn thorough(target_bytes: u64) -> CompactOptions {
    CompactOptions {
        target_bytes,
        ..CompactOptions::new(Effort::Thorough)
    }
}

fn compact(it: &Fixture, options: &CompactOptions) -> compact::Compacted {
    let (done, unreadable) = compact::run(&mut it.lake.writer().unwrap(), options, |_, _, _| {}).unwrap();
    assert!(unreadable.is_empty(), "{unreadable:?}");
    done
}

fn sorted(table: &TableSnapshot) -> Vec<Row> {
    let mut rows = rows(table).concat();
    rows.sort();
    rows
}

fn delete(it: &Fixture, file: usize, positions: &[u64]) {
    let snapshot = it.lake.snapshot();
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    let id = table(&snapshot).files[file].id;
    transaction
        .delete_rows(Mode::Live, patient(), id, positions.iter().copied())
        .unwrap();
    transaction.commit("test", "").unwrap();
}

#[test]
fn files_of_different_columns_become_one_with_all_of_them() {
    let it = fixture();
    it.commit(&[with(1, r#""gender":"male""#), row(4), row(9)]);
    it.commit(&[
        with(2, r#""name":[{"given":["Ann","Bea"]},{"family":"Low"}]"#),
        with(7, r#""active":true"#),
    ]);
    it.commit(&[with(3, r#""birthDate":"1970-01""#)]);
    delete(&it, 0, &[1]);
    let before = it.lake.snapshot();
    let done = compact(&it, &CompactOptions::new(Effort::Thorough));
    assert_eq!((done.merges, done.files_before, done.files_after), (1, 3, 1));

    let after = it.lake.snapshot();
    let files = rows(table(&after));
    assert_eq!(files.len(), 1);
    assert!(files[0].is_sorted(), "by owner and id");
    assert_eq!(sorted(table(&after)), sorted(table(&before)));
    assert_eq!(table(&after).rows, 5);
    let names: Vec<String> = crate::harness::kind::parquet(&table(&after).files[0].path)
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .skip(11)
        .collect();
    let elements = [
        "active",
        "name",
        "gender",
        "birthDate",
        "birthDate__start",
        "birthDate__end",
    ]
    .map(str::to_owned);
    assert_eq!(names, elements, "in definition order");
    assert_eq!(
        compact(&it, &CompactOptions::new(Effort::Thorough)).merges,
        0,
        "nothing is left to do"
    );
}

#[test]
fn a_reader_keeps_its_snapshot_while_its_files_are_replaced() {
    let it = fixture();
    it.commit(&[row(1), row(5)]);
    it.commit(&[row(3)]);
    let reading = it.lake.snapshot();
    let old: BTreeSet<_> = table(&reading).files.iter().map(|file| file.path.clone()).collect();
    compact(&it, &CompactOptions::new(Effort::Thorough));
    let elsewhere = Lake::open(it.dir.path()).unwrap().snapshot_at(reading.id).unwrap();
    assert_eq!(sorted(table(&elsewhere)).len(), 3);

    it.clock.advance(Duration::from_secs(7200));
    compact(&it, &CompactOptions::new(Effort::Thorough));
    assert_eq!(sorted(table(&reading)).len(), 3, "held here, so still there");
    drop((reading, elsewhere));
    compact(&it, &CompactOptions::new(Effort::Thorough));
    assert!(old.iter().all(|path| !path.exists()));
    assert_eq!(sorted(table(&it.lake.snapshot())).len(), 3);
}

#[test]
fn a_table_whose_rows_are_all_deleted_loses_its_files() {
    let it = fixture();
    it.commit(&[row(1)]);
    it.commit(&[row(2)]);
    delete(&it, 0, &[0]);
    delete(&it, 0, &[0]);
    compact(&it, &CompactOptions::new(Effort::Thorough));
    assert!(table(&it.lake.snapshot()).files.is_empty());
}

/// A file damaged in one of several ways.
fn damaged(whole: &[u8], how: &str) -> Option<Vec<u8>> {
    let mut bytes = whole.to_vec();
    match how {
        "cut off" => bytes.truncate(whole.len() / 2),
        "overwritten" => bytes[4..400].fill(0xff),
        "empty" => bytes.clear(),
        _ => return None,
    }
    Some(bytes)
}

/// A damaged file used to block all merges, and no message named it.
#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_merged() {
    for how in [
        "cut off",
        "overwritten",
        "empty",
        "gone",
        "another's",
        "its delete file",
    ] {
        let it = fixture();
        for owner in 2..6 {
            it.commit(&[row(owner), row(owner + 20), row(owner + 40)]);
        }
        delete(&it, 1, &[2]);
        let snapshot = it.lake.snapshot();
        let before = sorted(table(&snapshot));
        let file = &table(&snapshot).files[1];
        let path = match how {
            "its delete file" => &file.deletes.as_ref().unwrap().path,
            _ => &file.path,
        };
        let whole = std::fs::read(path).unwrap();
        let bad = match how {
            "another's" => {
                let fewer = fixture();
                fewer.commit(&[row(3)]);
                Some(std::fs::read(&table(&fewer.lake.snapshot()).files[0].path).unwrap())
            }
            "its delete file" => damaged(&whole, "cut off"),
            how => damaged(&whole, how),
        };
        match bad {
            Some(bytes) => std::fs::write(path, bytes).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }

        let options = CompactOptions::new(Effort::Thorough);
        let (done, unreadable) = compact::run(&mut it.lake.writer().unwrap(), &options, |_, _, _| {}).unwrap();
        assert_eq!((done.merges, done.files_before, done.files_after), (1, 3, 1), "{how}");
        assert_eq!(unreadable.len(), 1, "{how}");
        assert_eq!(unreadable[0].path, file.path, "{how}");
        let told = unreadable[0].error.to_string();
        assert!(told.contains(path.to_str().unwrap()), "{how}: {told}");
        let after = it.lake.snapshot();
        assert_eq!(table(&after).files.len(), 2, "{how}");
        assert!(table(&after).file(file.id).is_some(), "{how}: it stays");

        // The command names it too, and merges the rest.
        it.commit(&[row(60)]);
        let program = std::process::Command::new(env!("CARGO_BIN_EXE_tabularium"))
            .args(["compact", "--data"])
            .arg(it.dir.path())
            .output()
            .unwrap();
        assert_eq!(program.status.code(), Some(3), "{how}: {program:?}");
        let (out, err) = (
            String::from_utf8_lossy(&program.stdout),
            String::from_utf8_lossy(&program.stderr),
        );
        assert!(out.starts_with("2 files of "), "{how}: {out}");
        assert!(err.contains(file.path.to_str().unwrap()), "{how}: {err}");

        // Once the file is repaired, it is merged like any other, and nothing is lost.
        std::fs::write(path, &whole).unwrap();
        it.lake.refresh().unwrap();
        compact(&it, &options);
        let mut expected = before;
        expected.push(row(60));
        expected.sort();
        assert_eq!(sorted(table(&it.lake.snapshot())), expected, "{how}");
        assert_eq!(table(&it.lake.snapshot()).files.len(), 1, "{how}");
    }
}

/// An element of 2,000 characters that compress to no less than half.
fn noise(seed: i64) -> String {
    let mut state = seed as u64 + 1;
    let mut text = String::new();
    while text.len() < 2_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:08x}", state >> 32));
    }
    format!(r#""implicitRules":"{text}""#)
}

#[test]
fn owners_are_never_split_between_files() {
    let it = fixture();
    for part in 0..6 {
        let mut rows: Vec<Row> = (0..60)
            .map(|at| Row {
                id: format!("x{part}-{at:03}"),
                ..with(at / 6, &noise(part * 60 + at))
            })
            .collect();
        rows.sort();
        it.commit(&rows);
    }
    let before = sorted(table(&it.lake.snapshot()));
    compact(&it, &thorough(150_000));
    let snapshot = it.lake.snapshot();
    let files = &table(&snapshot).files;
    assert!(
        (4..=6).contains(&files.len()),
        "{} files: cut toward the target",
        files.len()
    );
    for pair in files.windows(2) {
        assert!(pair[0].owners.end() < pair[1].owners.start());
    }
    assert_eq!(sorted(table(&snapshot)), before);
    for owner in 0..10 {
        assert_eq!(table(&snapshot).files_of_owner(owner).count(), 1);
    }
}

#[test]
fn a_busy_persons_files_stay_few() {
    let it = fixture();
    for version in 0..40 {
        it.commit(&[Row {
            id: format!("v{version:02}"),
            ..row(1)
        }]);
        if version % 10 == 9 {
            compact(&it, &CompactOptions::new(Effort::Thrifty));
            assert!(table(&it.lake.snapshot()).files_of_owner(1).count() <= 8);
        }
    }
    assert_eq!(table(&it.lake.snapshot()).rows, 40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// After any sequence of commits, deletions and compactions, the rows equal the model's, sorted in each file.
    #[test]
    fn rows_survive_any_order_of_commits_deletions_and_compactions(
        steps in prop::collection::vec((0u8..4, prop::collection::btree_set((0i64..30, 0u8..3), 1..12), any::<u64>()), 1..9),
    ) {
        let it = fixture();
        let mut model: BTreeSet<Row> = BTreeSet::new();
        for (at, (kind, keys, pick)) in steps.into_iter().enumerate() {
            let snapshot = it.lake.snapshot();
            let existing = snapshot.table(Mode::Live, patient()).map(Arc::clone);
            match (kind, existing.filter(|table| !table.files.is_empty())) {
                (2, Some(table)) => {
                    let file = (pick % table.files.len() as u64) as usize;
                    let position = pick % table.files[file].rows;
                    let before: BTreeSet<Row> = rows(&table).concat().into_iter().collect();
                    delete(&it, file, &[position]);
                    let after: BTreeSet<Row> = rows(self::table(&it.lake.snapshot())).concat().into_iter().collect();
                    prop_assert!(before.len() - after.len() <= 1);
                    model = model.intersection(&after).cloned().collect();
                }
                (3, Some(_)) => {
                    let effort = if pick % 2 == 0 { Effort::Thorough } else { Effort::Thrifty };
                    compact(&it, &CompactOptions { effort, target_bytes: 30_000 });
                }
                _ => {
                    let elements = [r#""active":true"#, r#""name":[{"given":["A",null]}]"#, r#""contact":[{"gender":"male"}]"#];
                    let new: Vec<Row> = keys
                        .into_iter()
                        .map(|(owner, element)| Row {
                            id: format!("{at}-{element}"),
                            ..with(owner, elements[usize::from(element)])
                        })
                        .collect();
                    model.extend(new.iter().cloned());
                    it.commit(&new);
                }
            }
            let snapshot = it.lake.snapshot();
            let Some(table) = snapshot.table(Mode::Live, patient()) else { continue };
            let files = rows(table);
            prop_assert!(files.iter().all(|file| file.is_sorted()));
            prop_assert_eq!(files.concat().into_iter().collect::<BTreeSet<Row>>(), model.clone());
            prop_assert_eq!(table.rows, model.len() as u64);
        }
    }
}
