//! No file of the folder contains a person's identity or health data unencrypted.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use serde_json::Value;
use tabularium::fhir::facts;

use super::{Scene, people};

/// Collects the sensitive texts of a value: ids, names, dates, codes with a digit, displays.
fn telling(value: &Value, key: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| telling(value, key, found)),
        Value::Array(items) => items.iter().for_each(|item| telling(item, key, found)),
        Value::String(text) => {
            let has_digit = text.contains(|letter: char| letter.is_ascii_digit());
            let tells = match key {
                "id" | "birthDate" | "family" | "given" | "reference" => true,
                "code" => has_digit,
                "value" | "valueString" | "line" => has_digit || text.contains(' '),
                // Single words may also be names of columns.
                "display" | "text" => text.contains(' '),
                _ => false,
            };
            // Shorter texts occur by chance in encrypted bytes.
            if tells && text.len() >= 6 {
                found.insert(text.clone());
            }
        }
        _ => {}
    }
}

pub(super) fn assert_nothing_in_clear(scene: &Scene, records: &[Value], when: &str) {
    assert_eq!(in_clear(scene, records), None, "{when}");
}

/// The texts of these records that must not be readable in a sealed lake's folder.
pub(crate) fn telling_texts(records: &[Value]) -> Vec<String> {
    let mut found = BTreeSet::new();
    records.iter().for_each(|record| telling(record, "", &mut found));
    // The catalog contains column names, which may equal ids within a record (`#referral`).
    let elements = facts().types().flat_map(|type_id| &facts().get(type_id).elements);
    for element in elements {
        found.remove(element.name);
    }
    assert!(found.len() > 20);
    found.into_iter().collect()
}

/// A text of the records that a file of the folder contains, with the file.
pub(super) fn in_clear(scene: &Scene, records: &[Value]) -> Option<(String, String)> {
    let found = telling_texts(records);
    let any = AhoCorasick::new(&found).unwrap();
    scene.bytes().into_iter().find_map(|(path, bytes)| {
        let shown = path.strip_prefix(scene.data()).unwrap().display().to_string();
        let in_name = any.find(&shown).map(|found| found.pattern());
        let at = in_name.or_else(|| any.find(&bytes).map(|found| found.pattern()))?;
        Some((found[at.as_usize()].clone(), shown))
    })
}

#[test]
fn nothing_of_the_records_stands_in_the_folder() {
    let mut records = people(40);
    let scene = Scene::with(&records);
    assert_nothing_in_clear(&scene, &records, "after an import");
    assert_eq!(scene.resources().len(), 80);

    for record in records.iter_mut().step_by(3) {
        record["language"] = "de".into();
    }
    scene.import(&records, &[]);
    assert_nothing_in_clear(&scene, &records, "after a second import");
    scene.done("compact", &[]);
    assert_nothing_in_clear(&scene, &records, "after a compaction");
    scene.done("erase", &["--yes", "--patient", "person-0007"]);
    assert_nothing_in_clear(&scene, &records, "after an erasure");
    assert_eq!(scene.resources().len(), 78);
    scene.done("check", &["--rows"]);
}

#[test]
fn nothing_of_a_population_stands_in_the_folder() {
    let scene = Scene::new();
    let generated = scene.dir.path().join("generated");
    let made = std::process::Command::new(super::PROGRAM)
        .args(["generate", "--patients", "2", "--seed", "5", "--out"])
        .arg(&generated)
        .output()
        .unwrap();
    assert!(made.status.success());
    let mut records: Vec<Value> = Vec::new();
    for path in crate::harness::lake::files_below(&generated) {
        let text = std::fs::read_to_string(path).unwrap();
        records.extend(text.lines().map(|line| serde_json::from_str(line).unwrap()));
    }
    scene.done("import", &["--sealed", "--normalize", generated.to_str().unwrap()]);
    assert_nothing_in_clear(&scene, &records, "after an import");
}

#[test]
fn the_catalog_tells_of_three_columns_only() {
    let scene = Scene::with(&people(3));
    let catalog = rusqlite::Connection::open(scene.data().join("catalog.sqlite")).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = catalog.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    for statistics in ["ducklake_file_column_stats", "ducklake_table_column_stats"] {
        let told = names(&format!(
            "SELECT DISTINCT c.column_name FROM {statistics} s
             JOIN ducklake_column c ON c.table_id = s.table_id AND c.column_id = s.column_id ORDER BY 1"
        ));
        assert_eq!(told, ["last_updated", "owner", "version"], "{statistics}");
    }
    // DuckLake's key column holds the id of a key.
    let ids = names("SELECT encryption_key FROM ducklake_data_file ORDER BY 1");
    let mut kept: Vec<String> = scene.keys().ids().unwrap().iter().map(ToString::to_string).collect();
    kept.sort();
    assert_eq!(ids, kept);
    assert_eq!(
        names("SELECT value FROM ducklake_metadata WHERE key = 'encrypted'"),
        ["true"]
    );
}
