//! Attachments of a lake that is sealed and unsealed.

use tabularium::lake::check::{Depth, check_with};
use tabularium::lake::{Conversion, Lake, LakeOptions};

use super::Scene;
use crate::attachments::{bring, files, own};

fn turn(lake: &Lake, mut conversion: Conversion) {
    while conversion.step(&mut lake.writer().unwrap()).unwrap() {}
    assert!(conversion.done().left.is_empty(), "{:?}", conversion.done());
    assert_eq!(conversion.done().attachments, 2);
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
