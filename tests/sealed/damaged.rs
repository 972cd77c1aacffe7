//! Damage of a sealed lake is detected and reported, and a new catalog can be made from its files.

use super::{Scene, people, stderr};

#[test]
fn a_changed_byte_is_found() {
    let scene = Scene::with(&people(50));
    let is_data = |path: &std::path::PathBuf| path.to_string_lossy().contains("/Observation/");
    let path = scene.bytes().into_keys().find(is_data).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for at in [
        1,
        40,
        whole.len() / 3,
        whole.len() / 2,
        whole.len() - 60,
        whole.len() - 6,
    ] {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        std::fs::write(&path, changed).unwrap();
        let output = scene.run("check", &[]);
        assert_eq!(output.status.code(), Some(3), "byte {at}: {}", stderr(&output));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            said.contains(path.file_name().unwrap().to_str().unwrap()),
            "byte {at}: {said}"
        );
    }
    // Another file of the same lake in its place, undamaged itself.
    let other = scene
        .bytes()
        .into_keys()
        .find(|path| path.to_string_lossy().contains("/Patient/"))
        .unwrap();
    std::fs::copy(&other, &path).unwrap();
    assert_eq!(scene.run("check", &[]).status.code(), Some(3));
    std::fs::write(&path, whole).unwrap();
    scene.done("check", &["--rows"]);
}

#[test]
fn a_new_catalog_has_the_rows_and_is_sealed() {
    let scene = Scene::with(&people(20));
    let mut changed = people(20);
    changed
        .iter_mut()
        .step_by(4)
        .for_each(|record| record["language"] = "de".into());
    scene.import(&changed, &[]);
    scene.done("erase", &["--yes", "--patient", "person-0004"]);
    let before = scene.resources();
    for lost in [&["catalog.sqlite"][..], &["catalog.sqlite", "catalog.mark"]] {
        let kept: Vec<_> = lost
            .iter()
            .map(|name| (scene.data().join(name), std::fs::read(scene.data().join(name))))
            .collect();
        kept.iter().for_each(|(path, _)| std::fs::remove_file(path).unwrap());
        let output = scene.run("check", &["--adopt"]);
        if lost.len() == 1 {
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            assert_eq!(scene.resources(), before);
            scene.done("check", &["--rows"]);
            scene.import(&people(1), &["--sealed"]);
        } else {
            // Without the owner key, one person's records cannot be told from another's.
            assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
            kept.iter()
                .for_each(|(path, bytes)| std::fs::write(path, bytes.as_ref().unwrap()).unwrap());
            scene.done("check", &["--rows"]);
        }
    }
}
