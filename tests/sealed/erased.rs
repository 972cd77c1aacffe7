//! An erased person's rows cannot be read from any copy of the files with the remaining keys.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusqlite::Connection;

use super::{Scene, people, texts};

/// Copies of all Parquet files of the lake.
fn copied(scene: &Scene, to: &str) -> BTreeMap<PathBuf, PathBuf> {
    let folder = scene.dir.path().join(to);
    std::fs::create_dir_all(&folder).unwrap();
    let files = scene
        .bytes()
        .into_keys()
        .filter(|path| path.extension().is_some_and(|ending| ending == "parquet"));
    let copy = |path: PathBuf| {
        let copy = folder.join(path.file_name().unwrap());
        std::fs::copy(&path, &copy).unwrap();
        (path, copy)
    };
    files.map(copy).collect()
}

/// The number of readable copies, and whether one of them contains this text.
fn readable(scene: &Scene, copies: &BTreeMap<PathBuf, PathBuf>, text: &str) -> (usize, bool) {
    let keys = scene.keys();
    let is_data = |copy: &&PathBuf| !copy.to_string_lossy().ends_with("-delete.parquet");
    let read: Vec<Vec<String>> = copies
        .values()
        .filter(is_data)
        .filter_map(|copy| texts(copy, &keys).ok())
        .collect();
    let has_text = read.iter().flatten().any(|resource| resource.contains(text));
    (read.len(), has_text)
}

#[test]
fn an_older_copy_of_a_file_stays_unreadable() {
    let scene = Scene::with(&people(30));
    scene.import(&people(32)[60..], &[]);
    let copies = copied(&scene, "before");
    let data_files = copies.len();
    assert_eq!(readable(&scene, &copies, "Zwiebelturm0007"), (data_files, true));
    scene.done("erase", &["--yes", "--patient", "person-0007"]);
    let (left, found) = readable(&scene, &copies, "Zwiebelturm0007");
    // The files of the second import contained nothing of the person.
    assert_eq!((left, found), (data_files - 2, false));
    assert_eq!(scene.resources().len(), 62);
    assert!(
        !scene
            .resources()
            .iter()
            .any(|resource| resource.contains("person-0007"))
    );
    // Each remaining key belongs to a file.
    let catalog = Connection::open(scene.data().join("catalog.sqlite")).unwrap();
    let named: u64 = catalog
        .query_row(
            "SELECT (SELECT count(encryption_key) FROM ducklake_data_file) + (SELECT count(encryption_key) FROM ducklake_delete_file)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(scene.keys().ids().unwrap().len() as u64, named);
    scene.done("check", &["--rows"]);
}

/// Compaction writes rows into new files, and the old ones are removed an hour later. Their keys stayed, so a copy of
/// such a file showed a person who was erased later.
#[test]
fn a_copy_from_before_a_compaction_stays_unreadable_as_well() {
    let scene = Scene::with(&people(10));
    scene.import(&people(12)[20..], &[]);
    let copies = copied(&scene, "before");
    scene.done("compact", &[]);
    // This retention has the same effect as the end of the hour.
    let options = tabularium::lake::LakeOptions {
        kek: scene.kek(),
        retention: std::time::Duration::ZERO,
        clock: std::sync::Arc::new(tabularium::lake::clock::ManualClock::at(4_000_000_000_000_000)),
        trust: tabularium::lake::ClockTrust::Clock,
        ..Default::default()
    };
    let lake = tabularium::lake::Lake::open_with(scene.data(), options).unwrap();
    let mut writer = lake.writer().unwrap();
    assert!(writer.expire().unwrap().files > 0);
    drop(writer);
    // A backup stays readable until an erasure, whatever else is written.
    assert!(readable(&scene, &copies, "Zwiebelturm0003").1);
    scene.import(&people(13)[24..], &[]);
    assert!(readable(&scene, &copies, "Zwiebelturm0003").1);
    scene.done("erase", &["--yes", "--patient", "person-0003"]);
    assert!(!readable(&scene, &copies, "Zwiebelturm0003").1);
    assert_eq!(scene.resources().len(), 24);
}

/// The process was killed after it recorded the exchange of files and before it destroyed the keys. The erasure counted
/// as done, but the key stayed.
#[test]
fn the_next_writer_destroys_keys_that_a_killed_erasure_has_left() {
    let scene = Scene::with(&people(5));
    let copies = copied(&scene, "before");
    let keys = scene.data().join("keys.sqlite");
    let before = std::fs::read(&keys).unwrap();
    scene.done("erase", &["--yes", "--patient", "person-0002"]);
    let new: Vec<_> = scene.keys().ids().unwrap();
    assert!(!readable(&scene, &copies, "Zwiebelturm0002").1);

    // Puts the old keys beside the new ones, with the note to destroy them.
    let kek = || scene.kek().load().unwrap();
    let earlier = scene.dir.path().join("earlier");
    std::fs::create_dir(&earlier).unwrap();
    std::fs::write(earlier.join("keys.sqlite"), before).unwrap();
    let old = tabularium::lake::seal::KeyStore::open(&earlier, kek()).unwrap();
    let all: Vec<_> = old.ids().unwrap().iter().map(|id| old.key(id).unwrap()).collect();
    let gone: Vec<_> = all.into_iter().filter(|key| !new.contains(&key.id())).collect();
    assert!(!gone.is_empty());
    scene.keys().keep(&gone).unwrap();
    assert!(readable(&scene, &copies, "Zwiebelturm0002").1);
    let catalog = Connection::open(scene.data().join("catalog.sqlite")).unwrap();
    catalog
        .execute(
            "INSERT INTO ducklake_metadata VALUES ('tabularium.keys_to_destroy', '1', NULL, NULL)",
            [],
        )
        .unwrap();
    drop(catalog);
    scene.import(&people(1), &[]);
    assert!(!readable(&scene, &copies, "Zwiebelturm0002").1);
    assert_eq!(scene.keys().ids().unwrap(), new);
    assert_eq!(scene.resources().len(), 8);
}

/// A server kept the last snapshots and with them the open files of replaced ones, whose ciphers have the destroyed
/// keys.
#[test]
fn a_reader_drops_the_open_files_whose_keys_were_destroyed() {
    let scene = Scene::with(&people(10));
    let lake = scene.lake();
    let scope = crate::harness::records::application("local");
    let patient = crate::harness::records::type_named("Patient");
    let read = || {
        lake.table(&lake.snapshot(), patient, &scope)
            .read("person-0001")
            .unwrap()
    };
    assert!(read().is_some());
    assert_eq!(lake.memory().files, 1);
    scene.done("erase", &["--yes", "--patient", "person-0003"]);
    lake.refresh().unwrap();
    assert_eq!(lake.memory().files, 0);
    assert!(read().is_some());
}
