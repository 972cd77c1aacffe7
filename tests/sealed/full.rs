//! A sealed lake on a full disk or in a read-only folder: commands fail with one sentence, nothing is lost, and the
//! same command succeeds after the repair.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tabularium::consent::{Clock, Expunge, Expunged, LOCAL_APPLICATION, Store};
use tabularium::lake::Mode;

use super::{PROGRAM, Scene, people, stderr};
use crate::harness::kind::KEK;
use crate::harness::lake::files_below;
use crate::harness::records;

/// An unprivileged user.
const NOBODY: u32 = 65_534;

/// Runs a command under which no file grows beyond this many blocks of 512 bytes, as on a full disk.
fn limited(scene: &Scene, blocks: u32, command: &str, arguments: &[&str]) -> Output {
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &limited, PROGRAM, command, "--data"])
        .arg(scene.data());
    shell.args(arguments).env(KEK.0, KEK.1).output().unwrap()
}

fn is_one_sentence(output: &Output, codes: &[i32]) {
    let said = stderr(output);
    let code = output.status.code().unwrap();
    assert!(codes.contains(&code), "{code}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.starts_with("tabularium: ") && said.len() < 800, "{said}");
}

/// This many people with records that compress badly.
fn large(count: usize) -> Vec<serde_json::Value> {
    let mut records = people(count);
    let mut state = 88_172_645_463_325_252_u64;
    for record in &mut records {
        let noise: String = (0..2_000)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                char::from(b'a' + (state % 26) as u8)
            })
            .collect();
        record["language"] = noise.into();
    }
    records
}

#[test]
fn a_full_disk_loses_nothing_of_a_sealed_lake() {
    let scene = Scene::with(&large(40));
    let before = scene.resources();
    let more = scene.input(&large(60));
    for blocks in [30, 90] {
        is_one_sentence(&limited(&scene, blocks, "import", &[more.to_str().unwrap()]), &[1]);
        assert_eq!(scene.resources(), before);
        scene.done("check", &["--rows"]);
    }
    // The erased rows are hidden, and the next writer removes their bytes.
    let erased = limited(&scene, 90, "erase", &["--yes", "--patient", "person-0007"]);
    is_one_sentence(&erased, &[1, 3]);
    assert!(
        stderr(&erased).contains(scene.data().to_str().unwrap()),
        "{}",
        stderr(&erased)
    );
    scene.import(&large(60), &[]);
    assert_eq!(scene.resources().len(), 120);
    let strays = crate::harness::kind::stray_keys(&scene.data(), &scene.keys());
    assert_eq!(strays, []);
    scene.done("check", &["--rows"]);
}

#[test]
fn a_full_disk_leaves_a_lake_that_is_sealed_later() {
    let scene = Scene::new();
    scene.import(&large(40), &[]);
    let before = scene.history();
    for blocks in [4, 30, 90] {
        is_one_sentence(&limited(&scene, blocks, "seal", &[]), &[1]);
        assert_eq!(scene.history(), before, "{blocks}");
        scene.done("check", &["--rows"]);
    }
    scene.done("seal", &[]);
    assert_eq!((scene.history(), scene.kinds().1), (before.clone(), 0));
    is_one_sentence(&limited(&scene, 90, "unseal", &[]), &[1]);
    assert_eq!(scene.history(), before);
    scene.done("unseal", &[]);
    assert_eq!((scene.history(), scene.kinds().0), (before, 0));
    scene.done("check", &["--rows"]);
}

/// The worker of a service on a full disk: the rows of an `$expunge` are hidden, and the job stays until there is room.
#[test]
fn an_expunge_on_a_full_disk_waits_and_is_done_later() {
    let scene = Scene::with(&large(700));
    let patient = "person-0007";
    let owners = scene.lake().owners_of(LOCAL_APPLICATION, patient);
    let store = Store::open(&scene.data(), Clock::System).unwrap();
    let consent = store
        .consents()
        .of_imported(LOCAL_APPLICATION, Mode::Live, patient)
        .unwrap();
    let asked = Expunge {
        consent: &consent,
        request: "r",
        imported: &[(patient.to_owned(), owners)],
    };
    let Expunged::Accepted(job) = store.expunge(&asked).unwrap() else {
        panic!("not accepted")
    };
    let receipt = || store.erasure_jobs().get(&job.id).unwrap().unwrap().receipt;
    let said = scene.dir.path().join("log");
    let serve = |limit: &str| {
        let mut shell = Command::new("/bin/sh");
        let limited = format!("trap '' XFSZ; {limit} exec \"$0\" \"$@\"");
        shell.args(["-c", &limited, PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data"]);
        let log = std::fs::File::create(&said).unwrap();
        let shell = shell.arg(scene.data()).env(KEK.0, KEK.1);
        Served(shell.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    };
    let wait = |what: &str, has_come: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !has_come() {
            let log = std::fs::read_to_string(&said).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(120), "{what}: {log}");
            std::thread::park_timeout(Duration::from_millis(50));
        }
    };
    // A new file of these records exceeds the limit, but no file of SQLite does.
    let served = serve("ulimit -f 1600;");
    wait("the failure", &|| {
        std::fs::read_to_string(&said).unwrap().contains("File too large")
    });
    assert_eq!(receipt(), None);
    drop(served);
    let lake = scene.lake();
    let table = lake.table(
        &lake.snapshot(),
        records::type_named("Patient"),
        &records::application("local"),
    );
    assert!(table.read(patient).unwrap().is_none());
    assert!(table.read("person-0008").unwrap().is_some());
    drop((table, lake));
    scene.done("check", &[]);

    let _served = serve("");
    wait("the receipt", &|| receipt().is_some());
    let left = scene.resources();
    assert_eq!(left.len(), 1_398);
    assert!(!left.iter().any(|text| text.contains(patient)));
}

/// A serving process, ended with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder owned by an unprivileged user, because root may write everywhere.
struct Nobody {
    program: PathBuf,
    is_root: bool,
}

impl Nobody {
    fn of(scene: &Scene) -> Nobody {
        let root = scene.dir.path();
        let is_root = chown(root, Some(NOBODY), Some(NOBODY)).is_ok();
        let program = root.join("tabularium");
        if is_root {
            // Another process copies it. A program that this one has open for writing cannot be run, and every process
            // that a test beside this one starts meanwhile would hold it open.
            let copied = Command::new("cp").arg(PROGRAM).arg(&program).status().unwrap();
            assert!(copied.success());
            for path in files_below(root) {
                let above = path.ancestors().take_while(|above| above.starts_with(root));
                above.for_each(|above| chown(above, Some(NOBODY), Some(NOBODY)).unwrap());
            }
        }
        Nobody { program, is_root }
    }

    fn run(&self, data: &Path, command: &str, arguments: &[&str]) -> Output {
        let mut program = Command::new(if self.is_root {
            &self.program
        } else {
            Path::new(PROGRAM)
        });
        if self.is_root {
            program.uid(NOBODY).gid(NOBODY);
        }
        // `keys rotate` is a command of two words.
        program.args(command.split(' ')).arg("--data").arg(data).args(arguments);
        program.env(KEK.0, KEK.1).output().unwrap()
    }
}

/// Changes the rights of a folder and everything in it.
fn rights(data: &Path, folder: u32, file: u32) {
    for path in files_below(data) {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(file)).unwrap();
        let above = path.ancestors().skip(1);
        above.take_while(|above| above.starts_with(data)).for_each(|above| {
            std::fs::set_permissions(above, std::fs::Permissions::from_mode(folder)).unwrap();
        });
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_not_sealed() {
    let scene = Scene::new();
    scene.import(&people(3), &[]);
    let before = scene.bytes();
    let nobody = Nobody::of(&scene);
    rights(&scene.data(), 0o500, 0o400);
    let output = nobody.run(&scene.data(), "seal", &[]);
    is_one_sentence(&output, &[1]);
    let said = stderr(&output);
    assert!(said.contains(scene.data().to_str().unwrap()), "{said}");
    rights(&scene.data(), 0o700, 0o600);
    assert!(scene.bytes() == before);
    let output = nobody.run(&scene.data(), "seal", &[]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_folder_that_may_not_be_written_is_read() {
    let scene = Scene::with(&people(3));
    let before = scene.bytes();
    let input = scene.input(&people(4)).to_str().unwrap().to_owned();
    let new_key = scene.kek_file(&"11".repeat(32)).to_str().unwrap().to_owned();
    let nobody = Nobody::of(&scene);
    rights(&scene.data(), 0o500, 0o400);
    for (command, arguments) in [
        ("import", vec![input.as_str()]),
        ("compact", vec![]),
        ("erase", vec!["--yes", "--patient", "person-0001"]),
        ("unseal", vec![]),
        ("keys rotate", vec!["--lake", "--new-key-file", &new_key]),
        ("serve", vec!["--listen", "127.0.0.1:0"]),
    ] {
        let output = nobody.run(&scene.data(), command, &arguments);
        is_one_sentence(&output, &[1]);
        assert!(
            stderr(&output).contains(scene.data().to_str().unwrap()),
            "{command}: {}",
            stderr(&output)
        );
    }
    for (command, arguments) in [("check", vec!["--rows"]), ("info", vec![])] {
        let output = nobody.run(&scene.data(), command, &arguments);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
    }
    rights(&scene.data(), 0o700, 0o600);
    assert!(scene.bytes() == before);
    assert!(nobody.run(&scene.data(), "import", &[&input]).status.success());
}
