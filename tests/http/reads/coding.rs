//! Content codings of answers and of requests.

use std::io::{Read, Write};

use serde_json::{Value, json};
use tabularium::http::Limits;

use crate::harness::server::Server;

fn records() -> Vec<Value> {
    let observation = |at: usize| {
        json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final",
            "code": {"text": "weight"}, "subject": {"reference": "Patient/anna"}})
    };
    let mut records: Vec<Value> = (0..50).map(observation).collect();
    records.push(json!({"resourceType": "Patient", "id": "anna", "birthDate": "1970"}));
    records.push(json!({"resourceType": "Patient", "id": "long", "name": [{"text": "x".repeat(5_000)}]}));
    records
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn decoded(coding: &str, coded: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match coding {
        "gzip" => flate2::read::GzDecoder::new(coded).read_to_end(&mut plain).unwrap(),
        "zstd" => zstd::stream::read::Decoder::new(coded)
            .unwrap()
            .read_to_end(&mut plain)
            .unwrap(),
        other => panic!("no coding {other:?}"),
    };
    plain
}

/// A Bundle without the parts that differ between responses.
fn bundle(bytes: &[u8]) -> Value {
    let mut bundle: Value = serde_json::from_slice(bytes).unwrap();
    for name in ["id", "meta"] {
        assert!(bundle.as_object_mut().unwrap().remove(name).is_some());
    }
    bundle
}

#[test]
fn answers_come_in_the_coding_asked_for() {
    let server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    let get = |method: &str, path: &str, accept: &str| {
        let headers = [("authorization", bearer.as_str()), ("accept-encoding", accept)];
        server.send_bytes(method, path, &headers, b"")
    };
    let coding = |headers: &ureq::http::HeaderMap| {
        assert_eq!(headers["vary"], "accept-encoding");
        headers
            .get("content-encoding")
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let (_, _, plain_search) = get("GET", "/fhir/Observation?_count=50", "identity");
    let (_, plain_head, plain_read) = get("GET", "/fhir/Patient/long", "");
    for (accept, expected) in [
        ("gzip, deflate", "gzip"),
        ("br, gzip;q=0.5, zstd", "zstd"),
        ("*", "zstd"),
    ] {
        let (status, headers, bytes) = get("GET", "/fhir/Observation?_count=50", accept);
        assert_eq!((status, coding(&headers).as_deref()), (200, Some(expected)), "{accept}");
        assert_eq!(headers["content-length"], bytes.len().to_string());
        assert_eq!(headers["content-type"], "application/fhir+json; charset=utf-8");
        assert!(
            bytes.len() * 5 < plain_search.len(),
            "{} of {}",
            bytes.len(),
            plain_search.len()
        );
        assert_eq!(bundle(&decoded(expected, &bytes)), bundle(&plain_search));

        let (_, headers, bytes) = get("GET", "/fhir/Patient/long", accept);
        assert_eq!(decoded(expected, &bytes), plain_read);
        assert_eq!(
            headers["etag"], plain_head["etag"],
            "a weak tag is that of every coding"
        );
        let (status, head, none) = get("HEAD", "/fhir/Patient/long", accept);
        assert_eq!((status, none.len()), (200, 0));
        for name in [
            "content-encoding",
            "content-length",
            "content-type",
            "etag",
            "last-modified",
            "vary",
        ] {
            assert_eq!(head[name], headers[name], "{name}");
        }
        let (_, headers, bytes) = get("GET", "/fhir/metadata", accept);
        assert_eq!(coding(&headers).as_deref(), Some(expected));
        let statement: Value = serde_json::from_slice(&decoded(expected, &bytes)).unwrap();
        assert_eq!(statement["resourceType"], "CapabilityStatement");
    }
    for accept in ["", "identity", "br", "gzip;q=0"] {
        let (_, headers, bytes) = get("GET", "/fhir/Patient/long", accept);
        assert_eq!((coding(&headers), bytes), (None, plain_read.clone()), "{accept}");
    }
    // Small responses are not compressed, unless the client refuses the uncompressed form.
    let (_, headers, small) = get("GET", "/fhir/Patient/anna", "gzip");
    assert_eq!(coding(&headers), None);
    let (_, headers, coded) = get("GET", "/fhir/Patient/anna", "gzip, identity;q=0");
    assert_eq!(coding(&headers).as_deref(), Some("gzip"));
    assert_eq!(decoded("gzip", &coded), small);
    for accept in ["*;q=0", "br, identity;q=0"] {
        let headers = [("authorization", bearer.as_str()), ("accept-encoding", accept)];
        let answer = server.send("GET", "/fhir/Patient/anna", &headers, "");
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (406, "not-supported"),
            "{accept}"
        );
    }
}

#[test]
fn a_version_that_is_held_has_no_body_in_any_coding() {
    let server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    let headers = [
        ("authorization", bearer.as_str()),
        ("accept-encoding", "gzip"),
        ("if-none-match", "W/\"1\""),
    ];
    let (status, headers, bytes) = server.send_bytes("GET", "/fhir/Patient/long", &headers, b"");
    assert_eq!((status, bytes.len()), (304, 0));
    assert_eq!(
        (&headers["vary"], &headers["etag"]),
        (&"accept-encoding".parse().unwrap(), &"W/\"1\"".parse().unwrap())
    );
    assert!(headers.get("content-encoding").is_none());
}

#[test]
fn rows_come_in_a_coding_and_parquet_as_it_is() {
    let server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    let view = json!({"resourceType": "ViewDefinition", "resource": "Observation", "status": "active",
        "select": [{"column": [{"name": "id", "path": "id"}, {"name": "status", "path": "status"}]}]});
    let body =
        json!({"resourceType": "Parameters", "parameter": [{"name": "viewResource", "resource": view}]}).to_string();
    let run = |format: &str, accept: &str| {
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/fhir+json"),
            ("accept-encoding", accept),
        ];
        let path = format!("/fhir/ViewDefinition/$run?_format={format}");
        let (status, headers, bytes) = server.send_bytes("POST", &path, &headers, body.as_bytes());
        assert_eq!(status, 200);
        (headers, bytes)
    };
    for format in ["json", "csv", "ndjson"] {
        let (_, plain) = run(format, "identity");
        for coding in ["gzip", "zstd"] {
            let (headers, bytes) = run(format, coding);
            assert_eq!(headers["content-encoding"], coding, "{format}");
            assert!(headers.get("content-length").is_none());
            assert_eq!(decoded(coding, &bytes), plain, "{format} {coding}");
        }
    }
    let (headers, bytes) = run("parquet", "gzip");
    assert!(headers.get("content-encoding").is_none() && bytes.starts_with(b"PAR1"));
}

#[test]
fn requests_may_be_coded_within_the_bound() {
    let limits = Limits {
        body: 1_000,
        ..Limits::default()
    };
    let server = Server::limited(&records(), limits);
    let bearer = format!("Bearer {}", server.application_token());
    let send = |coding: &str, body: &[u8]| {
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-encoding", coding),
        ];
        server.send_bytes("POST", "/fhir/Patient/_search", &headers, body)
    };
    let form = b"birthdate=1970";
    for (coding, body) in [
        ("identity", form.to_vec()),
        ("gzip", gzip(form)),
        ("X-GZIP", gzip(form)),
        ("zstd", zstd::bulk::compress(form, 1).unwrap()),
    ] {
        let (status, _, bytes) = send(coding, &body);
        let found: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(status, 200, "{found}");
        assert_eq!(found["entry"].as_array().unwrap().len(), 1, "{coding}");
    }
    let issue = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["issue"][0]["code"].clone();
    // Few bytes that decompress to many.
    let (status, _, bytes) = send("gzip", &gzip(&b"x".repeat(1_000_000))[..999]);
    assert_eq!((status, issue(&bytes)), (413, json!("too-long")));
    for (coding, body) in [
        ("gzip", form.to_vec()),
        ("zstd", form.to_vec()),
        ("gzip", gzip(form)[..20].to_vec()),
    ] {
        let (status, _, bytes) = send(coding, &body);
        assert_eq!((status, issue(&bytes)), (400, json!("invalid")), "{coding}");
    }
    for coding in ["br", "deflate", "gzip, gzip", "aes128gcm"] {
        let (status, headers, bytes) = send(coding, form);
        assert_eq!((status, issue(&bytes)), (415, json!("not-supported")), "{coding}");
        assert_eq!(headers["accept-encoding"], "zstd, gzip");
    }
}
