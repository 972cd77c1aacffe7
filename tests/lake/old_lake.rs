//! A lake with a catalog of an earlier version is refused by name. Data files of the first version can be opened,
//! searched, written and compacted.
//!
//! `fixtures/lake-v1` was created by importing its `first.ndjson` and then its `second.ndjson` into an empty folder. It
//! is never regenerated. A change that cannot read its data files changes their format, so it must raise
//! `LAYOUT_VERSION`.

use std::path::{Path, PathBuf};
use std::process::Command;

use tabularium::columns::layout::{CATALOG_VERSION, LAYOUT_VERSION};
use tabularium::lake::file::verify;
use tabularium::lake::{Lake, Mode};

use crate::harness::lake::{files_below, patient, resources};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lake-v1");

/// A copy that may be written. The fixture's paths are relative, so it can be anywhere.
fn copy() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for from in files_below(Path::new(FIXTURE)) {
        let to: PathBuf = copy.path().join(from.strip_prefix(FIXTURE).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
    copy
}

fn run(arguments: &[&str], lake: &Path, last: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabularium"));
    let done = command
        .args(arguments)
        .arg("--data")
        .arg(lake)
        .args((!last.is_empty()).then_some(last))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The ids found by a search, sorted.
fn search(lake: &Path, query: &str) -> Vec<String> {
    let bundle: serde_json::Value = serde_json::from_str(&run(&["search"], lake, query)).unwrap();
    let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
    let mut ids: Vec<String> = entries
        .iter()
        .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

/// Checks answers that need each kind of column: text, lists of structs, numbers, periods, references, and columns
/// beside extensions.
fn check_answers(lake: &Path) {
    assert_eq!(search(lake, "Patient?given=mae&family=quill&birthdate=1970"), ["pat-1"]);
    assert_eq!(search(lake, "Patient?organization=Organization/org-1"), ["pat-1"]);
    assert_eq!(search(lake, "Patient?active=true"), ["pat-2"]);
    assert_eq!(search(lake, "Observation?value-quantity=gt39"), ["obs-1"]);
    assert_eq!(
        search(lake, "Observation?value-quantity=36.6"),
        [""; 0],
        "its earlier version is deleted"
    );
    assert_eq!(search(lake, "Observation?date=2024-03-01T07:30:00Z"), ["obs-1"]);
    assert_eq!(
        search(lake, "Observation?date=2024-03&subject=Patient/pat-1"),
        ["obs-1", "obs-2"]
    );
    assert_eq!(
        search(lake, "Observation?component-code=http://loinc.org|8462-4"),
        ["obs-2"]
    );
}

/// Gives the catalog of a copy the present version, which differs in the record of a ledger only.
pub(super) fn raise(lake: &Path) {
    let catalog = rusqlite::Connection::open(lake.join("catalog.sqlite")).unwrap();
    let sql = "UPDATE ducklake_metadata SET value = ? WHERE key = 'tabularium_layout_version'";
    catalog.execute(sql, [CATALOG_VERSION.to_string()]).unwrap();
    let _ = std::fs::remove_file(lake.join("catalog.mark"));
}

#[test]
fn a_lake_of_an_earlier_version_is_refused_by_name() {
    let lake = copy();
    for version in ["1", "2", "3"] {
        let catalog = rusqlite::Connection::open(lake.path().join("catalog.sqlite")).unwrap();
        let sql = "UPDATE ducklake_metadata SET value = ? WHERE key = 'tabularium_layout_version'";
        catalog.execute(sql, [version]).unwrap();
        drop(catalog);
        for command in ["info", "check", "compact"] {
            let mut refused = Command::new(env!("CARGO_BIN_EXE_tabularium"));
            let refused = refused.args([command, "--data"]).arg(lake.path()).output().unwrap();
            let error = String::from_utf8(refused.stderr).unwrap();
            assert_eq!(refused.status.code(), Some(2), "{command}: {error}");
            let wanted = format!("has the format tabularium_layout_version {version}, this program reads 4 or 5 or 6");
            assert!(
                error.contains(&wanted) && error.contains("import its records again"),
                "{command}: {error}"
            );
        }
    }
}

#[test]
fn data_files_of_the_first_version_can_be_read_added_to_and_compacted() {
    let lake = copy();
    raise(lake.path());
    let snapshot = Lake::open(lake.path()).unwrap().snapshot();
    assert_eq!((snapshot.id, LAYOUT_VERSION), (2, 1));
    let table = snapshot.table(Mode::Live, patient()).unwrap();
    assert_eq!((table.rows, table.files.len(), table.layout.len()), (2, 2, 41));
    check_answers(lake.path());

    let texts = resources(&snapshot);
    let stored = texts.iter().find(|text| text.contains("\"id\":\"pat-1\"")).unwrap();
    let source = std::fs::read_to_string(Path::new(FIXTURE).join("first.ndjson")).unwrap();
    let source = source.lines().find(|line| line.contains("\"id\":\"pat-1\"")).unwrap();
    let meta = &stored[stored.find("\"meta\":").unwrap()..stored.find("\"name\":").unwrap()];
    assert_eq!(stored.replace(meta, ""), source, "byte for byte but for `meta`");

    // A repeated import changes nothing, because the digests are still computed the same way.
    run(&["import"], lake.path(), &format!("{FIXTURE}/second.ndjson"));
    let again = Lake::open(lake.path()).unwrap().snapshot();
    assert_eq!(again.id, 2);

    run(&["import"], lake.path(), &format!("{FIXTURE}/first.ndjson"));
    let back = Lake::open(lake.path()).unwrap().snapshot();
    assert_eq!(
        (back.id, resources(&back).len()),
        (3, 5),
        "one resource went back, as its third version"
    );
    assert_eq!(search(lake.path(), "Observation?value-quantity=36.6"), ["obs-1"]);
    run(&["import"], lake.path(), &format!("{FIXTURE}/second.ndjson"));
    run(&["compact"], lake.path(), "");
    let compacted = Lake::open(lake.path()).unwrap().snapshot();
    assert!(compacted.tables.values().all(|table| table.files.len() == 1));
    check_answers(lake.path());
    // Files without a merge partner were rewritten too. So each page now has a checksum, and texts need no comparison.
    for file in compacted.tables.values().flat_map(|table| &table.files) {
        assert!(
            verify(&file.path, &tabularium::lake::Keys::none()).unwrap().pages > 0,
            "{}",
            file.path.display()
        );
    }
    run(&["compact"], lake.path(), "");
    let again = Lake::open(lake.path()).unwrap().snapshot();
    assert_eq!(again.id, compacted.id, "once is enough");
}
