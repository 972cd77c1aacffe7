//! A restored lake equals the snapshot, and a further snapshot costs only the changes.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tabularium::lake::Lake;

use super::{PEOPLE, Scene, all, is_good, program, said, succeeds};
use crate::harness::kind;
use crate::harness::lake::files_below;
use crate::harness::process::PROGRAM;

/// How long a busy machine may take for a few imports and erasures.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn a_restored_lake_is_as_each_snapshot_was() {
    let scene = Scene::with(PEOPLE);
    let mut expected = Vec::new();
    for year in 1970..1973 {
        let versions = format!(r#"{{"resourceType":"Patient","id":"ann-of-athlone","birthDate":"{year}-02"}}"#);
        scene.import(&versions);
        expected.push((scene.backup(&[]), all(&scene.data())));
    }
    for (id, resources) in &expected {
        let restored = scene.restore(&format!("restored-{id}"), &["--snapshot", id]);
        assert_eq!(&all(&restored), resources);
    }
    // Earlier versions are restored too.
    let newest = Lake::open(scene.restore("newest", &[])).unwrap();
    let live = Lake::open(scene.data()).unwrap();
    assert_eq!(newest.snapshot().id, live.snapshot().id);
    for snapshot in 0..=live.snapshot().id {
        let of = |lake: &Lake| {
            lake.snapshot_at(snapshot)
                .map(|snapshot| crate::harness::lake::resources(&snapshot))
        };
        assert_eq!(of(&newest).ok(), of(&live).ok());
    }
    let listed = said(&program([
        "restore",
        "--list",
        "--from",
        scene.backups().to_str().unwrap(),
    ]));
    assert!(expected.iter().all(|(id, _)| listed.contains(id.as_str())), "{listed}");
}

#[test]
fn a_restored_lake_is_written_and_backed_up_like_any_other() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let restored = scene.restore("restored", &[]);
    let third = scene.path("third.ndjson");
    std::fs::write(&third, r#"{"resourceType":"Patient","id":"cid"}"#).unwrap();
    let before = all(&scene.data());
    for command in [
        vec!["import", third.to_str().unwrap()],
        vec!["compact"],
        vec!["erase", "--yes", "--patient", "ben-of-belfast"],
    ] {
        let done = program(command.iter().chain(&["--data", restored.to_str().unwrap()]));
        succeeds(&done);
    }
    is_good(&restored);
    // Files that are hard links in both folders are unchanged.
    assert_eq!(all(&scene.data()), before);
    succeeds(&scene.verify());
    let to = scene.path("other-backups");
    let backup = [
        "backup",
        "--data",
        restored.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
    ];
    succeeds(&program(backup));
}

/// Files of an earlier snapshot are neither read nor copied. So the next backup does not notice a changed stored file,
/// but `--verify` does.
#[test]
fn a_further_snapshot_takes_what_is_new_and_reads_nothing_else() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&["--copy"]);
    let first = scene.stored();
    scene.import(r#"{"resourceType":"Organization","id":"i","name":"I"}"#);
    let altered = first.iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let whole = std::fs::read(altered).unwrap();
    let mut wrong = whole.clone();
    wrong[100] ^= 1;
    std::fs::write(altered, &wrong).unwrap();
    scene.backup(&["--copy"]);
    let added = scene.stored().difference(&first).count();
    assert!((2..=4).contains(&added), "one file and the catalog, not {added} files");
    let found = scene.verify();
    assert_eq!(found.status.code(), Some(3), "{}", said(&found));
    assert!(said(&found).contains(altered.to_str().unwrap()));
    std::fs::write(altered, &whole).unwrap();
    succeeds(&scene.verify());
}

#[test]
fn files_are_linked_on_one_file_system_and_copied_where_that_is_asked() {
    let scene = Scene::with(PEOPLE);
    scene.backup(&[]);
    let inodes = |files: BTreeSet<std::path::PathBuf>| -> BTreeSet<u64> {
        files.iter().map(|path| path.metadata().unwrap().ino()).collect()
    };
    let data = inodes(files_below(&scene.data().join("data")));
    assert!(inodes(scene.stored()).is_superset(&data));
    let copies = scene.path("copies");
    let to = ["--to", copies.to_str().unwrap(), "--data"];
    succeeds(&program(
        ["backup", "--copy"]
            .iter()
            .chain(&to)
            .chain(&[scene.data().to_str().unwrap()]),
    ));
    assert!(inodes(files_below(&copies)).is_disjoint(&data));
    // The catalog and the service's store are never hard links.
    let restored = scene.restore("restored", &[]);
    let all = inodes(scene.stored());
    for name in ["catalog.sqlite", "catalog.mark"] {
        assert!(!all.contains(&restored.join(name).metadata().unwrap().ino()), "{name}");
    }
}

#[test]
fn only_the_newest_are_kept_and_their_files() {
    let scene = Scene::with(PEOPLE);
    let first = scene.backup(&[]);
    for at in 0..3 {
        scene.import(&format!(r#"{{"resourceType":"Patient","id":"p{at}"}}"#));
        scene.backup(&[]);
    }
    assert_eq!(scene.snapshots().len(), 4);
    succeeds(&program(["compact", "--data", scene.data().to_str().unwrap()]));
    let last = scene.backup(&["--keep", "2"]);
    let kept = scene.snapshots();
    assert!(
        kept.len() == 2 && kept.contains(&last) && !kept.contains(&first),
        "{kept:?}"
    );
    succeeds(&scene.verify());
    for id in &kept {
        scene.restore(&format!("restored-{id}"), &["--snapshot", id]);
    }
    let gone = scene.run_restore(&scene.path("gone"), &["--snapshot", &first]);
    assert_eq!(gone.status.code(), Some(2), "{}", said(&gone));
    let only = scene.backup(&["--keep", "1"]);
    assert_eq!(scene.snapshots(), [only]);
    let manifest = std::fs::read_to_string(files_below(&scene.backups().join("snapshots")).first().unwrap()).unwrap();
    let unnamed = |path: &&std::path::PathBuf| !manifest.contains(path.file_name().unwrap().to_str().unwrap());
    assert_eq!(scene.stored().iter().filter(unnamed).count(), 0);
}

#[test]
fn the_services_store_and_its_key_come_along() {
    let scene = Scene::with(PEOPLE);
    let data = scene.data();
    let token =
        |data: &std::path::Path, more: &[&str]| program(["token", "--data", data.to_str().unwrap()].iter().chain(more));
    succeeds(&token(&data, &["--application", "local"]));
    std::fs::create_dir(data.join("audit")).unwrap();
    std::fs::write(data.join("audit/2026-01.ndjson"), "{}\n").unwrap();
    scene.backup(&[]);
    let restored = scene.restore("restored", &[]);
    for name in ["service.key", "audit/2026-01.ndjson"] {
        assert_eq!(
            std::fs::read(restored.join(name)).unwrap(),
            std::fs::read(data.join(name)).unwrap()
        );
    }
    let keys = |data: &std::path::Path| -> Vec<String> {
        let store = rusqlite::Connection::open(data.join("service.sqlite")).unwrap();
        let mut kids = store.prepare("SELECT kid FROM signing_key").unwrap();
        kids.query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    assert_eq!(keys(&restored), keys(&data));
    succeeds(&token(&restored, &["--application", "local"]));
    assert_eq!(keys(&restored), keys(&data), "no new key was needed");
    let mut permissions = Vec::new();
    for path in files_below(&scene.backups()).into_iter().chain(files_below(&restored)) {
        permissions.push(path.metadata().unwrap().mode() & 0o077);
    }
    assert!(permissions.iter().all(|others| *others == 0), "only the owner may look");
    let without = scene.path("without");
    let to = [
        "backup",
        "--without-key",
        "--data",
        data.to_str().unwrap(),
        "--to",
        without.to_str().unwrap(),
    ];
    succeeds(&program(to));
    let key = std::fs::read(data.join("service.key")).unwrap();
    assert!(
        files_below(&without)
            .iter()
            .all(|path| std::fs::read(path).unwrap() != key)
    );
}

/// A script that writes in a loop, killed when dropped.
struct Writer(Child);

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Several processes import, merge and erase during backups. Each snapshot is one consistent state of the lake.
#[test]
fn a_backup_of_a_busy_lake_is_of_one_moment() {
    let scene = Scene::new();
    let round = |round: usize| {
        let people = (0..12).flat_map(|at| {
            let patient = format!(
                r#"{{"resourceType":"Patient","id":"p{at}","birthDate":"{}"}}"#,
                1900 + round
            );
            let task = format!(
                r#"{{"resourceType":"Organization","id":"o{at}","name":"{}"}}"#,
                1900 + round
            );
            [patient, task]
        });
        people.collect::<Vec<_>>().join("\n")
    };
    scene.import(&round(0));
    let loops = r#"
        n=1
        while [ ! -e "$3" ]; do
            sed "s/\"1900\"/\"$((1900 + n % 100))\"/" "$2" > "$2.$n"
            "$0" import --data "$1" "$2.$n" && "$0" compact --data "$1" && "$0" erase --yes --data "$1" --patient "p$((n % 12))" && echo >> "$3.erased"
            rm "$2.$n"
            n=$((n + 1))
        done"#;
    let (input, stop) = (scene.path("rounds.ndjson"), scene.path("stop"));
    std::fs::write(&input, round(0)).unwrap();
    let writer = Command::new("bash")
        .args(["-c", loops, PROGRAM])
        .args([&scene.data(), &input, &stop])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut writer = Writer(writer.unwrap());
    let erasures = || {
        let erased = std::fs::read_to_string(scene.path("stop.erased")).unwrap_or_default();
        erased.lines().count()
    };
    let mut ids: Vec<String> = Vec::new();
    for at in 0..12 {
        if at == 9 {
            // An erasure waits for running servers, so six backups may be made in the meantime. After two more erasures
            // the lake has another snapshot than the three backups before.
            let (enough, begun) = ((erasures() + 2).max(3), Instant::now());
            while erasures() < enough {
                assert!(begun.elapsed() < PATIENCE, "{} erasures", erasures());
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        ids.push(scene.backup(&["--keep", "6"]));
    }
    std::fs::write(&stop, "").unwrap();
    writer.0.wait().unwrap();
    println!("{} erasures during {} backups", erasures(), ids.len());
    assert!(erasures() > 2);
    succeeds(&scene.verify());
    let kept = scene.snapshots();
    assert!(kept.len() == 6 && kept.contains(ids.last().unwrap()));
    let mut snapshots = BTreeSet::new();
    for id in &kept {
        // Without the ledger the snapshot is restored in its last cleaned state.
        let none = scene.path("none");
        let mut more = vec![
            "--snapshot",
            id,
            "--accept-resurrection",
            "--erasures",
            none.to_str().unwrap(),
        ];
        // Erasures destroy keys of the Patients' files. All else is there.
        more.extend(kind::is_sealed().then_some("--accept-loss"));
        let restored = scene.restore(&format!("restored-{id}"), &more);
        let lake = Lake::open(&restored).unwrap();
        snapshots.insert(lake.snapshot().id);
        let resources = all(&restored);
        let organizations: Vec<&String> = resources.iter().filter(|text| text.contains("Organization")).collect();
        let years: BTreeSet<&str> = organizations
            .iter()
            .map(|text| text.split(r#""name":""#).nth(1).unwrap().split('"').next().unwrap())
            .collect();
        assert_eq!((organizations.len(), years.len()), (12, 1), "all are of one import");
    }
    assert!(snapshots.len() > 1, "the lake went on meanwhile");
}
