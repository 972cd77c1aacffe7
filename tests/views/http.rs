//! `ViewDefinition/$run` over HTTP: whose rows, in which form, page by page, and what is refused.

use serde_json::{Value, json};

use crate::harness::server::{Answer, Server};

fn observation(id: &str, patient: &str, value: f64) -> Value {
    json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"text": "weight"},
        "subject": {"reference": format!("Patient/{patient}")}, "valueQuantity": {"value": value}})
}

fn server() -> Server {
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

fn view() -> Value {
    json!({"resourceType": "ViewDefinition", "resource": "Observation", "status": "active", "name": "weights",
        "select": [{"column": [{"name": "id", "path": "id"},
            {"name": "value", "path": "value.ofType(Quantity).value", "type": "decimal"}]}]})
}

fn parameters(view: &Value, more: &[Value]) -> String {
    let mut parameter = vec![json!({"name": "viewResource", "resource": view})];
    parameter.extend(more.iter().cloned());
    json!({"resourceType": "Parameters", "parameter": parameter}).to_string()
}

fn post(server: &Server, token: &str, path: &str, accept: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/fhir+json"),
        ("accept", accept),
    ];
    server.send("POST", path, &headers, body)
}

fn run(server: &Server, token: &str, more: &[Value]) -> Answer {
    post(
        server,
        token,
        "/fhir/ViewDefinition/$run",
        "*/*",
        &parameters(&view(), more),
    )
}

/// The ids of a JSON answer's rows.
fn ids(answer: &Answer) -> Vec<String> {
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
    for path in [
        "/fhir/ViewDefinition/%24run",
        "/fhir/ViewDefinition/$viewdefinition-run",
    ] {
        assert_eq!(ids(&post(&server, &token, path, "*/*", &body)), ["a1", "a2"]);
    }
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
    refused(path, &parameters(&many, &[]), 422, "processing", "too many rows");
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
