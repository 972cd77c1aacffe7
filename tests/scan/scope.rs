//! The rows that each scope sees.

use serde_json::json;
use tabularium::lake::scan::MemoryLimits;
use tabularium::lake::{Lake, LakeOptions, Locator, Mode, Person};

use super::{ids, leaves, person_ids};
use crate::harness::records::{Record, application, commit, commit_deleting, lake, patient, type_named};

fn observation(id: &str, patient: &str) -> Record {
    Record::new(json!({
        "resourceType": "Observation", "id": id, "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": "8480-6"}]},
        "subject": {"reference": format!("Patient/{patient}")},
    }))
}

#[test]
fn another_applications_rows_look_as_if_they_did_not_exist() {
    let (_dir, lake) = lake();
    let here = |id| observation(id, "p").of(&lake, "p");
    let there = |id| observation(id, "p").application("other").of(&lake, "p");
    let test = |id| Record {
        mode: Mode::Test,
        ..observation(id, "p")
    };
    let snapshot = commit(
        &lake,
        &[here("a"), here("b"), there("b"), there("c"), test("d").of(&lake, "p")],
    );
    let local = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let other = lake.table(&snapshot, type_named("Observation"), &application("other"));
    assert_eq!(ids(&local), ["a", "b"]);
    assert_eq!(ids(&other), ["b", "c"]);
    assert!(ids(&lake.table(&snapshot, type_named("Observation"), &application("third"))).is_empty());
    assert_eq!(local.read("c").unwrap(), None);
    assert_eq!(local.read("d").unwrap(), None);
    assert!(ids(&lake.table(&snapshot, type_named("Patient"), &application("local"))).is_empty());
    let foreign = other.locate("c").unwrap().unwrap();
    assert!(local.resources(&[foreign]).is_err());
    let owner = lake.owner_of("local", "p");
    assert_eq!(person_ids(&local, Person::Owner(owner)), ["a", "b"]);
    assert!(person_ids(&other, Person::Owner(owner)).is_empty());
    assert!(person_ids(&local, Person::OfScope).is_empty());
}

/// Two people who share a practitioner, an organization, a Group and a family Coverage; and rows that no patient may
/// see.
fn family(lake: &Lake) -> Vec<Record> {
    let person = |id: &str| Record::new(json!({"resourceType": "Patient", "id": id})).of(lake, id);
    let of = |id: &str, patient: &str, refs: &[&str]| observation(id, patient).of(lake, patient).refs(refs);
    let shared = |resource_type: &str, id: &str, refs: &[&str]| {
        Record::new(json!({"resourceType": resource_type, "id": id})).refs(refs)
    };
    vec![
        person("ann"),
        person("bob"),
        of("ann-1", "ann", &["Practitioner/house", "Group/study", "Patient/bob"]),
        of(
            "bob-1",
            "bob",
            &["Practitioner/house", "Practitioner/wilson", "Observation/ann-1"],
        ),
        shared("Practitioner", "house", &["Organization/hospital"]),
        shared("Practitioner", "wilson", &[]),
        shared("Practitioner", "unmet", &["Organization/elsewhere"]),
        shared("Organization", "hospital", &["Organization/trust"]),
        shared("Organization", "trust", &["Organization/hospital", "Patient/bob"]),
        shared("Organization", "elsewhere", &[]),
        // The Group names both people and has no subject, so only the application sees it.
        shared("Group", "study", &[]).owner(1),
        Record::new(json!({"resourceType": "Coverage", "id": "family"}))
            .of(lake, "ann")
            .refs(&["Organization/payer"]),
        shared("Organization", "payer", &[]),
        // Another application's rows with the same ids.
        shared("Practitioner", "house", &["Organization/elsewhere"]).application("other"),
        shared("Organization", "hospital", &[]).application("other"),
    ]
}

#[test]
fn a_patient_sees_its_own_rows_and_what_they_refer_to() {
    let (_dir, lake) = lake();
    let snapshot = commit(&lake, &family(&lake));
    let see = |scope: &_, name: &str| {
        let table = lake.table(&snapshot, type_named(name), scope);
        let seen = ids(&table);
        assert_eq!(person_ids(&table, Person::OfScope), seen, "{name}");
        assert_eq!(person_ids(&table, Person::OfScope), seen, "{name} from the cache");
        seen
    };
    let ann = patient(&lake, "local", "ann");
    let bob = patient(&lake, "local", "bob");
    assert_eq!(see(&ann, "Patient"), ["ann"]);
    assert_eq!(see(&bob, "Patient"), ["bob"]);
    assert_eq!(see(&ann, "Observation"), ["ann-1"]);
    assert_eq!(see(&bob, "Observation"), ["bob-1"]);
    assert_eq!(see(&ann, "Practitioner"), ["house"]);
    assert_eq!(see(&bob, "Practitioner"), ["house", "wilson"]);
    assert_eq!(see(&ann, "Organization"), ["hospital", "payer", "trust"]);
    assert_eq!(see(&bob, "Organization"), ["hospital", "trust"]);
    assert!(see(&ann, "Group").is_empty());
    assert_eq!(see(&ann, "Coverage"), ["family"]);
    assert!(see(&bob, "Coverage").is_empty());
    let all = application("local");
    assert_eq!(ids(&lake.table(&snapshot, type_named("Group"), &all)), ["study"]);
    assert_eq!(ids(&lake.table(&snapshot, type_named("Organization"), &all)).len(), 4);
    let practitioners = lake.table(&snapshot, type_named("Practitioner"), &all);
    let wilson = practitioners.locate("wilson").unwrap().unwrap();
    let seen_by_ann = lake.table(&snapshot, type_named("Practitioner"), &ann);
    assert!(seen_by_ann.resources(&[wilson]).is_err());
    assert_eq!(seen_by_ann.read("wilson").unwrap(), None);
    assert_eq!(person_ids(&seen_by_ann, Person::Owner(0)), ["house"]);
    assert!(
        person_ids(
            &lake.table(&snapshot, type_named("Observation"), &ann),
            Person::Owner(lake.owner_of("local", "bob"))
        )
        .is_empty()
    );
}

#[test]
fn what_a_patient_sees_follows_the_snapshot() {
    let (_dir, lake) = lake();
    let before = commit(&lake, &family(&lake));
    let ann = patient(&lake, "local", "ann");
    let table = |snapshot: &_, name: &str| lake.table(snapshot, type_named(name), &ann);
    let old = lake
        .table(&before, type_named("Observation"), &application("local"))
        .locate("ann-1")
        .unwrap()
        .unwrap();
    let next = observation("ann-1", "ann")
        .of(&lake, "ann")
        .refs(&["Practitioner/wilson"]);
    let next = Record { version: 2, ..next };
    let after = commit_deleting(
        &lake,
        &[next],
        &[(type_named("Observation"), old.file, u64::from(old.row))],
    );
    assert_eq!(ids(&table(&before, "Practitioner")), ["house"]);
    assert_eq!(ids(&table(&after, "Practitioner")), ["wilson"]);
    assert_eq!(person_ids(&table(&after, "Practitioner"), Person::OfScope), ["wilson"]);
    assert_eq!(person_ids(&table(&before, "Practitioner"), Person::OfScope), ["house"]);
    assert_eq!(table(&before, "Observation").read("ann-1").unwrap().unwrap().version, 1);
    assert_eq!(table(&after, "Observation").read("ann-1").unwrap().unwrap().version, 2);
    assert!(table(&after, "Observation").resources(&[old]).is_err());
    let unknown = Locator {
        file: old.file,
        row: 1_000_000,
    };
    assert!(table(&before, "Observation").resources(&[unknown]).is_err());
}

#[test]
fn an_authorization_decides_over_its_own_rows() {
    let (_dir, lake) = lake();
    let synced = |id: &str, authorization: &str| Record {
        authorization: Some(authorization.to_owned()),
        ..observation(id, "p").of(&lake, "p")
    };
    let snapshot = commit(
        &lake,
        &[
            synced("a", "first"),
            synced("b", "second"),
            observation("c", "p").of(&lake, "p"),
        ],
    );
    let mut scope = patient(&lake, "local", "p").as_ref().clone();
    let mut person = scope.patient.unwrap().as_ref().clone();
    person.authorizations = vec!["second".to_owned()];
    scope.patient = Some(person.into());
    let table = lake.table(&snapshot, type_named("Observation"), &scope.into());
    assert_eq!(ids(&table), ["b", "c"]);
    assert_eq!(person_ids(&table, Person::OfScope), ["b", "c"]);
}

#[test]
fn deleted_rows_are_gone_in_every_way_of_reading() {
    let (_dir, lake) = lake();
    let rows: Vec<Record> = (0..5000)
        .map(|n| observation(&format!("o{n:04}"), "p").of(&lake, "p"))
        .collect();
    let snapshot = commit(&lake, &rows);
    let all = application("local");
    let table = lake.table(&snapshot, type_named("Observation"), &all);
    let place = |id: &str| table.locate(id).unwrap().unwrap();
    let gone = ["o0000", "o0001", "o1024", "o2500", "o4999"];
    let deleted: Vec<_> = gone
        .map(|id| (type_named("Observation"), place(id).file, u64::from(place(id).row)))
        .to_vec();
    let snapshot = commit_deleting(&lake, &[], &deleted);
    let table = lake.table(&snapshot, type_named("Observation"), &all);
    let left: Vec<String> = (0..5000)
        .map(|n| format!("o{n:04}"))
        .filter(|id| !gone.contains(&id.as_str()))
        .collect();
    assert_eq!(ids(&table), left);
    for id in gone {
        assert_eq!(table.read(id).unwrap(), None);
        assert_eq!(table.locate(id).unwrap(), None);
    }
    assert_eq!(person_ids(&table, Person::Owner(lake.owner_of("local", "p"))), left);
    let batch = table
        .person_batch(Person::Owner(lake.owner_of("local", "p")), &leaves(&["status"]))
        .unwrap()
        .batch;
    assert_eq!(batch.num_rows(), left.len());
}

#[test]
fn a_reader_that_keeps_nothing_sees_the_same() {
    let (dir, lake) = lake();
    let snapshot = commit(&lake, &family(&lake));
    let memory = MemoryLimits {
        bytes: 0,
        handles: 0,
        people: false,
    };
    let forgetful = Lake::open_with(
        dir.path(),
        LakeOptions {
            memory,
            ..crate::harness::kind::options()
        },
    )
    .unwrap();
    let ann = patient(&lake, "local", "ann");
    for name in [
        "Patient",
        "Observation",
        "Practitioner",
        "Organization",
        "Group",
        "Coverage",
    ] {
        let (kept, fresh) = (
            lake.table(&snapshot, type_named(name), &ann),
            forgetful.table(&forgetful.snapshot(), type_named(name), &ann),
        );
        assert_eq!(ids(&fresh), ids(&kept), "{name}");
        assert_eq!(
            person_ids(&fresh, Person::OfScope),
            person_ids(&kept, Person::OfScope),
            "{name}"
        );
    }
}

#[test]
fn what_is_read_ahead_is_bounded_and_changes_no_answer() {
    let (dir, lake) = lake();
    let people: Vec<String> = (0..40).map(|at| format!("p{at:02}")).collect();
    let here = &lake;
    let rows: Vec<Record> = people
        .iter()
        .flat_map(|patient| (0..3).map(move |at| observation(&format!("{patient}-{at}"), patient).of(here, patient)))
        .collect();
    commit(&lake, &rows[..60]);
    let snapshot = commit(&lake, &rows[60..]);
    let asked = |lake: &Lake| {
        let of = |id| lake.table(&snapshot, type_named("Observation"), &patient(lake, "local", id));
        (ids(&of("p00")), ids(&of("p39")))
    };
    let expected = (vec!["p00-0", "p00-1", "p00-2"], vec!["p39-0", "p39-1", "p39-2"]);
    // If it is stopped, it reads nothing; then it reads everything; then nothing is left to read.
    let warmed = |lake: &Lake, go_on: bool| {
        let done = lake.warm(|| go_on).unwrap();
        (done.files, done.row_groups)
    };
    assert_eq!(warmed(&lake, false), (0, 0));
    assert_eq!(warmed(&lake, true), (2, 2));
    assert_eq!(warmed(&lake, true), (0, 0));
    let found = asked(&lake);
    assert_eq!(
        (
            found.0.iter().map(String::as_str).collect::<Vec<_>>(),
            found.1.iter().map(String::as_str).collect()
        ),
        expected
    );
    // Without memory nothing is read ahead, but requests are still answered.
    let memory = MemoryLimits {
        bytes: 0,
        ..MemoryLimits::default()
    };
    let options = LakeOptions {
        memory,
        ..crate::harness::kind::options()
    };
    let small = Lake::open_with(dir.path(), options).unwrap();
    assert_eq!(warmed(&small, true), (0, 0));
    assert_eq!(asked(&small), found);
}
