//! A catalog that does not match the files: all writing commands refuse it, and no file is removed. `tabularium check`
//! reports the fault.

mod adopt;
mod beside;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::lake::files_below;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

const FIRST: &str = r#"{"resourceType":"Patient","id":"ann","birthDate":"1970"}
{"resourceType":"Patient","id":"ben","birthDate":"1980"}
{"resourceType":"Observation","id":"o1","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ann"}}
{"resourceType":"Observation","id":"o2","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ben"}}
{"resourceType":"Organization","id":"h","name":"H"}
"#;
const SECOND: &str = r#"{"resourceType":"Patient","id":"ann","birthDate":"1971"}
{"resourceType":"Observation","id":"o3","status":"final","code":{"text":"d"},"subject":{"reference":"Patient/ben"}}
"#;
const THIRD: &str = r#"{"resourceType":"Patient","id":"cid"}"#;

fn tabularium(lake: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data").arg(lake).output().unwrap()
}

/// A lake of two imports, the second with a newer version of a row.
struct Made {
    scratch: tempfile::TempDir,
    /// The catalog after the first import.
    older: Vec<u8>,
}

impl Made {
    fn new() -> Made {
        let scratch = tempfile::tempdir().unwrap();
        let made = Made {
            scratch,
            older: Vec::new(),
        };
        for (name, text) in [("first", FIRST), ("second", SECOND), ("third", THIRD)] {
            std::fs::write(made.input(name), text).unwrap();
        }
        made.import(&made.lake(), "first");
        let older = std::fs::read(made.lake().join("catalog.sqlite")).unwrap();
        made.import(&made.lake(), "second");
        Made { older, ..made }
    }

    fn lake(&self) -> PathBuf {
        self.scratch.path().join("lake")
    }

    fn input(&self, name: &str) -> String {
        self.scratch.path().join(format!("{name}.ndjson")).display().to_string()
    }

    fn import(&self, lake: &Path, name: &str) {
        let done = tabularium(lake, &["import", &self.input(name)]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// A copy of the lake to damage.
    fn copy(&self) -> Copy<'_> {
        let lake = tempfile::tempdir().unwrap();
        for from in files_below(&self.lake()) {
            let to = lake.path().join(from.strip_prefix(self.lake()).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        }
        Copy { made: self, lake }
    }
}

struct Copy<'m> {
    made: &'m Made,
    lake: tempfile::TempDir,
}

impl Copy<'_> {
    fn path(&self) -> &Path {
        self.lake.path()
    }

    fn catalog(&self) -> PathBuf {
        self.path().join("catalog.sqlite")
    }

    fn data(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = files_below(&self.path().join("data")).into_iter();
        files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }

    fn sql(&self, sql: &str) {
        let catalog = rusqlite::Connection::open(self.catalog()).unwrap();
        catalog.execute_batch(sql).unwrap();
    }

    /// Checks that all writing commands are refused, and that all files stay.
    fn is_refused(&self, what: &str) {
        let before = self.data();
        let third = self.made.input("third");
        for command in [
            vec!["import", &third],
            vec!["compact"],
            vec!["erase", "--yes", "--patient", "ann"],
        ] {
            self.refuses(what, &command, &before);
        }
    }

    fn import_is_refused(&self, what: &str) {
        let third = self.made.input("third");
        self.refuses(what, &["import", &third], &self.data());
    }

    fn refuses(&self, what: &str, command: &[&str], before: &BTreeMap<PathBuf, Vec<u8>>) {
        let done = tabularium(self.path(), command);
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{what}: {command:?}: {said}");
        assert!(
            said.contains("tabularium check") && said.contains("--adopt"),
            "{what}: {said}"
        );
        assert!(self.data() == *before, "{what}: {command:?} changed files");
    }

    fn check(&self) -> (Option<i32>, String) {
        let done = tabularium(self.path(), &["check"]);
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(said).unwrap())
    }
}

/// After the catalog was removed, an import ended with exit code 0, and all earlier files were gone.
#[test]
fn without_its_catalog_a_filled_lake_is_refused() {
    let made = Made::new();
    let lake = made.copy();
    std::fs::remove_file(lake.catalog()).unwrap();
    lake.is_refused("absent");
    assert!(!lake.catalog().exists());
    std::fs::write(lake.catalog(), "").unwrap();
    lake.is_refused("empty");
    let (code, said) = lake.check();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("no catalog") && said.contains("is not named"), "{said}");
    let served = tabularium(lake.path(), &["search", "Patient"]);
    assert!(!served.status.success());
}

#[test]
fn a_truncated_catalog_is_refused_wherever_it_ends() {
    let made = Made::new();
    let whole = std::fs::read(made.lake().join("catalog.sqlite")).unwrap();
    assert!(whole.len() > 20 * 4096);
    let lake = made.copy();
    for end in (4096..whole.len()).step_by(4096).chain([1, 100, 1000, whole.len() - 1]) {
        std::fs::write(lake.catalog(), &whole[..end]).unwrap();
        for name in ["catalog.sqlite-wal", "catalog.sqlite-shm"] {
            let _ = std::fs::remove_file(lake.path().join(name));
        }
        lake.import_is_refused(&format!("{end} bytes"));
    }
    let (code, said) = lake.check();
    assert_eq!(code, Some(3), "{said}");
    std::fs::write(lake.catalog(), &whole).unwrap();
    made.import(lake.path(), "third");
}

#[test]
fn an_older_copy_of_the_catalog_is_refused() {
    let made = Made::new();
    let lake = made.copy();
    let newest = std::fs::read(lake.catalog()).unwrap();
    std::fs::write(lake.catalog(), &made.older).unwrap();
    lake.is_refused("older");
    let (code, said) = lake.check();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("older copy"), "{said}");
    std::fs::write(lake.catalog(), newest).unwrap();
    made.import(lake.path(), "third");
}

/// One wrong letter in a path caused the removal of a file with all its rows.
#[test]
fn a_wrong_row_is_refused() {
    let made = Made::new();
    for sql in [
        "UPDATE ducklake_data_file SET path = replace(path, '.parquet', '.parquets') WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET path = '../' || path WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET path = (SELECT path FROM ducklake_data_file WHERE data_file_id = 1) WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET path_is_relative = 0 WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET table_id = 99 WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET begin_snapshot = 9 WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET end_snapshot = 1 WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET record_count = record_count + 1 WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET file_size_bytes = 7 WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET footer_size = 7 WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET row_id_start = 7 WHERE data_file_id = 0",
        "DELETE FROM ducklake_data_file WHERE data_file_id = 0",
        "DELETE FROM ducklake_delete_file",
        "UPDATE ducklake_delete_file SET path = 'x' || path",
        "UPDATE ducklake_delete_file SET data_file_id = 1 - data_file_id",
        "UPDATE ducklake_delete_file SET delete_count = 9",
        "UPDATE ducklake_table SET path = 'Patients/' WHERE table_name = 'Patient'",
        "UPDATE ducklake_table SET table_name = 'Group' WHERE table_name = 'Patient'",
        "UPDATE ducklake_table SET schema_id = 2 WHERE table_name = 'Patient'",
        "DELETE FROM ducklake_table WHERE table_name = 'Patient'",
        "UPDATE ducklake_schema SET path = 'test/' WHERE schema_name = 'live'",
        "UPDATE ducklake_snapshot SET next_file_id = 1",
        "UPDATE ducklake_snapshot SET snapshot_time = '2001-01-01 00:00:00.000000+00'",
        "DELETE FROM ducklake_snapshot WHERE snapshot_id = 2",
        "DELETE FROM ducklake_snapshot",
        "UPDATE ducklake_column SET column_name = 'birthPlace' WHERE column_name = 'birthDate'",
        "UPDATE ducklake_metadata SET value = '0123456789abcdef0123456789abcdef' WHERE key = 'tabularium.owner_key'",
        "UPDATE tabularium_file_bounds SET owner_max = owner_min",
        "DROP TABLE ducklake_data_file",
    ] {
        let lake = made.copy();
        lake.sql(sql);
        lake.is_refused(sql);
        let (code, said) = lake.check();
        assert_eq!(code, Some(3), "{sql}: {said}");
    }
}

/// A lake from before marks existed has only its rows for the check.
#[test]
fn without_a_mark_what_does_not_fit_is_refused_too() {
    let made = Made::new();
    for sql in [
        "UPDATE ducklake_data_file SET path = replace(path, '.parquet', '.parquets') WHERE data_file_id = 0",
        "UPDATE ducklake_data_file SET table_id = 99 WHERE data_file_id = 0",
        "UPDATE ducklake_schema SET path = 'test/' WHERE schema_name = 'live'",
        "DELETE FROM ducklake_data_file WHERE data_file_id = (SELECT data_file_id FROM ducklake_delete_file)",
    ] {
        let lake = made.copy();
        std::fs::remove_file(lake.path().join("catalog.mark")).unwrap();
        lake.sql(sql);
        lake.is_refused(sql);
    }
    let lake = made.copy();
    std::fs::remove_file(lake.path().join("catalog.mark")).unwrap();
    made.import(lake.path(), "third");
    assert!(lake.path().join("catalog.mark").exists());
}

/// A process killed between the commit and the mark leaves a good lake. So does one with an empty mark.
#[test]
fn an_older_mark_refuses_nothing() {
    let made = Made::new();
    let lake = made.copy();
    let mark = lake.path().join("catalog.mark");
    let older = std::fs::read(&mark).unwrap();
    made.import(lake.path(), "third");
    for content in [&older[..], b"", b"{", b"no mark"] {
        std::fs::write(&mark, content).unwrap();
        let orphan = lake.path().join("data/live/Patient/0000000000000000.parquet");
        std::fs::write(&orphan, "half a file").unwrap();
        let done = tabularium(lake.path(), &["import", &made.input("third")]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(!orphan.exists());
        assert_ne!(std::fs::read(&mark).unwrap(), content);
        assert_eq!(lake.check().0, Some(0));
    }
}

#[test]
fn a_check_names_what_is_wrong_and_changes_nothing() {
    let made = Made::new();
    let whole = made.copy();
    let before = files_below(whole.path());
    let (code, said) = whole.check();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("6 files of "), "{said}");
    assert_eq!(files_below(whole.path()), before);
    let of = |lake: &Copy<'_>, table: &str| {
        let files = files_below(&lake.path().join("data/live").join(table));
        let mut files = files
            .into_iter()
            .filter(|file| !file.to_string_lossy().ends_with("-delete.parquet"));
        files.next().unwrap()
    };
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 5] = [
        ("is missing", |path| std::fs::remove_file(path).unwrap()),
        ("are recorded", |path| {
            let content = std::fs::read(path).unwrap();
            std::fs::write(path, &content[..content.len() / 2]).unwrap();
        }),
        ("another footer", |path| {
            let mut content = std::fs::read(path).unwrap();
            let at = content.len() - 8;
            content[at] ^= 1;
            std::fs::write(path, content).unwrap();
        }),
        ("cannot be read", |path| {
            let mut content = std::fs::read(path).unwrap();
            let at = content.len() - 40;
            content[at..at + 30].fill(0xff);
            std::fs::write(path, content).unwrap();
        }),
        ("is not named by the catalog", |path| {
            std::fs::copy(path, path.with_file_name("0.parquet")).unwrap();
        }),
    ];
    for (expected, damage) in damages {
        let lake = made.copy();
        let file = of(&lake, "Observation");
        damage(&file);
        let (code, said) = lake.check();
        assert_eq!(code, Some(3), "{expected}: {said}");
        let line = said.lines().next().unwrap();
        assert!(line.contains("Observation") && line.contains(expected), "{said}");
        assert!(said.contains("1 finding"), "{said}");
    }
    let nothing = tempfile::tempdir().unwrap();
    assert_eq!(tabularium(nothing.path(), &["check"]).status.code(), Some(2));
}

/// A check after a killed writer used to call the lake damaged.
#[test]
fn a_check_tells_leftovers_of_a_killed_writer_from_damage() {
    let made = Made::new();
    let lake = made.copy();
    std::fs::write(lake.path().join("lock"), "12345\n").unwrap();
    let patients = lake.path().join("data/live/Patient");
    std::fs::write(patients.join("00112233445566ff.parquet"), "half a file").unwrap();
    let (code, said) = lake.check();
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("1 files are leftovers of an interrupted writer, and no damage"),
        "{said}"
    );
    // A name that this program does not give is not one of a leftover.
    std::fs::write(patients.join("export.parquet"), "half a file").unwrap();
    let (code, said) = lake.check();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("export.parquet: is not named by the catalog"), "{said}");
}

/// Readers skip data by the catalog's statistics, and DuckDB answers some queries from them alone.
#[test]
fn a_check_holds_statistics_against_the_files() {
    let made = Made::new();
    for (sql, expected) in [
        (
            "UPDATE ducklake_file_column_stats SET null_count = null_count + 1 WHERE column_id = 2",
            "counts of nulls",
        ),
        (
            "UPDATE ducklake_table_stats SET record_count = record_count + 1",
            "its statistics of live.",
        ),
        (
            "UPDATE ducklake_table_column_stats SET max_value = min_value WHERE min_value <> max_value",
            "its statistics of live.",
        ),
    ] {
        let lake = made.copy();
        lake.sql(sql);
        for arguments in [vec!["check"], vec!["check", "--rows"]] {
            let done = tabularium(lake.path(), &arguments);
            let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
            assert_eq!(done.status.code(), Some(3), "{sql}: {said}");
            assert!(said.contains(expected), "{sql}: {said}");
        }
    }
}
