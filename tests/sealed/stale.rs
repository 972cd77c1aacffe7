//! Processes that have not noticed yet that the lake was sealed or unsealed.

use std::sync::Arc;

use serde_json::json;
use tabularium::fhir::facts;
use tabularium::ingest;
use tabularium::lake::{Kind, Lake, LakeError, Mode, Scope, ScopedTable};
use tabularium::views::{Format, Resources, Run, View};

use super::{Scene, people, stderr};

fn scope() -> Arc<Scope> {
    Arc::new(Scope {
        mode: Mode::Live,
        application: "local".into(),
        patient: None,
    })
}

/// A view of all Observations' ids, planned now and read later.
fn planned(lake: &Lake) -> Run {
    let view = json!({"resource": "Observation", "select": [{"column": [{"name": "id", "path": "id"}]}]});
    let view = Arc::new(View::parse(view.to_string().as_bytes()).unwrap());
    let table = lake.table(&lake.snapshot(), view.resource(), &scope());
    futures::executor::block_on(Run::new(&table, view, &Resources::default(), None)).unwrap()
}

fn read(run: Run) -> String {
    let mut text = Vec::new();
    run.rows().write(Format::Csv { header: false }, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// A lake of several files that is open in this process too, as in a server.
fn open() -> (Scene, Lake) {
    let scene = Scene::new();
    for some in people(12).chunks(8) {
        scene.import(some, &[]);
    }
    let lake = scene.lake();
    (scene, lake)
}

/// Unencrypted files were refused as soon as the process noticed that the lake is sealed, so answers broke off.
#[test]
fn an_answer_that_began_before_seal_ended_is_read_to_its_end() {
    let (scene, lake) = open();
    let expected = read(planned(&lake));
    assert_eq!(expected.lines().count(), 12);
    let answer = planned(&lake);
    scene.done("seal", &[]);
    assert_eq!(scene.kinds().1, 0, "the files that it holds have no names any more");
    lake.refresh().unwrap();
    assert_eq!(lake.kind(), Kind::Sealed);
    assert_eq!(read(answer), expected);
    assert_eq!(read(planned(&lake)), expected);
    // The reverse: the keys of the open files are destroyed.
    let answer = planned(&lake);
    scene.done("unseal", &[]);
    lake.refresh().unwrap();
    assert_eq!(lake.kind(), Kind::Open);
    assert_eq!(read(answer), expected);
}

/// An unencrypted file in a sealed lake may come from anybody.
#[test]
fn a_file_in_clear_is_not_opened_after_the_lake_has_become_sealed() {
    let (scene, lake) = open();
    let clear = lake.snapshot();
    let kept: Vec<_> = clear.tables.values().flat_map(|table| &table.files).collect();
    let kept: Vec<_> = kept
        .iter()
        .map(|file| (&file.path, std::fs::read(&file.path).unwrap()))
        .collect();
    scene.done("seal", &[]);
    for (path, bytes) in &kept {
        std::fs::write(path, bytes).unwrap();
    }
    lake.refresh().unwrap();
    let type_id = facts().lookup("Observation").unwrap();
    let table: ScopedTable = lake.table(&clear, type_id, &scope());
    let held = table.held(None).map(|_| ()).unwrap_err().to_string();
    assert!(held.contains("cannot read"), "{held}");
    assert!(table.read("finding-0003").is_err());
    let fresh = lake.table(&lake.snapshot(), type_id, &scope());
    assert_eq!(fresh.read("finding-0003").unwrap().unwrap().id, "finding-0003");
}

#[test]
fn a_process_that_opened_the_lake_before_writes_files_of_its_new_kind() {
    let (scene, lake) = open();
    let add = |lake: &Lake, number: usize| {
        let input = scene.input(&people(number + 1)[2 * number..]);
        ingest::import(&mut lake.writer().unwrap(), ingest::Options::default(), &[input]).unwrap();
    };
    scene.done("seal", &[]);
    add(&lake, 12);
    assert_eq!((lake.kind(), scene.kinds().1), (Kind::Sealed, 0));
    scene.done("unseal", &[]);
    add(&lake, 13);
    assert_eq!((lake.kind(), scene.kinds().0), (Kind::Open, 0));
    assert_eq!(scene.resources().len(), 28);
    scene.done("check", &["--rows"]);
}

/// Without the key-encryption key, nothing is written unencrypted instead.
#[test]
fn a_process_without_the_key_writes_nothing_once_the_lake_is_sealed() {
    let (scene, with_key) = open();
    drop(with_key);
    let source = tabularium::lake::KekSource::File(scene.dir.path().join("nowhere"));
    let options = tabularium::lake::LakeOptions {
        kek: source,
        ..Default::default()
    };
    let lake = Lake::open_with(scene.data(), options).unwrap();
    scene.done("seal", &[]);
    let before = scene.bytes();
    let refused: LakeError = lake.writer().map(|_| ()).unwrap_err();
    assert!(!refused.to_string().is_empty());
    assert!(lake.refresh().is_err());
    assert!(scene.bytes() == before);
    scene.done("check", &["--rows"]);
}

#[test]
fn a_lake_is_not_sealed_while_somebody_writes() {
    let (scene, lake) = open();
    let mut writer = lake.writer().unwrap();
    let refused = scene.run("seal", &["--wait", "0"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert_eq!(stderr(&refused).trim_end().lines().count(), 1, "{}", stderr(&refused));
    let input = scene.input(&people(13)[24..]);
    ingest::import(&mut writer, ingest::Options::default(), &[input]).unwrap();
    drop(writer);
    scene.done("seal", &["--wait", "0"]);
    assert_eq!((scene.kinds().1, scene.resources().len()), (0, 26));
}
