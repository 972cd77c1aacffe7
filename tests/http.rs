//! The FHIR routes over real HTTP: headers, errors, bounds and the end of a server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use tabularium::http::Limits;

use crate::harness::server::Server;

fn records() -> Vec<serde_json::Value> {
    vec![
        json!({"resourceType": "Patient", "id": "anna", "birthDate": "1970"}),
        json!({"resourceType": "Observation", "id": "o1", "status": "final", "code": {"text": "x"},
            "subject": {"reference": "Patient/anna"}}),
    ]
}

#[test]
fn a_read_gives_the_stored_bytes_and_their_version() {
    let server = Server::start(&records());
    let token = server.application_token();
    let answer = server.get("/fhir/Patient/anna", &token);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/fhir+json; charset=utf-8");
    assert_eq!(answer.header("etag"), "W/\"1\"");
    assert_eq!(answer.json()["birthDate"], "1970");
    assert!(uuid::Uuid::parse_str(answer.header("x-request-id")).is_ok());
    let again = server.get("/fhir/Patient/anna", &token);
    assert_ne!(again.header("x-request-id"), answer.header("x-request-id"));

    let bearer = format!("Bearer {token}");
    let head = server.send("HEAD", "/fhir/Patient/anna", &[("authorization", &bearer)], "");
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), answer.text.len().to_string());
    for name in ["etag", "last-modified", "content-type"] {
        assert_eq!(head.header(name), answer.header(name));
        assert_ne!(head.header(name), "");
    }
}

#[test]
fn a_client_that_has_the_version_gets_no_body() {
    let server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    let modified = server
        .send("GET", "/fhir/Patient/anna", &[("authorization", &bearer)], "")
        .header("last-modified")
        .to_owned();
    for condition in [
        ("if-none-match", "W/\"1\""),
        ("if-none-match", "*"),
        ("if-modified-since", modified.as_str()),
    ] {
        let answer = server.send(
            "GET",
            "/fhir/Patient/anna",
            &[("authorization", &bearer), condition],
            "",
        );
        assert_eq!((answer.status, answer.text.as_str()), (304, ""), "{condition:?}");
        assert_eq!(answer.header("etag"), "W/\"1\"");
    }
    let answer = server.send(
        "GET",
        "/fhir/Patient/anna",
        &[("authorization", &bearer), ("if-none-match", "W/\"2\"")],
        "",
    );
    assert_eq!(answer.status, 200);
}

#[test]
fn pretty_is_the_same_json_in_lines() {
    let server = Server::start(&records());
    let token = server.application_token();
    let plain = server.get("/fhir/Patient/anna", &token);
    let pretty = server.get("/fhir/Patient/anna?_pretty=true", &token);
    assert!(pretty.text.contains("\n  \""), "{}", pretty.text);
    assert_eq!(pretty.json(), plain.json());
    assert_eq!(server.get("/fhir/Patient/anna?_pretty=maybe", &token).status, 400);
}

#[test]
fn what_is_not_there_and_what_is_not_served_differ() {
    let server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    for (method, path, status, code) in [
        ("GET", "/fhir/Patient/nobody", 404, "not-found"),
        ("GET", "/fhir/Observation/anna", 404, "not-found"),
        ("GET", "/fhir/Nonsense/anna", 404, "not-supported"),
        ("GET", "/fhir/DomainResource/anna", 404, "not-supported"),
        ("GET", "/fhir/HumanName/anna", 404, "not-supported"),
        ("GET", "/fhir/Patient/anna/$nonsense", 404, "not-supported"),
        ("GET", "/fhir/Patient/$nonsense", 404, "not-supported"),
        ("GET", "/fhir/Patient/anna/_history/1", 404, "not-supported"),
        ("GET", "/fhir/Patient/_history", 404, "not-supported"),
        ("PUT", "/fhir/Patient/anna", 404, "not-supported"),
        ("DELETE", "/fhir/Patient/anna", 404, "not-supported"),
        ("POST", "/fhir/Patient", 404, "not-supported"),
        ("GET", "/fhir", 404, "not-supported"),
        ("POST", "/fhir", 404, "not-supported"),
    ] {
        let answer = server.send(method, path, &[("authorization", &bearer)], "");
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (status, code),
            "{method} {path}: {}",
            answer.text
        );
        assert!(uuid::Uuid::parse_str(answer.header("x-request-id")).is_ok());
        assert_eq!(answer.header("content-type"), "application/fhir+json; charset=utf-8");
    }
    let outside = server.send("GET", "/elsewhere", &[], "");
    assert_eq!(
        (outside.status, outside.header("content-type")),
        (404, "application/json")
    );
    assert!(uuid::Uuid::parse_str(outside.header("x-request-id")).is_ok());
}

#[test]
fn the_wildcard_is_the_tokens_patient() {
    let server = Server::start(&records());
    let token = server.patient_token("anna");
    for path in ["/fhir/Patient/$PATIENT_ID", "/fhir/Patient/%24PATIENT_ID"] {
        let answer = server.get(path, &token);
        assert_eq!((answer.status, &answer.json()["id"]), (200, &json!("anna")), "{path}");
        let answer = server.get(path, &server.application_token());
        assert_eq!((answer.status, answer.issue().as_str()), (422, "processing"), "{path}");
    }
}

#[test]
fn answers_are_json_or_refused() {
    let server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    let status = |path: &str, accept: &str| {
        server
            .send(
                "GET",
                path,
                &[
                    ("authorization", &bearer),
                    ("accept", accept),
                    ("content-type", "application/fhir+json"),
                ],
                "",
            )
            .status
    };
    assert_eq!(status("/fhir/Patient/anna", "text/html, */*;q=0.1"), 200);
    assert_eq!(status("/fhir/Patient/anna", "application/json"), 200);
    assert_eq!(status("/fhir/Patient/anna", "application/fhir+xml"), 406);
    assert_eq!(status("/fhir/Patient/anna?_format=json", "application/fhir+xml"), 200);
    assert_eq!(status("/fhir/Patient/anna?_format=application/fhir%2Bjson", "*/*"), 200);
    assert_eq!(status("/fhir/Patient/anna?_format=xml", "*/*"), 406);
    assert_eq!(status("/fhir/metadata", "application/fhir+xml"), 406);
}

#[test]
fn metadata_says_what_the_server_can_do() {
    let server = Server::start(&records());
    let answer = server.send("GET", "/fhir/metadata", &[], "");
    let statement = answer.json();
    assert_eq!(statement["resourceType"], "CapabilityStatement");
    assert_eq!(statement["fhirVersion"], "4.0.1");
    assert_eq!(statement["date"], "2027-01-15", "the server's clock says so");
    for name in ["url", "title", "publisher", "status", "kind"] {
        assert!(statement[name].is_string(), "{name}");
    }
    assert_eq!(statement["rest"][0]["mode"], "server");
    let resources = statement["rest"][0]["resource"].as_array().unwrap();
    let patient = resources.iter().find(|resource| resource["type"] == "Patient").unwrap();
    assert_eq!(patient["interaction"], json!([{"code": "read"}]));
    server.store.clock().advance(86_400);
    assert_eq!(
        server.send("GET", "/fhir/metadata", &[], "").json()["date"],
        "2027-01-16"
    );
}

#[test]
fn long_urls_are_refused_with_an_outcome() {
    let server = Server::start(&records());
    let answer = server.get(
        &format!("/fhir/Patient/anna?x={}", "y".repeat(9_000)),
        &server.application_token(),
    );
    assert_eq!((answer.status, answer.issue().as_str()), (414, "too-long"));
    assert!(uuid::Uuid::parse_str(answer.header("x-request-id")).is_ok());
}

#[test]
fn too_many_requests_at_once_are_turned_away() {
    let server = Server::limited(
        &records(),
        Limits {
            requests: 0,
            ..Limits::default()
        },
    );
    let answer = server.get("/fhir/Patient/anna", &server.application_token());
    assert_eq!((answer.status, answer.issue().as_str()), (429, "throttled"));
    assert_eq!(answer.header("retry-after"), "1");
}

#[test]
fn a_client_that_dawdles_over_its_headers_is_cut_off() {
    let limits = Limits {
        header_time: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Server::limited(&records(), limits);
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    slow.write_all(b"GET /fhir/metadata HTTP/1.1\r\nhost: x\r\n").unwrap();
    let mut rest = Vec::new();
    let closed = slow.read_to_end(&mut rest).is_ok();
    assert!(closed, "the server closes the connection");
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn a_request_in_flight_is_finished_when_the_server_stops() {
    let mut server = Server::start(&records());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // The connection must have been accepted before the stop, which an answer proves.
    stream
        .write_all(b"GET /fhir/metadata HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    let mut first = [0u8; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    server.stop();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"}"), "the answer was cut short");
    server.outcome().unwrap();
    assert!(TcpStream::connect(server.address).is_err(), "nobody listens any more");
}
