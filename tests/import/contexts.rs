//! A Binary with a security context is filed like the resource that it names, wherever that is.

use tabularium::ingest::Options;

use super::Fixture;
use crate::harness::server::rules;

const ANN: &str = r#"{"resourceType":"Patient","id":"ann"}"#;
const BEN: &str = r#"{"resourceType":"Patient","id":"ben"}"#;
const REPORT: &str = r#"{"resourceType":"DiagnosticReport","id":"r","status":"final","code":{"text":"x"},"subject":{"reference":"Patient/ann"}}"#;

/// A Binary with a security context.
fn binary(id: &str, context: &str) -> String {
    format!(
        r#"{{"resourceType":"Binary","id":"{id}","contentType":"text/plain","securityContext":{{"reference":"{context}"}}}}"#
    )
}

fn owner(fixture: &Fixture, resource_type: &str, id: &str) -> (i64, Option<String>) {
    let row = fixture.row(resource_type, id);
    (row.owner, row.patient)
}

/// Options with and without rules.
fn options() -> [Options; 2] {
    let with_rules = Options {
        normalize: Some(rules()),
        ..Options::default()
    };
    [Options::default(), with_rules]
}

#[test]
fn a_binary_is_filed_as_what_it_stands_for_whichever_comes_first() {
    for options in options() {
        let fixture = Fixture::new();
        let before = binary("before", "DiagnosticReport/r");
        let behind = binary("behind", "DiagnosticReport/r");
        let text = [&*before, ANN, BEN, REPORT, &behind].join("\n");
        let path = fixture.write("a.ndjson", text);
        let summary = fixture.import_with(options, &[&path]);
        assert_eq!(summary.refused, 0);
        let ann = owner(&fixture, "Patient", "ann");
        assert_eq!(ann.1.as_deref(), Some("ann"));
        assert_ne!(ann, owner(&fixture, "Patient", "ben"));
        for id in ["before", "behind"] {
            assert_eq!(owner(&fixture, "Binary", id), ann, "{id}");
        }
    }
}

#[test]
fn what_a_binary_stands_for_may_be_in_the_lake() {
    for options in options() {
        let fixture = Fixture::new();
        fixture.import_text("a.ndjson", &[ANN, REPORT].join("\n"));
        let path = fixture.write("b.ndjson", binary("b", "DiagnosticReport/r"));
        fixture.import_with(options, &[&path]);
        assert_eq!(owner(&fixture, "Binary", "b"), owner(&fixture, "Patient", "ann"));
    }
}

#[test]
fn addresses_and_conditions_lead_to_what_a_binary_stands_for() {
    let fixture = Fixture::new();
    let report = REPORT.replace(r#""status""#, r#""identifier":[{"value":"7"}],"status""#);
    let entry = |url: &str, resource: &str| {
        format!(r#"{{"fullUrl":"{url}","resource":{resource},"request":{{"method":"POST","url":"x"}}}}"#)
    };
    let entries = [
        entry(
            "urn:uuid:11111111-1111-1111-1111-111111111112",
            &binary("b", "urn:uuid:11111111-1111-1111-1111-111111111111"),
        ),
        entry(
            "urn:uuid:11111111-1111-1111-1111-111111111113",
            &binary("c", "DiagnosticReport?identifier=7"),
        ),
        entry("urn:uuid:11111111-1111-1111-1111-111111111111", &report),
    ];
    let bundle = format!(
        r#"{{"resourceType":"Bundle","type":"transaction","entry":[{}]}}"#,
        entries.join(",")
    );
    fixture.import_text("a.json", &bundle);
    let report = owner(&fixture, "DiagnosticReport", "r");
    assert_eq!(report.1.as_deref(), Some("ann"));
    assert_eq!(owner(&fixture, "Binary", "b"), report);
    assert_eq!(owner(&fixture, "Binary", "c"), report);
}

#[test]
fn with_new_ids_a_binary_stays_with_what_it_stands_for() {
    let fixture = Fixture::new();
    let text = [&*binary("b", "DiagnosticReport/r"), ANN, REPORT].join("\n");
    let path = fixture.write("a.ndjson", text);
    let options = Options {
        rewrite_ids: true,
        ..Options::default()
    };
    fixture.import_with(options, &[&path]);
    let rows = crate::harness::stored::stored(&fixture.lake);
    let filed: Vec<_> = rows.values().map(|row| (row.owner, row.patient.clone())).collect();
    assert_eq!(filed.len(), 3);
    assert!(filed.iter().all(|one| *one == filed[0] && one.1.is_some()), "{filed:?}");
}

/// An unknown context may belong to anybody, so no patient sees the Binary.
#[test]
fn a_binary_that_stands_for_nothing_known_is_the_applications_alone() {
    let fixture = Fixture::new();
    let lines = [
        ANN,
        r#"{"resourceType":"Organization","id":"o"}"#,
        &binary("lost", "DiagnosticReport/none"),
        &binary("shared", "Organization/o"),
    ];
    fixture.import_text("a.ndjson", &lines.join("\n"));
    let shared = owner(&fixture, "Organization", "o");
    assert_eq!(owner(&fixture, "Binary", "shared"), shared);
    let lost = owner(&fixture, "Binary", "lost");
    assert_eq!(lost.1, None);
    assert_ne!(lost, shared);
}
