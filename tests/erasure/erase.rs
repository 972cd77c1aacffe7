//! Erasing a person: once it is recorded, no request and no snapshot shows their rows. Other people's rows and page
//! links continue to work. At the end no byte is left in the folder. If the process is interrupted, the next writer
//! finishes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::{Intent, Lake, Mode, PatientScope, Snapshot};

use crate::harness::kind;
use crate::harness::lake::{Fixture, Row, add, files_below, fixture, patient, row, rows, table, with};
use crate::harness::records::{self, Record};
use crate::harness::server::{Answer, Server};

/// A person's secret. It is long enough not to occur by chance, and in elements that are stored unchanged.
const MARKER: &str = "Xq7-secret-of-Ann-Wz9";

fn whose(owner: i64) -> PatientScope {
    PatientScope {
        patients: vec![format!("p{owner:06}")],
        owners: vec![owner],
        authorizations: Vec::new(),
    }
}

fn intent(owner: i64) -> Intent {
    Intent {
        mode: Mode::Live,
        application: "local".to_owned(),
        patient: whose(owner),
    }
}

fn erase(lake: &Lake, owner: i64) -> tabularium::lake::Erased {
    let mut writer = lake.writer().unwrap();
    writer.erase(Mode::Live, "local", &whose(owner)).unwrap()
}

/// The files of the folder that contain these bytes.
fn files_with(folder: &Path, bytes: &str) -> Vec<String> {
    let found = files_below(folder).into_iter().filter(|path| {
        let content = std::fs::read(path).unwrap();
        memchr::memmem::find(&content, bytes.as_bytes()).is_some()
    });
    found.map(|path| path.display().to_string()).collect()
}

/// All live rows, found by a reader that is independent of the scan.
fn all(snapshot: &Snapshot) -> Vec<Row> {
    let mut all: Vec<Row> = rows(table(snapshot)).concat();
    all.sort();
    all
}

/// The rows of some people that a scoped read shows.
fn shown(lake: &Lake, snapshot: &Arc<Snapshot>, owners: impl IntoIterator<Item = i64>) -> BTreeMap<i64, String> {
    let table = lake.table(snapshot, patient(), &records::application("local"));
    let read = |owner: i64| {
        let row = table.read(&format!("p{owner:06}")).unwrap()?;
        Some((owner, String::from_utf8(row.resource.to_vec()).unwrap()))
    };
    owners.into_iter().filter_map(read).collect()
}

#[test]
fn others_rows_keep_their_places_in_every_snapshot() {
    let it = fixture();
    let marked = |owner| with(owner, &format!(r#""name":[{{"family":"{MARKER}"}}]"#));
    let old = it.commit(&[row(3), marked(5), row(7), marked(8), row(9)]);
    // The next versions of 5 and 7 go into another file, and the old ones are deleted.
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    let again = |owner: i64| Row {
        version: 2,
        ..marked(owner)
    };
    add(&mut transaction, &[again(5), row(6), again(7)]);
    let file = table(&old).files[0].id;
    transaction.delete_rows(Mode::Live, patient(), file, [1, 2]).unwrap();
    let new = transaction.commit("test", "").unwrap();
    drop(writer);
    assert_eq!(files_with(it.dir.path(), MARKER).is_empty(), kind::is_sealed());
    let before: Vec<Vec<Row>> = [&old, &new].map(|snapshot| all(snapshot)).into();

    let done = erase(&it.lake, 5);
    assert_eq!((done.rows, done.files_rewritten, done.files_removed), (2, 2, 0));
    assert_eq!(done.resources, [(patient(), 1)].into());
    let (old_now, new_now) = (it.lake.snapshot_at(old.id).unwrap(), it.lake.snapshot());
    assert_eq!(new_now.id, new.id, "no snapshot is made");
    for (before, now) in before.iter().zip([&old_now, &new_now]) {
        let expected: Vec<Row> = before.iter().filter(|row| row.owner != 5).cloned().collect();
        assert_eq!(all(now), expected);
        assert_eq!(table(now).rows, expected.len() as u64);
    }
    assert_eq!(table(&old_now).files[0].id, file);
    let places = |snapshot: &Arc<Snapshot>| {
        let table = it.lake.table(snapshot, patient(), &records::application("local"));
        [3, 7, 9].map(|owner| table.locate(&format!("p{owner:06}")).unwrap().map(|place| place.row))
    };
    assert_eq!(places(&old_now), [Some(0), Some(2), Some(4)]);
    for person in [7, 8] {
        erase(&it.lake, person);
    }
    assert_eq!(files_with(it.dir.path(), MARKER), [""; 0]);
    assert_eq!(files_with(it.dir.path(), "p000005"), [""; 0]);
    assert_eq!(all(&it.lake.snapshot()), [row(3), row(6), row(9)].to_vec());
    // After reopening and merging, the rows are the same.
    let again = Lake::open(it.dir.path()).unwrap();
    assert_eq!(all(&again.snapshot()), all(&it.lake.snapshot()));
    let mut writer = it.lake.writer().unwrap();
    compact::run(&mut writer, &CompactOptions::new(Effort::Thorough), |_, _, _| {}).unwrap();
    drop(writer);
    let merged = it.lake.snapshot();
    assert_eq!(table(&merged).files[0].rows, 3, "blank rows are merged away");
}

/// A person's rows fill several batches, at the start and in the middle of a file.
#[test]
fn earlier_versions_go_and_the_newest_stay() {
    let it = fixture();
    let marked = |owner| with(owner, &format!(r#""name":[{{"family":"{MARKER}"}}]"#));
    let old = it.commit(&[row(3), marked(5), row(7)]);
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    let again = |owner: i64| Row {
        version: 2,
        ..row(owner)
    };
    add(&mut transaction, &[again(5), again(7)]);
    let file = table(&old).files[0].id;
    transaction.delete_rows(Mode::Live, patient(), file, [1, 2]).unwrap();
    let new = transaction.commit("test", "").unwrap();
    let before = all(&new);
    // No erasure was ever recorded in this lake.
    let left = writer.erase_superseded(&[intent(5)], &[intent(5)]).unwrap();
    assert_eq!(left, [Vec::<String>::new()]);
    // The receipt counts the file; it used not to.
    let evidence = writer.evidence(&[(intent(5), Vec::new())]).unwrap();
    let told = evidence[0]
        .files
        .iter()
        .map(|file| (file.rows, file.resources, file.replaced_by.is_some()));
    assert_eq!(told.collect::<Vec<_>>(), [(1, 0, true)]);
    assert_eq!(files_with(it.dir.path(), MARKER), [""; 0]);
    assert_eq!(it.lake.snapshot().id, new.id, "no snapshot is made");
    assert_eq!(all(&it.lake.snapshot()), before);
    let old_now = it.lake.snapshot_at(old.id).unwrap();
    assert_eq!(
        all(&old_now),
        [row(3), row(7)],
        "another person's earlier version stays"
    );
    let table = it.lake.table(&old_now, patient(), &records::application("local"));
    assert_eq!(table.locate("p000007").unwrap().map(|place| place.row), Some(2));
    // There is nothing left to erase.
    let changes = it.lake.snapshot().erasures();
    assert_eq!(
        writer
            .erase_superseded(&[intent(5), intent(3)], &[intent(5), intent(3)])
            .unwrap(),
        [[""; 0], [""; 0]]
    );
    assert_eq!(it.lake.snapshot().erasures(), changes);
    drop(writer);
    let reopened = Lake::open(it.dir.path()).unwrap();
    assert!(reopened.writer().unwrap().unfinished().is_empty());
    assert_eq!(all(&reopened.snapshot()), before);
}

#[test]
fn many_rows_in_a_row_are_erased() {
    let it = fixture();
    let of = |owner: i64, count: usize| {
        let one = move |at: usize| Row {
            id: format!("p{owner:06}-{at:05}"),
            ..row(owner)
        };
        (0..count).map(one)
    };
    let whose = |owner: i64, count: usize| PatientScope {
        patients: of(owner, count).map(|row| row.id).collect(),
        owners: vec![owner],
        authorizations: Vec::new(),
    };
    let stays: Vec<Row> = of(7, 2).chain(of(11, 1500)).collect();
    let all_rows: Vec<Row> = of(5, 2500)
        .chain(of(7, 2))
        .chain(of(9, 2500))
        .chain(of(11, 1500))
        .collect();
    let before = it.commit(&all_rows);
    let mut writer = it.lake.writer().unwrap();
    for owner in [9, 5] {
        let done = writer.erase(Mode::Live, "local", &whose(owner, 2500)).unwrap();
        assert_eq!((done.rows, done.files_rewritten), (2500, 1));
    }
    drop(writer);
    let now = it.lake.snapshot();
    assert_eq!(all(&now), stays);
    assert_eq!(table(&now).files[0].id, table(&before).files[0].id);
    let scope = records::application("local");
    let door = it.lake.table(&now, patient(), &scope);
    for (at, row) in all_rows
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 97 == 0 || (2498..2504).contains(at))
    {
        let place = door.locate(&row.id).unwrap();
        let stays = [7, 11].contains(&row.owner);
        assert_eq!(place.map(|place| place.row as usize), stays.then_some(at), "{}", row.id);
    }
    assert_eq!(files_with(it.dir.path(), "p000009-"), [""; 0]);
}

/// Erases the rows of one authorization and keeps the owner's others.
#[test]
fn an_authorization_is_erased_without_the_others() {
    let (dir, lake) = records::lake();
    let of = |id: &str, authorization: Option<&str>| {
        let json = json!({"resourceType":"Observation","id":id,"status":"final","code":{"text":format!("text of {id}")},
            "subject":{"reference":"Patient/ann"}});
        Record {
            authorization: authorization.map(str::to_owned),
            ..Record::new(json).of(&lake, "ann")
        }
    };
    let all = [
        of("a1", Some("auth-a")),
        of("a2", Some("auth-a")),
        of("b1", Some("auth-b")),
        of("imported", None),
        of("other", Some("auth-a")).application("another"),
    ];
    let snapshot = records::commit(&lake, &all);
    let owner = lake.owner_of("local", "ann");
    let scope = PatientScope {
        patients: Vec::new(),
        owners: vec![owner],
        authorizations: vec!["auth-a".to_owned()],
    };
    let done = lake.writer().unwrap().erase(Mode::Live, "local", &scope).unwrap();
    assert_eq!(done.resources.values().sum::<u64>(), 2);
    let type_id = records::type_named("Observation");
    for snapshot in [
        snapshot.clone(),
        lake.snapshot(),
        lake.snapshot_at(snapshot.id).unwrap(),
    ] {
        let table = lake.table(&snapshot, type_id, &records::application("local"));
        let found = ["a1", "a2", "b1", "imported"].map(|id| table.locate(id).ok().flatten().is_some());
        assert!(!found[0] && !found[1], "{found:?}");
        if snapshot.erasures() == lake.snapshot().erasures() {
            assert_eq!(found, [false, false, true, true]);
        }
    }
    let another = lake.table(&lake.snapshot(), type_id, &records::application("another"));
    assert!(another.locate("other").unwrap().is_some());
    assert_eq!(files_with(dir.path(), "text of a1"), [""; 0]);
}

#[test]
fn an_erasure_hides_from_the_moment_it_is_recorded_and_the_next_writer_finishes_it() {
    let it = fixture();
    let marked = with(5, &format!(r#""name":[{{"family":"{MARKER}"}}]"#));
    it.commit(&[row(3), marked.clone(), row(7)]);
    it.commit(&[row(11)]);
    let other = Lake::open(it.dir.path()).unwrap();
    let held = other.snapshot();
    let own = records::patient_of(&other, 5);
    assert_eq!(shown(&other, &held, [3, 5, 7, 11]).len(), 4);
    {
        let mut writer = it.lake.writer().unwrap();
        writer.record_erasures(&[intent(5)]).unwrap();
        let mut transaction = writer.begin();
        add(&mut transaction, &[row(12)]);
        transaction.commit("test", "").unwrap();
        let (nothing, _) = compact::run(&mut writer, &CompactOptions::new(Effort::Thorough), |_, _, _| {}).unwrap();
        assert_eq!(
            nothing.files_before, 2,
            "files with what is being erased are not merged: {nothing:?}"
        );
    }
    // No file is rewritten yet: a killed writer leaves this state.
    assert_eq!(files_with(it.dir.path(), MARKER).is_empty(), kind::is_sealed());
    let late = Lake::open(it.dir.path()).unwrap();
    other.refresh().unwrap();
    for lake in [&it.lake, &other, &late] {
        for snapshot in [lake.snapshot(), lake.snapshot_at(1).unwrap()] {
            let found: Vec<i64> = shown(lake, &snapshot, [3, 5, 7, 11]).into_keys().collect();
            assert!(
                !found.contains(&5) && found.contains(&3) && found.contains(&7),
                "{found:?}"
            );
        }
    }
    // A reader with an earlier snapshot does not see the rows either.
    assert_eq!(shown(&other, &held, [5]).len(), 0);
    assert_eq!(other.table(&held, patient(), &own).read("p000005").unwrap(), None);

    drop(late.writer().unwrap());
    assert_eq!(files_with(it.dir.path(), MARKER), [""; 0]);
    other.refresh().unwrap();
    assert_eq!(
        shown(&other, &other.snapshot(), [3, 5, 7, 11])
            .into_keys()
            .collect::<Vec<_>>(),
        [3, 7, 11]
    );
    // A person who is imported again is not erased.
    it.lake.refresh().unwrap();
    it.commit(&[marked]);
    other.refresh().unwrap();
    assert_eq!(shown(&other, &other.snapshot(), [5]).len(), 1);
}

/// Files of an interrupted import are in no snapshot, but they contain records too.
#[test]
fn what_was_moved_aside_is_erased_too() {
    let it = fixture();
    let marked = |owner| with(owner, &format!(r#""name":[{{"family":"{MARKER}-{owner}-"}}]"#));
    it.commit(&[row(3), marked(5)]);
    let lost = |rows: &[Row]| {
        let mut writer = it.lake.writer().unwrap();
        let mut transaction = writer.begin();
        let file = add(&mut transaction, rows);
        std::fs::read(&file.path).unwrap()
    };
    let table_folder = it.lake.folder().data().join("live/Patient");
    let leave = |name: &str, content: &[u8]| std::fs::write(table_folder.join(name), content).unwrap();
    leave("000000000000000a.parquet", &lost(&[marked(5), marked(7)]));
    leave("000000000000000b.parquet", &lost(&[marked(8)]));
    let half = lost(&[marked(9)]);
    leave("000000000000000c.parquet", &half[..half.len() / 2]);
    drop(it.lake.writer().unwrap());
    let aside = it.lake.folder().data().join(".orphans");
    assert_eq!(files_below(&aside).len(), 3);
    let done = erase(&it.lake, 5);
    assert_eq!((done.rows, done.left.len()), (1, 0));
    assert_eq!(files_with(it.dir.path(), &format!("{MARKER}-5-")), [""; 0]);
    // The cut-off file may contain anybody's rows; the other person's file stays for its day. In a sealed lake an
    // uncommitted file's key is not kept, so each such file may contain anybody's rows.
    let left: Vec<_> = files_below(&aside).into_iter().collect();
    if kind::is_sealed() {
        assert!(left.is_empty(), "{left:?}");
    } else {
        assert!(
            left.len() == 1 && left[0].ends_with("live/Patient/000000000000000b.parquet"),
            "{left:?}"
        );
    }
    // The same works for a person who is in no snapshot.
    let done = erase(&it.lake, 8);
    assert_eq!((done.rows, done.left.len()), (0, 0));
    assert_eq!(files_below(&aside).len(), 0);
}

/// A server used to answer 500 until it noticed that another process had replaced files that it had not opened yet.
#[test]
fn a_server_answers_though_it_has_not_noticed_an_erasure_yet() {
    for path in [
        "/fhir/Observation?patient=ben&_count=50",
        "/fhir/?_type=Patient,Observation&_count=50",
        "/fhir/Patient/ben",
    ] {
        let server = Server::imported(&people());
        let token = server.application_token();
        let other = Lake::open(server.folder()).unwrap();
        let scope = records::patient(&other, "local", "ann");
        let mut writer = other.writer().unwrap();
        writer
            .erase(Mode::Live, "local", scope.patient.as_ref().unwrap())
            .unwrap();
        let answer = server.get(path, &token);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert!(!answer.text.contains(MARKER) && answer.text.contains("Ben"), "{path}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<i64>),
    Erase(i64),
    Record(i64),
    Compact,
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owner = 2i64..14;
    let step = prop_oneof![
        4 => prop::collection::btree_set(owner.clone(), 1..6).prop_map(|owners| Step::Put(owners.into_iter().collect())),
        3 => owner.clone().prop_map(Step::Erase),
        1 => owner.prop_map(Step::Record),
        1 => Just(Step::Compact),
        1 => Just(Step::Wait),
    ];
    prop::collection::vec(step, 1..14)
}

/// A lake and the expected contents of its snapshots.
struct Model {
    it: Fixture,
    snapshots: BTreeMap<u64, BTreeMap<i64, String>>,
    version: i64,
}

impl Model {
    fn now(&self) -> BTreeMap<i64, String> {
        self.snapshots.values().last().cloned().unwrap_or_default()
    }

    fn put(&mut self, owners: &[i64]) {
        self.version += 1;
        let mut writer = self.it.lake.writer().unwrap();
        let snapshot = writer.lake().snapshot();
        let mut transaction = writer.begin();
        let scope = records::application("local");
        let mut now = self.now();
        let new: Vec<Row> = owners
            .iter()
            .map(|owner| {
                let text = format!(r#""name":[{{"family":"f{owner}v{}"}}]"#, self.version);
                let row = Row {
                    version: self.version,
                    ..with(*owner, &text)
                };
                now.insert(*owner, row.resource.clone());
                row
            })
            .collect();
        for row in &new {
            let table = self.it.lake.table(&snapshot, patient(), &scope);
            if let Some(place) = table.locate(&row.id).unwrap() {
                transaction
                    .delete_rows(Mode::Live, patient(), place.file, [u64::from(place.row)])
                    .unwrap();
            }
        }
        add(&mut transaction, &new);
        let snapshot = transaction.commit("test", "").unwrap();
        self.snapshots.insert(snapshot.id, now);
    }

    fn forget(&mut self, owner: i64) {
        for snapshot in self.snapshots.values_mut() {
            snapshot.remove(&owner);
        }
    }

    /// The files of each snapshot, in the table's order.
    fn orders(&self) -> BTreeMap<u64, Vec<u64>> {
        let order = |id: &u64| {
            let snapshot = self.it.lake.snapshot_at(*id).ok()?;
            let files = snapshot.table(Mode::Live, patient())?.files.iter().map(|file| file.id);
            Some((*id, files.collect()))
        };
        self.snapshots.keys().filter_map(order).collect()
    }

    fn check(&mut self) {
        let lake = &self.it.lake;
        let newest = lake.snapshot().id;
        let mut gone = Vec::new();
        for (id, expected) in &self.snapshots {
            let Ok(snapshot) = lake.snapshot_at(*id) else {
                assert!(*id < newest);
                gone.push(*id);
                continue;
            };
            assert_eq!(&shown(lake, &snapshot, 2..14), expected, "snapshot {id}");
            if snapshot.table(Mode::Live, patient()).is_some() && !lake_has_pending(lake) {
                let plain: BTreeMap<i64, String> = all(&snapshot)
                    .into_iter()
                    .map(|row| (row.owner, row.resource))
                    .collect();
                assert_eq!(&plain, expected, "snapshot {id}");
                assert_eq!(table(&snapshot).rows, expected.len() as u64);
                for file in &table(&snapshot).files {
                    assert!(file.live_rows() > 0, "a file without rows has ended");
                }
            }
        }
        gone.iter().for_each(|id| drop(self.snapshots.remove(id)));
    }
}

/// Whether a recorded erasure waits for a writer.
fn lake_has_pending(lake: &Lake) -> bool {
    lake.snapshot().erasures() % 2 == 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn snapshots_hold_what_was_not_erased(steps in steps()) {
        let mut model = Model { it: fixture(), snapshots: BTreeMap::new(), version: 0 };
        for step in steps {
            match step {
                Step::Put(owners) => model.put(&owners),
                Step::Erase(owner) => {
                    let had: u64 = model.now().contains_key(&owner).into();
                    let before = model.orders();
                    let done = erase(&model.it.lake, owner);
                    for (snapshot, now) in model.orders() {
                        let mut expected = before[&snapshot].clone();
                        expected.retain(|file| now.contains(file));
                        prop_assert_eq!(now, expected, "the files' order is the pages' order");
                    }
                    prop_assert_eq!(done.resources.values().sum::<u64>(), had);
                    model.forget(owner);
                }
                Step::Record(owner) => {
                    let mut writer = model.it.lake.writer().unwrap();
                    writer.record_erasures(&[intent(owner)]).unwrap();
                    model.forget(owner);
                }
                Step::Compact => {
                    let mut writer = model.it.lake.writer().unwrap();
                    compact::run(&mut writer, &CompactOptions::new(Effort::Thorough), |_, _, _| {}).unwrap();
                }
                Step::Wait => model.it.clock.advance(Duration::from_secs(2000)),
            }
            model.check();
        }
    }
}

fn people() -> Vec<Value> {
    let mut all = vec![
        json!({"resourceType":"Practitioner","id":"doc","name":[{"family":"Doc"}]}),
        json!({"resourceType":"Group","id":"household","type":"person","actual":true,
               "member":[{"entity":{"reference":"Patient/ann"}},{"entity":{"reference":"Patient/ben"}}]}),
    ];
    for (id, text) in [("ann", MARKER), ("ben", "Ben"), ("cid", "Cid")] {
        all.push(json!({"resourceType":"Patient","id":id,"name":[{"family":text}],
                        "generalPractitioner":[{"reference":"Practitioner/doc"}]}));
        for at in 0..12 {
            all.push(json!({"resourceType":"Observation","id":format!("{id}-{at}"),"status":"final",
                "code":{"coding":[{"system":"urn:c","code":"c"}],"text":text},"subject":{"reference":format!("Patient/{id}")},
                "hasMember":[{"reference":"Observation/ann-1"}],
                "effectiveDateTime":format!("2024-01-{:02}", 1 + (at * 5) % 28),
                "performer":[{"reference":"Practitioner/doc"}]}));
        }
    }
    all
}

fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let entries = answer.json()["entry"].as_array().cloned().unwrap_or_default();
    entries
        .iter()
        .filter(|entry| entry["search"]["mode"] == "match")
        .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned())
        .collect()
}

fn next(answer: &Answer) -> Option<String> {
    let links = answer.json()["link"].as_array().cloned().unwrap_or_default();
    let next = links.iter().find(|link| link["relation"] == "next")?;
    let url = next["url"].as_str()?;
    Some(format!("/fhir{}", url.split_once("/fhir").unwrap().1))
}

fn view(server: &Server, token: &str) -> Answer {
    let view = json!({"resourceType":"ViewDefinition","status":"active","resource":"Observation",
        "select":[{"column":[{"name":"id","path":"id"},{"name":"text","path":"code.text"}]}]});
    let body = json!({"resourceType":"Parameters","parameter":[
        {"name":"_format","valueCode":"json"},{"name":"viewResource","resource":view}]});
    let authorization = format!("Bearer {token}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/fhir+json"),
    ];
    server.send("POST", "/fhir/ViewDefinition/$run", &headers, &body.to_string())
}

fn command(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabularium"));
    command.args(arguments).arg("--data").arg(folder).output().unwrap()
}

#[test]
fn nothing_is_shown_by_any_door_and_links_go_on() {
    let server = Server::imported(&people());
    let (application, ann, ben) = (
        server.application_token(),
        server.patient_token("ann"),
        server.patient_token("ben"),
    );
    let doors = [
        "/fhir/Patient?family=xq7",
        "/fhir/Patient?_id=ann",
        "/fhir/Patient?_has:Observation:patient:_id=ann-3",
        "/fhir/Observation?patient=ann",
        "/fhir/Observation?_id=ann-1,ann-2",
        "/fhir/Observation?subject:Patient.family=xq7",
        "/fhir/Observation?_text=xq7",
        "/fhir/Patient/ann/Observation",
        "/fhir/?_type=Patient,Observation&_id=ann,ann-2",
    ];
    // At first all requests return Ann, and fill the caches.
    for path in doors.iter().filter(|path| !path.contains("_text")) {
        assert!(!ids(&server.get(path, &application)).is_empty(), "{path}");
    }
    assert_eq!(ids(&server.get("/fhir/Observation?_count=50", &ann)).len(), 12);
    assert!(view(&server, &application).text.contains(MARKER));
    let walks = [
        ("/fhir/Observation?_count=5", &application),
        ("/fhir/Observation?_count=5&_sort=-_id", &application),
        ("/fhir/Observation?_count=5&_sort=date", &ben),
        ("/fhir/Observation?_count=5&_include=Observation:has-member", &ben),
    ];
    let first: Vec<Answer> = walks.iter().map(|(path, token)| server.get(path, token)).collect();

    let done = command(&["erase", "--yes", "--patient", "ann"], server.folder());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(
        said.starts_with("Observation  12\nPatient       1\ntotal        13\n"),
        "{said}"
    );
    server.lake.refresh().unwrap();

    assert_eq!(files_with(server.folder(), MARKER), [""; 0]);
    // The tokens for the person end, although the server's clock is ahead of the command's.
    server.store.refresh().unwrap();
    for path in doors {
        assert_eq!(ids(&server.get(path, &application)), [""; 0], "{path}");
        assert_eq!(server.get(path, &ann).status, 401, "{path}");
    }
    for path in ["/fhir/Patient/ann", "/fhir/Observation/ann-3"] {
        assert_eq!(server.get(path, &application).status, 404);
    }
    let included = server.get("/fhir/Observation?_include=*&_revinclude=*&_count=100", &application);
    assert!(!included.text.contains(MARKER) && ids(&included).len() == 24);
    let rows = view(&server, &application).text;
    assert!(!rows.contains(MARKER) && rows.contains("ben-3"), "{rows}");
    assert_eq!(
        ids(&server.get("/fhir/Group?_id=household", &application)),
        ["household"]
    );

    for ((path, token), page) in walks.iter().zip(&first) {
        let mut found: Vec<String> = ids(page);
        let mut link = next(page);
        let mut expired = false;
        while let Some(path) = link {
            let page = server.get(&path, token);
            if page.status == 410 {
                // The link's position was a row that is erased now.
                expired = true;
                break;
            }
            assert!(!page.text.contains(MARKER), "{path}");
            let here = ids(&page);
            assert!(here.iter().all(|id| !id.starts_with("ann")), "{path}: {here:?}");
            found.extend(here);
            link = next(&page);
        }
        let others: Vec<&String> = found.iter().filter(|id| !id.starts_with("ann")).collect();
        let once: BTreeSet<&String> = others.iter().copied().collect();
        assert_eq!(others.len(), once.len(), "{path}: {found:?}");
        assert_eq!(
            expired,
            path.contains("-_id") && found.last().is_some_and(|id| id.starts_with("ann")),
            "{path}"
        );
        if !expired {
            assert_eq!(once.len(), if *token == &ben { 12 } else { 24 }, "{path}: {found:?}");
        }
    }
    let unknown = command(&["erase", "--yes", "--patient", "ann"], server.folder());
    assert_eq!(unknown.status.code(), Some(2));
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
}
