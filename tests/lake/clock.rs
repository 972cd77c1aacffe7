//! A clock that is wrong for a moment removes nothing, and what it has stamped can be mended.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use serde_json::{Value, json};
use tabularium::ingest::{Options, Session};
use tabularium::lake::check::{Depth, check_with};
use tabularium::lake::clock::ManualClock;
use tabularium::lake::{ClockTrust, Lake, LakeOptions, Mode};

use crate::harness::kills::{chance, files_seen, kill_when, rounds};
use crate::harness::kind;
use crate::harness::lake::{files_below, files_in_place, patient, resources, row, table, write};

const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;
const MINUTE: Duration = Duration::from_secs(60);
/// The time for which an ended snapshot is kept.
const KEPT: Duration = Duration::from_secs(3_661);
const START: i64 = 1_700_000_000_000_000;

struct Scene {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    lake: Lake,
}

/// A lake as a server has it open.
fn served() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START));
    let lake = Lake::create_with(dir.path(), options(&clock, ClockTrust::TwoLooks)).unwrap();
    Scene { dir, clock, lake }
}

fn options(clock: &Arc<ManualClock>, trust: ClockTrust) -> LakeOptions {
    LakeOptions {
        clock: clock.clone(),
        trust,
        ..kind::options()
    }
}

impl Scene {
    /// Replaces the only file, so that the older snapshot alone has the former one. Returns the older snapshot.
    fn replace(&self) -> u64 {
        let mut writer = self.lake.writer().unwrap();
        let mut transaction = writer.begin();
        let old = transaction
            .base()
            .table(Mode::Live, patient())
            .map(|table| table.files[0].id);
        let before = transaction.base().id;
        let new = write(&mut transaction, &[row(1)]);
        match old {
            Some(old) => transaction.replace_files(Mode::Live, patient(), [old], [new]).unwrap(),
            None => transaction.add_file(Mode::Live, patient(), new),
        }
        transaction.commit("test", "").unwrap();
        before
    }

    fn expire(&self) -> u64 {
        self.lake.writer().unwrap().expire().unwrap().snapshots
    }

    fn files(&self) -> usize {
        files_in_place(&self.lake.folder().data()).len()
    }
}

#[test]
fn a_clock_that_is_wrong_for_a_moment_removes_no_snapshot_and_no_file() {
    for wrong in [2 * DAY, -2 * DAY, 10 * YEAR] {
        let it = served();
        it.replace();
        let old = it.replace() + 1;
        it.clock.advance(10 * MINUTE);
        it.replace();
        it.clock.jump(wrong);
        for _ in 0..5 {
            assert_eq!(it.expire(), 0, "{wrong}");
            it.clock.advance(Duration::from_secs(1));
        }
        it.clock.jump(-wrong);
        assert_eq!(it.expire(), 0, "{wrong}");
        assert!(it.lake.snapshot_at(old).is_ok());
        assert_eq!(it.files(), 3);
        it.clock.advance(KEPT);
        assert!(it.expire() > 0, "{wrong}");
        assert_eq!(it.files(), 1);
    }
}

#[test]
fn the_first_look_after_a_start_removes_nothing() {
    let it = served();
    it.replace();
    it.replace();
    drop(it.lake);
    it.clock.advance(KEPT);
    let lake = Lake::open_with(it.dir.path(), options(&it.clock, ClockTrust::TwoLooks)).unwrap();
    let expire = || lake.writer().unwrap().expire().unwrap().snapshots;
    assert_eq!(expire(), 0);
    it.clock.advance(4 * MINUTE);
    assert_eq!(expire(), 0);
    it.clock.advance(MINUTE);
    assert_eq!(expire(), 2);
}

/// All snapshots after an import ten years ahead stayed for ten years.
#[test]
fn snapshots_of_the_future_expire_an_hour_after_they_were_seen() {
    let it = served();
    it.clock.jump(10 * YEAR);
    it.replace();
    it.clock.jump(-10 * YEAR);
    for _ in 0..3 {
        it.replace();
        assert_eq!(it.expire(), 0);
    }
    let newest = it.replace() + 1;
    assert_eq!(it.files(), 5);
    it.expire();
    it.clock.advance(KEPT);
    assert_eq!(it.expire(), newest);
    assert_eq!(it.files(), 1);
    assert!(it.lake.ahead().is_some_and(|ahead| ahead.as_secs() / 86_400 > 3_600));
}

#[test]
fn a_command_trusts_a_clock_that_is_not_far_ahead_of_the_newest_snapshot() {
    for (days, trust, expired) in [
        (7, ClockTrust::NewestSnapshot, 2),
        (9, ClockTrust::NewestSnapshot, 0),
        (9, ClockTrust::Clock, 2),
        (7, ClockTrust::TwoLooks, 0),
    ] {
        let it = served();
        it.replace();
        it.replace();
        drop(it.lake);
        it.clock.advance(Duration::from_secs(days * 86_400));
        let lake = Lake::open_with(it.dir.path(), options(&it.clock, trust)).unwrap();
        assert_eq!(lake.silence().is_some(), days == 9);
        assert_eq!(
            lake.writer().unwrap().expire().unwrap().snapshots,
            expired,
            "{days}, {trust:?}"
        );
    }
}

#[test]
fn files_that_were_moved_aside_in_the_future_wait_for_a_day_from_now() {
    let it = served();
    let aside = it.lake.folder().data().join(".orphans/20990101T000000Z/live");
    std::fs::create_dir_all(&aside).unwrap();
    std::fs::write(aside.join("x"), "an orphan").unwrap();
    let orphans = || files_below(&it.lake.folder().data().join(".orphans"));
    it.clock.jump(200 * YEAR);
    drop(it.lake.writer().unwrap());
    it.clock.jump(-200 * YEAR);
    drop(it.lake.writer().unwrap());
    assert_eq!(orphans().len(), 1);
    for _ in 0..2 {
        it.clock.advance(Duration::from_secs(13 * 3_600));
        drop(it.lake.writer().unwrap());
        assert_eq!(orphans().len(), 1);
    }
    it.clock.advance(Duration::from_secs(13 * 3_600));
    drop(it.lake.writer().unwrap());
    assert_eq!(orphans().len(), 0);
}

fn person(id: &str, gender: &str) -> Value {
    json!({"resourceType": "Patient", "id": id, "gender": gender, "name": [{"family": "Smith"}],
           "meta": {"tag": [{"code": "x"}]}})
}

fn condition(id: &str, of: &str) -> Value {
    json!({"resourceType": "Condition", "id": id, "subject": {"reference": format!("Patient/{of}")}})
}

fn import(lake: &Lake, resources: &[Value]) {
    let mut writer = lake.writer().unwrap();
    let mut session = Session::begin(&mut writer, Options::default()).unwrap();
    for resource in resources {
        session.add_document(resource.to_string().as_bytes()).unwrap();
    }
    assert_eq!(session.finish().unwrap().refused, 0);
}

/// Each resource's version and time, by type and id. Checks that columns and text agree.
fn times(lake: &Lake) -> BTreeMap<String, (String, i64)> {
    let snapshot = lake.snapshot();
    let scope = crate::harness::records::application("local");
    let mut found = BTreeMap::new();
    for text in resources(&snapshot) {
        let resource: Value = serde_json::from_str(&text).unwrap();
        let name = resource["resourceType"].as_str().unwrap();
        let id = resource["id"].as_str().unwrap();
        let type_id = crate::harness::records::type_named(name);
        let row = lake.table(&snapshot, type_id, &scope).read(id).unwrap().unwrap();
        let said = resource["meta"]["lastUpdated"].as_str().unwrap();
        let said = chrono::DateTime::parse_from_rfc3339(said).unwrap().timestamp_micros();
        assert_eq!(row.last_updated, said, "{name}/{id}");
        assert_eq!(row.resource, text.as_bytes());
        let version = resource["meta"]["versionId"].as_str().unwrap().to_owned();
        assert_eq!(version, row.version.to_string());
        assert!(found.insert(format!("{name}/{id}"), (version, said)).is_none());
    }
    found
}

/// Resources from before, in and after a time in which the clock was ten years ahead.
fn stamped(it: &Scene) {
    import(
        &it.lake,
        &[person("a", "male"), person("b", "female"), condition("c", "a")],
    );
    it.clock.advance(MINUTE);
    it.clock.jump(10 * YEAR);
    import(
        &it.lake,
        &[person("b", "male"), person("d", "male"), condition("e", "d")],
    );
    it.clock.jump(-10 * YEAR);
    it.clock.advance(MINUTE);
    import(&it.lake, &[person("f", "male")]);
}

#[test]
fn mended_resources_have_a_new_version_with_the_present_time() {
    let it = served();
    stamped(&it);
    let (before, now) = (times(&it.lake), START + 2 * 60 * 1_000_000);
    assert!(
        before["Patient/f"].1 > now,
        "later commits follow the snapshot of the future"
    );
    let mended = it.lake.writer().unwrap().mend_times().unwrap().unwrap();
    assert_eq!((mended.time, mended.latest), (now, before["Patient/f"].1));
    let counts: Vec<_> = mended.resources.into_iter().collect();
    assert_eq!(counts, [((Mode::Live, "Condition"), 1), ((Mode::Live, "Patient"), 3)]);
    let after = times(&it.lake);
    for (name, version, time) in [
        ("Patient/a", "1", START + 1_000),
        ("Condition/c", "1", START + 1_000),
        ("Patient/b", "3", now),
        ("Patient/d", "2", now),
        ("Condition/e", "2", now),
        ("Patient/f", "2", now),
    ] {
        assert_eq!(after[name], (version.to_owned(), time), "{name}");
    }
    assert_eq!(after.len(), 6);
    assert_eq!((it.lake.snapshot().id, it.lake.ahead()), (mended.snapshot, None));
    assert_eq!(table(&it.lake.snapshot()).rows, 4);

    // It is one snapshot, and the command can be repeated.
    assert_eq!(it.lake.writer().unwrap().mend_times().unwrap(), None);
    assert_eq!(it.lake.snapshot().id, mended.snapshot);
    let kek = kind::options().kek;
    let report = check_with(it.dir.path(), Depth::Rows, &kek).unwrap();
    assert!(report.is_good(), "{:?}", report.findings);

    // The same content keeps its version, and new content follows the clock.
    it.clock.advance(MINUTE);
    import(&it.lake, &[person("b", "male"), person("a", "female")]);
    let last = times(&it.lake);
    assert_eq!(last["Patient/b"], after["Patient/b"]);
    assert_eq!(last["Patient/a"], ("2".to_owned(), now + 60 * 1_000_000));
    it.clock.advance(KEPT);
    assert!(it.expire() > 3);
}

#[test]
fn a_snapshot_of_the_future_is_followed_by_one_of_the_present() {
    let it = served();
    import(&it.lake, &[person("a", "male")]);
    let before = times(&it.lake);
    it.clock.jump(10 * YEAR);
    it.replace_nothing();
    it.clock.jump(-10 * YEAR);
    assert!(it.lake.ahead().is_some());
    let mended = it.lake.writer().unwrap().mend_times().unwrap().unwrap();
    assert!(mended.resources.is_empty());
    assert_eq!((it.lake.ahead(), times(&it.lake)), (None, before));
}

impl Scene {
    /// Makes a snapshot without new rows, as a compaction does.
    fn replace_nothing(&self) {
        let mut writer = self.lake.writer().unwrap();
        let file = writer.lake().snapshot().table(Mode::Live, patient()).unwrap().files[0].clone();
        let mut transaction = writer.begin();
        let copy = transaction.new_file_path(Mode::Live, patient()).unwrap();
        let rows: Vec<_> = kind::parquet(&file.path).build().unwrap().map(Result::unwrap).collect();
        let schema = transaction.adopt(Mode::Live, patient(), &rows[0].schema()).unwrap();
        let keys = transaction.keys().clone();
        let written = tabularium::lake::file::write_file(&copy, patient(), &schema, &rows, &keys).unwrap();
        transaction
            .replace_files(Mode::Live, patient(), [file.id], [written])
            .unwrap();
        transaction.commit("test", "").unwrap();
    }
}

/// Runs the program over the lake.
fn program(lake: &Path, arguments: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tabularium"));
    program.env(kind::KEK.0, kind::KEK.1);
    program.arg(arguments[0]).arg("--data").arg(lake).args(&arguments[1..]);
    program
}

fn ran(lake: &Path, arguments: &[&str]) -> (String, String) {
    let output = program(lake, arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// A lake whose newest records are ten years ahead of the machine's clock.
fn ahead() -> Scene {
    let it = served();
    it.clock
        .jump((chrono::Utc::now().timestamp_micros() - START) / 1_000_000 - DAY);
    stamped(&it);
    it
}

#[test]
fn check_warns_of_times_of_the_future_and_mends_them_on_request() {
    let it = ahead();
    let lake = it.dir.path();
    let said = ran(lake, &["check"]).1;
    assert!(
        said.contains(
            "the lake's newest snapshot is 3649 days ahead of this machine's clock: set the clock or, if the \
                       clock is right, run `tabularium check --mend-times`"
        ),
        "{said}"
    );
    let future = ["search", "Patient?_lastUpdated=gt2030&_summary=count"];
    let total = |query: &[&str]| serde_json::from_str::<Value>(&ran(lake, query).0).unwrap()["total"].clone();
    assert_eq!(total(&future), 3);
    let (said, warned) = ran(lake, &["check", "--mend-times"]);
    assert!(said.contains("mended 4 resources: times up to 20"), "{said}");
    assert!(
        said.contains("live.Condition: 1") && said.contains("live.Patient: 3"),
        "{said}"
    );
    assert_eq!(warned, "");
    assert_eq!(total(&future), 0);
    assert_eq!(total(&["search", "Patient?_summary=count"]), 4);
    let again = ran(lake, &["check", "--mend-times"]).0;
    assert!(
        again.contains("no time is more than a minute later than this machine's clock"),
        "{again}"
    );
    let object: Value = serde_json::from_str(&ran(lake, &["check", "--mend-times", "--json"]).0).unwrap();
    assert_eq!(
        (&object["mended"], &object["secondsAhead"]),
        (&Value::Null, &Value::Null)
    );
    ran(lake, &["check", "--rows"]);
}

#[test]
fn mending_that_is_killed_has_mended_everything_or_nothing() {
    let mut random = chance(38);
    let mut killed = 0;
    let rounds = rounds(4);
    for round in 0..rounds {
        let it = ahead();
        let before = times(&it.lake);
        let files = files_seen(it.dir.path());
        let more = random.random_range(0..3);
        let moment = Duration::from_micros(random.random_range(0..20_000));
        let child = program(it.dir.path(), &["check", "--mend-times"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        killed += usize::from(kill_when(child, moment, || files_seen(it.dir.path()) >= files + more));
        it.lake.refresh().unwrap();
        // The clock of `it` is a day behind that of the command.
        let mended = it.lake.snapshot().time <= chrono::Utc::now().timestamp_micros();
        assert_eq!(times(&it.lake) == before, !mended, "round {round}");
        ran(it.dir.path(), &["check", "--mend-times"]);
        it.lake.refresh().unwrap();
        let now = chrono::Utc::now().timestamp_micros();
        let after = times(&it.lake);
        assert!(
            after.len() == 6 && after.values().all(|(_, time)| *time <= now),
            "round {round}"
        );
        assert_eq!(after["Patient/b"].0, "3", "round {round}");
        ran(it.dir.path(), &["check", "--rows"]);
    }
    println!("{killed} of {rounds} were killed");
}
