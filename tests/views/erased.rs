//! Views during an erasure by another process: files that they read are removed, but their answers stay complete.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};
use tabularium::http::Limits;
use tabularium::lake::{Intent, Lake, LakeWriter, Mode, PatientScope, Scope};
use tabularium::views::{Format, Resources, Run};

use super::over_http;
use super::planned::stream;
use super::{run, view, written};
use crate::harness::records::{self, Record};

/// The lake opened as by another process.
fn elsewhere(lake: &Lake) -> Lake {
    Lake::open(lake.folder().path()).unwrap()
}

fn intent(lake: &Lake, patient: &str) -> Intent {
    Intent {
        mode: Mode::Live,
        application: "local".to_owned(),
        patient: PatientScope {
            patients: vec![patient.to_owned()],
            owners: vec![lake.owner_of("local", patient)],
            authorizations: Vec::new(),
        },
    }
}

/// Erases people at once, without waiting for other processes to notice. Returns the number of removed files.
fn erase(lake: &Lake, patients: &[&str]) -> u64 {
    let intents: Vec<Intent> = patients.iter().map(|patient| intent(lake, patient)).collect();
    let mut writer: LakeWriter = lake.writer().unwrap();
    let erased = writer.erase_all(&intents).unwrap();
    assert!(erased.iter().all(|erased| erased.left.is_empty()), "{erased:?}");
    erased
        .iter()
        .map(|erased| erased.files_rewritten + erased.files_removed)
        .sum()
}

fn observation(lake: &Lake, id: &str, patient: &str) -> Record {
    Record::new(
        json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"text": "weight"},
        "subject": {"reference": format!("Patient/{patient}")}}),
    )
    .of(lake, patient)
    .refs(&["Organization/seen"])
}

fn ids_of(resource_type: &str) -> Value {
    json!({"resource": resource_type, "select": [{"column": [{"name": "id", "path": "id"}]}]})
}

/// A planned view reads its data as planned: data files, deletions, and shared rows. If the process hears of the
/// erasure in time, the erased rows are left out.
#[test]
fn a_view_that_was_planned_reads_files_that_are_gone() {
    for hears in [false, true] {
        let (_folder, lake) = records::lake();
        let organization = |id: &str| Record::new(json!({"resourceType": "Organization", "id": id}));
        let snapshot = records::commit(
            &lake,
            &[
                observation(&lake, "a1", "ann"),
                observation(&lake, "a2", "ann"),
                observation(&lake, "b1", "ben"),
                observation(&lake, "b2", "ben"),
                organization("seen"),
                organization("unseen"),
            ],
        );
        let type_id = records::type_named("Observation");
        let table = snapshot.table(Mode::Live, type_id).unwrap();
        // The first row of the file, which is Ann's or Ben's.
        records::commit_deleting(&lake, &[], &[(type_id, table.files[0].id, 0)]);
        let scopes = [
            ("Observation", records::application("local")),
            ("Observation", records::patient(&lake, "local", "ann")),
            ("Organization", records::patient(&lake, "local", "ann")),
        ];
        let text = |run: Run| written(run.rows(), Format::Csv { header: false }).unwrap();
        let plan = |(resource_type, scope): &(&str, Arc<Scope>)| {
            run(&lake, scope, &view(&ids_of(resource_type)), &Resources::default(), None)
        };
        let expected: Vec<String> = scopes.iter().map(|scope| text(plan(scope))).collect();
        assert_eq!((expected[0].lines().count(), &*expected[2]), (3, "seen\n"));
        let plans: Vec<Run> = scopes.iter().map(plan).collect();
        let other = elsewhere(&lake);
        if hears {
            let mut writer = other.writer().unwrap();
            writer.record_erasures(&[intent(&other, "ben")]).unwrap();
            lake.refresh().unwrap();
            drop(writer);
            // The next writer finishes the erasure.
            assert_eq!(other.writer().unwrap().resumed().len(), 1);
        } else {
            assert_eq!(erase(&other, &["ben"]), 1);
        }
        // No cached data is left.
        lake.refresh().unwrap();
        let shown = |id: &&str| !hears || !id.starts_with('b');
        for (expected, plan) in expected.iter().zip(plans) {
            let expected: Vec<&str> = expected.lines().filter(shown).collect();
            assert_eq!(text(plan).lines().collect::<Vec<_>>(), expected, "{hears}");
        }
    }
}

/// A slow client's answer was cut off when somebody was erased.
#[test]
fn an_answer_on_its_way_is_not_broken_off() {
    let server = stream::flood(Limits::default());
    let token = server.application_token();
    let mut client = TcpStream::connect(server.address).unwrap();
    let wanted = stream::request(&token, &stream::flooding(8));
    client.write_all(wanted.as_bytes()).unwrap();
    let mut read = vec![0; 4_096];
    client.read_exact(&mut read).unwrap();
    assert!(read.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&read));
    // One person of each file.
    let people: Vec<String> = (0..20).map(|file| format!("p{file:02}-07")).collect();
    let people: Vec<&str> = people.iter().map(String::as_str).collect();
    assert_eq!(erase(&elsewhere(&server.lake), &people), 20);
    server.lake.refresh().unwrap();
    while !read.ends_with(b"\r\n0\r\n\r\n") {
        let mut more = vec![0; 1 << 20];
        let count = client.read(&mut more).unwrap();
        assert_ne!(count, 0, "it broke off after {} bytes", read.len());
        read.extend_from_slice(&more[..count]);
    }
    let ends = |id: &str| memchr::memmem::find_iter(&read, format!("{id},7,7\n").as_bytes()).count();
    let erased: usize = people.iter().map(|id| ends(id)).sum();
    assert_eq!(ends("") - erased, 980, "a last row for everybody else");
}

/// A view over a snapshot with removed files got a 500 until the server heard of the erasure.
#[test]
fn a_view_over_files_that_are_gone_is_run_over_the_newer_snapshot() {
    let server = over_http::run::server();
    let token = server.application_token();
    let other = elsewhere(&server.lake);
    for round in 0..6 {
        let id = format!("gone-{round}");
        records::commit(&server.lake, &[observation(&server.lake, &id, "gone")]);
        other.refresh().unwrap();
        erase(&other, &["gone"]);
        let answer = over_http::run::run(&server, &token, &[]);
        assert_eq!(over_http::run::ids(&answer), ["a1", "a2", "b1", "c1"], "{round}");
        assert_eq!(answer.header("x-resource-count"), "4");
    }
}
