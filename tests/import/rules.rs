//! The inputs of normalization rules in an import, and how the results are written.

use std::collections::BTreeMap;

use tabularium::ingest::{Normalization, Options};
use tabularium::normalize::{Day, Knowledge};

use super::{Fixture, totals};

fn with_rules() -> Options {
    Options {
        normalize: Some(Normalization {
            knowledge: Knowledge::default(),
            today: Day(20_000),
            tag_system_base: "urn:example:tags".to_owned(),
            dangling: BTreeMap::new(),
            observer: None,
        }),
        ..Options::default()
    }
}

fn procedure(id: &str, more: &str) -> String {
    procedure_of("p", id, more)
}

fn procedure_of(patient: &str, id: &str, more: &str) -> String {
    format!(
        r#"{{"resourceType":"Procedure","id":"{id}","status":"completed","subject":{{"reference":"Patient/{patient}"}},"code":{{"coding":[{{"system":"urn:codes","code":"1"{more}}}]}}}}"#
    )
}

/// A duplicate property, which fits into no table.
const TWICE: &str = r#","display":"Stride","display":"Stride""#;

/// The first pass showed the rules a record that the second pass refused. Another record got its display, and lost it
/// when it was normalized without that input.
#[test]
fn a_resource_that_is_refused_contributes_nothing() {
    let fixture = Fixture::new();
    let (own, refused) = (procedure("x", ""), procedure("y", TWICE));
    let path = fixture.write("procedures.ndjson", format!("{own}\n{refused}\n"));
    let summary = fixture.import_with(with_rules(), &[&path]);
    assert_eq!(totals(&summary), [2, 1, 0, 0, 1]);
    assert!(!fixture.row("Procedure", "x").resource.contains("Stride"));
    // Both passes see the row stored before, which stays.
    let named = fixture.write("named.ndjson", procedure("y", r#","display":"Walk""#));
    assert_eq!(totals(&fixture.import_with(with_rules(), &[&named])), [2, 2, 0, 0, 0]);
    let x = fixture.row("Procedure", "x");
    assert!(x.resource.contains(r#""display":"Walk""#), "{}", x.resource);
    let summary = fixture.import_with(with_rules(), &[&path]);
    assert_eq!(summary.total().refused, 1);
    assert_eq!(fixture.row("Procedure", "x"), x);
}

/// Extensions in records without a person had a URL without the service's address.
#[test]
fn records_of_nobody_are_written_as_others_are() {
    let fixture = Fixture::new();
    let endpoint = r#"{"resourceType":"Endpoint","id":"e","status":"active","connectionType":{"system":"urn:oid:2.16.840.1.113883.6.1","code":"8302-2"},"payloadType":[{"text":"x"}],"address":"https://e.example"}"#;
    let path = fixture.write("endpoint.json", endpoint);
    for stored in [1, 0] {
        assert_eq!(fixture.import_with(with_rules(), &[&path]).total().stored, stored);
        let row = fixture.row("Endpoint", "e");
        let url = r#"{"url":"urn:example:tags/StructureDefinition/source-coding","#;
        assert!(row.resource.contains(url), "{}", row.resource);
    }
}

/// The refused record was taken for an earlier version of the rewritten row, and the refusal was not reported.
#[test]
fn a_resource_is_refused_though_the_row_of_its_id_changes() {
    let fixture = Fixture::new();
    let before = fixture.write("before.ndjson", procedure("y", ""));
    assert_eq!(totals(&fixture.import_with(with_rules(), &[&before])), [1, 1, 0, 0, 0]);
    let named = procedure("z", r#","display":"Walk""#);
    let path = fixture.write("both.ndjson", format!("{named}\n{}\n", procedure("y", TWICE)));
    // The lake's row is read too.
    let summary = fixture.import_with(with_rules(), &[&path]);
    assert_eq!(totals(&summary), [3, 2, 0, 0, 1]);
    let y = fixture.row("Procedure", "y");
    assert!(y.resource.contains(r#""display":"Walk""#), "{}", y.resource);
}

/// If an id occurs under several people, the last one gets it. A refused record used to take it from the others.
#[test]
fn a_resource_that_is_refused_takes_no_id_from_another_person() {
    let fixture = Fixture::new();
    let (own, refused) = (procedure_of("p", "y", ""), procedure_of("q", "y", TWICE));
    let path = fixture.write("moved.ndjson", format!("{own}\n{refused}\n"));
    let summary = fixture.import_with(with_rules(), &[&path]);
    assert_eq!(totals(&summary), [2, 1, 0, 0, 1]);
    assert_eq!(fixture.row("Procedure", "y").patient.as_deref(), Some("p"));
}
