//! Searches that are made to be expensive: what is repeated is taken once, what is different is bounded, and nobody
//! else waits for them.
//!
//! Two searches of one patient used to keep everybody waiting for hours: each repeated `_revinclude=*` 70,000 times.
//! Every copy was followed, no search gave up its thread, and none ended when its client had left.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tabularium::http::Limits;

use crate::harness::server::{Answer, Server};

const FORM: &str = "application/x-www-form-urlencoded";

/// Two patients. Each has observations with some words.
fn records(observations: usize) -> Vec<Value> {
    let mut records = Vec::new();
    for patient in ["anna", "ben"] {
        records.push(json!({"resourceType": "Patient", "id": patient, "gender": "female", "birthDate": "1970"}));
        records.extend((0..observations).map(|at| {
            let words: Vec<String> = (0..300).map(|word| format!("word{word} and{at}")).collect();
            json!({"resourceType": "Observation", "id": format!("{patient}-{at}"), "status": "final",
                "subject": {"reference": format!("Patient/{patient}")},
                "code": {"coding": [{"system": "http://loinc.org", "code": "8867-4"}]},
                "valueQuantity": {"value": at, "code": "/min", "system": "http://unitsofmeasure.org"},
                "note": [{"text": words.join(" ")}]})
        }));
    }
    records
}

fn post(server: &Server, token: &str, path: &str, form: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("content-type", FORM)];
    server.send("POST", path, &headers, form)
}

/// The ids of a page's resources, in order.
fn ids(answer: &Answer) -> Vec<String> {
    let page = answer.json();
    assert_eq!(answer.status, 200, "{page}");
    let entries = page["entry"].as_array().cloned().unwrap_or_default();
    let id = |entry: &Value| entry["resource"]["id"].as_str().unwrap_or_default().to_owned();
    entries.iter().map(id).collect()
}

/// The address of the page itself, decoded.
fn own_link(answer: &Answer) -> String {
    let page = answer.json();
    let url = page["link"][0]["url"].as_str().unwrap();
    percent_encoding::percent_decode_str(url)
        .decode_utf8_lossy()
        .into_owned()
}

#[test]
fn parameters_that_are_repeated_are_taken_once() {
    let server = Server::start(&records(5));
    for token in [server.patient_token("anna"), server.application_token()] {
        for (path, form, repeated, times) in [
            ("/fhir/Patient/_search", "_id=anna", "_revinclude=*", 70_000),
            ("/fhir/Patient/_search", "_id=anna", "_revinclude:iterate=*", 70_000),
            ("/fhir/Observation/_search", "_count=2", "_include=*", 70_000),
            (
                "/fhir/Patient/anna/Observation/_search",
                "_count=2",
                "_include:iterate=*",
                70_000,
            ),
            (
                "/fhir/_search",
                "_type=Patient,Observation&_id=anna",
                "_revinclude=*",
                70_000,
            ),
            (
                "/fhir/Patient/_search",
                "_id=anna",
                "_has:Observation:subject:code=8867-4",
                30_000,
            ),
            ("/fhir/Patient/_search", "_id=anna", "_filter=gender eq female", 30_000),
            ("/fhir/Patient/anna/*/_search", "_count=3", "_content=word1", 30_000),
            (
                "/fhir/Observation/_search",
                "_count=3",
                "subject:Patient.gender=female",
                30_000,
            ),
            (
                "/fhir/Observation/_search",
                "_count=3",
                "code-value-quantity=8867-4$3",
                30_000,
            ),
            ("/fhir/Observation/_search", "_count=3", "_sort=-code", 70_000),
            ("/fhir/Observation/_search", "_count=3", "_elements=status", 70_000),
            (
                "/fhir/Observation/_search",
                "subject=Patient/$ID",
                "_total=accurate",
                70_000,
            ),
        ] {
            let form = form.replace("$ID", "anna");
            let once = post(&server, &token, path, &format!("{form}&{repeated}"));
            let many = post(
                &server,
                &token,
                path,
                &format!("{form}{}", format!("&{repeated}").repeat(times)),
            );
            assert_eq!(ids(&many), ids(&once), "{path} {repeated}");
            assert!(!ids(&once).is_empty(), "{path} {repeated}");
            let link = own_link(&many);
            let name = repeated.split('=').next().unwrap();
            assert_eq!(link.matches(&format!("{name}=")).count(), 1, "{path} {repeated}");
        }
    }
}

#[test]
fn values_that_are_repeated_in_a_list_are_taken_once() {
    let server = Server::start(&records(5));
    let token = server.patient_token("anna");
    let list = |item: &str, times: usize| vec![item; times].join(",");
    for (parameter, item, times) in [
        ("_elements", "status", 200_000),
        ("_sort", "-date,code", 100_000),
        ("code", "8867-4", 200_000),
        ("code:text", "x", 200_000),
        ("code-value-quantity", "8867-4$3", 150_000),
        ("value-quantity", "ge3", 200_000),
        ("_list", "none", 200_000),
        ("subject", "$PATIENT_ID", 100_000),
    ] {
        let once = post(
            &server,
            &token,
            "/fhir/Observation/_search",
            &format!("{parameter}={item}"),
        );
        let form = format!("{parameter}={}", list(item, times));
        let many = post(&server, &token, "/fhir/Observation/_search", &form);
        assert_eq!((once.status, many.status), (200, 200), "{parameter}");
        assert_eq!(many.json()["entry"], once.json()["entry"], "{parameter}");
    }
}

#[test]
fn different_parameters_of_one_name_are_bounded() {
    let server = Server::start(&records(1));
    let includes = |name: &str| -> Vec<String> { (0..1_001).map(|at| format!("{name}=Observation:p{at}")).collect() };
    let numbered = |text: &str| -> Vec<String> { (0..101).map(|at| text.replace('#', &at.to_string())).collect() };
    for token in [server.patient_token("anna"), server.application_token()] {
        for (name, path, parameters) in [
            ("_revinclude", "/fhir/Patient/_search", includes("_revinclude")),
            ("_include", "/fhir/Patient/_search", includes("_include")),
            ("_revinclude", "/fhir/_search", includes("_revinclude:iterate")),
            (
                "_has",
                "/fhir/Patient/_search",
                numbered("_has:Observation:subject:code=c#"),
            ),
            (
                "_has",
                "/fhir/Patient/anna/Patient/_search",
                numbered("_has:Observation:subject:code=c#"),
            ),
            ("_filter", "/fhir/Patient/_search", numbered("_filter=gender ne g#")),
            ("_content", "/fhir/Patient/anna/*/_search", numbered("_content=not x#")),
            ("_sort", "/fhir/Observation/_search", numbered("_sort=code#")),
            ("_elements", "/fhir/Observation/_search", numbered("_elements=e#")),
            ("code", "/fhir/Observation/_search", numbered("code:not=c#")),
            (
                "code-value-quantity",
                "/fhir/Observation/_search",
                numbered("code-value-quantity=c$#"),
            ),
            ("_type", "/fhir/_search", numbered("_type=Type#")),
            ("nothing", "/fhir/Observation/_search", numbered("nothing=#")),
        ] {
            let refused = post(&server, &token, path, &parameters.join("&"));
            assert_eq!((refused.status, refused.issue().as_str()), (400, "invalid"), "{name}");
            let said = refused.json()["issue"][0]["diagnostics"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let said = said
                + refused.json()["issue"][0]["details"]["text"]
                    .as_str()
                    .unwrap_or_default();
            assert!(
                said.contains(&format!("{name}: there may be 100")),
                "{name}: {}",
                refused.text
            );
        }
        let all: Vec<String> = (0..501).map(|at| format!("p{at}=x")).collect();
        let refused = post(&server, &token, "/fhir/Patient/_search", &all.join("&"));
        assert_eq!(refused.status, 400);
        assert!(
            refused.text.contains("there may be 500 different parameters"),
            "{}",
            refused.text
        );
    }
}

#[test]
fn lists_that_are_read_value_by_value_are_bounded() {
    let server = Server::start(&records(1));
    let token = server.patient_token("anna");
    let numbered = |text: &str, count: usize| -> String {
        let items: Vec<String> = (0..count).map(|at| text.replace('#', &at.to_string())).collect();
        items.join(",")
    };
    for (path, form, said) in [
        (
            "/fhir/Observation/_search",
            format!("_list={}", numbered("l#", 101)),
            "100 Lists at most",
        ),
        (
            "/fhir/ValueSet/_search",
            format!("url={}", numbered("http://x/#|1", 1_001)),
            "1000 values at most",
        ),
        (
            "/fhir/Observation/_search",
            format!("code:in={}", numbered("http://x/#", 1_001)),
            "1000 values at most",
        ),
        (
            "/fhir/Observation/_search",
            format!("code:below={}", numbered("http://x|#", 1_001)),
            "1000 values at most",
        ),
        (
            "/fhir/Observation/_search",
            format!("code-value-quantity={}", numbered("a$#", 1_001)),
            "1000 values at most",
        ),
        (
            "/fhir/Observation/_search",
            format!("_filter=code eq {}", "x".repeat(70_000)),
            "65536 bytes in a filter",
        ),
        (
            "/fhir/Observation/_search",
            (0..60)
                .map(|at| format!("_filter=code ne a{at} and code ne b and code ne c and code ne d&"))
                .collect(),
            "200 tests at most",
        ),
    ] {
        let refused = post(&server, &token, path, &form);
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text.contains(said), "{said}: {}", refused.text);
    }
}

/// A long list of values is read again for each of 147 types.
#[test]
fn a_search_beyond_its_budget_is_too_costly() {
    let server = Server::start(&records(1));
    let list: Vec<String> = (0..60_000).map(|at| format!("id-{at:016x}-with-a-long")).collect();
    let form = format!("_id={}", list.join(","));
    assert!(form.len() < 2 << 20);
    for token in [server.patient_token("anna"), server.application_token()] {
        let refused = post(&server, &token, "/fhir/_search", &form);
        assert_eq!((refused.status, refused.issue().as_str()), (422, "too-costly"));
        assert!(
            refused.text.contains("more work than one search may do"),
            "{}",
            refused.text
        );
        let of_one_type = post(&server, &token, "/fhir/Patient/_search", &form);
        assert_eq!(of_one_type.status, 200, "{}", of_one_type.text);
    }
}

/// Each step of a chain used to double the work: the conditions after it were answered for resources, and again for
/// contained ones. Sixteen steps took 65,000 plans.
#[test]
fn a_long_chain_takes_as_many_plans_as_it_has_steps() {
    let observation = |id: &str, member: &str, code: &str| {
        json!({"resourceType": "Observation", "id": id, "status": "final",
            "subject": {"reference": "Patient/anna"}, "code": {"coding": [{"code": code}]},
            "hasMember": [{"reference": format!("Observation/{member}")}, {"reference": "#inner"}],
            "contained": [{"resourceType": "Observation", "id": "inner", "status": "final",
                "code": {"coding": [{"code": format!("within-{code}")}]}}]})
    };
    let server = Server::start(&[
        json!({"resourceType": "Patient", "id": "anna", "birthDate": "1970"}),
        observation("o0", "o1", "first"),
        observation("o1", "o2", "second"),
        observation("o2", "o0", "third"),
    ]);
    let path = |steps: usize, code: &str| format!("{}code={code}", "has-member:Observation.".repeat(steps));
    for token in [server.patient_token("anna"), server.application_token()] {
        let found = |query: String| {
            let mut found = ids(&server.get(&format!("/fhir/Observation?{query}"), &token));
            found.sort();
            found
        };
        assert_eq!(found(path(1, "second")), ["o0"]);
        assert_eq!(found(path(2, "second")), ["o2"]);
        assert_eq!(found(path(1, "within-second")), ["o1"]);
        assert_eq!(found(path(2, "within-second")), ["o0"]);
        // Three steps lead back to the same resource.
        assert_eq!(found(path(15, "second")), ["o1"]);
        assert_eq!(found(path(15, "within-second")), ["o2"]);
        let many: Vec<String> = (0..4).map(|at| path(15, &format!("second,none{at}"))).collect();
        assert_eq!(found(many.join("&")), ["o1"]);
    }
}

/// The work of these was not counted: words in long texts, and conditions on contained resources.
#[test]
fn long_texts_and_contained_resources_count() {
    let data = "abcd".repeat(1 << 18);
    let mut records = vec![json!({"resourceType": "Patient", "id": "anna", "birthDate": "1970"})];
    records.extend((0..10).map(|at| {
        json!({"resourceType": "DocumentReference", "id": format!("d{at}"), "status": "current",
            "subject": {"reference": "Patient/anna"}, "content": [{"attachment": {"data": data}}]})
    }));
    let place = |at: usize| {
        json!({"resourceType": "Location", "id": format!("l{at}"),
            "position": {"latitude": 50, "longitude": at % 90}})
    };
    records.extend((0..4).map(|at| {
        json!({"resourceType": "Encounter", "id": format!("e{at}"), "status": "finished", "class": {"code": "AMB"},
            "subject": {"reference": "Patient/anna"}, "contained": (0..1_000).map(place).collect::<Vec<_>>()})
    }));
    let server = Server::start(&records);
    let words: Vec<String> = (0..100).map(|at| format!("_content=not+nothing{at}")).collect();
    let near = |of: usize| -> String {
        let places: Vec<String> = (0..999)
            .map(|at| format!("-{}.{at:03}|-{of}|1|km", 10 + at % 80))
            .collect();
        format!("near={}", places.join(","))
    };
    let near: Vec<String> = (0..30).map(near).collect();
    let token = server.patient_token("anna");
    for (path, form) in [
        ("/fhir/DocumentReference/_search", words.join("&")),
        ("/fhir/Location/_search", format!("_contained=true&{}", near.join("&"))),
    ] {
        let refused = post(&server, &token, path, &form);
        assert_eq!(
            (refused.status, refused.issue().as_str()),
            (422, "too-costly"),
            "{path}"
        );
    }
    let few = format!("{}&_summary=count", words[..3].join("&"));
    let few = post(&server, &token, "/fhir/DocumentReference/_search", &few);
    assert_eq!((few.status, few.json()["total"].as_u64()), (200, Some(10)));
}

/// Opens a connection and sends a search that takes a minute in an unoptimized build: it looks for 30 different words
/// in each of a patient's observations.
fn costly(server: &Server, token: &str) -> TcpStream {
    let words: Vec<String> = (0..30).map(|at| format!("_content=not nothing{at}")).collect();
    let form = words.join("&").replace(' ', "+");
    let mut stream = TcpStream::connect(server.address).unwrap();
    let request = format!(
        "POST /fhir/Observation/_search HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\ncontent-type: {FORM}\r\n\
         content-length: {}\r\n\r\n{form}",
        form.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn is_answered(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0u8; 1]);
    stream.set_nonblocking(false).unwrap();
    match peeked {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

#[test]
fn costly_searches_of_one_credential_leave_turns_and_threads_to_others() {
    let limits = Limits {
        queries: 2,
        patience: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Server::limited(&records(2_500), limits);
    let (anna, ben) = (server.patient_token("anna"), server.patient_token("ben"));
    let held = costly(&server, &anna);
    let search = |token: &str| server.get("/fhir/Observation?_count=1", token).status;
    // The credential has one of two places, and its first search has it.
    let refused = (0..).take_while(|_| search(&anna) == 200).take(10_000).count();
    assert!(refused < 10_000, "one credential has more than its share");
    for _ in 0..20 {
        assert_eq!(search(&ben), 200, "others have their own");
    }
    // All threads are busy with searches that never wait for anything.
    let also: Vec<TcpStream> = (0..8).map(|_| costly(&server, &server.application_token())).collect();
    assert_eq!(search(&ben), 200);
    assert!(
        !is_answered(&held),
        "the costly search ended before the others were answered"
    );
    drop(also);
}

#[test]
fn a_search_ends_when_its_client_disconnects() {
    let limits = Limits {
        queries: 1,
        patience: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Server::limited(&records(2_500), limits);
    let token = server.patient_token("anna");
    let search = || server.get("/fhir/Observation?_count=1", &token).status;
    let next = format!("GET /fhir/Patient/anna HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\n\r\n");
    // Bytes after the request used to hide the end of the connection.
    for after in ["", "x", "\r\n", &next] {
        let mut held = costly(&server, &token);
        held.write_all(after.as_bytes()).unwrap();
        while search() == 200 {
            assert!(!is_answered(&held), "the search is too quick for this test");
        }
        drop(held);
        let turned_away = (0..).take_while(|_| search() == 429).take(200).count();
        assert!(
            turned_away < 200,
            "the search goes on though its client has left: {after:?}"
        );
    }
}

/// Requests that follow each other without a pause are all answered, in their order.
#[test]
fn requests_that_a_client_sends_ahead_are_answered() {
    let server = Server::start(&records(1));
    let token = server.patient_token("anna");
    let request = |id: &str, further: &str| {
        format!("GET /fhir/Observation/{id} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\n{further}\r\n")
    };
    let mut stream = TcpStream::connect(server.address).unwrap();
    let all = [
        request("anna-0", ""),
        request("none", ""),
        request("anna-0", "connection: close\r\n"),
    ];
    stream.write_all(all.concat().as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let answers: Vec<&str> = text.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(answers, ["200", "404", "200"], "{text}");
}
