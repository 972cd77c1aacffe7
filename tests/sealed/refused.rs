//! A sealed lake without its keys, and lakes of the other kind: one sentence, exit code 2, and no loss.

use super::{Scene, people, stderr};

/// The key-encryption key of a rotation.
const NEW: &str = "1100000000000000000000000000000000000000000000000000000000000011";

/// Checks that all commands that open the lake say this and change nothing.
fn assert_refused(scene: &Scene, kek: Option<&str>, says: &str) {
    let before = scene.bytes();
    let input = scene.input(&people(1));
    let erase = ["--yes", "--patient", "person-0001"];
    let of = [
        ("import", vec![input.to_str().unwrap()]),
        ("compact", vec![]),
        ("check", vec![]),
        ("check", vec!["--adopt"]),
        ("info", vec![]),
        ("erase", erase.to_vec()),
        ("serve", vec!["--listen", "127.0.0.1:0"]),
        ("seal", vec![]),
        ("unseal", vec![]),
        ("everything", vec!["--patient", "person-0001"]),
        ("summary", vec!["--patient", "person-0001"]),
        ("search", vec!["Patient"]),
        ("show", vec!["Patient"]),
        ("sql", vec!["SELECT id FROM Patient"]),
        ("run", vec!["Patient", "--column", "id"]),
    ];
    let rotate = [
        "rotate",
        "--lake",
        "--new-key-file",
        scene.kek_file(NEW).to_str().unwrap(),
    ]
    .map(str::to_owned);
    let outputs = of.map(|(command, arguments)| (command, scene.run_with(command, &arguments, kek)));
    let rotate = ("keys rotate", scene.run_keys(&rotate, kek));
    for (command, output) in outputs.into_iter().chain([rotate]) {
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains(says), "{command}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{command}: {said}");
    }
    let after = scene.bytes();
    let changed = |path: &&std::path::PathBuf| before.get(*path) != after.get(*path);
    let changed: Vec<_> = before.keys().chain(after.keys()).filter(changed).collect();
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn without_its_keys_a_sealed_lake_is_left_alone() {
    let scene = Scene::with(&people(5));
    let other = "00".repeat(32);
    assert_refused(&scene, None, "give its key-encryption key with --key-file");
    assert_refused(&scene, Some(&other), "the key-encryption key given is not the one of");
    assert_refused(
        &scene,
        Some("no key"),
        "is neither 64 hexadecimal digits nor 32 bytes in base64",
    );

    let keys = scene.data().join("keys.sqlite");
    let whole = std::fs::read(&keys).unwrap();
    std::fs::write(&keys, &whole[..whole.len() / 2]).unwrap();
    assert_refused(&scene, Some(super::KEK.1), "is damaged");
    std::fs::write(&keys, b"").unwrap();
    assert_refused(&scene, Some(super::KEK.1), "is damaged");
    std::fs::remove_file(&keys).unwrap();
    assert_refused(&scene, Some(super::KEK.1), "keys.sqlite is missing");

    std::fs::write(&keys, whole).unwrap();
    scene.done("check", &["--rows"]);
    assert_eq!(scene.resources().len(), 10);
}

/// The error said that keys.sqlite was missing and must be put back.
#[test]
fn an_open_lake_has_no_key_to_rotate() {
    let scene = Scene::new();
    scene.import(&people(1), &[]);
    let new = scene.dir.path().join("new.key");
    std::fs::write(&new, "ab".repeat(32)).unwrap();
    std::fs::set_permissions(&new, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let data = scene.data();
    let refused = std::process::Command::new(super::PROGRAM)
        .args([
            "keys",
            "rotate",
            "--lake",
            "--data",
            data.to_str().unwrap(),
            "--new-key-file",
        ])
        .arg(&new)
        .env(super::KEK.0, super::KEK.1)
        .output()
        .unwrap();
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("is not sealed") && said.trim_end().lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_new_catalog_is_not_made_without_the_keys() {
    let scene = Scene::with(&people(5));
    std::fs::remove_file(scene.data().join("catalog.sqlite")).unwrap();
    let before = scene.bytes();
    let output = scene.run_with("check", &["--adopt"], None);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("give its key-encryption key"),
        "{}",
        stderr(&output)
    );
    assert!(scene.bytes() == before);
    scene.done("check", &["--adopt"]);
    assert_eq!(scene.resources().len(), 10);
}

#[test]
fn what_kind_a_lake_is_stays_as_it_was_made() {
    let scene = Scene::new();
    scene.import(&people(2), &[]);
    let input = scene.input(&people(3));
    let before = scene.bytes();
    for (command, arguments) in [
        ("import", vec!["--sealed", input.to_str().unwrap()]),
        ("serve", vec!["--sealed"]),
    ] {
        let output = scene.run(command, &arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("is not sealed; a lake is sealed when it is made"),
            "{}",
            stderr(&output)
        );
    }
    assert!(scene.bytes() == before);

    let sealed = Scene::with(&people(2));
    sealed.import(&people(3), &[]);
    sealed.import(&people(4), &["--sealed"]);
    assert_eq!(sealed.resources().len(), 8);
    for path in sealed
        .bytes()
        .into_keys()
        .filter(|path| path.to_string_lossy().ends_with(".parquet"))
    {
        assert!(std::fs::read(&path).unwrap().ends_with(b"PARE"), "{}", path.display());
    }
}

#[test]
fn an_empty_lake_becomes_a_sealed_one() {
    let scene = Scene::new();
    drop(tabularium::lake::Lake::open_or_create(scene.data()).unwrap());
    let without = scene.run_with("import", &["--sealed", scene.input(&people(1)).to_str().unwrap()], None);
    assert_eq!(without.status.code(), Some(2), "{}", stderr(&without));
    scene.import(&people(2), &["--sealed"]);
    scene.done("check", &["--rows"]);
    assert_eq!(scene.resources().len(), 4);
}

#[test]
fn a_server_makes_a_sealed_lake_of_an_empty_folder_only() {
    let serve = ["--sealed", "--listen", "127.0.0.1:0", "--until-stdin-ends"];
    let scene = Scene::new();
    let without = scene.run_with("serve", &serve, None);
    assert_eq!(without.status.code(), Some(2), "{}", stderr(&without));
    assert!(!scene.data().join("catalog.sqlite").exists());
    scene.done("serve", &serve);
    scene.import(&people(2), &[]);
    assert!(scene.bytes().into_keys().any(|path| {
        let is_data = path.to_string_lossy().ends_with(".parquet");
        is_data && std::fs::read(&path).unwrap().ends_with(b"PARE")
    }));

    let other = Scene::new();
    std::fs::create_dir(other.data()).unwrap();
    std::fs::write(other.data().join("letter.txt"), "for somebody else").unwrap();
    let refused = other.run("serve", &serve);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert_eq!(other.bytes().len(), 1);
    let open = other.run("serve", &serve[1..]);
    assert_eq!(open.status.code(), Some(2), "{}", stderr(&open));
}
