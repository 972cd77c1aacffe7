//! `ViewDefinition/$run` over HTTP: scopes, formats, pages and refusals.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use tabularium::lake::compact::{self, CompactOptions, Effort};

use crate::harness::records::{self, Record};
use crate::harness::server::{Answer, Server};

pub(super) fn observation(id: &str, patient: &str, value: f64) -> Value {
    json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"text": "weight"},
        "subject": {"reference": format!("Patient/{patient}")}, "valueQuantity": {"value": value}})
}

pub(in crate::views) fn server() -> Server {
    let member =
        |id: &str, inactive: bool| json!({"entity": {"reference": format!("Patient/{id}")}, "inactive": inactive});
    Server::start(&[
        json!({"resourceType": "Patient", "id": "anna"}),
        json!({"resourceType": "Patient", "id": "ben"}),
        observation("a1", "anna", 70.5),
        observation("a2", "anna", 71.5),
        observation("b1", "ben", 80.5),
        observation("c1", "carl", 90.5),
        json!({"resourceType": "Group", "id": "g", "type": "person", "actual": true,
            "member": [member("anna", false), member("ben", true), member("carl", false)]}),
    ])
}

pub(in crate::views) fn view() -> Value {
    json!({"resourceType": "ViewDefinition", "resource": "Observation", "status": "active", "name": "weights",
        "select": [{"column": [{"name": "id", "path": "id"},
            {"name": "value", "path": "value.ofType(Quantity).value", "type": "decimal"}]}]})
}

pub(in crate::views) fn parameters(view: &Value, more: &[Value]) -> String {
    let mut parameter = vec![json!({"name": "viewResource", "resource": view})];
    parameter.extend(more.iter().cloned());
    json!({"resourceType": "Parameters", "parameter": parameter}).to_string()
}

pub(in crate::views) fn post(server: &Server, token: &str, path: &str, accept: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/fhir+json"),
        ("accept", accept),
    ];
    server.send("POST", path, &headers, body)
}

pub(in crate::views) fn run(server: &Server, token: &str, more: &[Value]) -> Answer {
    post(
        server,
        token,
        "/fhir/ViewDefinition/$run",
        "*/*",
        &parameters(&view(), more),
    )
}

/// The ids of a JSON answer's rows.
pub(in crate::views) fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let rows = answer.json()["rows"].as_array().unwrap().clone();
    let mut ids: Vec<String> = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn rows_come_as_json_unless_asked_otherwise() {
    let server = server();
    let token = server.application_token();
    let answer = run(&server, &token, &[]);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("x-resource-count"), "4");
    assert_eq!(answer.header("link"), "");
    assert_eq!(answer.json()["resourceCount"], 4);
    assert_eq!(answer.json().get("link"), None);
    assert_eq!(ids(&answer), ["a1", "a2", "b1", "c1"]);
    assert!(answer.text.contains(r#"{"id":"b1","value":80.5}"#), "{}", answer.text);
    let csv = |answer: Answer| {
        assert!(answer.header("content-type").starts_with("text/csv"));
        let mut lines: Vec<String> = answer.text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let patient = json!({"name": "patient", "valueReference": {"reference": "Patient/anna"}});
    let format = json!({"name": "_format", "valueCode": "csv"});
    let with_header = csv(run(&server, &token, &[patient.clone(), format.clone()]));
    assert_eq!(with_header, ["a1,70.5", "a2,71.5", "id,value"]);
    let header = json!({"name": "header", "valueBoolean": false});
    assert_eq!(
        csv(run(&server, &token, &[patient.clone(), format, header])),
        ["a1,70.5", "a2,71.5"]
    );
    let body = parameters(&view(), &[patient]);
    assert_eq!(
        csv(post(&server, &token, "/fhir/ViewDefinition/$run", "text/csv", &body)).len(),
        3
    );
    let lines = post(&server, &token, "/fhir/$sql-run?_format=ndjson", "*/*", &body);
    assert_eq!(lines.header("content-type"), "application/x-ndjson");
    assert_eq!(lines.text.lines().count(), 2);
}

#[test]
fn the_operation_answers_alike_by_all_its_names() {
    let server = server();
    let token = server.application_token();
    let patient = json!({"name": "patient", "valueReference": {"reference": "Patient/anna"}});
    let bodies = ["viewResource", "subjectResource"].map(|name| {
        let parameter = json!([{"name": name, "resource": view()}, patient]);
        json!({"resourceType": "Parameters", "parameter": parameter}).to_string()
    });
    let plain = post(&server, &token, "/fhir/ViewDefinition/$run", "*/*", &bodies[0]);
    assert_eq!(ids(&plain), ["a1", "a2"]);
    for path in ALIASES
        .iter()
        .chain(&["/fhir/ViewDefinition/$run", "/fhir/ViewDefinition/%24run"])
    {
        for body in &bodies {
            let answer = post(&server, &token, path, "*/*", body);
            assert_eq!((answer.status, &answer.text), (200, &plain.text), "{path}");
            assert_eq!(answer.header("content-type"), plain.header("content-type"));
            assert_eq!(answer.header("x-resource-count"), "2");
        }
        let view = post(&server, &token, path, "*/*", r#"{"resourceType":"Parameters"}"#);
        assert_eq!((view.status, view.issue().as_str()), (400, "required"), "{path}");
        let name = if path.ends_with("sql-run") {
            "subjectResource"
        } else {
            "viewResource"
        };
        assert_eq!(view.json()["issue"][0]["expression"], json!([name]), "{path}");
    }
    let both = json!({"resourceType": "Parameters", "parameter": [
        {"name": "viewResource", "resource": view()}, {"name": "subjectResource", "resource": view()}]});
    let both = post(&server, &token, "/fhir/$sql-run", "*/*", &both.to_string());
    assert_eq!((both.status, both.issue().as_str()), (400, "invalid"));
}

/// The operation's names in SQL on FHIR.
const ALIASES: [&str; 6] = [
    "/fhir/ViewDefinition/$viewdefinition-run",
    "/fhir/ViewDefinition/%24viewdefinition-run",
    "/fhir/$viewdefinition-run",
    "/fhir/%24viewdefinition-run",
    "/fhir/$sql-run",
    "/fhir/%24sql-run",
];

#[test]
fn methods_that_are_not_served_are_told_what_to_do() {
    let server = server();
    let token = server.application_token();
    let bearer = format!("Bearer {token}");
    let send = |method: &str, path: &str| server.send(method, path, &[("authorization", &bearer)], "");
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        let answer = send(method, "/fhir/ViewDefinition/$run");
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (404, "not-supported"),
            "{method}"
        );
        assert!(
            answer.text.contains("POST the ViewDefinition, or a Parameters"),
            "{}",
            answer.text
        );
        assert_eq!(answer.header("allow"), "POST");
    }
    let head = send("HEAD", "/fhir/ViewDefinition/$run");
    assert_eq!(
        (head.status, head.text.as_str(), head.header("allow")),
        (404, "", "POST")
    );
    let options = send("OPTIONS", "/fhir/ViewDefinition/$run");
    assert_eq!(
        (options.status, options.text.as_str(), options.header("allow")),
        (204, "", "POST")
    );
    for path in ALIASES {
        let bare = send("GET", &format!("{path}?patient=Patient/anna&_format=csv"));
        assert_eq!((bare.status, bare.issue().as_str()), (400, "required"), "{path}");
        assert!(
            bare.text.contains("POST the ViewDefinition, or a Parameters"),
            "{}",
            bare.text
        );
        for (query, code) in [
            ("subjectCanonical=http%3A%2F%2Fa%7C2", "not-supported"),
            ("viewReference=ViewDefinition/v", "not-supported"),
            ("viewResource=%7B%7D", "invalid"),
            ("_limit=many", "invalid"),
        ] {
            let answer = send("GET", &format!("{path}?{query}"));
            assert_eq!((answer.status, answer.issue().as_str()), (400, code), "{path}?{query}");
            let name = query.split('=').next().unwrap();
            assert_eq!(answer.json()["issue"][0]["expression"], json!([name]));
        }
        let head = send("HEAD", path);
        assert_eq!((head.status, head.text.as_str()), (400, ""));
        assert_eq!(send("OPTIONS", path).header("allow"), "POST,GET,HEAD", "{path}");
    }
    for path in [
        "/fhir/ViewDefinition/v/$run",
        "/fhir/ViewDefinition/v/$viewdefinition-run",
    ] {
        for method in ["GET", "POST"] {
            let answer = send(method, path);
            assert_eq!(
                (answer.status, answer.issue().as_str()),
                (404, "not-supported"),
                "{method} {path}"
            );
            assert!(answer.text.contains("no views are kept here"), "{}", answer.text);
        }
    }
    let stranger = server.send("OPTIONS", "/fhir/$sql-run", &[], "");
    assert_eq!((stranger.status, stranger.issue().as_str()), (401, "login"));
}

#[test]
fn the_form_is_negotiated() {
    let server = server();
    let token = server.application_token();
    let body = parameters(&view(), &[]);
    let answered = |path: &str, accept: &str| post(&server, &token, path, accept, &body);
    for (accept, expected) in [
        ("application/fhir+json", "application/json"),
        (
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "application/json",
        ),
        (
            "application/json;q=0.2, text/csv;q=0.7, application/x-ndjson;q=0.8",
            "application/x-ndjson",
        ),
        ("application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("text/*", "text/csv; charset=utf-8; header=present"),
    ] {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("accept", accept)];
        let status = server.status_and_type("POST", "/fhir/ViewDefinition/$run", &headers, &body);
        assert_eq!(status, (200, expected.to_owned()), "{accept}");
    }
    for accept in [
        "application/fhir+xml",
        "text/html",
        "application/json;q=0, text/csv;q=0",
    ] {
        let refused = answered("/fhir/ViewDefinition/$run", accept);
        assert_eq!(
            (refused.status, refused.issue().as_str()),
            (406, "not-supported"),
            "{accept}"
        );
        let named = answered("/fhir/ViewDefinition/$run?_format=csv", accept);
        assert_eq!(named.status, 200, "_format goes before Accept");
    }
    let typed = server.send(
        "POST",
        "/fhir/ViewDefinition/$run",
        &[
            ("authorization", &format!("Bearer {token}")),
            ("content-type", "application/xml"),
        ],
        "<Parameters/>",
    );
    assert_eq!((typed.status, typed.issue().as_str()), (415, "not-supported"));
    let packed = server.send(
        "POST",
        "/fhir/ViewDefinition/$run",
        &[
            ("authorization", &format!("Bearer {token}")),
            ("content-type", "application/json"),
            ("content-encoding", "br"),
        ],
        "packed",
    );
    assert_eq!((packed.status, packed.issue().as_str()), (415, "not-supported"));
}

#[test]
fn parameters_stand_in_the_body_or_in_the_query() {
    let server = server();
    let token = server.application_token();
    let body = parameters(&view(), &[]);
    let path = "/fhir/ViewDefinition/$run";
    let asked = |query: &str| post(&server, &token, &format!("{path}?{query}"), "*/*", &body);
    assert_eq!(ids(&asked("patient=Patient/anna")), ["a1", "a2"]);
    assert_eq!(ids(&asked("patient=anna&patient=Patient/ben")), ["a1", "a2", "b1"]);
    assert_eq!(ids(&asked("group=g")), ["a1", "a2", "c1"]);
    assert_eq!(ids(&asked("group=Group/g&patient=anna&patient=ben")), ["a1", "a2"]);
    assert_eq!(asked("_format=csv&header=false&_limit=1").text.lines().count(), 1);
    assert_eq!(ids(&asked("_since=2999-01-01T00:00:00%2B01:00")).len(), 0);
    assert_eq!(ids(&asked("colour=red")).len(), 4);
    let bearer = format!("Bearer {token}");
    let strict = [("authorization", bearer.as_str()), ("prefer", "handling=strict")];
    let refused = server.send("POST", &format!("{path}?colour=red&size=xl"), &strict, &body);
    assert_eq!((refused.status, refused.issue().as_str()), (400, "invalid"));
    assert_eq!(refused.json()["issue"][0]["expression"], json!(["colour", "size"]));
    let anna = json!({"name": "patient", "valueReference": {"reference": "Patient/anna"}});
    let both = parameters(&view(), &[anna]);
    assert_eq!(
        ids(&post(&server, &token, &format!("{path}?patient=anna"), "*/*", &both)),
        ["a1", "a2"]
    );
    let differing = post(&server, &token, &format!("{path}?patient=ben"), "*/*", &both);
    assert_eq!((differing.status, differing.issue().as_str()), (400, "invalid"));
    let reference = json!({"reference": format!("http://{}/fhir/Patient/ben", server.address)});
    assert_eq!(
        ids(&run(
            &server,
            &token,
            &[json!({"name": "patient", "valueReference": reference})]
        )),
        ["b1"]
    );
}

/// Posting the same body to a page link gives the next page of the first page's snapshot. Nothing is shown twice or
/// left out, whatever was imported, changed or merged meanwhile.
#[test]
fn pages_stay_whole_while_records_come_in() {
    let server = server();
    let token = server.application_token();
    let names = |answer: &Answer| answer.text.lines().map(str::to_owned).collect::<Vec<_>>();
    let group = json!({"name": "group", "valueReference": {"reference": "Group/g"}});
    let count = json!({"name": "_count", "valueInteger": 1});
    let start = json!({"name": "_offset", "valueInteger": 0});
    let body = parameters(&view(), &[group, count, start]);
    let at_once = {
        let group = json!({"name": "group", "valueReference": {"reference": "Group/g"}});
        let body = parameters(&view(), &[group]);
        names(&post(
            &server,
            &token,
            "/fhir/ViewDefinition/$run?_format=csv&header=false",
            "*/*",
            &body,
        ))
    };
    let mut path = "/fhir/ViewDefinition/$run?_format=csv&header=false".to_owned();
    let mut found = Vec::new();
    for page in 0.. {
        let answer = post(&server, &token, &path, "application/json", &body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        found.extend(names(&answer));
        let next = answer.header("x-next-link").to_owned();
        if next.is_empty() {
            break;
        }
        assert!(next.contains("_format=csv&header=false&_count=1&_offset="), "{next}");
        path = next
            .strip_prefix(&format!("http://{}", server.address))
            .unwrap()
            .to_owned();
        let more = [
            Record::new(observation(&format!("new{page}"), "anna", 1.5)).of(&server.lake, "anna"),
            Record::new(
                json!({"resourceType": "Group", "id": format!("other{page}"), "type": "person", "actual": true}),
            ),
        ];
        records::commit(&server.lake, &more);
        let thorough = CompactOptions::new(Effort::Thorough);
        compact::run(&mut server.lake.writer().unwrap(), &thorough, |_, _, _| {}).unwrap();
    }
    assert_eq!(found, at_once);
    assert_eq!(found.len(), 3);
    let fresh = run(
        &server,
        &token,
        &[json!({"name": "patient", "valueReference": {"reference": "Patient/anna"}})],
    );
    assert_eq!(fresh.header("x-resource-count"), "4");
}

#[test]
fn a_patient_token_tabulates_its_own_patient() {
    let server = server();
    let token = server.patient_token("ben");
    let answer = run(&server, &token, &[]);
    assert_eq!(ids(&answer), ["b1"]);
    assert_eq!(answer.header("x-resource-count"), "1");
    let patient = |id: &str| json!({"name": "patient", "valueReference": {"reference": format!("Patient/{id}")}});
    assert!(ids(&run(&server, &token, &[patient("anna")])).is_empty());
    assert_eq!(ids(&run(&server, &token, &[patient("$PATIENT_ID")])), ["b1"]);
    let group = json!({"name": "group", "valueReference": {"reference": "Group/g"}});
    let refused = run(&server, &token, &[group]);
    assert_eq!((refused.status, refused.issue().as_str()), (422, "processing"));
    let wildcard = run(&server, &server.application_token(), &[patient("$PATIENT_ID")]);
    assert_eq!((wildcard.status, wildcard.issue().as_str()), (422, "processing"));
}

#[test]
fn a_group_stands_for_its_current_members() {
    let server = server();
    let token = server.application_token();
    let group = |id: &str| json!({"name": "group", "valueReference": {"reference": format!("Group/{id}")}});
    let answer = run(&server, &token, &[group("g")]);
    assert_eq!(ids(&answer), ["a1", "a2", "c1"]);
    assert_eq!(answer.header("x-resource-count"), "3");
    let patient = json!({"name": "patient", "valueReference": {"reference": "Patient/carl"}});
    assert_eq!(ids(&run(&server, &token, &[group("g"), patient])), ["c1"]);
    let unknown = run(&server, &token, &[group("h")]);
    assert_eq!((unknown.status, unknown.issue().as_str()), (404, "not-found"));
}

/// Former members of a Group counted unless `inactive` was set.
#[test]
fn a_groups_members_are_those_of_today() {
    let member = |id: &str, period: Value| json!({"entity": {"reference": format!("Patient/{id}")}, "period": period});
    let server = Server::start(&[
        observation("a1", "anna", 70.5),
        observation("b1", "ben", 80.5),
        observation("c1", "carl", 90.5),
        observation("d1", "dora", 60.5),
        // The server's clock shows 2027-01-15T08:00:00Z.
        json!({"resourceType": "Group", "id": "g", "type": "person", "actual": true, "member": [
            member("anna", json!({"end": "2027-01-15T07:59:59Z"})), member("ben", json!({"start": "2027-01-16"})),
            member("carl", json!({"start": "2026", "end": "2027-01"})), member("dora", json!({"end": "soon"}))]}),
    ]);
    let group = json!({"name": "group", "valueReference": {"reference": "Group/g"}});
    assert_eq!(ids(&run(&server, &server.application_token(), &[group])), ["c1", "d1"]);
}

#[test]
fn pages_are_of_resources_and_links_lead_through_them() {
    let server = server();
    let token = server.application_token();
    let mut heavy = view();
    heavy["where"] = json!([{"path": "value.ofType(Quantity).value > 71"}]);
    let body = parameters(&heavy, &[]);
    let (mut path, mut found, mut counts) = ("/fhir/ViewDefinition/$run?_count=3".to_owned(), Vec::new(), Vec::new());
    loop {
        let page = post(&server, &token, &path, "*/*", &body);
        found.extend(ids(&page));
        counts.push(page.header("x-resource-count").to_owned());
        let next = page.header("x-next-link").to_owned();
        if next.is_empty() {
            assert_eq!(page.header("link"), "");
            break;
        }
        assert_eq!(page.header("link"), format!("<{next}>; rel=\"next\""));
        assert_eq!(page.json()["link"], json!([{"relation": "next", "url": next}]));
        path = next
            .strip_prefix(&format!("http://{}", server.address))
            .unwrap()
            .to_owned();
    }
    found.sort();
    assert_eq!(found, ["a2", "b1", "c1"]);
    assert_eq!(counts, ["3", "1"]);
    let beyond = post(
        &server,
        &token,
        "/fhir/ViewDefinition/$run?_count=3&_offset=9",
        "*/*",
        &body,
    );
    assert_eq!((ids(&beyond).len(), beyond.header("x-resource-count")), (0, "0"));
    let limited = run(&server, &token, &[json!({"name": "_limit", "valueInteger": 2})]);
    assert_eq!(ids(&limited).len(), 2);
    let later = run(
        &server,
        &token,
        &[json!({"name": "_since", "valueInstant": "2999-01-01T00:00:00Z"})],
    );
    assert_eq!((ids(&later).len(), later.header("x-resource-count")), (0, "0"));
}

/// A limit of zero used to be refused, with a reason that named its type.
#[test]
fn a_limit_of_zero_answers_no_rows() {
    let server = server();
    let token = server.application_token();
    let path = "/fhir/ViewDefinition/$run";
    let body = parameters(&view(), &[]);
    let in_body = run(&server, &token, &[json!({"name": "_limit", "valueInteger": 0})]);
    assert_eq!((in_body.status, ids(&in_body).len()), (200, 0));
    // The count of resources comes before the limit, as for every other limit.
    assert_eq!(in_body.header("x-resource-count"), "4");
    for (format, expected) in [("json", "\"rows\":[]"), ("csv", "id"), ("ndjson", "")] {
        let answer = post(
            &server,
            &token,
            &format!("{path}?_limit=0&_format={format}"),
            "*/*",
            &body,
        );
        assert_eq!(answer.status, 200, "{format}: {}", answer.text);
        assert!(answer.text.contains(expected), "{format}: {}", answer.text);
        assert_eq!(
            answer.text.lines().count(),
            usize::from(format != "ndjson"),
            "{format}: {}",
            answer.text
        );
    }
    let refused = run(&server, &token, &[json!({"name": "_count", "valueInteger": 0})]);
    assert_eq!((refused.status, refused.issue().as_str()), (400, "invalid"));
    let problem = "must be a whole number above zero, as valueInteger; it has another value";
    assert!(refused.text.contains(problem), "{}", refused.text);
}

#[test]
fn what_is_wrong_is_an_outcome() {
    let server = server();
    let token = server.application_token();
    let refused = |path: &str, body: &str, status: u16, code: &str, text: &str| {
        let answer = post(&server, &token, path, "*/*", body);
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (status, code),
            "{}",
            answer.text
        );
        assert!(answer.text.contains(text), "{}", answer.text);
    };
    let path = "/fhir/ViewDefinition/$run";
    let mut unknown = view();
    unknown["select"][0]["column"][0]["path"] = json!("identifer");
    refused(
        path,
        &parameters(&unknown, &[]),
        400,
        "invalid",
        "ViewDefinition.select[0].column[0].path",
    );
    let mut several = view();
    several["select"][0]["column"][0]["path"] = json!("id | status");
    refused(
        path,
        &parameters(&several, &[]),
        422,
        "processing",
        "column 'id' has 2 values",
    );
    let mut many = view();
    let pair =
        |place: usize| json!({"forEach": "('a'|'b')", "column": [{"name": format!("c{place}"), "path": "$this"}]});
    many["select"] = (0..24).map(pair).collect();
    refused(path, &parameters(&many, &[]), 422, "too-costly", "too many rows");
    refused(path, "{}", 400, "invalid", "Parameters");
    refused(
        path,
        &parameters(&view(), &[json!({"name": "_format", "valueCode": "xml"})]),
        400,
        "invalid",
        "_format",
    );
    refused(
        &format!("{path}?_count=0"),
        &parameters(&view(), &[]),
        400,
        "invalid",
        "_count",
    );
    refused(
        &format!("{path}?_tag=x"),
        &parameters(&view(), &[]),
        400,
        "invalid",
        "_tag",
    );
    let stranger = post(&server, "no token", path, "*/*", &parameters(&view(), &[]));
    assert_eq!((stranger.status, stranger.issue().as_str()), (401, "login"));
    let read = server.get(path, &token);
    assert_eq!((read.status, read.issue().as_str()), (404, "not-supported"));
}

/// Views over HTTP and searches use the server's value sets.
#[test]
fn value_sets_of_the_server_are_known_to_views_and_searches() {
    let gender = |id: &str, gender: &str| json!({"resourceType": "Patient", "id": id, "gender": gender});
    let set = json!({"resourceType": "Bundle", "type": "collection", "entry": [{"resource": {
        "resourceType": "ValueSet", "url": "http://example.org/women", "status": "active", "compose": {"include": [
            {"system": "http://hl7.org/fhir/administrative-gender", "concept": [{"code": "female"}]}]}}}]});
    let server = Server::with_terminology(&[gender("anna", "female"), gender("ben", "male")], &set);
    let token = server.application_token();
    let view = json!({"resourceType": "ViewDefinition", "resource": "Patient", "status": "active", "name": "women",
        "where": [{"path": "gender.memberOf('http://example.org/women')"}],
        "select": [{"column": [{"name": "id", "path": "id"}]}]});
    let answer = post(
        &server,
        &token,
        "/fhir/ViewDefinition/$run",
        "*/*",
        &parameters(&view, &[]),
    );
    assert_eq!(ids(&answer), ["anna"]);
    let found = server
        .get("/fhir/Patient?gender:in=http://example.org/women", &token)
        .json();
    assert_eq!(found["entry"].as_array().unwrap().len(), 1);
    let unknown = server.get("/fhir/Patient?gender:in=http://example.org/men", &token);
    assert_eq!((unknown.status, unknown.issue().as_str()), (400, "invalid"));
}

/// Analysts post the view itself.
#[test]
fn the_body_may_be_the_view_itself() {
    let server = server();
    let token = server.application_token();
    let path = "/fhir/ViewDefinition/$run";
    for name in [
        "ViewDefinition",
        "https://sql-on-fhir.org/ig/StructureDefinition/ViewDefinition",
    ] {
        let mut bare = view();
        bare["resourceType"] = json!(name);
        let answer = post(&server, &token, path, "*/*", &bare.to_string());
        assert_eq!(ids(&answer), ["a1", "a2", "b1", "c1"]);
    }
    let mut nameless = view();
    nameless.as_object_mut().unwrap().remove("resourceType");
    let path = format!("{path}?patient=Patient/ben&_format=csv&header=false");
    let answer = post(&server, &token, &path, "*/*", &nameless.to_string());
    assert_eq!(answer.text.trim_end(), "b1,80.5");
    let other = post(
        &server,
        &token,
        &path,
        "*/*",
        &json!({"resourceType": "Bundle"}).to_string(),
    );
    assert_eq!((other.status, other.issue().as_str()), (400, "invalid"));
}

#[test]
fn jsons_names_run_and_are_refused_under_strict_handling() {
    let server = server();
    let token = server.application_token();
    let mut names = view();
    names["select"][0]["column"][1]["path"] = json!("valueQuantity.value");
    let body = parameters(&names, &[]);
    let answer = post(&server, &token, "/fhir/ViewDefinition/$run", "text/csv", &body);
    assert!(answer.text.contains("b1,80.5"), "{}", answer.text);
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/fhir+json"),
        ("prefer", "handling=strict"),
    ];
    let strict = server.send("POST", "/fhir/ViewDefinition/$run", &headers, &body);
    assert_eq!(strict.status, 400);
    assert!(strict.text.contains("value.ofType(Quantity)"), "{}", strict.text);
    let advised = post(
        &server,
        &token,
        "/fhir/ViewDefinition/$validate",
        "*/*",
        &names.to_string(),
    );
    assert!(
        advised
            .text
            .contains("'valueQuantity' is JSON's name, and FHIRPath has value.ofType(Quantity)")
    );
    assert!(advised.text.contains("can be run"), "{}", advised.text);
}

/// Readers disagree on an object with a duplicate property.
#[test]
fn a_property_that_stands_twice_is_refused() {
    let server = server();
    let token = server.application_token();
    let whole = parameters(
        &view(),
        &[json!({"name": "resource", "resource": observation("x", "anna", 1.0)})],
    );
    for (once, twice) in [
        (r#""status":"active""#, r#""status":"active","status":"draft""#),
        (r#""path":"id""#, r#""path":"id","p\u0061th":"status""#),
        (r#""status":"final""#, r#""status":"final","status":"final""#),
        (r#""name":"viewResource""#, r#""name":"viewResource","name":"resource""#),
        (
            r#""resourceType":"Parameters""#,
            r#""resourceType":"Parameters","resourceType":"Parameters""#,
        ),
    ] {
        assert!(whole.contains(once), "{whole}");
        let answer = post(
            &server,
            &token,
            "/fhir/ViewDefinition/$run",
            "*/*",
            &whole.replacen(once, twice, 1),
        );
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{twice}");
        assert!(answer.text.contains("stands twice in one object"), "{}", answer.text);
    }
    assert_eq!(
        ids(&post(&server, &token, "/fhir/ViewDefinition/$run", "*/*", &whole)),
        ["x"]
    );
}

/// Such a view ran for up to 26 seconds and delayed others.
#[test]
fn a_view_that_multiplies_its_items_is_too_costly() {
    let server = server();
    let tokens = [server.application_token(), server.patient_token("anna")];
    for path in [
        "descendants().repeatAll($this).count()",
        "descendants().repeatAll($this | %resource.descendants()).count()",
    ] {
        let mut costly = view();
        costly["select"][0]["column"][1] = json!({"name": "value", "path": path, "type": "integer"});
        let mut filtered = view();
        filtered["where"] = json!([{"path": path.replace("count()", "exists()")}]);
        for token in &tokens {
            for view in [&costly, &filtered] {
                let answer = post(
                    &server,
                    token,
                    "/fhir/ViewDefinition/$run",
                    "*/*",
                    &parameters(view, &[]),
                );
                assert_eq!(
                    (answer.status, answer.issue().as_str()),
                    (422, "too-costly"),
                    "{}",
                    answer.text
                );
            }
        }
    }
}

/// Six unread views of one patient's token delayed all other views until they were refused.
#[test]
fn views_of_one_token_keep_no_other_waiting() {
    let server = server();
    let (greedy, other) = (server.patient_token("anna"), server.patient_token("ben"));
    let pair =
        |place: usize| json!({"forEach": "('a'|'b')", "column": [{"name": format!("c{place}"), "path": "$this"}]});
    let mut many = view();
    many["select"] = (0..16).map(pair).collect();
    let body = parameters(&many, &[]);
    let mut held: Vec<TcpStream> = Vec::new();
    for place in 0..6 {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let head = format!(
            "POST /fhir/ViewDefinition/$run HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {greedy}\r\n\
             content-type: application/fhir+json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // The first ones have begun, and the client stops reading.
        if place < 2 {
            let mut begun = [0; 15];
            stream.read_exact(&mut begun).unwrap();
            assert_eq!(&begun, b"HTTP/1.1 200 OK");
        }
        held.push(stream);
    }
    assert_eq!(ids(&run(&server, &other, &[])), ["b1"]);
    assert_eq!(ids(&run(&server, &server.application_token(), &[])).len(), 4);
    drop(held);
}
