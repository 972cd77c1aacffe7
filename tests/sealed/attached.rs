//! Attachments of a lake while it is sealed and unsealed.

use tabularium::lake::check::{Depth, check_with};
use tabularium::lake::{Conversion, KeyId, Lake, LakeOptions};

use super::Scene;
use crate::lake::attachments::{bring, bring_after, files, own};

fn turned(lake: &Lake, mut conversion: Conversion) -> u64 {
    while conversion.step(&mut lake.writer().unwrap()).unwrap() {}
    assert!(conversion.done().left.is_empty(), "{:?}", conversion.done());
    conversion.done().attachments
}

fn turn(lake: &Lake, conversion: Conversion) {
    assert_eq!(turned(lake, conversion), 2);
}

#[test]
fn attachments_are_sealed_and_unsealed_with_the_lake() {
    let scene = Scene::new();
    let options = LakeOptions {
        kek: scene.kek(),
        ..LakeOptions::default()
    };
    let lake = Lake::create_with(scene.data(), options.clone()).unwrap();
    let first = b"of the first ".repeat(20_000);
    bring(&lake, 1, &first);
    bring(&lake, 2, b"of the second");
    let are_in_clear = |expected: bool| {
        let files = files(&scene.data());
        assert_eq!(files.len(), 2);
        for path in files {
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(bytes.starts_with(b"of the "), expected, "{}", path.display());
            assert_eq!(bytes.starts_with(b"TABATT2"), !expected, "{}", path.display());
        }
    };
    are_in_clear(true);
    let other = Lake::open_with(scene.data(), options.clone()).unwrap();
    for is_sealed in [true, false, true] {
        turn(
            &lake,
            if is_sealed {
                Conversion::to_sealed()
            } else {
                Conversion::to_open()
            },
        );
        are_in_clear(!is_sealed);
        other.refresh().unwrap();
        for lake in [&lake, &other] {
            assert_eq!(own(lake, 1).unwrap(), first);
            assert_eq!(own(lake, 2).unwrap(), b"of the second");
        }
        let checked = check_with(&scene.data(), Depth::Rows, &options.kek).unwrap();
        assert!(checked.is_good(), "{checked:?}");
    }
}

/// A sync's fetched files wait beside the lake until they are committed, encrypted only if the lake is sealed. The lake
/// may be sealed or unsealed in between.
#[test]
fn a_document_that_was_fetched_before_the_lake_turned_follows_it() {
    let scene = Scene::new();
    let options = LakeOptions {
        kek: scene.kek(),
        ..LakeOptions::default()
    };
    let lake = Lake::create_with(scene.data(), options.clone()).unwrap();
    let document = |consent: u32| format!("a letter about number {consent} ").repeat(9_000).into_bytes();
    let is_clear = |path: &std::path::Path| {
        let bytes = std::fs::read(path).unwrap();
        memchr::memmem::find(&bytes, b"a letter about number").is_some()
    };
    bring_after(&lake, 1, &document(1), |fetched| {
        assert!(is_clear(fetched));
        turned(&lake, Conversion::to_sealed());
    });
    bring_after(&lake, 2, &document(2), |fetched| assert!(!is_clear(fetched)));
    assert!(files(&scene.data()).iter().all(|path| !is_clear(path)));
    bring_after(&lake, 3, &document(3), |fetched| {
        assert!(!is_clear(fetched));
        assert_eq!(turned(&lake, Conversion::to_open()), 2);
    });
    assert!(files(&scene.data()).iter().all(|path| is_clear(path)));
    turned(&lake, Conversion::to_sealed());
    for consent in 1..=3 {
        assert_eq!(own(&lake, consent).unwrap(), document(consent), "{consent}");
    }
    let checked = check_with(&scene.data(), Depth::Rows, &options.kek).unwrap();
    assert!(checked.is_good(), "{checked:?}");
    // Each file keeps the key that it was fetched with.
    let key_of = |path: &std::path::PathBuf| -> KeyId {
        let name = path.file_stem().unwrap().to_str().unwrap();
        name.split_once('-').unwrap().1.parse().unwrap()
    };
    let mut named: Vec<KeyId> = files(&scene.data()).iter().map(key_of).collect();
    let mut of_no_table = crate::harness::kind::stray_keys(&scene.data(), &scene.keys());
    named.sort();
    of_no_table.sort();
    assert_eq!(of_no_table, named);
}
