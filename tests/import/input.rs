//! Accepted and refused inputs of an import.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tabularium::ingest::{IngestError, Options, Reason, import};

use super::{Fixture, totals};
use crate::harness::stored::stored;

fn patient(id: &str) -> String {
    format!(r#"{{"resourceType":"Patient","id":"{id}"}}"#)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn ids(fixture: &Fixture) -> Vec<String> {
    stored(&fixture.lake)
        .into_keys()
        .map(|(_, _, resource_type, id)| format!("{resource_type}/{id}"))
        .collect()
}

/// The content of a file shows its format. The name matters only if the content is not clear.
#[test]
fn forms_are_told_by_content() {
    let fixture = Fixture::new();
    let lines = |ids: &[&str]| ids.iter().map(|id| patient(id) + "\r\n").collect::<String>();
    fixture.write("a.ndjson", lines(&["a1", "a2"]));
    fixture.write("b.json", lines(&["b1", "b2"]));
    fixture.write("c.ndjson.gz", gzip(&lines(&["c1", "c2"])));
    fixture.write("d.ndjson", gzip(&lines(&["d1"])));
    fixture.write(
        "e.json",
        format!("\u{feff}\n{}\n\n", patient("e1").replace(',', " ,\n  ")),
    );
    fixture.write("f", patient("f1"));
    fixture.write("g.jsonl", format!("\n\n{}", patient("g1")));
    fixture.write("h/deep/er.json.gz", gzip(&patient("h1")));
    fixture.write("i.ndjson", "");
    fixture.write("SOURCE.md", "{ this is no JSON");
    fixture.write("note.rtf", r"{\rtf1 nor this}");
    fixture.write(".hidden", "\u{1}\u{2}");
    let summary = fixture.import(&[&fixture.input()]);
    assert_eq!(summary.refusals, []);
    assert_eq!(totals(&summary), [11, 11, 0, 0, 0]);
    let expected = ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "e1", "f1", "g1", "h1"];
    let mut stored: Vec<String> = ids(&fixture).iter().map(|id| id.replace("Patient/", "")).collect();
    stored.sort();
    assert_eq!(stored, expected);
}

/// A Bundle of any type is imported as its entries. A Bundle in an entry is a resource, and so is each line of NDJSON.
#[test]
fn bundles_stand_for_their_entries() {
    let fixture = Fixture::new();
    for kind in [
        "collection",
        "transaction",
        "batch",
        "searchset",
        "document",
        "message",
        "history",
        "transaction-response",
    ] {
        let entry = patient(&format!("of-{kind}"));
        let text = format!(r#"{{"resourceType":"Bundle","id":"b","type":"{kind}","entry":[{{"resource":{entry}}}]}}"#);
        assert_eq!(
            totals(&fixture.import_text("bundle.json", &text)),
            [1, 1, 0, 0, 0],
            "{kind}"
        );
    }
    let inner = r#"{"resourceType":"Bundle","id":"inner","type":"collection","entry":[{"resource":{"resourceType":"Patient","id":"deep"}}]}"#;
    let outer = format!(r#"{{"resourceType":"Bundle","type":"collection","entry":[{{"resource":{inner}}}]}}"#);
    fixture.import_text(
        "nested.ndjson",
        &format!("{outer}\n{}\n", outer.replace("inner", "other")),
    );
    let stored = ids(&fixture);
    assert_eq!(stored.len(), 10);
    assert!(stored.contains(&"Bundle/inner".to_owned()) && stored.contains(&"Bundle/other".to_owned()));
    assert!(!stored.contains(&"Patient/deep".to_owned()) && !stored.contains(&"Bundle/b".to_owned()));
    assert_eq!(
        totals(&fixture.import_text("empty.json", r#"{"resourceType":"Bundle","type":"searchset"}"#)),
        [0; 5]
    );
}

#[test]
fn entries_with_nothing_to_store_are_counted() {
    let fixture = Fixture::new();
    let bundle = r#"{"resourceType":"Bundle","type":"batch","entry":[
        {"request":{"method":"DELETE","url":"Patient/1"}},
        {"request":{"method":"GET","url":"Patient?name=x"}},
        {"resource":{"resourceType":"Patient","id":"2"},"request":{"method":"PATCH","url":"Patient/2"}},
        {"resource":{"resourceType":"OperationOutcome","issue":[]},"search":{"mode":"outcome"}},
        {"resource":{"resourceType":"Patient","id":"3"},"search":{"mode":"match"}},
        {"resource":{"resourceType":"Patient"},"request":{"method":"PUT","url":"Patient/4"}},
        {"resource":{"resourceType":"Patient"},"fullUrl":"urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0","request":{"method":"POST","url":"Patient"}}]}"#;
    let summary = fixture.import_text("bundle.json", bundle);
    assert_eq!((totals(&summary), summary.left_out), ([3, 3, 0, 0, 0], 4));
    assert_eq!(
        ids(&fixture),
        ["Patient/0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0", "Patient/3", "Patient/4"]
    );
    let row = fixture.row("Patient", "4");
    assert!(
        row.resource
            .starts_with(r#"{"resourceType":"Patient","id":"4","meta":{"versionId":"1","lastUpdated":""#),
        "{}",
        row.resource
    );
}

/// A resource with neither id nor address is identified by its content. The same content again is the same resource.
#[test]
fn content_stands_in_for_an_id() {
    let fixture = Fixture::new();
    let text = r#"{"resourceType":"Basic", "code":{"text":"x"}}"#;
    assert_eq!(totals(&fixture.import_text("a.json", text)), [1, 1, 0, 0, 0]);
    assert_eq!(
        totals(&fixture.import_text("b.ndjson", &text.replace(", ", ","))),
        [1, 0, 1, 0, 0]
    );
    assert_eq!(
        totals(&fixture.import_text("c.json", &text.replace('x', "y"))),
        [1, 1, 0, 0, 0]
    );
}

#[test]
fn what_is_no_resource_is_refused_by_place_and_the_rest_goes_on() {
    let fixture = Fixture::new();
    let lines = [
        &patient("good1"),
        r#"{"resourceType":"Patient","id":"cut"#,
        r#"{"id":"typeless"}"#,
        "",
        r#"{"resourceType":"Patients","id":"unknown"}"#,
        r#"{"resourceType":"DomainResource","id":"abstract"}"#,
        r#"{"resourceType":"HumanName","id":"datatype"}"#,
        r#"{"resourceType":"Patient","id":"with space"}"#,
        r#"{"resourceType":"Patient","id":7}"#,
        "[1]",
        "nonsense",
        r#"{"resourceType":"Patient","id":"twice","id":"twice"}"#,
        r#"{"resourceType":"Patient","id":"twice","gender":"male","gender":"female"}"#,
        &patient("good2"),
    ];
    let path = fixture.write("mixed.ndjson", lines.join("\n"));
    let summary = fixture.import(&[&path]);
    assert_eq!(totals(&summary), [13, 2, 0, 0, 11]);
    let mut refused: Vec<(u64, String)> = summary
        .refusals
        .iter()
        .map(|refusal| {
            assert_eq!(*refusal.file, *path);
            (refusal.line, refusal.reason.to_string())
        })
        .collect();
    refused.sort();
    let mut expect = expect_test::expect![[r#"
        2: not JSON: the text ends too early at column 36
        3: has no resourceType
        5: its resourceType is no R4 resource type
        6: its resourceType is no R4 resource type
        7: its resourceType is no R4 resource type
        8: its id is not of the form [A-Za-z0-9.-]{1,64}
        9: its id is not of the form [A-Za-z0-9.-]{1,64}
        10: not a JSON object
        11: not JSON: expected a value at column 1
        12: resourceType, id or meta stands twice
        13: the property `gender` stands twice in one object
    "#]];
    expect.indent(true);
    expect.assert_eq(
        &refused
            .iter()
            .map(|(line, reason)| format!("{line}: {reason}\n"))
            .collect::<String>(),
    );
    assert_eq!(ids(&fixture), ["Patient/good1", "Patient/good2"]);
}

/// If the last version of a resource fits into no table, the latest fitting version of the same input is stored.
#[test]
fn a_refused_version_does_not_hide_an_earlier_one() {
    let fixture = Fixture::new();
    let twice = |id: &str| format!(r#"{{"resourceType":"Patient","id":"{id}","gender":"male","gender":"female"}}"#);
    let lines = [
        patient("a"),
        twice("a"),
        twice("a"),
        patient("b"),
        twice("c"),
        patient("d"),
    ]
    .join("\n");
    assert_eq!(
        totals(&fixture.import_text("a.ndjson", &lines)),
        [6, 3, 1, 0, 2],
        "the same again counts as unchanged"
    );
    assert_eq!(ids(&fixture), ["Patient/a", "Patient/b", "Patient/d"]);
    assert_eq!(totals(&fixture.import_text("b.ndjson", &twice("d"))), [1, 0, 0, 0, 1]);
    assert_eq!(fixture.row("Patient", "d").version, 1);
}

#[test]
fn refusals_in_a_bundle_name_line_and_entry() {
    let fixture = Fixture::new();
    let bundle = "{\"resourceType\":\"Bundle\",\"type\":\"batch\",\n\"entry\":[\n{\"resource\":{\"resourceType\":\"Patient\",\"id\":\"p\"}},\n\
        {\"resource\":{\"id\":\"x\"}},\n7,\n{\"resource\":{\"resourceType\":\"Patient\",\"id\":\"q\"},\"request\":{\"method\":\"PUT\",\"url\":\"Patient/r\"}}]}";
    let path = fixture.write("bundle.json", bundle);
    let summary = fixture.import(&[&path]);
    assert_eq!(totals(&summary), [4, 1, 0, 0, 3]);
    let places: Vec<_> = summary
        .refusals
        .iter()
        .map(|refusal| (refusal.line, refusal.entry, refusal.reason.clone()))
        .collect();
    assert_eq!(
        places,
        [
            (4, Some(1), Reason::NoResourceType),
            (5, Some(2), Reason::InvalidEntry),
            (6, Some(3), Reason::OtherResource)
        ]
    );
    assert_eq!(
        summary.refusals[0].to_string(),
        format!("{}:4: entry 1: has no resourceType", path.display())
    );
    let broken = fixture.import_text(
        "broken.json",
        "{\"resourceType\":\"Bundle\",\n\"entry\":[{\"resource\":}]}",
    );
    assert_eq!(
        broken.refusals[0].to_string().split(": ").skip(1).collect::<Vec<_>>(),
        ["not JSON", "expected a value at column 22"]
    );
    assert_eq!(broken.refusals[0].line, 2);
}

/// Truncated or damaged gzip used to lose up to 1 MiB of whole lines before the damage. They counted as one refused
/// resource, because lines that were read but not handed out were lost with the file. Nobody could tell how much was
/// missing.
#[test]
fn a_file_that_cannot_be_read_to_its_end_ends_the_import() {
    let lines: String = (0..5000).map(|number| patient(&format!("p{number}")) + "\n").collect();
    let whole = gzip(&lines);
    let cut = whole[..whole.len() - 20].to_vec();
    let mut damaged = whole.clone();
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    let garbage = [whole.as_slice(), b"garbage"].concat();
    for (name, bytes) in [
        ("cut.ndjson.gz", &cut),
        ("cut.json.gz", &cut),
        ("cut", &cut),
        ("damaged.ndjson.gz", &damaged),
        ("garbage.ndjson.gz", &garbage),
    ] {
        for rewrite_ids in [false, true] {
            let fixture = Fixture::new();
            fixture.write("a.json", patient("a"));
            let path = fixture.write(name, bytes);
            fixture.write("z.json", patient("z"));
            let options = Options {
                rewrite_ids,
                ..Options::default()
            };
            let error = import(&mut fixture.lake.writer().unwrap(), options, &[fixture.input()]).unwrap_err();
            assert!(matches!(error, IngestError::Broken { .. }), "{error}");
            let start = format!("{} could not be read to its end: ", path.display());
            assert!(error.to_string().starts_with(&start), "{error}");
            assert_eq!(ids(&fixture), [""; 0], "{name}");
        }
    }
}

/// A decoder of single gzip members would read only the first of several, and miss the others silently.
#[test]
fn gzip_members_behind_each_other_are_one_file() {
    let fixture = Fixture::new();
    let first = patient("a") + "\n" + &patient("b")[..20];
    let second = patient("b")[20..].to_owned() + "\n";
    let members = [gzip(&first), gzip(&second), gzip(&patient("c"))].concat();
    let path = fixture.write("members.ndjson.gz", members);
    assert_eq!(totals(&fixture.import(&[&path])), [3, 3, 0, 0, 0]);
    assert_eq!(ids(&fixture), ["Patient/a", "Patient/b", "Patient/c"]);
}

/// If the first line in a `.json` file was damaged, all lines used to be refused, because the first line alone decided
/// that the file was one document. In a `.ndjson` file the others were stored.
#[test]
fn a_damaged_first_line_does_not_make_lines_a_document() {
    for first in [
        r#"{"resourceType":"Patient","id":"cut"#,
        r#"{"resourceType":"Patient","#,
        "nonsense",
        "[1]",
        "}",
    ] {
        for name in ["lines.json", "lines.ndjson", "lines"] {
            let fixture = Fixture::new();
            let text = [first, &patient("a"), "", &patient("b"), &patient("c")].join("\r\n");
            let summary = fixture.import_text(name, &text);
            assert_eq!(totals(&summary), [4, 3, 0, 0, 1], "{first} in {name}");
            assert_eq!(summary.refusals[0].line, 1);
            assert_eq!(ids(&fixture), ["Patient/a", "Patient/b", "Patient/c"]);
        }
    }
    // The line after the damaged one may be the last, and the damaged one may be longer than a piece.
    let fixture = Fixture::new();
    let long = format!(
        "{{\"resourceType\":\"Basic\",\"x\":\"{}\n{}",
        "x".repeat(3 << 20),
        patient("a")
    );
    assert_eq!(totals(&fixture.import_text("long.json", &long)), [2, 1, 0, 0, 1]);
}

/// A damaged document counts as one refusal, however its lines look, because its parts were never resources.
#[test]
fn a_damaged_document_is_not_taken_for_lines() {
    let fixture = Fixture::new();
    let entry = |id: &str| format!(r#"{{"resource":{}}}"#, patient(id));
    let (a, b, c) = (entry("a"), entry("b"), entry("c"));
    let bare = patient("contained");
    for text in [
        format!("{{\"resourceType\":\"Bundle\",\n\"entry\":[\n{a}\n{b}\n]}}"),
        format!("{{\"resourceType\":\"Bundle\",\"entry\":[\n{a},\n{b}\n{c}\n]\n}}\n"),
        format!("{{\"resourceType\":\"Bundle\",\"entry\":[\n{a},\n{b},\n{c}"),
        format!("{{\n  \"resourceType\": \"Patient\"\n  \"contained\": [\n    {bare}\n    {bare}\n  ],\n}}\n"),
        "{\n  \"resourceType\": \"Patient\",\n  \"id\": \"x\",\n".to_owned(),
        format!("[\n{bare},\n{bare}\n]\n"),
    ] {
        assert_eq!(
            totals(&fixture.import_text("damaged.json", &text)),
            [1, 0, 0, 0, 1],
            "{text}"
        );
    }
}

/// Files of editors and version control used to be imported too, because only the content decided.
#[test]
fn hidden_files_of_a_folder_are_left_alone() {
    let fixture = Fixture::new();
    fixture.write("a.json", patient("a"));
    let hidden = fixture.write(".b.json", patient("b"));
    fixture.write(".git/c.json", patient("c"));
    fixture.write("deep/.cache/d.ndjson", patient("d"));
    assert_eq!(totals(&fixture.import(&[&fixture.input()])), [1, 1, 0, 0, 0]);
    assert_eq!(
        totals(&fixture.import(&[&hidden])),
        [1, 1, 0, 0, 0],
        "named, it is meant"
    );
}

#[test]
fn paths_without_resources_are_refused_or_end_the_import() {
    let fixture = Fixture::new();
    fixture.write("a.json", patient("a"));
    fixture.write("c.json", "");
    let summary = fixture.import(&[&fixture.input()]);
    assert_eq!(totals(&summary), [2, 1, 0, 0, 1]);
    let text = fixture.write("d.txt", "just text");
    assert_eq!(fixture.import(&[&text]).refusals[0].reason, Reason::NotAnObject);
    let missing = [Path::new("/nowhere/at/all").to_owned()];
    let error = import(&mut fixture.lake.writer().unwrap(), Options::default(), &missing).unwrap_err();
    assert!(matches!(error, IngestError::Input { .. }), "{error}");
}

/// Lines longer than a piece, pieces that end inside a line, and many of both.
#[test]
fn long_lines_are_read_whole() {
    let fixture = Fixture::new();
    let mut text = String::new();
    for number in 0..40 {
        let size = [10, 1 << 20, 3 << 20, 100][number % 4];
        text.push_str(&format!(
            "{{\"resourceType\":\"Basic\",\"id\":\"{number}\",\"code\":{{\"text\":\"{}\"}}}}\n",
            "x".repeat(size)
        ));
    }
    let summary = fixture.import_text("long.json", &text);
    assert_eq!(totals(&summary), [40, 40, 0, 0, 0]);
    let longest = stored(&fixture.lake)
        .into_values()
        .map(|row| row.resource.len())
        .max()
        .unwrap();
    assert!(longest > 3 << 20);
}
