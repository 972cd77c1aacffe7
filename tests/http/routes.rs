//! The FHIR routes over real HTTP: headers, errors, limits and the server's shutdown.

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
        ("GET", "/fhir/Patient/anna/$expunge", 404, "not-supported"),
        ("POST", "/fhir/Patient/anna/$expunge", 422, "processing"),
        ("GET", "/fhir/$expunge-status/none", 404, "not-found"),
        ("GET", "/fhir/%24expunge-status/none", 404, "not-found"),
        ("POST", "/fhir/$expunge-status/none", 404, "not-supported"),
        ("GET", "/fhir/Patient/anna/_history/1", 404, "not-supported"),
        ("GET", "/fhir/Patient/_history", 404, "not-supported"),
        ("PUT", "/fhir/Patient/anna", 404, "not-supported"),
        ("DELETE", "/fhir/Patient/anna", 404, "not-supported"),
        ("POST", "/fhir/Patient", 404, "not-supported"),
        ("PUT", "/fhir", 404, "not-supported"),
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
    assert_eq!(statement["rest"][0]["interaction"], json!([{"code": "search-system"}]));
    let all = server.get("/fhir?_type=Patient&_summary=count", &server.application_token());
    assert_eq!(all.status, 200, "what is said is answered");
    let resources = statement["rest"][0]["resource"].as_array().unwrap();
    let patient = resources.iter().find(|resource| resource["type"] == "Patient").unwrap();
    assert_eq!(
        patient["interaction"],
        json!([{"code": "read"}, {"code": "search-type"}])
    );
    server.store.clock().advance(86_400);
    assert_eq!(
        server.send("GET", "/fhir/metadata", &[], "").json()["date"],
        "2027-01-16"
    );
}

#[test]
fn every_route_of_the_openapi_document_is_answered() {
    let mut records = records();
    records[0]["identifier"] = json!([{"value": "a1"}]);
    records.push(json!({"resourceType": "Binary", "id": "anna", "contentType": "text/plain", "data": "aGk="}));
    let server = Server::start(&records);
    let bearer = format!("Bearer {}", server.application_token());
    let patient = format!("Bearer {}", server.patient_token("anna"));
    let document = server.send("GET", "/openapi.json", &[], "");
    assert_eq!(
        (document.status, document.header("content-type")),
        (200, "application/json")
    );
    assert_eq!(
        document.json()["servers"][0]["url"],
        format!("http://{}", server.address)
    );
    let view = json!({"resourceType": "ViewDefinition", "resource": "Patient", "status": "active",
        "select": [{"column": [{"name": "id", "path": "id"}]}]});
    let run = json!({"resourceType": "Parameters", "parameter": [{"name": "viewResource", "resource": view}]});
    let everything = json!({"name": "credentialType", "valueUri": "Patient/$everything"});
    let card = json!({"resourceType": "Parameters", "parameter": [everything]});
    let document = document.json();
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in paths {
        let mut address = path.replace("{type}", "Patient").replace("{id}", "anna");
        if path == "/fhir/Patient/$summary" {
            address += "?identifier=a1";
        }
        for (method, described) in methods.as_object().unwrap() {
            let (content_type, body) = match path.as_str() {
                path if path.ends_with("_search") => ("application/x-www-form-urlencoded", String::new()),
                path if path.ends_with("$validate") => ("application/fhir+json", view.to_string()),
                path if path.ends_with("$health-cards-issue") => ("application/fhir+json", card.to_string()),
                path if path.contains("/Patient/") && path.contains('$') => (
                    "application/fhir+json",
                    json!({"resourceType": "Parameters"}).to_string(),
                ),
                path if path.contains('$') => ("application/fhir+json", run.to_string()),
                _ => ("application/json", String::new()),
            };
            // Health cards need a patient token.
            let bearer = if path.ends_with("$health-cards-issue") {
                &patient
            } else {
                &bearer
            };
            let headers = [("authorization", bearer.as_str()), ("content-type", content_type)];
            if path.ends_with("$pdf") {
                // The response is not text.
                let answer = server.status_and_type(&method.to_uppercase(), &address, &headers, "");
                assert_eq!(answer, (200, "application/pdf".to_owned()), "{method} {path}");
                continue;
            }
            let answer = server.send(&method.to_uppercase(), &address, &headers, &body);
            if path.starts_with("/fhir") {
                // Erasing needs a patient token, and this erasure does not exist.
                let expected = match path.as_str() {
                    path if path.ends_with("$expunge") => 422,
                    path if path.contains("$expunge-status") => 404,
                    _ => 200,
                };
                assert_eq!(answer.status, expected, "{method} {path}: {}", answer.text);
            }
            // Other routes may need more than the document's example. Then the refusal is their own.
            assert_ne!(answer.status, 405, "{method} {path}");
            assert!(answer.status < 500, "{method} {path}: {}", answer.text);
            assert!(!answer.text.contains("there is nothing here"), "{method} {path}");
            let response = &described["responses"][answer.status.to_string()];
            let response = if response.is_null() {
                let component = described["responses"]["default"]["$ref"].as_str().unwrap();
                document.pointer(component.strip_prefix('#').unwrap()).unwrap()
            } else if let Some(component) = response["$ref"].as_str() {
                document.pointer(component.strip_prefix('#').unwrap()).unwrap()
            } else {
                response
            };
            let content_type = answer.header("content-type").split(';').next().unwrap();
            let media = response["content"].as_object();
            assert!(
                media.map_or(content_type.is_empty(), |media| media.contains_key(content_type)
                    || media.contains_key("*/*")),
                "{method} {path}: {content_type}"
            );
        }
    }
    for (path, methods) in paths {
        let with = |method: &str| methods.get(method).is_some();
        assert_eq!(with("get"), with("head"), "{path}");
    }
    for path in [
        "/fhir/metadata",
        "/fhir",
        "/fhir/{type}/{id}",
        "/fhir/$sql-run",
        "/openapi.json",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
}

#[test]
fn routes_refuse_in_their_own_shape() {
    let server = Server::start(&records());
    let long = "y".repeat(62_000);
    for (method, path, status, shape) in [
        ("GET", "/elsewhere", 404, "message"),
        ("POST", "/openapi.json", 405, "message"),
        ("GET", &*format!("/openapi.json?{long}"), 414, "message"),
        ("GET", "/%ff", 400, "message"),
        ("GET", &*format!("/oauth/token?{long}"), 414, "error_description"),
        ("GET", &*format!("/fhir?{long}"), 414, "issue"),
        ("GET", "/fhir", 401, "issue"),
    ] {
        let answer = server.send(method, path, &[], "");
        assert_eq!(answer.status, status, "{method} {path:.40}");
        let json = answer.json();
        assert!(json.get(shape).is_some(), "{json}");
        let expected = if shape == "issue" {
            "application/fhir+json; charset=utf-8"
        } else {
            "application/json"
        };
        assert_eq!(answer.header("content-type"), expected);
        assert!(uuid::Uuid::parse_str(answer.header("x-request-id")).is_ok());
    }
    let wrong = server.send("POST", "/openapi.json", &[], "");
    assert_eq!(wrong.header("allow"), "GET,HEAD");
}

#[test]
fn long_urls_are_refused_with_an_outcome() {
    let server = Server::start(&records());
    let answer = server.get(
        &format!("/fhir/Patient/anna?x={}", "y".repeat(62_000)),
        &server.application_token(),
    );
    assert_eq!((answer.status, answer.issue().as_str()), (414, "too-long"));
    assert!(uuid::Uuid::parse_str(answer.header("x-request-id")).is_ok());
}

/// An overlong URL is not read to its end. Its refusal had no body.
#[test]
fn urls_that_are_not_read_are_refused_with_an_outcome() {
    let server = Server::start(&records());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let long = "y".repeat(70_000);
    let request = format!("GET /fhir/Patient/anna?x={long} HTTP/1.1\r\nhost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 414 "), "{answer}");
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(of, _)| *of == name)
            .unwrap_or_else(|| panic!("{name}: {head}"))
            .1
    };
    let outcome: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&outcome["resourceType"], &outcome["issue"][0]["code"]),
        (&json!("OperationOutcome"), &json!("too-long"))
    );
    assert_eq!(header("content-type"), "application/fhir+json; charset=utf-8");
    assert_eq!(header("content-length"), body.len().to_string());
    assert_eq!(head.matches("content-length").count(), 1);
    assert!(uuid::Uuid::parse_str(header("x-request-id")).is_ok());
}

/// A search for a cohort is posted. The links of its pages repeat the cohort.
#[test]
fn pages_of_a_thousand_patients_are_walked_by_their_links() {
    let id = |at: usize| format!("{at:08x}-0000-4000-8000-000000000000");
    let mut all = Vec::new();
    for at in 0..30 {
        all.push(json!({"resourceType": "Patient", "id": id(at)}));
        all.push(
            json!({"resourceType": "Observation", "id": format!("o{at:02}"), "status": "final", "code": {"text": "c"},
            "subject": {"reference": format!("Patient/{}", id(at))}}),
        );
    }
    let server = Server::imported(&all);
    let token = server.application_token();
    let cohort: Vec<String> = (10..1_010).map(|at| format!("Patient/{}", id(at))).collect();
    let headers = [
        ("authorization", format!("Bearer {token}")),
        ("content-type", "application/x-www-form-urlencoded".to_owned()),
    ];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = format!("subject={}&_sort=_id&_count=8", cohort.join(","));
    let mut page = server.send("POST", "/fhir/Observation/_search", &headers, &body);
    let mut found = Vec::new();
    loop {
        assert_eq!(page.status, 200, "{}", page.text);
        let bundle = page.json();
        let entries = bundle["entry"].as_array().unwrap();
        found.extend(
            entries
                .iter()
                .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned()),
        );
        let links = bundle["link"].as_array().unwrap();
        let Some(next) = links.iter().find(|link| link["relation"] == "next") else {
            break;
        };
        let (_, path) = next["url"].as_str().unwrap().split_once("/fhir/").unwrap();
        page = server.get(&format!("/fhir/{path}"), &token);
    }
    let expected: Vec<String> = (10..30).map(|at| format!("o{at:02}")).collect();
    assert_eq!(found, expected);
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
    slow.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    slow.write_all(b"GET /fhir/metadata HTTP/1.1\r\nhost: x\r\n").unwrap();
    let mut rest = Vec::new();
    let end = slow.read_to_end(&mut rest).err().map(|error| error.kind());
    assert!(
        end.is_none_or(|kind| kind == std::io::ErrorKind::ConnectionReset),
        "the server closes the connection: {end:?}"
    );
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn a_request_in_flight_is_finished_when_the_server_stops() {
    let mut server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    // The server asks for the body, so the request has begun and cannot finish before the body arrives.
    let head = format!(
        "POST /fhir/Patient/_search HTTP/1.1\r\nhost: x\r\nauthorization: {bearer}\r\nexpect: 100-continue\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 14\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut asked = [0u8; 25];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.stop();
    while TcpStream::connect(server.address).is_ok() {
        std::thread::yield_now();
    }
    stream.write_all(b"birthdate=1970").unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("HTTP/1.1 200"), "{rest}");
    assert!(rest.contains("Patient/anna"), "{rest}");
    assert!(rest.ends_with('}'), "the answer was cut short: {rest}");
    server.outcome().unwrap();
}

/// The entries of a Bundle, as `Type/id`.
fn held(bundle: &serde_json::Value) -> Vec<String> {
    let entries = bundle["entry"].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |entry: &serde_json::Value| {
        let resource = &entry["resource"];
        format!(
            "{}/{}",
            resource["resourceType"].as_str().unwrap(),
            resource["id"].as_str().unwrap()
        )
    };
    entries.iter().map(name).collect()
}

#[test]
fn searches_come_by_get_and_by_post() {
    let server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    let form = "application/x-www-form-urlencoded";
    let by_get = server.send("GET", "/fhir/Patient?birthdate=1970", &[("authorization", &bearer)], "");
    assert_eq!(by_get.status, 200, "{}", by_get.text);
    assert_eq!(by_get.header("content-type"), "application/fhir+json; charset=utf-8");
    assert_eq!(
        (by_get.json()["type"].as_str(), held(&by_get.json())),
        (Some("searchset"), vec!["Patient/anna".to_owned()])
    );
    for (path, body) in [
        ("/fhir/Patient/_search", "birthdate=1970"),
        ("/fhir/Patient/_search?birthdate=1970", "_count=5"),
    ] {
        let by_post = server.send(
            "POST",
            path,
            &[("authorization", &bearer), ("content-type", form)],
            body,
        );
        assert_eq!(by_post.status, 200, "{}", by_post.text);
        assert_eq!(held(&by_post.json()), ["Patient/anna"], "{path}");
    }
    let empty = server.send("POST", "/fhir/Patient/_search", &[("authorization", &bearer)], "");
    assert_eq!((empty.status, held(&empty.json()).len()), (200, 1));
    let json = server.send(
        "POST",
        "/fhir/Patient/_search",
        &[("authorization", &bearer), ("content-type", "application/json")],
        "{}",
    );
    assert_eq!((json.status, json.issue().as_str()), (415, "not-supported"));
    let pretty = server.send("GET", "/fhir/Patient?_pretty=true", &[("authorization", &bearer)], "");
    assert!(pretty.text.contains("\n  \"type\""), "{}", pretty.text);
}

#[test]
fn wrong_values_are_invalid_and_unknown_parameters_are_left_out() {
    let server = Server::start(&records());
    let bearer = format!("Bearer {}", server.application_token());
    for query in [
        "birthdate=soon",
        "birthdate:colour=1970",
        "_count=many",
        "_summary=most",
    ] {
        let answer = server.send(
            "GET",
            &format!("/fhir/Patient?{query}"),
            &[("authorization", &bearer)],
            "",
        );
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{query}");
    }
    let lenient = server.send("GET", "/fhir/Patient?colour=red", &[("authorization", &bearer)], "");
    assert_eq!(held(&lenient.json()), ["Patient/anna"]);
    let link = lenient.json()["link"][0].clone();
    assert_eq!(link["relation"], "self");
    assert!(!link["url"].as_str().unwrap().contains("colour"), "{link}");
    let strict = [
        ("authorization", bearer.as_str()),
        ("prefer", "respond-async, handling=strict"),
    ];
    let answer = server.send("GET", "/fhir/Patient?colour=red", &strict, "");
    assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"));
    let answer = server.send("GET", "/fhir/Nonsense?x=y", &[("authorization", &bearer)], "");
    assert_eq!((answer.status, answer.issue().as_str()), (404, "not-supported"));
}

#[test]
fn the_wildcard_works_in_query_values() {
    let server = Server::start(&records());
    let token = server.patient_token("anna");
    for query in [
        "patient=$PATIENT_ID",
        "subject=Patient/%24PATIENT_ID",
        "patient=nobody,$PATIENT_ID",
    ] {
        let answer = server.get(&format!("/fhir/Observation?{query}"), &token);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(held(&answer.json()), ["Observation/o1"], "{query}");
        let answer = server.get(&format!("/fhir/Observation?{query}"), &server.application_token());
        assert_eq!((answer.status, answer.issue().as_str()), (422, "processing"), "{query}");
    }
}

#[test]
fn links_lead_to_the_pages_they_name() {
    let patients: Vec<_> = (0..5)
        .map(|at| json!({"resourceType": "Patient", "id": format!("p{at}"), "gender": "male"}))
        .collect();
    let server = Server::start(&patients);
    let bearer = format!("Bearer {}", server.application_token());
    let root = format!("http://{}", server.address);
    let mut path = "/fhir/Patient?gender=male&_count=2".to_owned();
    let mut seen = Vec::new();
    for page in 0..3 {
        let bundle = server.send("GET", &path, &[("authorization", &bearer)], "").json();
        seen.extend(held(&bundle));
        let links = bundle["link"].as_array().unwrap();
        let url = |relation: &str| {
            let link = links.iter().find(|link| link["relation"] == relation)?;
            Some(
                link["url"]
                    .as_str()
                    .unwrap()
                    .strip_prefix(root.as_str())
                    .unwrap()
                    .to_owned(),
            )
        };
        assert!(url("self").is_some() && url("first").is_some());
        assert_eq!(url("previous").is_some(), page > 0);
        match url("next") {
            Some(next) => path = next,
            None => assert_eq!(page, 2),
        }
    }
    seen.sort();
    assert_eq!(
        seen,
        ["Patient/p0", "Patient/p1", "Patient/p2", "Patient/p3", "Patient/p4"]
    );
}

#[test]
fn long_bodies_are_refused_before_they_are_read() {
    let server = Server::limited(
        &records(),
        Limits {
            body: 1_000,
            ..Limits::default()
        },
    );
    let bearer = format!("Bearer {}", server.application_token());
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let answer = server.send("POST", "/fhir/Patient/_search", &headers, &"x".repeat(2_000));
    assert_eq!((answer.status, answer.issue().as_str()), (413, "too-long"));

    // The same without a stated length.
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let head = format!(
        "POST /fhir/Patient/_search HTTP/1.1\r\nhost: x\r\nauthorization: {bearer}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
        .write_all(format!("7d0\r\n{}\r\n", "x".repeat(2_000)).as_bytes())
        .unwrap();
    let mut status = [0u8; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 413");
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let limits = Limits {
        body_time: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Server::limited(&records(), limits);
    let bearer = format!("Bearer {}", server.application_token());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let head = format!(
        "POST /fhir/Patient/_search HTTP/1.1\r\nhost: x\r\nauthorization: {bearer}\r\ncontent-length: 10\r\n\r\n_cou"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut status = [0u8; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 408");
}

#[test]
fn a_client_that_does_not_read_its_answers_is_cut_off() {
    let limits = Limits {
        write_time: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Server::limited(&records(), limits);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(120))).unwrap();
    // Sends requests without reading the responses. Both directions fill up, and the server closes the connection.
    let refused = loop {
        if let Err(error) = stream.write_all(b"GET /fhir/metadata HTTP/1.1\r\nhost: x\r\n\r\n") {
            break error.kind();
        }
    };
    let closed = [std::io::ErrorKind::ConnectionReset, std::io::ErrorKind::BrokenPipe];
    assert!(closed.contains(&refused), "{refused:?}");
}
