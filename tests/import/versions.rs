//! A type and id identify one resource. Its version increases with each change of content.

use tabularium::ingest::{Options, Session};
use tabularium::lake::Mode;

use super::{Fixture, totals};
use crate::harness::stored::stored;

fn patient(gender: &str) -> String {
    format!(r#"{{"resourceType":"Patient","id":"p","gender":"{gender}"}}"#)
}

#[test]
fn changed_content_is_the_next_version() {
    let fixture = Fixture::new();
    assert_eq!(
        totals(&fixture.import_text("a.json", &patient("male"))),
        [1, 1, 0, 0, 0]
    );
    let first = fixture.row("Patient", "p");
    assert_eq!(first.version, 1);
    assert_eq!(
        totals(&fixture.import_text("b.json", &patient("female"))),
        [1, 1, 0, 0, 0]
    );
    let second = fixture.row("Patient", "p");
    assert_eq!(second.version, 2);
    assert!(
        second.resource.contains(r#""meta":{"versionId":"2","lastUpdated":""#) && second.resource.contains("female")
    );
    assert_eq!(
        totals(&fixture.import_text("c.json", &patient("female"))),
        [1, 0, 1, 0, 0]
    );
    assert_eq!(fixture.row("Patient", "p"), second);
    assert_eq!(stored(&fixture.lake).len(), 1);
}

/// A resource that the lake sent out comes back unchanged: the version and the date in `meta` do not count as content.
#[test]
fn commit_meta_is_no_content() {
    let fixture = Fixture::new();
    for (name, text) in [
        ("plain", patient("male")),
        (
            "profiled",
            patient("male")
                .replace(r#""gender""#, r#""meta":{"profile":["http://x"]},"gender""#)
                .replace("\"p\"", "\"q\""),
        ),
    ] {
        fixture.import_text(&format!("{name}.json"), &text);
        let id = if name == "plain" { "p" } else { "q" };
        let row = fixture.row("Patient", id);
        assert_eq!(
            totals(&fixture.import_text(&format!("{name}-again.json"), &row.resource)),
            [1, 0, 1, 0, 0],
            "{name}"
        );
        let other = row.resource.replace(r#""versionId":"1""#, r#""versionId":"77""#);
        assert_eq!(
            totals(&fixture.import_text(&format!("{name}-other.json"), &other)),
            [1, 0, 1, 0, 0],
            "{name}"
        );
        assert_eq!(fixture.row("Patient", id), row);
    }
    let row = fixture.row("Patient", "q");
    assert!(
        row.resource.contains(r#"","profile":["http://x"]},"gender""#),
        "{}",
        row.resource
    );
}

/// Each change within one input counts. The last content is stored, and a repeated input writes nothing.
#[test]
fn an_input_may_hold_several_versions() {
    let fixture = Fixture::new();
    let lines = [patient("male"), patient("female"), patient("female"), patient("other")].join("\n");
    assert_eq!(totals(&fixture.import_text("a.ndjson", &lines)), [4, 1, 1, 2, 0]);
    assert_eq!(fixture.row("Patient", "p").version, 3);
    let summary = fixture.import_text("b.ndjson", &lines);
    assert_eq!(
        (totals(&summary), summary.snapshot),
        ([4, 0, 1, 3, 0], fixture.lake.snapshot().id)
    );
    assert_eq!(fixture.row("Patient", "p").version, 3);
    let back = [patient("other"), patient("male")].join("\n");
    fixture.import_text("c.ndjson", &back);
    assert_eq!(fixture.row("Patient", "p").version, 4);
}

/// A history lists the newest version first.
#[test]
fn a_history_is_taken_from_its_end() {
    let fixture = Fixture::new();
    let entry = |gender| format!(r#"{{"resource":{}}}"#, patient(gender));
    let bundle = |kind: &str| {
        format!(
            r#"{{"resourceType":"Bundle","type":"{kind}","entry":[{},{}]}}"#,
            entry("female"),
            entry("male")
        )
    };
    fixture.import_text("history.json", &bundle("history"));
    let row = fixture.row("Patient", "p");
    assert_eq!((row.version, row.resource.contains("female")), (2, true));
    fixture.import_text("collection.json", &bundle("collection"));
    let row = fixture.row("Patient", "p");
    assert_eq!((row.version, row.resource.contains("female")), (3, false));
}

#[test]
fn applications_and_modes_do_not_share_resources() {
    let fixture = Fixture::new();
    let path = fixture.write("a.json", patient("male"));
    let options = |application: &str, mode| Options {
        application: application.to_owned(),
        mode,
        ..Options::default()
    };
    for (application, mode) in [("one", Mode::Live), ("two", Mode::Live), ("one", Mode::Test)] {
        assert_eq!(
            totals(&fixture.import_with(options(application, mode), &[&path])),
            [1, 1, 0, 0, 0]
        );
    }
    let changed = fixture.write("b.json", patient("female"));
    fixture.import_with(options("two", Mode::Live), &[&changed]);
    let rows = stored(&fixture.lake);
    let found: Vec<_> = rows
        .iter()
        .map(|((mode, application, ..), row)| (*mode, application.as_str(), row.version))
        .collect();
    assert_eq!(
        found,
        [(Mode::Live, "one", 1), (Mode::Live, "two", 2), (Mode::Test, "one", 1)]
    );
    let owners: std::collections::BTreeSet<i64> = rows.values().map(|row| row.owner).collect();
    assert_eq!(owners.len(), 2, "owners differ between applications");
}

/// If a resource's person changes, its row moves to the other person.
#[test]
fn a_resource_may_change_its_person() {
    let fixture = Fixture::new();
    let of = |patient: &str| {
        format!(r#"{{"resourceType":"Observation","id":"o","subject":{{"reference":"Patient/{patient}"}}}}"#)
    };
    fixture.import_text("a.json", &of("a"));
    let before = fixture.row("Observation", "o");
    fixture.import_text("b.json", &of("b"));
    let after = fixture.row("Observation", "o");
    assert_eq!(
        (before.patient.as_deref(), after.patient.as_deref(), after.version),
        (Some("a"), Some("b"), 2)
    );
    assert_ne!(before.owner, after.owner);
    assert_eq!(before.owner, fixture.lake.owner_of("local", "a"));
}

/// A dropped session stores nothing, and its files are removed.
#[test]
fn an_import_that_does_not_finish_leaves_no_trace() {
    let fixture = Fixture::new();
    fixture.import_text("a.json", &patient("male"));
    let before = stored(&fixture.lake);
    let mut writer = fixture.lake.writer().unwrap();
    let mut session = Session::begin(&mut writer, Options::default()).unwrap();
    session.add_document(patient("female").as_bytes()).unwrap();
    drop(session);
    assert_eq!(stored(&fixture.lake), before);
    let mut session = Session::begin(&mut writer, Options::default()).unwrap();
    session.add_document(patient("female").as_bytes()).unwrap();
    session
        .add_document(br#"{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Group","id":"g"}}]}"#)
        .unwrap();
    let summary = session.finish().unwrap();
    assert_eq!((summary.total().stored, fixture.row("Patient", "p").version), (2, 2));
}
