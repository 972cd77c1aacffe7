//! `import` with rules: the results depend neither on the memory limit nor on other people in the input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabularium::ingest::{Limits, Normalization, Options, Summary, import};
use tabularium::lake::Lake;
use tabularium::normalize::{Day, Knowledge};
use tabularium::sandbox::{Population, Records};

use crate::harness::stored::{Identity, Stored, stored};

/// The bytes that may wait to be written. Either everything fits, or records are read one by one and written in small
/// portions.
const BUFFERS: [usize; 2] = [96 << 20, 256 << 10];

fn options(buffer: usize) -> Options {
    Options {
        normalize: Some(Normalization {
            knowledge: Knowledge::default(),
            today: Day(20_000),
            tag_system_base: "https://records.example/tags".to_owned(),
            dangling: BTreeMap::new(),
            observer: None,
        }),
        limits: Limits {
            buffer,
            ..Limits::default()
        },
        ..Options::default()
    }
}

fn import_with(lake: &Lake, options: Options, path: &Path) -> Summary {
    import(&mut lake.writer().unwrap(), options, &[path.to_owned()]).unwrap()
}

fn write(folder: &Path, name: &str, lines: impl IntoIterator<Item = String>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, lines.into_iter().map(|line| line + "\n").collect::<String>()).unwrap();
    path
}

fn lines(records: &Records) -> Vec<String> {
    records.iter().map(|record| record.json.to_owned()).collect()
}

/// The rows, without parts that differ between imports.
fn rows(lake: &Lake) -> BTreeMap<Identity, Stored> {
    let mut rows = stored(lake);
    for row in rows.values_mut() {
        let mut resource: Value = serde_json::from_str(&row.resource).unwrap();
        resource["meta"].as_object_mut().unwrap().remove("lastUpdated");
        (row.resource, row.last_updated) = (resource.to_string(), 0);
    }
    rows.into_iter().collect()
}

/// Empty lakes that generate the same ids.
fn lakes(folder: &Path) -> [Lake; 2] {
    let (one, other) = (folder.join("one"), folder.join("other"));
    drop(Lake::open_or_create(&one).unwrap());
    copy(&one, &other);
    [one, other].map(|path| Lake::open(path).unwrap())
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, target).unwrap();
        }
    }
    std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
}

#[test]
fn an_import_in_small_ranges_is_one_in_large() {
    let folder = tempfile::tempdir().unwrap();
    let population = Population::new(3, 6);
    let all: Vec<String> = population
        .directory()
        .chain(population.people())
        .flat_map(|records| lines(&records))
        .collect();
    let forward = write(folder.path(), "forward.ndjson", all.iter().cloned());
    let backward = write(folder.path(), "backward.ndjson", all.into_iter().rev());
    let [one, other] = lakes(folder.path());
    let large = import_with(&one, options(BUFFERS[0]), &forward);
    // With a small buffer, and in another order.
    let small = import_with(&other, options(BUFFERS[1]), &backward);
    assert_eq!(small.rules, large.rules);
    assert_eq!(small.types, large.types);
    let made = large.rules.rules.values().map(|counts| counts.made).sum::<u64>();
    assert!(made > 100, "{made} were made");
    let (expected, found) = (rows(&one), rows(&other));
    assert_eq!(found.len(), expected.len());
    for (identity, row) in &expected {
        assert_eq!(&found[identity], row, "{identity:?}");
    }
    // A repeated import changes nothing.
    for (lake, buffer) in [(&one, BUFFERS[1]), (&other, BUFFERS[0])] {
        let again = import_with(lake, options(buffer), &forward);
        assert_eq!(again.total().stored, 0, "{:?}", again.types);
    }
    assert_eq!(rows(&one), expected);
    assert_eq!(rows(&other), expected);
}

/// The rules saw only practitioners and organizations of the same input. If a person was imported alone later, names
/// and numbers of generated resources were used. So versions changed back and forth.
#[test]
fn a_later_import_of_one_person_alone_changes_no_version() {
    let folder = tempfile::tempdir().unwrap();
    let population = Population::new(5, 2);
    let lake = Lake::open_or_create(folder.path().join("lake")).unwrap();
    let directory = population.directory().flat_map(|records| lines(&records));
    let people: Vec<Vec<String>> = population.people().map(|records| lines(&records)).collect();
    let all = write(
        folder.path(),
        "all.ndjson",
        directory.chain(people.iter().flatten().cloned()),
    );
    let first = import_with(&lake, options(BUFFERS[0]), &all);
    assert!(first.rules.rules.values().any(|counts| counts.made > 0));
    let expected = rows(&lake);
    let alone = write(folder.path(), "alone.ndjson", people[0].iter().cloned());
    let is_patient = |line: &&String| line.contains(r#""resourceType":"Patient""#);
    let patient = write(
        folder.path(),
        "patient.ndjson",
        people[0].iter().filter(is_patient).cloned(),
    );
    for path in [&alone, &patient] {
        for buffer in BUFFERS {
            let again = import_with(&lake, options(buffer), path);
            assert_eq!(again.total().stored, 0, "{}: {:?}", path.display(), again.types);
            assert_eq!(rows(&lake), expected, "{}", path.display());
        }
    }
}

/// People are processed one after the other. The last line of a record decides its person.
#[test]
fn a_record_that_passes_to_another_person_is_the_last_ones() {
    let record = |person: &str, value: &str| {
        json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": value},
            "subject": {"reference": format!("Patient/{person}")}})
        .to_string()
    };
    let folder = tempfile::tempdir().unwrap();
    let people: Vec<String> = (0..8).map(|at| format!("p{at}")).collect();
    for buffer in [96 << 20, 1] {
        for last in &people {
            let others = people.iter().filter(|person| *person != last);
            let order = others.chain([last]).map(|person| record(person, person));
            let nobody = json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"}});
            let path = write(
                folder.path(),
                "moved.ndjson",
                order.chain([nobody.to_string(), record(last, "end")]),
            );
            let dir = tempfile::tempdir().unwrap();
            let lake = Lake::open_or_create(dir.path().join("lake")).unwrap();
            let summary = import_with(&lake, options(buffer), &path);
            assert_eq!((summary.total().read, summary.total().stored), (10, 1));
            let rows = rows(&lake);
            let [row] = rows.values().collect::<Vec<_>>()[..] else {
                panic!("{rows:?}");
            };
            assert_eq!(row.patient.as_ref(), Some(last));
            assert!(row.resource.contains(r#""text":"end""#), "{}", row.resource);
        }
    }
}
