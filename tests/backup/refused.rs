//! Backups without disk space or write permission: they fail with one clear sentence, keep the existing snapshots, and
//! leave no partial one.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{PEOPLE, Scene, all, said, succeeds};
use crate::harness::lake::files_below;
use crate::harness::process::PROGRAM;

/// An unprivileged user.
const NOBODY: u32 = 65_534;

/// Checks for one sentence that names the failed operation and its path.
fn is_one_sentence(done: &Output, path: &Path) {
    let error = String::from_utf8(done.stderr.clone()).unwrap();
    assert_eq!(done.status.code(), Some(1), "{}", said(done));
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("cannot "), "{error}");
    assert!(error.contains(path.to_str().unwrap()), "{error}");
}

/// The system refuses to let a file grow, as on a full disk.
#[test]
fn a_backup_without_room_leaves_the_snapshots_as_they_were() {
    let scene = Scene::with(PEOPLE);
    let first = scene.backup(&["--copy"]);
    let stored = scene.stored();
    // Random data does not compress.
    let mut random = ChaCha8Rng::seed_from_u64(14);
    let noise: String = (0..1 << 20)
        .map(|_| char::from(random.random_range(b'a'..=b'z')))
        .collect();
    scene.import(&PEOPLE.replace(r#""name":"H""#, &format!(r#""name":"{noise}""#)));
    let (data, to) = (scene.data(), scene.backups());
    let backup = [
        "backup",
        "--copy",
        "--data",
        data.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
    ];
    // From a limit below the catalog's size to one below a data file's size.
    for blocks in ["80", "400", "1200"] {
        let limited = "trap '' XFSZ; ulimit -f $0; exec \"$@\"";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", limited, blocks, PROGRAM]).args(backup);
        is_one_sentence(&command.output().unwrap(), &to);
        assert_eq!(scene.snapshots(), [first.as_str()], "{blocks}");
        assert!(stored.is_subset(&scene.stored()));
        succeeds(&scene.verify());
    }
    let second = scene.backup(&["--copy"]);
    assert_eq!(scene.snapshots().len(), 2);
    assert_eq!(
        all(&scene.restore("again", &["--snapshot", &second])),
        all(&scene.data())
    );
}

/// A folder that can be read but not written.
#[test]
fn a_backup_into_a_folder_that_may_not_be_written_says_so() {
    let scene = Scene::with(PEOPLE);
    let to = scene.backups();
    std::fs::create_dir(&to).unwrap();
    let is_root = chown(&to, Some(NOBODY), Some(NOBODY)).is_ok();
    // Root may write everywhere, so the program runs as another user.
    let copy = scene.path("tabularium");
    if is_root {
        std::fs::copy(PROGRAM, &copy).unwrap();
        for path in [scene.path(""), scene.data()].iter().chain(&files_below(&scene.data())) {
            path.ancestors()
                .take_while(|path| path.starts_with(scene.path("")))
                .for_each(|path| {
                    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
                });
        }
    }
    let run = || {
        let mut command = Command::new(if is_root { copy.as_path() } else { Path::new(PROGRAM) });
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
            .args(["backup", "--data"])
            .arg(scene.data())
            .arg("--to")
            .arg(&to);
        command.output().unwrap()
    };
    let rights = |mode: u32| std::fs::set_permissions(&to, std::fs::Permissions::from_mode(mode)).unwrap();
    rights(0o500);
    is_one_sentence(&run(), &to);
    assert_eq!(files_below(&to).len(), 0);
    rights(0o700);
    succeeds(&run());
    let before = files_below(&to);
    for folder in ["", "snapshots", "files", "work"] {
        let path = to.join(folder);
        if path.is_dir() {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o500)).unwrap();
        }
    }
    is_one_sentence(&run(), &to);
    assert_eq!(files_below(&to), before);
    succeeds(&scene.verify());
}
