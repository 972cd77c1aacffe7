//! Attachments that a sync fetches and stores, and who may read them in which form.

use std::path::PathBuf;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tabularium::consent::MissingReason;
use tabularium::lake::Mode;

use super::world::{KINDS, MOST, again, ask, at_source, attachment, files, path, record, said, text, world};
use crate::harness::consented::App;

#[test]
fn a_sync_brings_what_records_refer_to_and_says_what_it_could_not_have() {
    let world = world(1, &json!({}));
    let connected = world.synced("riverbend", 0);
    for kind in KINDS {
        let (record, source) = (record(&world, &connected, kind), at_source(&world, &connected, kind));
        let attachment = attachment(&record);
        assert_eq!(attachment["size"], source.len(), "{kind}");
        let sha1 = digest(&SHA1_FOR_LEGACY_USE_ONLY, source.as_bytes());
        assert_eq!(attachment["hash"], STANDARD.encode(sha1), "{kind}");
        let path = path(&world, &connected, kind);
        let (status, headers, bytes) = ask(&world, "GET", &path, &connected.token, &[]);
        assert_eq!((status, bytes.as_slice()), (200, source.as_bytes()), "{kind}");
        let media = text(attachment, "contentType");
        assert_eq!(headers["content-type"], media);
        assert_eq!(headers["content-length"], source.len().to_string());
        assert!(headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
        assert_eq!(headers["x-content-type-options"], "nosniff");
        let runs = matches!(kind, "html" | "ccda");
        assert_eq!(headers.contains_key("content-disposition"), runs, "{kind}");
        // A search result contains the same address.
        let (resource_type, id) = (text(&record, "resourceType"), text(&record, "id"));
        let found = world
            .get(&format!("/fhir/{resource_type}?_id={id}"), &connected.token)
            .json();
        assert_eq!(found["entry"][0]["resource"], record);
        if resource_type == "DocumentReference" {
            let url = text(attachment, "url");
            let found = world.get(&format!("/fhir/DocumentReference?location={url}"), &connected.token);
            assert_eq!(
                found.json()["entry"][0]["resource"]["id"],
                record["id"],
                "{}",
                found.text
            );
        }
    }
    assert_eq!(files(&world).len(), KINDS.len());
    for kind in ["large", "missing", "forbidden"] {
        let record = record(&world, &connected, kind);
        let url = text(attachment(&record), "url");
        assert!(url.starts_with(&world.payer.fhir_base("riverbend")), "{url}");
        assert_eq!(attachment(&record).get("hash"), None);
    }
    let jobs = world.store().jobs().list(Some(&connected.consent), 1).unwrap();
    let missing = jobs[0]
        .report
        .missing
        .iter()
        .filter(|one| one.resource_type == "Binary");
    let mut missing: Vec<(MissingReason, &str)> = missing.map(|one| (one.reason, one.detail.as_str())).collect();
    missing.sort_by_key(|(_, detail)| *detail);
    assert_eq!(
        missing,
        [
            (MissingReason::Forbidden, "1 attachment forbidden: status 403"),
            (
                MissingReason::NotTaken,
                "1 attachment left at the source: larger than 65536 bytes"
            ),
            (MissingReason::NotFound, "1 attachment not found: status 404"),
        ]
    );
    assert_eq!(said(&world, &connected), "5 fetched, 1 left at the source, 2 missing");
    assert!(tabularium::lake::check::check(world.server.folder()).unwrap().is_good());
    // Binaries can be searched like other records.
    assert_eq!(world.total("Binary", &connected.token), 5);
    let found = world.get("/fhir/Binary?_count=1", &connected.token).json();
    let binary = &found["entry"][0]["resource"];
    assert_eq!(binary.get("data"), None);
    assert!(text(&binary["meta"], "source").starts_with(&world.payer.fhir_base("riverbend")));
    let context = text(&binary["securityContext"], "reference");
    assert_eq!(world.get(&format!("/fhir/{context}"), &connected.token).status, 200);
}

#[test]
fn what_has_not_changed_is_not_fetched_again() {
    let world = world(1, &json!({}));
    let connected = world.synced("riverbend", 0);
    let (rows, kept) = (world.rows(&connected), files(&world));
    again(&world, &connected);
    assert_eq!(said(&world, &connected), "5 kept, 1 left at the source, 2 missing");
    assert_eq!(world.rows(&connected), rows, "nothing is new");
    assert_eq!(files(&world), kept);
    let path = path(&world, &connected, "text");
    let (_, before, _) = ask(&world, "GET", &path, &connected.token, &[]);
    world.payer.turn("riverbend", &json!({"attachment_edition": 1}));
    again(&world, &connected);
    assert_eq!(said(&world, &connected), "5 fetched, 1 left at the source, 2 missing");
    let (_, after, bytes) = ask(&world, "GET", &path, &connected.token, &[]);
    assert!(String::from_utf8(bytes).unwrap().contains("edition 1"));
    assert_ne!(before["etag"], after["etag"]);
    // The previous edition belongs to snapshots that are still readable.
    assert_eq!(files(&world).len(), 2 * KINDS.len());
    // If a file was deleted, the next sync fetches it again.
    let edition = |path: &PathBuf| memchr::memmem::find(&std::fs::read(path).unwrap(), b"edition 1").is_some();
    for file in files(&world).iter().filter(|path| edition(path)) {
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(ask(&world, "GET", &path, &connected.token, &[]).0, 500);
    again(&world, &connected);
    assert_eq!(said(&world, &connected), "5 fetched, 1 left at the source, 2 missing");
    assert_eq!(ask(&world, "GET", &path, &connected.token, &[]).0, 200);
}

#[test]
fn a_source_that_answers_in_json_is_understood() {
    let world = world(1, &json!({"binary_json": true}));
    let connected = world.synced("riverbend", 0);
    assert_eq!(said(&world, &connected), "5 fetched, 1 left at the source, 2 missing");
    let (_, headers, bytes) = ask(&world, "GET", &path(&world, &connected, "pdf"), &connected.token, &[]);
    assert_eq!(headers["content-type"], "application/pdf");
    assert!(bytes.starts_with(b"%PDF-1.4\n") && bytes.ends_with(b"%%EOF\n"));
}

#[test]
fn bytes_are_served_in_every_form() {
    let world = world(1, &json!({"attachments": ["large"], "attachment_bytes": MOST - 7}));
    let connected = world.synced("riverbend", 0);
    let path = path(&world, &connected, "large");
    let get = |headers: &[(&str, &str)]| ask(&world, "GET", &path, &connected.token, headers);
    let whole = at_source(&world, &connected, "large").into_bytes();
    let (status, head, bytes) = get(&[("accept-encoding", "gzip")]);
    assert_eq!((status, &bytes), (200, &whole));
    assert!(!head.contains_key("content-encoding"), "it goes out as it is");
    assert_eq!(head["accept-ranges"], "bytes");
    let etag = head["etag"].to_str().unwrap().to_owned();
    let modified = head["last-modified"].to_str().unwrap().to_owned();
    let last = whole.len() - 1;
    for (range, part) in [
        ("bytes=0-0".to_owned(), 0..=0),
        (format!("bytes={}-", last - 9), last - 9..=last),
        ("bytes=-5".to_owned(), last - 4..=last),
        ("bytes=100-199".to_owned(), 100..=199),
    ] {
        let (status, head, bytes) = get(&[("range", &range)]);
        assert_eq!((status, bytes.as_slice()), (206, &whole[part.clone()]), "{range}");
        let said = format!("bytes {}-{}/{}", part.start(), part.end(), whole.len());
        assert_eq!(head["content-range"], said);
        assert_eq!(head["content-length"], bytes.len().to_string());
        assert_eq!(head["content-type"], "text/plain");
    }
    let (status, head, bytes) = get(&[("range", "bytes=9999999-")]);
    assert_eq!(
        (status, head["content-range"].to_str().unwrap()),
        (416, format!("bytes */{}", whole.len()).as_str())
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&bytes).unwrap()["resourceType"],
        "OperationOutcome"
    );
    // If the document has changed, the whole is sent.
    let weak = format!("W/{etag}");
    for (tag, status) in [
        (etag.as_str(), 206),
        (modified.as_str(), 206),
        ("\"other\"", 200),
        (weak.as_str(), 200),
    ] {
        assert_eq!(get(&[("range", "bytes=0-0"), ("if-range", tag)]).0, status, "{tag}");
    }
    for held in [
        ("if-none-match", etag.as_str()),
        ("if-none-match", "*"),
        ("if-modified-since", modified.as_str()),
    ] {
        let (status, head, bytes) = get(&[held, ("range", "bytes=0-0")]);
        assert_eq!((status, bytes.len()), (304, 0), "{held:?}");
        assert_eq!(head["etag"], etag);
    }
    let (status, head, bytes) = ask(&world, "HEAD", &path, &connected.token, &[("range", "bytes=0-0")]);
    assert_eq!((status, bytes.len()), (200, 0));
    assert_eq!(head["content-length"], whole.len().to_string());
    // Reads the document as a resource.
    let (status, head, bytes) = get(&[("accept", "application/fhir+json")]);
    assert_eq!((status, head["etag"].to_str().unwrap()), (200, "W/\"1\""));
    assert_eq!(head["content-length"], bytes.len().to_string());
    let resource: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(resource["resourceType"], "Binary");
    assert_eq!(resource["contentType"], "text/plain");
    assert_eq!(STANDARD.decode(text(&resource, "data")).unwrap(), whole);
    let summary = ask(&world, "GET", &format!("{path}?_summary=true"), &connected.token, &[]).2;
    assert_eq!(serde_json::from_slice::<Value>(&summary).unwrap().get("data"), None);
    assert_eq!(get(&[("accept", "application/fhir+xml")]).0, 406);
    // Damaged bytes are not sent.
    let file = files(&world).remove(0);
    let mut damaged = std::fs::read(&file).unwrap();
    damaged[MOST as usize / 2] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    for headers in [
        &[][..],
        &[("range", "bytes=0-9")],
        &[("accept", "application/fhir+json")],
    ] {
        let (status, _, bytes) = get(headers);
        let outcome: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((status, outcome["issue"][0]["code"].as_str()), (500, Some("exception")));
    }
}

#[test]
fn nobody_else_learns_of_a_document() {
    let world = world(2, &json!({}));
    let (own, other) = (world.synced("riverbend", 0), world.synced("riverbend", 1));
    let path = path(&world, &own, "pdf");
    let unknown = "/fhir/Binary/00000000-0000-8000-8000-000000000000";
    let app = App::register(world.store(), "other");
    let keys = app.keys(Mode::Live);
    let granted = world.server.post(
        "/oauth/token",
        &[("authorization", &keys.basic())],
        &json!({"grant_type": "client_credentials"}),
    );
    assert_eq!(granted.status, 200, "{}", granted.text);
    let of_other_application = text(&granted.json(), "access_token").to_owned();
    assert_eq!(ask(&world, "GET", &path, &world.server.application_token(), &[]).0, 200);
    for token in [&other.token, &of_other_application] {
        for method in ["GET", "HEAD"] {
            for headers in [
                &[][..],
                &[("range", "bytes=0-0")],
                &[("range", "bytes=99999999-")],
                &[("if-none-match", "*")],
                &[("accept", "application/fhir+json")],
            ] {
                let (status, head, bytes) = ask(&world, method, &path, token, headers);
                let (as_unknown, head_of_unknown, said_of_unknown) = ask(&world, method, unknown, token, headers);
                assert_eq!((status, as_unknown), (404, 404), "{method} {headers:?}");
                assert_eq!(bytes.len(), said_of_unknown.len());
                let names = |head: &ureq::http::HeaderMap| head.keys().map(ToString::to_string).collect::<Vec<_>>();
                assert_eq!(names(&head), names(&head_of_unknown));
            }
        }
        let found = world.get("/fhir/Binary?_summary=count", token).json();
        let expected = if token == &other.token { 5 } else { 0 };
        assert_eq!(found["total"], expected);
    }
    assert_eq!(world.server.send("GET", &path, &[], "").status, 401);
}
