//! Conditional requests: `If-None-Match`, `If-Modified-Since`, and `HEAD`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::harness::server::Server;

fn server() -> Server {
    Server::start(&[json!({"resourceType": "Patient", "id": "anna", "birthDate": "1970"})])
}

#[test]
fn a_read_depends_on_what_the_client_holds() {
    let server = server();
    let bearer = format!("Bearer {}", server.application_token());
    let get = |method: &str, conditions: &[(&str, &str)]| {
        let headers = [&[("authorization", bearer.as_str())], conditions].concat();
        server.send(method, "/fhir/Patient/anna", &headers, "")
    };
    let first = get("GET", &[]);
    // A cache must not use one person's response for another's request.
    assert_eq!(first.header("cache-control"), "private, no-cache");
    let varies: Vec<_> = first.headers.get_all("vary").iter().collect();
    assert!(varies.iter().any(|value| *value == "authorization"), "{varies:?}");
    let modified = first.header("last-modified").to_owned();
    let time = httpdate::parse_http_date(&modified).unwrap();
    let at = |time| httpdate::fmt_http_date(time);
    let before = at(time - Duration::from_secs(1));
    let after = at(time + Duration::from_secs(86_400));
    let (tag, since) = ("if-none-match", "if-modified-since");
    for (conditions, status) in [
        (vec![(tag, "W/\"1\"")], 304),
        (vec![(tag, "\"1\"")], 304),
        (vec![(tag, "*")], 304),
        (vec![(tag, "W/\"7\", \"x\" , W/\"1\"")], 304),
        (vec![(tag, "W/\"7\""), (tag, "W/\"1\"")], 304),
        (vec![(tag, "W/\"2\"")], 200),
        (vec![(tag, "1")], 200),
        (vec![(tag, "")], 200),
        (vec![(since, &*modified)], 304),
        (vec![(since, &*after)], 304),
        (vec![(since, &*before)], 200),
        (vec![(since, "yesterday")], 200),
        (vec![(since, "2027-01-15")], 200),
        // If there is a tag, the time is ignored.
        (vec![(tag, "W/\"2\""), (since, &*modified)], 200),
        (vec![(tag, "W/\"1\""), (since, &*before)], 304),
        (vec![(tag, "nonsense"), (since, &*modified)], 200),
    ] {
        for method in ["GET", "HEAD"] {
            let answer = get(method, &conditions);
            assert_eq!(answer.status, status, "{method} {conditions:?}");
            for name in ["etag", "last-modified", "vary"] {
                assert_eq!(answer.header(name), first.header(name), "{name}");
            }
            assert!(uuid::Uuid::parse_str(answer.header("x-request-id")).is_ok());
            let has_body = method == "GET" && status == 200;
            assert_eq!(answer.text == first.text, has_body, "{method} {conditions:?}");
            assert_eq!(answer.text.is_empty(), !has_body);
            let length = if status == 304 {
                ""
            } else {
                first.header("content-length")
            };
            assert_eq!(
                answer.header("content-length"),
                length,
                "a 304 does not tell a length that is not the answer's"
            );
        }
    }
}

#[test]
fn what_is_not_there_is_not_held() {
    let server = server();
    let bearer = format!("Bearer {}", server.application_token());
    let headers = [("authorization", bearer.as_str()), ("if-none-match", "*")];
    let answer = server.send("GET", "/fhir/Patient/nobody", &headers, "");
    assert_eq!((answer.status, answer.issue().as_str()), (404, "not-found"));
    let headers = [("if-none-match", "*")];
    assert_eq!(server.send("GET", "/fhir/Patient/anna", &headers, "").status, 401);
}

/// The bytes of the response to one request on a connection.
fn exchanged(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all
}

#[test]
fn head_is_get_without_the_body_on_every_route() {
    let server = server();
    let token = server.application_token();
    for path in [
        "/fhir/metadata",
        "/openapi.json",
        "/fhir/Patient/anna",
        "/fhir/Patient/anna?_pretty=true",
        "/fhir/Patient/nobody",
        "/fhir/Patient?birthdate=1970",
        "/fhir/Patient?birthdate=soon",
        "/fhir/Patient/anna/Observation",
        "/fhir?_type=Patient",
        "/fhir/Nonsense",
        "/elsewhere",
    ] {
        let [got, head] = ["GET", "HEAD"].map(|method| {
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
            );
            let text = exchanged(&server, &request);
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let mut lines: Vec<String> = head
                .lines()
                .filter(|line| !line.starts_with("date:") && !line.starts_with("x-request-id:"))
                .map(str::to_owned)
                .collect();
            lines.sort();
            (lines, body.to_owned())
        });
        assert_eq!(head.0, got.0, "{path}");
        assert!(
            head.0.contains(&format!("content-length: {}", got.1.len())),
            "{path}: {:?}",
            head.0
        );
        assert!(head.1.is_empty() && !got.1.is_empty(), "{path}");
    }
    // A route without GET has no HEAD.
    let run = format!(
        "HEAD /fhir/ViewDefinition/$run HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    assert!(exchanged(&server, &run).starts_with("HTTP/1.1 404"));
}
