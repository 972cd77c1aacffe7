//! A ledger of erasures that is damaged, older or lost brings nobody back: a command refuses it in one sentence, and
//! says what to do.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tabularium::lake::erase::ledger::Ledger;

use super::{Scene, all, program, said, succeeds};
use crate::harness::process::PROGRAM;

/// The number of people in each lake of these tests.
const PEOPLE: usize = 6;

/// A lake with people, of whom the first `erased` were erased. A backup was made before the first and after the last
/// erasure.
fn scene(erased: usize) -> Scene {
    let lines = (0..PEOPLE).map(|at| format!(r#"{{"resourceType":"Patient","id":"person-number-{at}"}}"#));
    let scene = Scene::with(&lines.collect::<Vec<_>>().join("\n"));
    scene.backup(&[]);
    (0..erased).for_each(|at| scene.erase(&format!("person-number-{at}")));
    scene.backup(&[]);
    scene
}

fn run_erase(scene: &Scene, patient: &str) -> Output {
    let data = scene.data();
    program(["erase", "--yes", "--data", data.to_str().unwrap(), "--patient", patient])
}

/// Checks that nothing was restored, and for one sentence with this text.
fn is_refused(done: &Output, to: &Path, text: &str, what: &str) {
    let error = String::from_utf8(done.stderr.clone()).unwrap();
    assert_eq!(done.status.code(), Some(2), "{what}: {}", said(done));
    assert!(
        error.lines().count() == 1 && error.contains(text) && error.contains("--accept-resurrection"),
        "{what}: {error}"
    );
    assert!(!to.exists(), "{what}");
}

/// Checks that neither a backup nor an erasure goes on with this ledger, and that they leave it as it is.
fn is_refused_by_the_lake(scene: &Scene, what: &str) {
    let before = std::fs::read(scene.ledger()).unwrap();
    let snapshots = scene.snapshots();
    let refused = scene.run_backup(&[]);
    assert_eq!(refused.status.code(), Some(2), "{what}: {}", said(&refused));
    assert!(
        said(&refused).contains("the ledger of erasures"),
        "{what}: {}",
        said(&refused)
    );
    assert_eq!(scene.snapshots(), snapshots);
    assert_eq!(std::fs::read(scene.ledger()).unwrap(), before, "{what}");
}

/// 120 flipped bits, lost and exchanged lines, cut ends and older copies. A flipped bit in a hash brought the person
/// back with exit code 0, and so did an older copy of the ledger.
#[test]
fn damaged_and_older_ledgers_bring_nobody_back() {
    let scene = scene(4);
    let expected = all(&scene.data());
    let whole = std::fs::read(scene.ledger()).unwrap();
    let (to, first) = (scene.path("restored"), scene.snapshots()[0].clone());
    let seed = 38;
    println!("seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut flips = Vec::new();
    for _ in 0..120 {
        let (at, bit) = (random.random_range(0..whole.len()), random.random_range(0..8));
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << bit;
        flips.push((format!("bit {bit} of byte {at}"), flipped));
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 5);
    for lost in 0..lines.len() {
        let left: Vec<&[u8]> = (0..lines.len()).filter(|at| *at != lost).map(|at| lines[at]).collect();
        flips.push((format!("without line {lost}"), left.concat()));
        flips.push((format!("ended before line {lost}"), lines[..lost].concat()));
        let length = lines[..lost].concat().len();
        flips.push((format!("cut in line {lost}"), whole[..length + 40].to_vec()));
    }
    flips.push((
        "exchanged".to_owned(),
        [lines[0], lines[2], lines[1], lines[3], lines[4]].concat(),
    ));
    for (at, (what, damaged)) in flips.iter().enumerate() {
        std::fs::write(scene.ledger(), damaged).unwrap();
        let snapshot = ["--snapshot", first.as_str()];
        let refused = scene.run_restore(&to, if at % 2 == 0 { &[] } else { &snapshot });
        is_refused(&refused, &to, "the ledger of erasures", what);
        if at % 8 == 0 || at >= 120 {
            is_refused_by_the_lake(&scene, what);
        }
    }
    // An erasure hides the records, and does not end.
    std::fs::write(scene.ledger(), &flips[0].1).unwrap();
    let done = run_erase(&scene, "person-number-4");
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert!(
        said(&done).contains("backups, because the ledger of erasures"),
        "{}",
        said(&done)
    );
    assert!(all(&scene.data()).iter().all(|text| !text.contains("person-number-4")));
    assert_eq!(std::fs::read(scene.ledger()).unwrap(), flips[0].1);
    // The right ledger is put back, and all goes on.
    std::fs::write(scene.ledger(), &whole).unwrap();
    succeeds(&program(["compact", "--data", scene.data().to_str().unwrap()]));
    let restored = scene.restore("restored", &["--snapshot", &first]);
    let left = expected.into_iter().filter(|text| !text.contains("person-number-4"));
    assert_eq!(all(&restored), left.collect::<Vec<_>>());
    scene.backup(&[]);
}

/// No backup has seen the last erasure, so only the catalog tells that it is missing.
#[test]
fn a_lake_refuses_a_ledger_that_is_older_than_its_last_erasure() {
    let scene = scene(2);
    let older = std::fs::read(scene.ledger()).unwrap();
    scene.erase("person-number-2");
    let newest = std::fs::read(scene.ledger()).unwrap();
    std::fs::write(scene.ledger(), &older).unwrap();
    is_refused_by_the_lake(&scene, "an older copy");
    let done = run_erase(&scene, "person-number-3");
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    let clause = "is older than the lake: it has 2 erasures of the lake, and 3 have ended";
    assert!(said(&done).contains(clause), "{}", said(&done));
    assert!(at_start(&scene, &[]).contains(clause));
    std::fs::write(scene.ledger(), &newest).unwrap();
    scene.backup(&[]);
    assert_eq!(std::fs::read_to_string(scene.ledger()).unwrap().lines().count(), 5);
}

/// What a server writes to its log until it serves for a moment.
fn at_start(scene: &Scene, more: &[&str]) -> String {
    let data = scene.data();
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    let (log, out) = (scene.path("log"), scene.path("out"));
    let file = |path: &Path| Stdio::from(std::fs::File::create(path).unwrap());
    let mut child = command
        .args(more)
        .stdout(file(&out))
        .stderr(file(&log))
        .spawn()
        .unwrap();
    let text = || {
        let mut text = String::new();
        for path in [&out, &log] {
            std::fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
        }
        text
    };
    let begun = Instant::now();
    while !text().contains("serving") && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
        assert!(child.try_wait().unwrap().is_none(), "{}", text());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    text()
}

#[test]
fn a_server_says_at_each_start_that_the_ledger_is_lost() {
    let scene = scene(1);
    assert!(!at_start(&scene, &[]).contains("the ledger of erasures"));
    let ledger = std::fs::read(scene.ledger()).unwrap();
    std::fs::remove_file(scene.ledger()).unwrap();
    for _ in 0..2 {
        let log = at_start(&scene, &[]);
        assert!(
            log.contains("the ledger of erasures") && log.contains("is missing"),
            "{log}"
        );
    }
    let mut damaged = ledger.clone();
    damaged[100] ^= 1;
    std::fs::write(scene.ledger(), &damaged).unwrap();
    assert!(at_start(&scene, &[]).contains("is damaged: line 1"));
    // The next backup makes another ledger, and says so.
    std::fs::remove_file(scene.ledger()).unwrap();
    let made = succeeds(&scene.run_backup(&[]));
    assert!(
        made.contains("the ledger of erasures of the earlier backups is lost"),
        "{made}"
    );
    let log = at_start(&scene, &[]);
    assert!(!log.contains("the ledger of erasures"), "{log}");
    let again = succeeds(&scene.run_backup(&[]));
    assert!(!again.contains("is lost"), "{again}");
}

/// Records an erasure and enters it in the ledger, as a process does that is killed before it ends the erasure.
fn enter_only(scene: &Scene, patient: &str) {
    super::erased::hide(scene, patient);
    let ledger = Ledger::read(&scene.ledger()).unwrap().unwrap();
    ledger.enter_pending(&scene.data()).unwrap();
}

#[test]
fn an_erasure_that_was_killed_between_ledger_and_catalog_is_entered_once() {
    let scene = scene(1);
    enter_only(&scene, "person-number-1");
    let entered = std::fs::read(scene.ledger()).unwrap();
    succeeds(&program(["compact", "--data", scene.data().to_str().unwrap()]));
    assert_eq!(std::fs::read(scene.ledger()).unwrap(), entered);
    scene.erase("person-number-2");
    let restored = scene.restore("restored", &["--snapshot", &scene.snapshots()[0]]);
    assert_eq!(all(&restored), all(&scene.data()));
}

/// The second call found no rows in the files, and gave a receipt, although the first one's erasure had not ended.
#[test]
fn a_repeated_erasure_gets_no_receipt_before_the_ledger_has_it() {
    let scene = scene(1);
    let (away, ledger) = (scene.path("away"), scene.ledger());
    std::fs::rename(&ledger, &away).unwrap();
    for call in 0..3 {
        let done = run_erase(&scene, "person-number-3");
        assert_eq!(done.status.code(), Some(3), "{call}: {}", said(&done));
        assert!(said(&done).contains("is missing"), "{call}: {}", said(&done));
        assert!(!said(&done).lines().any(|line| line.starts_with("eyJ")), "{call}");
    }
    std::fs::rename(&away, &ledger).unwrap();
    let done = succeeds(&run_erase(&scene, "person-number-3"));
    assert!(done.lines().any(|line| line.starts_with("eyJ")), "{done}");
    assert_eq!(std::fs::read_to_string(&ledger).unwrap().lines().count(), 3);
}

/// A writer was killed in the middle of a line. The next writer of the lake cuts it off, a restore refuses it.
#[test]
fn a_half_line_of_an_erasure_that_has_not_ended_is_mended_by_the_next_writer() {
    let scene = scene(1);
    let before = std::fs::read(scene.ledger()).unwrap();
    enter_only(&scene, "person-number-1");
    let entered = std::fs::read(scene.ledger()).unwrap();
    let to = scene.path("restored");
    let data = scene.data();
    for cut in [1, 2, 30, 90, entered.len() - before.len() - 1] {
        std::fs::write(scene.ledger(), &entered[..entered.len() - cut]).unwrap();
        is_refused(&scene.run_restore(&to, &[]), &to, "its last line", &cut.to_string());
    }
    succeeds(&program(["compact", "--data", data.to_str().unwrap()]));
    let text = std::fs::read_to_string(scene.ledger()).unwrap();
    assert!(text.starts_with(std::str::from_utf8(&before).unwrap()) && text.lines().count() == 3);
    let restored = scene.restore("restored", &["--snapshot", &scene.snapshots()[0]]);
    assert_eq!(all(&restored), all(&data));
    // Now the erasure has ended, so the same half of a line is damage.
    std::fs::write(scene.ledger(), &entered[..entered.len() - 30]).unwrap();
    is_refused_by_the_lake(&scene, "after its end");
}

/// Two lakes share a ledger. Each compares it with its own count.
#[test]
fn two_lakes_that_share_a_ledger_each_notice_an_older_copy() {
    let (one, other) = (scene(0), scene(0));
    let shared = one.path("shared");
    let run = |scene: &Scene, arguments: &[&str]| {
        let data = scene.data();
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["--data", data.to_str().unwrap()]);
        command.env("TABULARIUM_ERASURES", &shared).output().unwrap()
    };
    let backup = |scene: &Scene| {
        let to = scene.path("shared-backups");
        run(scene, &["backup", "--to", to.to_str().unwrap()])
    };
    let erase = |scene: &Scene, patient: &str| run(scene, &["erase", "--yes", "--patient", patient]);
    succeeds(&backup(&one));
    succeeds(&backup(&other));
    succeeds(&erase(&one, "person-number-0"));
    let older = std::fs::read(&shared).unwrap();
    succeeds(&erase(&other, "person-number-0"));
    let newest = std::fs::read(&shared).unwrap();
    std::fs::write(&shared, &older).unwrap();
    succeeds(&backup(&one));
    assert_eq!(backup(&other).status.code(), Some(2));
    let done = erase(&other, "person-number-1");
    assert!(said(&done).contains("is older than the lake"), "{}", said(&done));
    std::fs::write(&shared, &newest).unwrap();
    succeeds(&backup(&other));
    succeeds(&erase(&one, "person-number-2"));
    // Half of the other lake's line is not this lake's to mend.
    super::erased::hide(&other, "person-number-3");
    Ledger::read(&shared)
        .unwrap()
        .unwrap()
        .enter_pending(&other.data())
        .unwrap();
    let entered = std::fs::read(&shared).unwrap();
    std::fs::write(&shared, &entered[..entered.len() - 20]).unwrap();
    assert_eq!(backup(&one).status.code(), Some(2));
    succeeds(&run(&other, &["compact"]));
    succeeds(&backup(&one));
}

/// What a writer notes beside the ledger before it appends lines at this length.
fn note(length: usize, lines: &[u8]) -> Vec<u8> {
    let head = format!("{{\"entering\":1,\"offset\":{length},\"bytes\":{}}}\n", lines.len());
    [head.as_bytes(), lines].concat()
}

/// A few bytes of a line do not say whose they are. So a shared ledger was refused by all its lakes, and stayed so.
#[test]
fn a_half_line_in_a_shared_ledger_is_completed_from_the_note_beside_it() {
    let (one, other) = (scene(0), scene(0));
    let (shared, entering) = (one.path("shared"), one.path("shared.entering"));
    let run = |scene: &Scene, arguments: &[&str]| {
        let data = scene.data();
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["--data", data.to_str().unwrap()]);
        command.env("TABULARIUM_ERASURES", &shared).output().unwrap()
    };
    let backups = |scene: &Scene| scene.path("shared-backups").to_str().unwrap().to_owned();
    let backup = |scene: &Scene| run(scene, &["backup", "--to", &backups(scene)]);
    let erase = |scene: &Scene, patient: &str| run(scene, &["erase", "--yes", "--patient", patient]);
    for scene in [&one, &other] {
        succeeds(&backup(scene));
        succeeds(&erase(scene, "person-number-0"));
        assert!(!entering.exists());
    }
    let before = std::fs::read(&shared).unwrap();
    super::erased::hide(&other, "person-number-3");
    let ledger = Ledger::read(&shared).unwrap().unwrap();
    ledger.enter_pending(&other.data()).unwrap();
    let entered = std::fs::read(&shared).unwrap();
    let (length, line) = (before.len(), &entered[before.len()..]);
    let expected = all(&one.data());
    for cut in [0, 1, 9, 30, 90, line.len() - 1, line.len()] {
        std::fs::write(&shared, &entered[..length + cut]).unwrap();
        std::fs::write(&entering, note(length, line)).unwrap();
        // A restore only reads the ledger.
        let (from, to) = (backups(&one), one.path("restored"));
        let restored = program([
            "restore",
            "--from",
            &from,
            "--data",
            to.to_str().unwrap(),
            "--erasures",
            shared.to_str().unwrap(),
        ]);
        succeeds(&restored);
        assert_eq!(all(&to), expected);
        assert_eq!(std::fs::read(one.path("restored.erasures")).unwrap(), entered, "{cut}");
        assert_eq!(std::fs::read(&shared).unwrap(), &entered[..length + cut]);
        std::fs::remove_dir_all(&to).unwrap();
        std::fs::remove_file(one.path("restored.erasures")).unwrap();
        // The next writer completes it, although the line is not of its lake.
        succeeds(&backup(&one));
        assert_eq!(std::fs::read(&shared).unwrap(), entered, "{cut}");
    }
    // A writer that was killed while it wrote the note has not changed the ledger.
    for part in [0, 5, 30, 60] {
        std::fs::write(&shared, &entered).unwrap();
        std::fs::write(&entering, &note(entered.len(), line)[..part]).unwrap();
        succeeds(&backup(&one));
        assert_eq!(std::fs::read(&shared).unwrap(), entered, "{part}");
    }
    // The note of another ledger, or of a later one, does not fit.
    std::fs::write(&shared, &entered[..length + 9]).unwrap();
    for (length, line) in [(length, &line[1..]), (length + 9, line), (entered.len(), line)] {
        std::fs::write(&entering, note(length, line)).unwrap();
        let refused = backup(&one);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains("its last line"), "{}", said(&refused));
        assert_eq!(std::fs::read(&shared).unwrap(), &entered[..before.len() + 9]);
    }
    std::fs::write(&entering, note(length, line)).unwrap();
    succeeds(&erase(&one, "person-number-1"));
    assert!(std::fs::read(&shared).unwrap().starts_with(&entered));
    assert!(!entering.exists());
    succeeds(&backup(&other));
}

/// Somebody else's file in the place of the note is named, and stays.
#[test]
fn a_file_of_others_in_the_place_of_the_note_is_refused() {
    let scene = scene(1);
    let whole = std::fs::read(scene.ledger()).unwrap();
    let entering = scene.path("lake.erasures.entering");
    let theirs = scene.path("theirs");
    let longer = [note(7, b"text"), b"!".to_vec()].concat();
    let foreign: [(&[u8], bool); 4] = [
        (b"letter", false),
        (b"letter", true),
        (b"{\"entering\":2}\n", false),
        (&longer, false),
    ];
    for (at, (text, is_link)) in foreign.into_iter().enumerate() {
        if is_link {
            std::fs::write(&theirs, text).unwrap();
            std::os::unix::fs::symlink(&theirs, &entering).unwrap();
        } else {
            std::fs::write(&entering, text).unwrap();
        }
        let done = run_erase(&scene, &format!("person-number-{}", at + 1));
        assert_eq!(done.status.code(), Some(3), "{}", said(&done));
        assert!(said(&done).contains("lake.erasures.entering"), "{}", said(&done));
        for refused in [scene.run_backup(&[]), scene.run_restore(&scene.path("restored"), &[])] {
            assert_eq!(refused.status.code(), Some(if is_link { 1 } else { 2 }));
            assert!(said(&refused).contains("lake.erasures.entering"), "{}", said(&refused));
        }
        assert_eq!(std::fs::read(&entering).unwrap(), text);
        assert_eq!(entering.is_symlink(), is_link);
        assert_eq!(std::fs::read(scene.ledger()).unwrap(), whole);
        std::fs::remove_file(&entering).unwrap();
    }
    // Without it, the erasures end.
    scene.backup(&[]);
    assert_eq!(std::fs::read_to_string(scene.ledger()).unwrap().lines().count(), 6);
}

/// Readers wait for a writer that is in the middle of a line.
#[test]
fn a_ledger_is_read_whole_while_another_process_appends() {
    let scene = scene(0);
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| (0..PEOPLE - 1).for_each(|at| scene.erase(&format!("person-number-{at}"))));
        while !writer.is_finished() {
            Ledger::read(&scene.ledger()).unwrap().unwrap();
        }
    });
    assert_eq!(std::fs::read_to_string(scene.ledger()).unwrap().lines().count(), PEOPLE);
}
