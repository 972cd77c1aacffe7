//! References: their resolution, the owners that follow from them, and the referenced rows.

use tabularium::ingest::{Limits, Options, Reason};

use super::{Fixture, totals};
use crate::harness::json::Json;
use crate::harness::stored::stored;

fn bundle(entries: &[&str]) -> String {
    format!(
        r#"{{"resourceType":"Bundle","type":"transaction","entry":[{}]}}"#,
        entries.join(",")
    )
}

fn entry(full_url: &str, resource: &str, request: &str) -> String {
    format!(r#"{{"fullUrl":"{full_url}","resource":{resource},"request":{request}}}"#)
}

const POST: &str = r#"{"method":"POST","url":"x"}"#;

fn reference(fixture: &Fixture, resource_type: &str, id: &str, property: &str) -> String {
    let resource = Json::parse(&fixture.row(resource_type, id).resource);
    let property = resource.get(property).unwrap();
    property.items()[0].text("reference").unwrap().to_owned()
}

#[test]
fn addresses_in_a_bundle_become_types_and_ids() {
    let fixture = Fixture::new();
    let summary = fixture.import_text(
        "a.json",
        &bundle(&[
            &entry("urn:uuid:11111111-1111-1111-1111-111111111111", r#"{"resourceType":"Patient","id":"p"}"#, POST),
            &entry("https://example.org/fhir/Practitioner/d", r#"{"resourceType":"Practitioner","id":"d"}"#, POST),
            &entry(
                "urn:oid:1.2.3",
                r#"{"resourceType":"Observation","id":"o",
                    "subject" : {"reference" : "urn:uuid:11111111-1111-1111-1111-111111111111" , "display":"urn:oid:1.2.3"},
                    "performer":[{"reference":"https://example.org/fhir/Practitioner/d/_history/2"}],
                    "encounter":{"reference":"urn:uuid:99999999-9999-9999-9999-999999999999"},
                    "note":[{"text":"urn:oid:1.2.3","authorReference":{"reference":"urn:oid:1.2.3"}}]}"#,
                POST,
            ),
        ]),
    );
    assert_eq!((totals(&summary), summary.unresolved), ([3, 3, 0, 0, 0], 1));
    assert_eq!(reference(&fixture, "Observation", "o", "subject"), "Patient/p");
    assert_eq!(
        reference(&fixture, "Observation", "o", "performer"),
        "Practitioner/d/_history/2"
    );
    assert_eq!(
        reference(&fixture, "Observation", "o", "encounter"),
        "urn:uuid:99999999-9999-9999-9999-999999999999"
    );
    let row = fixture.row("Observation", "o");
    assert!(
        row.resource
            .contains(r#"{"text":"urn:oid:1.2.3","authorReference":{"reference":"Observation/o"}}"#),
        "{}",
        row.resource
    );
    assert_eq!(
        (row.patient.as_deref(), row.owner),
        (Some("p"), fixture.lake.owner_of("local", "p"))
    );
    assert_eq!(row.shared_refs, ["Observation/o", "Practitioner/d"]);
}

/// The target may be in the lake, earlier in the input, in the same piece, or at the end.
#[test]
fn conditional_references_are_resolved_wherever_their_target_is() {
    let fixture = Fixture::new();
    let doctor = |id: &str, value: &str| {
        format!(
            r#"{{"resourceType":"Practitioner","id":"{id}","identifier":[{{"system":"http://npi","value":"{value}"}}]}}"#
        )
    };
    let seen_by = |id: &str, value: &str| {
        format!(
            r#"{{"resourceType":"Observation","id":"{id}","performer":[{{"reference":"Practitioner?identifier=http://npi|{value}"}}]}}"#
        )
    };
    fixture.import_text("lake.json", &doctor("in-lake", "1"));
    let files = [
        (
            "a.ndjson",
            [
                seen_by("of-lake", "1"),
                seen_by("of-later", "3"),
                seen_by("of-nobody", "4"),
                seen_by("of-two", "5"),
            ]
            .join("\n"),
        ),
        (
            "b.ndjson",
            [doctor("before", "2"), seen_by("of-same", "2"), doctor("two-a", "5")].join("\n"),
        ),
        ("c.ndjson", [seen_by("of-before", "2"), doctor("two-b", "5")].join("\n")),
        ("d.json", doctor("later", "3")),
    ];
    for (name, text) in &files {
        fixture.write(&format!("all/{name}"), text);
    }
    let summary = fixture.import(&[&fixture.input().join("all")]);
    assert_eq!((totals(&summary), summary.unresolved), ([10, 10, 0, 0, 0], 2));
    for (id, expected) in [
        ("of-lake", "Practitioner/in-lake"),
        ("of-same", "Practitioner/before"),
        ("of-before", "Practitioner/before"),
        ("of-later", "Practitioner/later"),
        ("of-nobody", "Practitioner?identifier=http://npi|4"),
        ("of-two", "Practitioner?identifier=http://npi|5"),
    ] {
        assert_eq!(reference(&fixture, "Observation", id, "performer"), expected, "{id}");
    }
    assert_eq!(
        fixture.row("Observation", "of-later").shared_refs,
        ["Practitioner/later"]
    );
    let again = fixture.import(&[&fixture.input().join("all")]);
    assert_eq!(totals(&again), [10, 0, 10, 0, 0]);
}

/// The same if no identifiers fit into memory: then the files are read for them, and each resource is written at once.
#[test]
fn conditional_references_are_resolved_by_reading_files_too() {
    let fixture = Fixture::new();
    let limits = Limits {
        buffer: 1,
        identifiers: 0,
    };
    let doctor = |id: &str, value: &str| {
        format!(
            r#"{{"resourceType":"Practitioner","id":"{id}","identifier":[{{"system":"http://npi","value":"{value}"}}]}}"#
        )
    };
    fixture.import_text("lake.json", &doctor("in-lake", "1"));
    for (at, value) in (0..).zip(["1", "2", "3", "3"]) {
        let seen = format!(
            r#"{{"resourceType":"Observation","id":"o{at}","performer":[{{"reference":"Practitioner?identifier=http://npi|{value}"}}]}}"#
        );
        fixture.write(&format!("a/{at}.json"), seen);
    }
    fixture.write("a/4.json", doctor("two", "2"));
    fixture.write("a/5.json", doctor("three", "3"));
    fixture.write("a/6.json", doctor("also-three", "3"));
    fixture.write(
        "a/7.json",
        bundle(&[
            &entry(
                "urn:uuid:a",
                &doctor("not-made", "1"),
                r#"{"method":"POST","url":"x","ifNoneExist":"identifier=http://npi|1"}"#,
            ),
            &entry(
                "urn:uuid:b",
                &doctor("made", "9"),
                r#"{"method":"POST","url":"x","ifNoneExist":"identifier=http://npi|9"}"#,
            ),
            &entry(
                "urn:uuid:c",
                r#"{"resourceType":"Basic","id":"b","author":{"reference":"urn:uuid:a"}}"#,
                POST,
            ),
        ]),
    );
    let options = || Options {
        limits,
        ..Options::default()
    };
    let summary = fixture.import_with(options(), &[&fixture.input().join("a")]);
    assert_eq!(
        (totals(&summary), summary.unresolved),
        ([10, 9, 1, 0, 0], 2),
        "{summary:?}"
    );
    for (id, expected) in [
        ("o0", "Practitioner/in-lake"),
        ("o1", "Practitioner/two"),
        ("o2", "Practitioner?identifier=http://npi|3"),
    ] {
        assert_eq!(reference(&fixture, "Observation", id, "performer"), expected, "{id}");
    }
    assert_eq!(reference(&fixture, "Basic", "b", "author"), "Practitioner/in-lake");
    assert_eq!(
        totals(&fixture.import_with(options(), &[&fixture.input().join("a")]))[1],
        0
    );
}

/// A conditional subject decides the owner of a row, even if it is resolved last.
#[test]
fn a_resource_that_waited_is_filed_like_any_other() {
    let fixture = Fixture::new();
    let observation = |id: &str| {
        format!(
            r#"{{"resourceType":"Observation","id":"{id}","subject":{{"reference":"Patient?identifier=urn:mrn%7C7"}}}}"#
        )
    };
    let patient = r#"{"resourceType":"Patient","id":"p","identifier":[{"system":"urn:mrn","value":"7"}]}"#;
    fixture.write("a/1.json", observation("early"));
    fixture.write(
        "a/2.json",
        observation("early").replace("\"id\"", "\"status\":\"final\",\"id\""),
    );
    fixture.write("a/3.json", patient);
    fixture.write("a/4.json", observation("late"));
    let summary = fixture.import(&[&fixture.input()]);
    assert_eq!((totals(&summary), summary.unresolved), ([4, 3, 0, 1, 0], 0));
    for id in ["early", "late"] {
        let row = fixture.row("Observation", id);
        assert_eq!(
            (row.patient.as_deref(), row.owner),
            (Some("p"), fixture.lake.owner_of("local", "p")),
            "{id}"
        );
        assert_eq!(row.resource.contains("final"), id == "early");
    }
}

#[test]
fn conditional_creates_and_updates_meet_what_is_there() {
    let fixture = Fixture::new();
    let organization = |id: &str, value: &str| {
        format!(r#"{{"resourceType":"Organization","id":"{id}","identifier":[{{"value":"{value}"}}]}}"#)
    };
    let create =
        |value: &str| format!(r#"{{"method":"POST","url":"Organization","ifNoneExist":"identifier={value}"}}"#);
    fixture.import_text(
        "lake.ndjson",
        &[
            organization("known", "1"),
            organization("x", "9"),
            organization("y", "9"),
        ]
        .join("\n"),
    );
    let summary = fixture.import_text(
        "a.json",
        &bundle(&[
            &entry("urn:uuid:a", &organization("again", "1"), &create("1")),
            &entry("urn:uuid:b", &organization("new", "2"), &create("2")),
            &entry("urn:uuid:c", &organization("twin", "2"), &create("2")),
            &entry("urn:uuid:d", &organization("unclear", "9"), &create("9")),
            &entry("urn:uuid:e", &organization("upsert", "1"), r#"{"method":"PUT","url":"Organization?identifier=1"}"#),
            &entry("urn:uuid:f", &organization("odd", "1"), r#"{"method":"PUT","url":"Organization?name=1"}"#),
            &entry(
                "urn:uuid:g",
                r#"{"resourceType":"Basic","id":"all","author":{"reference":"urn:uuid:a"},
                    "extension":[{"url":"b","valueReference":{"reference":"urn:uuid:b"}},{"url":"c","valueReference":{"reference":"urn:uuid:c"}},
                    {"url":"e","valueReference":{"reference":"urn:uuid:e"}}]}"#,
                POST,
            ),
        ]),
    );
    assert_eq!(totals(&summary), [7, 2, 3, 0, 2], "{summary:?}");
    let reasons: Vec<_> = summary
        .refusals
        .iter()
        .map(|refusal| (refusal.entry, refusal.reason.clone()))
        .collect();
    assert_eq!(
        reasons,
        [(Some(5), Reason::UnsupportedCondition), (Some(3), Reason::SeveralMatch)]
    );
    let basic = Json::parse(&fixture.row("Basic", "all").resource);
    assert_eq!(
        basic.get("author").unwrap().text("reference"),
        Some("Organization/known")
    );
    let targets: Vec<_> = basic
        .get("extension")
        .unwrap()
        .items()
        .iter()
        .map(|extension| extension.get("valueReference").unwrap().text("reference").unwrap())
        .collect();
    assert_eq!(targets, ["Organization/new", "Organization/new", "Organization/known"]);
    let ids: Vec<_> = stored(&fixture.lake).into_keys().map(|(_, _, _, id)| id).collect();
    assert_eq!(ids, ["all", "known", "new", "x", "y"]);
}

/// Rewritten ids determine the owner, are the same in all imports, and references use them.
#[test]
fn ids_are_rewritten_together_with_what_refers_to_them() {
    let fixture = Fixture::new();
    let lines = [
        r#"{"resourceType":"Observation","id":"o","subject":{"reference":"Patient/p"},"encounter":{"reference":"Encounter/e"},"performer":[{"reference":"Practitioner/d"},{"reference":"Organization/absent"},{"reference":"Practitioner?identifier=7"}]}"#,
        r#"{"resourceType":"Encounter","id":"e","subject":{"reference":"Patient/p"}}"#,
        r#"{"resourceType":"Patient","id":"p"}"#,
        r#"{"resourceType":"Patient","id":"q","link":[{"other":{"reference":"Patient/p"}}]}"#,
        r#"{"resourceType":"Practitioner","id":"d","identifier":[{"value":"7"}]}"#,
    ];
    let path = fixture.write("a.ndjson", lines.join("\n"));
    let rewriting = || Options {
        rewrite_ids: true,
        ..Options::default()
    };
    assert_eq!(totals(&fixture.import_with(rewriting(), &[&path])), [5, 5, 0, 0, 0]);
    assert_eq!(totals(&fixture.import_with(rewriting(), &[&path])), [5, 0, 5, 0, 0]);
    let rows = stored(&fixture.lake);
    let of = |resource_type: &str| {
        rows.iter()
            .filter(|((_, _, name, _), _)| *name == resource_type)
            .map(|((.., id), row)| (id.clone(), row))
            .collect::<Vec<_>>()
    };
    for ((.., id), row) in &rows {
        let uuid = uuid::Uuid::parse_str(id).unwrap();
        assert_eq!(uuid.get_version_num(), 8);
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
        assert!(row.resource.contains(&format!(r#""id":"{id}""#)));
        if row.owner > 1 {
            assert_eq!(uuid.as_u64_pair().0 as i64, row.owner, "the id says whose it is");
        }
    }
    let (observation, encounter, practitioner) = (&of("Observation")[0], &of("Encounter")[0], &of("Practitioner")[0]);
    let patient = observation.1.patient.clone().unwrap();
    assert!(
        of("Patient")
            .iter()
            .any(|(id, row)| *id == patient && row.patient.as_ref() == Some(id))
    );
    assert_eq!(encounter.1.owner, observation.1.owner);
    let resource = Json::parse(&observation.1.resource);
    assert_eq!(
        resource.get("subject").unwrap().text("reference").unwrap(),
        format!("Patient/{patient}")
    );
    assert_eq!(
        resource.get("encounter").unwrap().text("reference").unwrap(),
        format!("Encounter/{}", encounter.0)
    );
    let performers = resource.get("performer").unwrap().items();
    assert_eq!(performers[0], performers[2]);
    assert_eq!(
        performers[0].text("reference").unwrap(),
        format!("Practitioner/{}", practitioner.0)
    );
    assert!(performers[1].text("reference").unwrap().starts_with("Organization/"));
}

/// Rows keep references to resources that may be shared. References to Patients and to types with an owner are left
/// out.
#[test]
fn references_to_what_may_be_shared_are_kept() {
    let fixture = Fixture::new();
    let eob = r##"{"resourceType":"ExplanationOfBenefit","id":"x","patient":{"reference":"Patient/p"},"insurer":{"reference":"Organization/o"},
        "provider":{"reference":"Organization/o"},"insurance":[{"coverage":{"reference":"Coverage/c"}}],"facility":{"reference":"Location/l/_history/1"},
        "contained":[{"resourceType":"ServiceRequest","id":"s","requester":{"reference":"Practitioner/d"}}],"referral":{"reference":"#s"},
        "item":[{"encounter":[{"reference":"Encounter/e"}]}],"claim":{"reference":"https://other.org/Claim/1"}}"##;
    fixture.import_text("a.json", eob);
    let row = fixture.row("ExplanationOfBenefit", "x");
    assert_eq!(
        row.shared_refs,
        ["Encounter/e", "Location/l", "Organization/o", "Practitioner/d"]
    );
}
