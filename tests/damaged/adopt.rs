//! A new catalog from the data files: all rows are back, except erased ones.

use std::path::{Path, PathBuf};
use std::process::Output;

use arrow::array::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tabularium::lake::{Intent, Lake, Mode, PatientScope};

use super::{Copy, Made, tabularium};
use crate::harness::lake::files_below;

fn succeeds(done: &Output) -> String {
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout.clone()).unwrap()
}

/// The matches of a search, without parts that belong to the answer itself.
fn found(lake: &Path, arguments: &[&str]) -> Vec<serde_json::Value> {
    let text = succeeds(&tabularium(lake, &[&["search"], arguments].concat()));
    let bundle: serde_json::Value = serde_json::from_str(&text).unwrap();
    let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
    let mut found: Vec<serde_json::Value> = entries.into_iter().map(|entry| entry["resource"].clone()).collect();
    found.sort_by_key(|resource| resource["id"].as_str().map(str::to_owned));
    found
}

/// All records, by all searches that depend on owners.
fn all(lake: &Path) -> Vec<Vec<serde_json::Value>> {
    vec![
        found(lake, &["Patient"]),
        found(lake, &["Observation"]),
        found(lake, &["Organization"]),
        found(lake, &["--patient", "ann", "Observation"]),
        found(lake, &["--patient", "ben", "Observation"]),
        found(lake, &["--patient", "ann", "Patient"]),
    ]
}

fn adopt(lake: &Copy<'_>) -> String {
    succeeds(&tabularium(lake.path(), &["check", "--adopt"]))
}

/// Checks that the lake has the same records as before and can be written.
fn is_as(lake: &Copy<'_>, expected: &[Vec<serde_json::Value>]) {
    assert_eq!(all(lake.path()), expected);
    let (code, said) = lake.check();
    assert_eq!(code, Some(0), "{said}");
    for name in ["first", "second"] {
        // Content that exists already is ignored or becomes the next version.
        lake.made.import(lake.path(), name);
    }
    lake.made.import(lake.path(), "third");
    succeeds(&tabularium(lake.path(), &["compact"]));
    assert_eq!(lake.check().0, Some(0));
    let mut patients = found(lake.path(), &["Patient"]);
    patients.retain(|patient| patient["id"] == "cid");
    assert_eq!(patients.len(), 1);
}

fn kept(lake: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(lake).unwrap().map(|entry| entry.unwrap().path());
    let is_kept = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(prefix);
    entries.filter(is_kept).collect()
}

#[test]
fn a_lake_without_a_good_catalog_comes_back_whole() {
    let made = Made::new();
    let expected = all(&made.lake());
    assert_eq!(expected.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 1, 1, 2, 1]);
    let whole = std::fs::read(made.lake().join("catalog.sqlite")).unwrap();
    for content in [&made.older[..], b"", &whole[..whole.len() / 2], &whole[..4096]] {
        let lake = made.copy();
        std::fs::write(lake.catalog(), content).unwrap();
        let said = adopt(&lake);
        assert!(said.contains("6 resources in 5 data files"), "{said}");
        let old = kept(lake.path(), "catalog.sqlite.damaged-");
        let old = old.iter().min_by_key(|path| path.as_os_str().len()).unwrap();
        assert!(std::fs::read(old).unwrap() == content, "the old one is kept");
        is_as(&lake, &expected);
    }
    let lake = made.copy();
    std::fs::remove_file(lake.catalog()).unwrap();
    adopt(&lake);
    is_as(&lake, &expected);
    // A good lake is not changed.
    let lake = made.copy();
    let before = std::fs::read(lake.catalog()).unwrap();
    adopt(&lake);
    assert_eq!(std::fs::read(lake.catalog()).unwrap(), before);
}

#[test]
fn a_lake_with_a_wrong_row_comes_back_whole() {
    let made = Made::new();
    let expected = all(&made.lake());
    for sql in [
        "UPDATE ducklake_data_file SET path = replace(path, '.parquet', '.parquets') WHERE data_file_id = 0",
        "UPDATE ducklake_schema SET path = 'test/' WHERE schema_name = 'live'",
        "UPDATE ducklake_metadata SET value = '0123456789abcdef0123456789abcdef' WHERE key = 'tabularium.owner_key'",
        "DELETE FROM ducklake_data_file",
        "DELETE FROM ducklake_delete_file",
        "DROP TABLE ducklake_snapshot",
    ] {
        let lake = made.copy();
        lake.sql(sql);
        adopt(&lake);
        is_as(&lake, &expected);
    }
}

#[test]
fn merged_files_are_taken_once() {
    let made = Made::new();
    let expected = all(&made.lake());
    let lake = made.copy();
    succeeds(&tabularium(lake.path(), &["compact"]));
    std::fs::remove_file(lake.catalog()).unwrap();
    let said = adopt(&lake);
    assert!(said.contains("6 resources in 3 data files"), "{said}");
    is_as(&lake, &expected);
}

#[test]
fn who_was_erased_does_not_come_back() {
    let made = Made::new();
    let lake = made.copy();
    let before = lake.data();
    let catalog = rusqlite::Connection::open(lake.catalog()).unwrap();
    let sql = "SELECT f.path FROM ducklake_data_file f JOIN ducklake_table t ON t.table_id = f.table_id
               WHERE t.table_name = 'Patient' AND f.begin_snapshot = 1";
    let name: String = catalog.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(catalog);
    succeeds(&tabularium(lake.path(), &["erase", "--yes", "--patient", "ann"]));
    let expected = all(lake.path());
    assert_eq!(expected.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1, 0, 2, 0]);
    std::fs::remove_file(lake.catalog()).unwrap();
    // The erasure was killed before it removed the old files. A rewritten file has the same rows except hers.
    let path = lake.path().join("data/live/Patient").join(name);
    assert!(!path.exists());
    std::fs::write(&path, &before[&path]).unwrap();
    let said = adopt(&lake);
    assert!(said.contains("1 files from before an erasure were removed"), "{said}");
    assert!(!path.exists());
    assert_eq!(all(lake.path()), expected);
    let aside = files_below(&lake.path().join("data/.orphans"));
    assert!(
        aside
            .iter()
            .all(|path| path.to_string_lossy().ends_with("-delete.parquet"))
    );
    assert_eq!(lake.check().0, Some(0));
}

/// An erasure that removes a whole file leaves no new file. If it was killed before the file was removed, the file came
/// back with a new catalog. So did the rows of an erasure that was only recorded.
#[test]
fn an_erasure_under_way_is_carried_out_with_a_new_catalog() {
    let made = Made::new();
    let lake = made.copy();
    let before = lake.data();
    let opened = Lake::open(lake.path()).unwrap();
    let ann = PatientScope {
        patients: vec!["ann".to_owned()],
        owners: opened.owners_of("local", "ann"),
        authorizations: Vec::new(),
    };
    let intent = Intent {
        mode: Mode::Live,
        application: "local".to_owned(),
        patient: ann,
    };
    let mut writer = opened.writer().unwrap();
    writer.record_erasures(std::slice::from_ref(&intent)).unwrap();
    let mark = lake.path().join("catalog.mark");
    let recorded = std::fs::read(&mark).unwrap();
    assert!(recorded.windows(3).any(|text| text == b"ann"), "as if killed now");
    drop(writer);
    succeeds(&tabularium(lake.path(), &["compact"]));
    let expected = all(lake.path());
    assert_eq!(expected.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1, 0, 2, 0]);
    let over = std::fs::read(&mark).unwrap();
    assert!(
        !over.windows(3).any(|text| text == b"ann"),
        "nothing names her when it is over"
    );

    // A kill before the old files are removed leaves this state.
    drop(opened);
    for (path, bytes) in &before {
        std::fs::write(path, bytes).unwrap();
    }
    std::fs::write(&mark, recorded).unwrap();
    std::fs::remove_file(lake.catalog()).unwrap();
    let said = adopt(&lake);
    assert!(said.contains("1 erasures were not over"), "{said}");
    assert_eq!(all(lake.path()), expected);
    succeeds(&tabularium(lake.path(), &["compact"]));
    assert_eq!(all(lake.path()), expected);
    assert_eq!(lake.check().0, Some(0));
    let left = files_below(&lake.path().join("data"));
    assert!(left.iter().all(|path| !holds(path, "Patient/ann")));
    assert!(!std::fs::read(&mark).unwrap().windows(3).any(|text| text == b"ann"));
}

/// Whether a text column of a data file contains a text.
fn holds(path: &Path, text: &str) -> bool {
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let mut batches = reader.map(Result::unwrap);
    batches.any(|batch| {
        let resources = batch.column_by_name("resource").cloned();
        resources.is_some_and(|resources| {
            let resources = resources.as_string::<i32>();
            resources.iter().flatten().any(|resource| resource.contains(text))
        })
    })
}

/// Uncommitted rows became part of the lake, because a healthy catalog was replaced for the sake of their files.
#[test]
fn what_an_interrupted_writer_left_is_not_adopted() {
    let made = Made::new();
    let lake = made.copy();
    let catalog = std::fs::read(lake.catalog()).unwrap();
    let (expected, before) = (all(lake.path()), lake.data());
    let other = made.copy();
    made.import(other.path(), "third");
    let orphan = other.data().into_iter().find(|(path, _)| {
        let here = lake.path().join(path.strip_prefix(other.path()).unwrap());
        !before.contains_key(&here)
    });
    let (path, bytes) = orphan.unwrap();
    let orphan = lake.path().join(path.strip_prefix(other.path()).unwrap());
    std::fs::write(&orphan, bytes).unwrap();
    let done = tabularium(lake.path(), &["check", "--adopt"]);
    assert_eq!(done.status.code(), Some(0));
    assert!(
        String::from_utf8(done.stdout)
            .unwrap()
            .contains("1 files are leftovers of an interrupted writer")
    );
    assert!(std::fs::read(lake.catalog()).unwrap() == catalog);
    assert_eq!(all(lake.path()), expected);
    succeeds(&tabularium(lake.path(), &["compact"]));
    assert!(!orphan.exists());
    assert_eq!((all(lake.path()), lake.check().0), (expected, Some(0)));
}

/// The numbers started again from zero, so a link into an old snapshot pointed to another one.
#[test]
fn a_new_catalog_counts_on() {
    let made = Made::new();
    let lake = made.copy();
    succeeds(&tabularium(lake.path(), &["erase", "--yes", "--patient", "ann"]));
    let of = |lake: &Copy<'_>| {
        let lake = Lake::open(lake.path()).unwrap();
        (lake.snapshot().id, lake.snapshot().erasures())
    };
    let (snapshot, erasures) = of(&lake);
    let older = std::fs::read(lake.catalog()).unwrap();
    std::fs::remove_file(lake.catalog()).unwrap();
    adopt(&lake);
    let now = of(&lake);
    assert!(now.0 > snapshot && now.1 >= erasures, "{now:?}");
    let opened = Lake::open(lake.path()).unwrap();
    assert!((0..=snapshot).all(|gone| opened.snapshot_at(gone).is_err()));
    drop(opened);
    // The new catalog sees a copy of the previous one as older.
    let new = std::fs::read(lake.catalog()).unwrap();
    std::fs::write(lake.catalog(), older).unwrap();
    lake.is_refused("the catalog before");
    std::fs::write(lake.catalog(), new).unwrap();
    made.import(lake.path(), "third");
}

#[test]
fn what_cannot_be_read_is_kept() {
    let made = Made::new();
    let lake = made.copy();
    std::fs::remove_file(lake.catalog()).unwrap();
    let file = files_below(&lake.path().join("data/live/Organization"));
    let file = file.first().unwrap();
    let half = std::fs::read(file).unwrap();
    let half = &half[..half.len() / 2];
    std::fs::write(file, half).unwrap();
    let done = tabularium(lake.path(), &["check", "--adopt"]);
    assert_eq!(done.status.code(), Some(3));
    let folder = kept(lake.path(), "data.damaged-").remove(0);
    let files = files_below(&folder);
    assert_eq!(std::fs::read(files.first().unwrap()).unwrap(), half);
    assert_eq!(lake.check().0, Some(0));
    let after = all(lake.path());
    assert_eq!(after.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 0, 1, 2, 1]);
    // The kept file may contain her rows too, and the erasure says so.
    let erase = || tabularium(lake.path(), &["erase", "--yes", "--patient", "ann"]);
    let done = erase();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("data.damaged-"), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
    let done = erase();
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    // The last line is the receipt of the first erasure.
    assert_eq!(said.lines().last().unwrap().split('.').count(), 3, "{said}");
    assert_eq!(erase().status.code(), Some(2), "there is nothing left");
}

/// A file with a changed byte may still decode. It was accepted, and its wrong row decided about rows of other files.
#[test]
fn what_differs_from_its_checksum_is_kept() {
    let made = Made::new();
    let lake = made.copy();
    std::fs::remove_file(lake.catalog()).unwrap();
    let file = files_below(&lake.path().join("data/live/Organization"));
    let file = file.first().unwrap();
    let metadata = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(file).unwrap()).unwrap();
    let columns = metadata.metadata().row_group(0).columns();
    let digest = columns.iter().find(|column| column.column_path().string() == "digest");
    let (start, length) = digest.unwrap().byte_range();
    let mut content = std::fs::read(file).unwrap();
    content[(start + length - 1) as usize] ^= 1;
    std::fs::write(file, &content).unwrap();
    assert!(holds(file, "Organization"), "it can be decoded");
    let done = tabularium(lake.path(), &["check", "--adopt"]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("differs from its checksum"), "{said}");
    let folder = kept(lake.path(), "data.damaged-").remove(0);
    let kept = files_below(&folder);
    assert!(std::fs::read(kept.first().unwrap()).unwrap() == content);
}

/// Without the key nobody's rows could be found again, so no catalog is created.
#[test]
fn without_its_owner_key_a_lake_is_not_adopted() {
    let made = Made::new();
    let lake = made.copy();
    std::fs::remove_file(lake.catalog()).unwrap();
    let mark = std::fs::read(lake.path().join("catalog.mark")).unwrap();
    std::fs::remove_file(lake.path().join("catalog.mark")).unwrap();
    let before = lake.data();
    let done = tabularium(lake.path(), &["check", "--adopt"]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("owner key is lost"), "{said}");
    assert!(lake.data() == before && !lake.catalog().exists());
    std::fs::write(lake.path().join("catalog.mark"), mark).unwrap();
    adopt(&lake);
}
