//! `tabularium seal` and `unseal`: the same lake in files of the other kind.

use serde_json::{Value, json};

use super::clear::{assert_nothing_in_clear, in_clear};
use super::{Scene, people, stderr};

/// An open lake with several snapshots, deleted rows, blank rows, and files outside of all snapshots.
pub(super) fn filled() -> (Scene, Vec<Value>) {
    let mut records = people(30);
    let scene = Scene::new();
    scene.import(&records, &[]);
    for record in records.iter_mut().step_by(3) {
        record["language"] = "de".into();
    }
    scene.import(&records, &[]);
    scene.done("erase", &["--yes", "--patient", "person-0007"]);
    scene.done("compact", &[]);
    scene.import(&people(33)[60..], &[]);
    records.extend_from_slice(&people(33)[60..]);
    let patients = scene.data().join("data/live/Patient");
    let file = std::fs::read_dir(&patients).unwrap().next().unwrap().unwrap().path();
    for orphan in [
        "live/Patient/00000000000000aa.parquet",
        ".orphans/20990101T000000Z/live/Patient/b.parquet",
    ] {
        let orphan = scene.data().join("data").join(orphan);
        std::fs::create_dir_all(orphan.parent().unwrap()).unwrap();
        std::fs::copy(&file, orphan).unwrap();
    }
    (scene, records)
}

fn layout(scene: &Scene) -> String {
    let catalog = rusqlite::Connection::open(scene.data().join("catalog.sqlite")).unwrap();
    let sql = "SELECT value FROM ducklake_metadata WHERE key = 'tabularium_layout_version'";
    catalog.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_lake_that_was_sealed_is_the_same_and_has_nothing_in_clear() {
    let (scene, records) = filled();
    let before = scene.history();
    assert!(
        before.len() > 3 && before.values().any(|resources| resources.len() == 64),
        "{:?}",
        before.keys()
    );
    assert!(in_clear(&scene, &records).is_some(), "it would be found");
    let said = scene.done("seal", &[]);
    assert!(
        said.contains("data files and 0 attachments were written anew") && said.contains("is sealed"),
        "{said}"
    );
    assert_eq!(scene.history(), before);
    assert_nothing_in_clear(&scene, &records, "after sealing");
    assert_eq!(scene.kinds().1, 0);
    assert_eq!(layout(&scene), "6");
    scene.done("check", &["--rows"]);

    // It continues to work like any sealed lake.
    scene.import(&people(35)[66..], &["--sealed"]);
    scene.done("compact", &[]);
    scene.done("erase", &["--yes", "--patient", "person-0009"]);
    assert_eq!(scene.resources().len(), 66);
    assert_nothing_in_clear(&scene, &people(35), "after more");
    scene.done("check", &["--rows"]);
    let said = scene.done("seal", &[]);
    assert!(said.contains("is sealed") && !said.contains("anew"), "{said}");
    let object: Value = serde_json::from_str(&scene.done("seal", &["--json"])).unwrap();
    let expected = json!({"files": 0, "attachments": 0, "bytes": 0, "kind": "sealed", "done": true, "left": []});
    assert_eq!(object, expected);
}

#[test]
fn a_lake_that_was_unsealed_is_the_same_and_has_no_keys() {
    let (scene, _) = filled();
    scene.done("seal", &[]);
    let before = scene.history();
    let object: Value = serde_json::from_str(&scene.done("unseal", &["--json"])).unwrap();
    assert_eq!((&object["kind"], &object["done"]), (&"open".into(), &true.into()));
    assert!(object["files"].as_u64().unwrap() > 0 && object["bytes"].as_u64().unwrap() > 0);
    assert_eq!(scene.history(), before);
    assert_eq!(scene.kinds().0, 0);
    assert_eq!(layout(&scene), "4");
    let names = std::fs::read_dir(scene.data()).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.all(|name| !name.contains("keys")));
    // From here on there is no key.
    for (command, arguments) in [("check", vec!["--rows"]), ("compact", vec![]), ("info", vec![])] {
        let output = scene.run_with(command, &arguments, None);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
    }
    // Other readers of the catalog get statistics of all columns again.
    let catalog = rusqlite::Connection::open(scene.data().join("catalog.sqlite")).unwrap();
    let sql = "SELECT count(*) FROM ducklake_column c WHERE parent_column IS NULL AND NOT EXISTS
        (SELECT 1 FROM ducklake_table_column_stats s WHERE s.table_id = c.table_id AND s.column_id = c.column_id)";
    let untold: u64 = catalog.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(untold, 0);
    drop(catalog);
    scene.done("seal", &[]);
    assert_eq!(scene.resources(), before.into_values().next_back().unwrap());
    scene.done("check", &["--rows"]);
}

#[test]
fn without_a_key_nothing_is_sealed() {
    let scene = Scene::new();
    scene.import(&people(2), &[]);
    let before = scene.bytes();
    for (kek, says) in [
        (None, "give its key-encryption key with --key-file"),
        (
            Some("no key"),
            "is neither 64 hexadecimal digits nor 32 bytes in base64",
        ),
    ] {
        let output = scene.run_with("seal", &[], kek);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1);
    }
    assert!(scene.bytes() == before);
    let none = Scene::new();
    assert_eq!(none.run("seal", &[]).status.code(), Some(2));
    assert!(!none.data().exists());
}

/// A damaged file keeps the lake half-way. Meanwhile it can be read, written and checked like any other.
#[test]
fn a_damaged_file_keeps_the_lake_halfway_until_it_is_mended() {
    let (scene, records) = filled();
    let before = scene.resources();
    let lake = scene.lake();
    let tables = lake.snapshot();
    let damaged = tables.tables.values().next().unwrap().files[0].path.clone();
    drop(lake);
    let whole = std::fs::read(&damaged).unwrap();
    let mut bytes = whole.clone();
    let end = bytes.len() / 2;
    bytes[4..end].fill(0);
    std::fs::write(&damaged, &bytes).unwrap();
    for _ in 0..2 {
        let output = scene.run("seal", &[]);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("is not sealed yet") && stderr(&output).contains(damaged.to_str().unwrap()),
            "{}",
            stderr(&output)
        );
        let (sealed, clear) = scene.kinds();
        assert!(sealed > 2 && clear > 0, "{sealed} {clear}");
    }
    std::fs::write(&damaged, &whole).unwrap();
    assert_eq!(scene.resources(), before);
    scene.done("check", &["--rows"]);
    // New rows are sealed, and no unencrypted file is added.
    let clear = scene.kinds().1;
    scene.import(&people(34)[66..], &[]);
    assert_eq!(scene.kinds().1, clear);
    // A new catalog knows that the lake is half-way.
    std::fs::remove_file(scene.data().join("catalog.sqlite")).unwrap();
    scene.done("check", &["--adopt"]);
    assert_eq!(scene.resources().len(), before.len() + 2);
    let backup = scene.run("backup", &["--to", scene.dir.path().join("backups").to_str().unwrap()]);
    assert_eq!(backup.status.code(), Some(2), "{}", stderr(&backup));
    assert!(stderr(&backup).contains("tabularium seal"), "{}", stderr(&backup));
    // Both directions can be completed.
    scene.done("unseal", &[]);
    assert_eq!(scene.kinds().0, 0);
    scene.done("check", &["--rows"]);
    scene.done("seal", &[]);
    assert_eq!((scene.kinds().1, scene.resources().len()), (0, before.len() + 2));
    assert_nothing_in_clear(&scene, &records, "at the end");
}

/// `seal` said that the lake is sealed, while a kept catalog and what a killed service had fetched lay there in clear.
#[test]
fn clear_files_beside_the_lake_are_removed_or_named() {
    let (scene, records) = filled();
    let beside = |name: &str| scene.data().join(name);
    let kept = beside("catalog.sqlite.damaged-20990101T000000Z");
    let log = beside("catalog.sqlite.damaged-20990101T000000Z-wal");
    let copy = || std::fs::copy(beside("catalog.sqlite"), &kept).unwrap();
    copy();
    std::fs::write(&log, b"pages").unwrap();
    let job = beside("spool/7b0a");
    let spooled = || {
        std::fs::create_dir_all(&job).unwrap();
        std::fs::write(job.join("attachment-0"), records[0].to_string()).unwrap();
    };
    spooled();
    let output = scene.run("seal", &[]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for path in [&kept, &log] {
        assert!(
            said.contains(&format!("in clear is still {},", path.display())),
            "{said}"
        );
    }
    assert_eq!(scene.kinds().1, 0);
    assert!(!job.exists());
    let object: Value = serde_json::from_slice(&scene.run("seal", &["--json"]).stdout).unwrap();
    assert_eq!(
        (&object["done"], object["left"].as_array().unwrap().len()),
        (&true.into(), 2)
    );
    std::fs::remove_file(&log).unwrap();
    std::fs::remove_file(&kept).unwrap();
    scene.done("seal", &[]);
    // The catalog of a sealed lake names nobody.
    copy();
    scene.done("seal", &[]);
    // A service that fetches records removes its files by itself.
    spooled();
    let lock = std::fs::File::create(beside("spool/lock")).unwrap();
    lock.lock().unwrap();
    scene.done("seal", &[]);
    assert!(job.exists());
    drop(lock);
    scene.done("seal", &[]);
    assert!(!job.exists());
    assert_nothing_in_clear(&scene, &records, "at the end");
}
