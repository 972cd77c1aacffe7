//! What the rules of normalization go by in an import, and how they write.

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
    format!(
        r#"{{"resourceType":"Procedure","id":"{id}","status":"completed","subject":{{"reference":"Patient/p"}},"code":{{"coding":[{{"system":"urn:codes","code":"1"{more}}}]}}}}"#
    )
}

/// The first reading showed the rules a record that the second one refused: another gained its display, and lost it
/// again when it was normalized without that input.
#[test]
fn a_resource_that_is_refused_contributes_nothing() {
    let fixture = Fixture::new();
    let (own, refused) = (
        procedure("x", ""),
        procedure("y", r#","display":"Stride","display":"Stride""#),
    );
    let path = fixture.write("procedures.ndjson", format!("{own}\n{refused}\n"));
    let summary = fixture.import_with(with_rules(), &[&path]);
    assert_eq!(totals(&summary), [2, 1, 0, 0, 1]);
    assert!(!fixture.row("Procedure", "x").resource.contains("Stride"));
    // Both readings go by what was there before, which stays.
    let named = fixture.write("named.ndjson", procedure("y", r#","display":"Walk""#));
    assert_eq!(totals(&fixture.import_with(with_rules(), &[&named])), [2, 2, 0, 0, 0]);
    let x = fixture.row("Procedure", "x");
    assert!(x.resource.contains(r#""display":"Walk""#), "{}", x.resource);
    let summary = fixture.import_with(with_rules(), &[&path]);
    assert_eq!(summary.total().refused, 1);
    assert_eq!(fixture.row("Procedure", "x"), x);
}

/// Extensions in records of nobody had a URL without an address.
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
