//! The next writer removes keys that a killed writer left. Keys of expired files wait for an erasure.

use tabularium::lake::Conversion;

use super::{Scene, people};

/// A key was stored, and the process was killed before the catalog named its file. The key stayed until the next
/// erasure.
#[test]
fn a_key_of_no_file_is_gone_after_the_next_start() {
    let scene = Scene::with(&people(4));
    let before = scene.keys().ids().unwrap();
    let keys = scene.keys();
    let left: Vec<_> = (0..3).map(|_| keys.make().unwrap().unwrap()).collect();
    keys.keep(&left).unwrap();
    drop(keys);
    assert_eq!(scene.keys().ids().unwrap().len(), before.len() + 3);
    scene.import(&people(4), &[]);
    assert_eq!(
        scene.keys().ids().unwrap(),
        before,
        "nothing was imported, and nothing is left"
    );
    scene.import(&people(5), &[]);
    assert!(scene.keys().ids().unwrap().len() > before.len());
    scene.done("check", &["--rows"]);
    assert_eq!(scene.resources().len(), 10);
}

/// While a writer stores keys, no other writer can begin, because the lock prevents it.
#[test]
fn a_key_that_a_writer_has_just_made_stays() {
    let scene = Scene::with(&people(2));
    let lake = scene.lake();
    let writer = lake.writer().unwrap();
    let key = lake.folder().keys().make().unwrap().unwrap();
    lake.folder().keys().keep(std::slice::from_ref(&key)).unwrap();
    let refused = scene.run("import", &["--wait", "0", scene.input(&people(3)).to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1), "{}", super::stderr(&refused));
    assert!(scene.keys().ids().unwrap().contains(&key.id()));
    drop(writer);
    scene.import(&people(3), &[]);
    assert!(!scene.keys().ids().unwrap().contains(&key.id()));
}

/// A server that had read a file kept the file's key in memory after another process destroyed it.
#[test]
fn a_process_forgets_the_keys_that_another_one_has_destroyed() {
    let scene = Scene::with(&people(6));
    let lake = scene.lake();
    assert_eq!(super::resources(&lake, &lake.snapshot()).len(), 12);
    let known = lake.folder().keys().ids().unwrap();
    assert!(known.iter().all(|id| lake.folder().keys().key(id).is_ok()));
    scene.done("erase", &["--yes", "--patient", "person-0003"]);
    lake.refresh().unwrap();
    let left = known.iter().filter(|id| lake.folder().keys().key(id).is_ok()).count();
    assert_eq!(left, 0, "all files of these tables were written anew");
    assert_eq!(super::resources(&lake, &lake.snapshot()).len(), 10);
}

/// Backups may contain the files that a conversion replaced, so their keys stay until it has ended.
#[test]
fn keys_of_files_that_unseal_has_replaced_stay_while_it_is_under_way() {
    let scene = Scene::with(&people(4));
    let before = scene.keys().ids().unwrap();
    assert!(!before.is_empty());
    let mut unsealing = Conversion::to_open();
    let lake = scene.lake();
    assert!(
        unsealing.step(&mut lake.writer().unwrap()).unwrap(),
        "there is more to do"
    );
    drop(lake);
    // Another writer, after the first one was killed.
    drop(scene.lake().writer().unwrap());
    assert_eq!(scene.keys().ids().unwrap(), before);
    scene.done("unseal", &[]);
    assert!(!scene.data().join("keys.sqlite").exists());
}
