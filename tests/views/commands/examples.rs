//! The views of `examples/` by the command: they have no warnings, and each has rows over real records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::run::{tabularium, text};
use crate::harness::real;

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut views: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    views.sort();
    assert!(views.len() >= 12, "{views:?}");
    views
}

#[test]
fn the_examples_are_without_a_warning() {
    for view in examples() {
        let found = tabularium(&["validate-view", view.to_str().unwrap()]);
        let said = text(&found.stdout) + &text(&found.stderr);
        assert_eq!(found.status.code(), Some(0), "{said}");
        assert!(!said.contains("warning"), "{said}");
    }
}

#[test]
fn the_examples_find_something_in_the_real_records() {
    let real = real();
    let out = tempfile::tempdir().unwrap();
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    let sources = if real.is_whole {
        ["uscore/inferno", "synthea-2021", "carin"]
    } else {
        ["uscore/inferno", "synthea", "carin"]
    };
    for data in sources {
        let into = out.path().join(data);
        let found = tabularium(&[
            "run",
            "--views",
            concat!(env!("CARGO_MANIFEST_DIR"), "/examples"),
            "--input",
            real.data.join(data).to_str().unwrap(),
            "--out",
            into.to_str().unwrap(),
        ]);
        assert_eq!(
            (found.status.code(), text(&found.stderr).as_str()),
            (Some(0), ""),
            "{data}"
        );
        for entry in std::fs::read_dir(into).unwrap() {
            let table = entry.unwrap().path();
            let name = table.file_stem().unwrap().to_str().unwrap().to_owned();
            let reader = csv::Reader::from_path(table).unwrap();
            *rows.entry(name).or_default() += reader.into_records().map(Result::unwrap).count();
        }
    }
    assert_eq!(rows.len(), examples().len());
    assert!(rows.values().all(|rows| *rows > 0), "{rows:?}");
}
