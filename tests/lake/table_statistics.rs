//! The catalog's statistics of whole tables. DuckDB answers `min` and `max` from them if it takes them for exact.

use std::path::Path;

use rusqlite::Connection;
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::{Lake, Mode, PatientScope};

use crate::harness::lake::{Fixture, Row, fixture, patient, row, rows, table};

/// A row of a later version.
fn changed(owner: i64, version: i64) -> Row {
    Row { version, ..row(owner) }
}

/// `record_count` and the bounds of `owner` and `version`.
type Statistics = (u64, [Option<(i64, i64)>; 2]);

fn statistics(folder: &Path) -> Statistics {
    let catalog = Connection::open(folder.join("catalog.sqlite")).unwrap();
    let count = "SELECT record_count FROM ducklake_table_stats";
    let bounds = |column: &str| {
        let bounds = "SELECT min_value, max_value FROM ducklake_table_column_stats s JOIN ducklake_column c
             ON c.table_id = s.table_id AND c.column_id = s.column_id WHERE c.column_name = ?";
        let texts: (Option<String>, Option<String>) = catalog
            .query_row(bounds, [column], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        let number = |text: String| text.parse().unwrap();
        texts.0.map(number).zip(texts.1.map(number))
    };
    let count = catalog.query_row(count, [], |row| row.get(0)).unwrap();
    (count, [bounds("owner"), bounds("version")])
}

/// Like DuckDB's writer, the catalog counts the rows of all live files, including deleted ones. If there are no deleted
/// rows, the bounds must be exact.
fn check(it: &Fixture, step: &str) {
    let snapshot = it.lake.snapshot();
    let (table, (count, bounds)) = (table(&snapshot), statistics(it.dir.path()));
    assert_eq!(count, table.files.iter().map(|file| file.rows).sum::<u64>(), "{step}");
    let rows = rows(table).concat();
    let range = |of: fn(&Row) -> i64| Some((rows.iter().map(of).min()?, rows.iter().map(of).max()?));
    let exact = [range(|row| row.owner), range(|row| row.version)];
    if count == rows.len() as u64 {
        assert_eq!(bounds, exact, "{step}");
    }
    for (bounds, exact) in bounds.iter().zip(exact) {
        if let Some((min, max)) = exact {
            let (least, greatest) = bounds.unwrap();
            assert!(least <= min && max <= greatest, "{step}");
        }
    }
}

fn replace(it: &Fixture, file: usize, positions: &[u64], new: &[Row]) {
    let snapshot = it.lake.snapshot();
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    let id = table(&snapshot).files[file].id;
    let positions = positions.iter().copied();
    transaction.delete_rows(Mode::Live, patient(), id, positions).unwrap();
    crate::harness::lake::add(&mut transaction, new);
    transaction.commit("test", "").unwrap();
}

/// Three Patients were imported and then changed. DuckDB returned 1 as the lowest version, although all rows had
/// version 2.
#[test]
fn bounds_are_those_of_the_rows_where_all_rows_count() {
    let it = fixture();
    it.commit(&[row(2), row(3), row(4)]);
    check(&it, "an import");
    replace(&it, 0, &[0, 1, 2], &[changed(2, 2), changed(3, 2), changed(4, 2)]);
    check(&it, "a changed import");
    assert_eq!(statistics(it.dir.path()), (3, [Some((2, 4)), Some((2, 2))]));

    // One of three rows is left in the first file, so the bounds are not exact any more.
    replace(&it, 0, &[0, 2], &[changed(2, 3), changed(4, 3), changed(9, 7)]);
    check(&it, "another");
    assert_eq!(statistics(it.dir.path()).0, 6);
    let compact = || {
        let options = CompactOptions::new(Effort::Thorough);
        compact::run(&mut it.lake.writer().unwrap(), &options, |_, _, _| {}).unwrap();
    };
    compact();
    check(&it, "a compaction");
    assert_eq!(statistics(it.dir.path()), (4, [Some((2, 9)), Some((2, 7))]));

    let erase = |owner: i64| {
        let patient = PatientScope {
            patients: vec![format!("p{owner:06}")],
            owners: vec![owner],
            authorizations: Vec::new(),
        };
        it.lake.writer().unwrap().erase(Mode::Live, "local", &patient).unwrap();
        it.lake.refresh().unwrap();
    };
    erase(9);
    check(&it, "an erasure");
    assert_eq!(statistics(it.dir.path()).0, 4, "a blank row is left");
    compact();
    check(&it, "a compaction after it");
    assert_eq!(statistics(it.dir.path()), (3, [Some((2, 4)), Some((2, 3))]));
    for owner in 2..5 {
        erase(owner);
    }
    check(&it, "the erasure of everybody");
    assert_eq!(statistics(it.dir.path()), (0, [None, None]));
    it.commit(&[changed(5, 5)]);
    check(&it, "a new beginning");
}

#[test]
fn opening_to_write_puts_right_what_an_earlier_program_wrote() {
    let it = fixture();
    it.commit(&[row(2), row(3), row(4)]);
    replace(&it, 0, &[0, 1], &[changed(2, 2), changed(3, 2)]);
    let right = statistics(it.dir.path());
    let catalog = Connection::open(it.dir.path().join("catalog.sqlite")).unwrap();
    let earlier =
        "UPDATE ducklake_table_stats SET record_count = 3; UPDATE ducklake_table_column_stats SET min_value = '-7'
                   WHERE min_value IS NOT NULL";
    catalog.execute_batch(earlier).unwrap();
    drop(catalog);
    assert_ne!(statistics(it.dir.path()), right);
    let lake = Lake::open(it.dir.path()).unwrap();
    let before = lake.info().unwrap();
    drop(lake.writer().unwrap());
    assert_eq!(statistics(it.dir.path()), right);
    let after = lake.info().unwrap();
    assert_eq!((after.snapshot, after.rows), (before.snapshot, 3));
    check(&it, "opened");
}
