//! The security headers of all responses, and the pages for developers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::harness::server::Server;

#[test]
fn every_answer_is_protected_and_has_an_id() {
    let server = Server::start(&[]);
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
        ("GET", "/fhir/metadata"),
        ("GET", "/fhir/Patient"),
        ("GET", "/endpoints"),
        ("GET", "/.well-known/jwks.json"),
        ("OPTIONS", "/.well-known/jwks.json"),
        ("GET", "/elsewhere"),
        ("POST", "/docs"),
        ("HEAD", "/docs"),
    ] {
        let answer = server.send(method, path, &[], "");
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(answer.header("strict-transport-security"), "", "{path}: plain http");
        assert!(
            uuid::Uuid::parse_str(answer.header("x-request-id")).is_ok(),
            "{method} {path}"
        );
    }
}

#[test]
fn the_page_shows_every_operation_and_needs_nothing_beside_it() {
    let server = Server::start(&[]);
    let page = server.send("GET", "/docs", &[], "");
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, "text/html; charset=utf-8")
    );
    let document = server.send("GET", "/openapi.json", &[], "").json();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods
            .as_object()
            .unwrap()
            .iter()
            .filter(|(method, _)| *method != "head")
        {
            let id = operation["operationId"].as_str().unwrap();
            let heading = format!(
                "<span class=\"method {method}\">{}</span> <code>{path}</code>",
                method.to_uppercase()
            );
            assert!(page.text.contains(&heading), "{method} {path}");
            assert_eq!(page.text.matches(&format!("<details id=\"{id}\">")).count(), 1, "{id}");
        }
    }
    let (before, rest) = page.text.split_once("<script>").unwrap();
    let (script, after) = rest.split_once("</script>").unwrap();
    let rest = format!("{before}{after}");
    for outside in ["<script", "<link", "<img", "src=", "@import", "url(", " style=", " on"] {
        let inside_tags = rest.split('<').filter_map(|piece| piece.split('>').next());
        let found = if outside.starts_with('<') || outside == "@import" || outside == "url(" {
            rest.contains(outside)
        } else {
            inside_tags.into_iter().any(|tag| tag.contains(outside))
        };
        assert!(!found, "{outside}");
    }
    let digest = |text: &str| {
        use base64::Engine;
        use sha2::Digest;
        base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(text))
    };
    let style = page
        .text
        .split("<style>")
        .nth(1)
        .unwrap()
        .split("</style>")
        .next()
        .unwrap();
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains(&format!("style-src 'sha256-{}';", digest(style))),
        "{policy}"
    );
    assert!(
        policy.contains(&format!("script-src 'sha256-{}';", digest(script))),
        "{policy}"
    );
    assert!(policy.contains("connect-src 'self';"), "{policy}");
    assert!(page.text.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    assert!(page.text.contains("<title>"));
}

/// The values of an attribute in a page.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let mark = format!(" {attribute}=\"");
    let rest = page.split(mark.as_str()).skip(1);
    rest.map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn every_operation_has_an_example_and_every_id_stands_once() {
    let server = Server::start(&[]);
    let page = server.send("GET", "/docs", &[], "").text;
    let ids = values(&page, "id");
    let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    assert!(ids.iter().all(|id| !id.contains(char::is_whitespace)), "{ids:?}");
    for (attribute, sign) in [("href", "#"), ("aria-labelledby", "")] {
        for value in values(&page, attribute)
            .iter()
            .filter_map(|value| value.strip_prefix(sign))
        {
            let leads_away = attribute == "href" && value.is_empty();
            assert!(leads_away || ids.contains(&value), "{attribute} {value}");
        }
    }
    let operations = page.matches("<details id=").count();
    assert!(operations > 50, "{operations}");
    assert_eq!(page.matches(">curl ").count(), operations);
    assert_eq!(page.matches("<form class=\"try\" hidden").count(), operations);
    assert_eq!(page.matches("aria-label=\"Call: ").count(), operations);
    // An example call. It works unchanged for a route without parameters.
    let base = format!("http://{}", server.address);
    let lines = page
        .split(">curl &#39;")
        .skip(1)
        .map(|rest| rest.split("&#39;<").next().unwrap());
    let plain = lines.filter(|line| !line.contains("&#39;") && !line.contains("text"));
    let mut called = 0;
    for address in plain {
        let path = address.strip_prefix(&base).unwrap_or_else(|| panic!("{address}"));
        let answer = server.send("GET", path, &[], "");
        assert!(answer.status < 500, "{path}: {}", answer.status);
        called += 1;
    }
    assert!(called > 5, "{called}");
}

#[test]
fn operations_are_found_by_words() {
    let server = Server::start(&[]);
    let found = |query: &str| {
        let page = server.send("GET", &format!("/docs?q={query}"), &[], "");
        assert_eq!(page.status, 200);
        let text = page.text;
        let names = text.split("<details id=\"").skip(1);
        let names: Vec<String> = names.map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
        (names, text)
    };
    let (names, _) = found("Everything+get");
    assert!(names.contains(&"everything".to_owned()), "{names:?}");
    assert!(!names.contains(&"everythingByPost".to_owned()), "{names:?}");
    let (names, text) = found("%3Cscript%3Ealert(1)");
    assert_eq!(names, [] as [&str; 0]);
    assert!(text.contains("No operation has these words.") && !text.contains("<script>alert"));
    let (names, _) = found("");
    assert!(names.len() > 50, "{names:?}");
}

#[test]
fn pages_follow_the_size_of_letters_that_a_reader_set() {
    let server = Server::start(&[]);
    let sizes = regex::Regex::new(r"(?:font|font-size):[^;}]*?\d+px").unwrap();
    for path in ["/", "/docs"] {
        let page = server.send("GET", path, &[], "").text;
        let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        assert!(!sizes.is_match(style), "{path}: {:?}", sizes.find(style));
    }
}

#[test]
fn the_start_leads_to_the_description() {
    let server = Server::start(&[]);
    let page = server.send("GET", "/", &[], "");
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, "text/html; charset=utf-8")
    );
    let base = format!("http://{}", server.address);
    let links: Vec<&str> = page
        .text
        .split("href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(links.contains(&format!("{base}/docs").as_str()), "{links:?}");
    for link in links {
        assert_eq!(
            server.send("GET", link.strip_prefix(&base).unwrap(), &[], "").status,
            200,
            "{link}"
        );
    }
}

/// hyper answers these by itself, before routing.
#[test]
fn requests_that_cannot_be_read_are_refused_with_an_id_too() {
    let server = Server::start(&[]);
    for (request, status) in [
        ("NONSENSE\r\n\r\n".to_owned(), 400),
        ("GET /fhir HTTP/7.3\r\n\r\n".to_owned(), 400),
        ("GET /fhir HTTP/1.1\r\nhost: x\r\nbroken header\r\n\r\n".to_owned(), 400),
        (
            format!("GET /fhir HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(150)),
            431,
        ),
    ] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        // The server may answer and close before it has received everything.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        let id = answer
            .split("x-request-id: ")
            .nth(1)
            .unwrap()
            .split("\r\n")
            .next()
            .unwrap();
        assert!(uuid::Uuid::parse_str(id).is_ok(), "{answer}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let outcome: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(outcome["resourceType"], "OperationOutcome", "{answer}");
    }
}
