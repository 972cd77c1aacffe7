//! `$run` over resources in the request: selected by patient, group and time, page by page, without the lake's rows.

use serde_json::{Value, json};

use super::run::{ids, parameters, post, run, server, view};
use crate::harness::server::Answer;

fn sent(resource: Value) -> Value {
    json!({"name": "resource", "resource": resource})
}

fn observation(id: &str, subject: &str, updated: &str) -> Value {
    let mut observation = json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"text": "weight"},
        "subject": {"reference": subject}, "valueQuantity": {"value": 1.5}});
    if !updated.is_empty() {
        observation["meta"] = json!({"lastUpdated": updated});
    }
    observation
}

/// Three Observations and a resource of another type, some of them in a Bundle.
fn brought() -> Vec<Value> {
    let entry = |address: &str, resource: Value| json!({"fullUrl": address, "resource": resource});
    let urn = "urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0";
    vec![
        sent(observation("x1", "Patient/anna", "2024-01-01T00:00:00Z")),
        sent(json!({"resourceType": "Bundle", "type": "transaction", "entry": [
            entry(urn, json!({"resourceType": "Patient", "id": "zoe"})),
            entry("urn:uuid:1c3151bd-1cbf-4d64-b04d-cd9187a4c6e0", observation("x2", urn, "2024-06-01T00:00:00+02:00")),
            {"fullUrl": "urn:uuid:nothing"},
            entry("urn:uuid:inner", json!({"resourceType": "Bundle", "type": "collection",
                "entry": [{"resource": observation("deep", "Patient/anna", "")}]})),
        ]})),
        sent(json!({"resourceType": "Patient", "id": "anna"})),
        sent(observation("x3", "Patient/carl", "")),
    ]
}

fn with(more: &[Value]) -> Vec<Value> {
    let mut all = brought();
    all.extend(more.iter().cloned());
    all
}

fn count(answer: &Answer) -> &str {
    answer.header("x-resource-count")
}

#[test]
fn the_view_goes_through_what_was_sent_and_through_nothing_else() {
    let server = server();
    for token in [server.application_token(), server.patient_token("ben")] {
        let answer = run(&server, &token, &brought());
        assert_eq!(ids(&answer), ["x1", "x2", "x3"]);
        assert_eq!(count(&answer), "3");
        assert_eq!(answer.json()["resourceCount"], 3);
        let none = run(
            &server,
            &token,
            &[sent(json!({"resourceType": "Patient", "id": "anna"}))],
        );
        assert_eq!((ids(&none).len(), count(&none)), (0, "0"));
        let empty = run(
            &server,
            &token,
            &[sent(json!({"resourceType": "Bundle", "type": "collection"}))],
        );
        assert_eq!((ids(&empty).len(), count(&empty)), (0, "0"));
    }
}

#[test]
fn what_was_sent_is_narrowed_as_the_lake_would_be() {
    let server = server();
    let token = server.application_token();
    let narrowed = |more: Value| {
        let answer = run(&server, &token, &with(&[more]));
        (ids(&answer), count(&answer).to_owned())
    };
    let patient = |id: &str| json!({"name": "patient", "valueReference": {"reference": format!("Patient/{id}")}});
    assert_eq!(narrowed(patient("anna")), (vec!["x1".to_owned()], "1".to_owned()));
    // By an address that only the Bundle defines.
    assert_eq!(narrowed(patient("zoe")).0, ["x2"]);
    assert_eq!(narrowed(patient("nobody")), (Vec::new(), "0".to_owned()));
    // The Group is in the lake: Anna and Carl are its members, Ben is a former one.
    let group = json!({"name": "group", "valueReference": {"reference": "Group/g"}});
    assert_eq!(narrowed(group).0, ["x1", "x3"]);
    let since = |time: &str| narrowed(json!({"name": "_since", "valueInstant": time})).0;
    assert_eq!(since("2024-01-01T00:00:00Z"), ["x1", "x2"]);
    assert_eq!(since("2024-05-31T22:00:00Z"), ["x2"]);
    assert_eq!(since("2024-05-31T22:00:00.001Z"), Vec::<String>::new());
    let wildcard = run(&server, &server.patient_token("carl"), &with(&[patient("$PATIENT_ID")]));
    assert_eq!(ids(&wildcard), ["x3"]);
}

#[test]
fn pages_of_what_was_sent_are_linked() {
    let server = server();
    let token = server.application_token();
    let body = parameters(&view(), &with(&[json!({"name": "_count", "valueInteger": 2})]));
    let first = post(&server, &token, "/fhir/$sql-run?_format=json", "*/*", &body);
    assert_eq!(
        (ids(&first), count(&first)),
        (vec!["x1".to_owned(), "x2".to_owned()], "2")
    );
    let next = first.header("x-next-link").to_owned();
    let path = next.strip_prefix(&format!("http://{}", server.address)).unwrap();
    assert!(
        path.starts_with("/fhir/$sql-run?_format=json&_count=2&_offset=2&_tag="),
        "{path}"
    );
    let second = post(&server, &token, path, "text/csv", &body);
    assert_eq!((ids(&second), count(&second)), (vec!["x3".to_owned()], "1"));
    assert_eq!(second.header("link"), "");
    let limited = run(&server, &token, &with(&[json!({"name": "_limit", "valueInteger": 1})]));
    assert_eq!((ids(&limited), count(&limited)), (vec!["x1".to_owned()], "3"));
}

#[test]
fn a_resource_that_is_none_is_named_by_its_place() {
    let server = server();
    let token = server.application_token();
    for (wrong, expected) in [
        (sent(json!({"id": "a"})), "in its resource 2: it has no resourceType"),
        (
            json!({"name": "resource", "valueString": "{}"}),
            "must be a resource, as resource; it came as valueString",
        ),
        (
            json!({"name": "resource", "resource": "x"}),
            "has a resource that is no JSON object",
        ),
    ] {
        let answer = run(&server, &token, &[sent(json!({"resourceType": "Patient"})), wrong]);
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (400, "invalid"),
            "{}",
            answer.text
        );
        assert!(answer.text.contains(expected), "{}", answer.text);
        assert_eq!(answer.json()["issue"][0]["expression"], json!(["resource"]));
    }
}

/// The id of a resource without one was an empty text.
#[test]
fn a_resource_without_an_id_has_none() {
    let server = super::run::server();
    let view = json!({"resourceType": "ViewDefinition", "resource": "Patient", "status": "active", "select": [{"column": [
        {"name": "id", "path": "id"}, {"name": "key", "path": "getResourceKey()"}, {"name": "has", "path": "id.exists()"}]}]});
    let sent = |resource: Value| json!({"name": "resource", "resource": resource});
    let body = super::run::parameters(
        &view,
        &[
            sent(json!({"resourceType": "Patient", "gender": "male"})),
            sent(json!({"resourceType": "Patient", "id": "known"})),
        ],
    );
    let answer = super::run::post(
        &server,
        &server.application_token(),
        "/fhir/ViewDefinition/$run",
        "*/*",
        &body,
    );
    let rows = answer.json()["rows"].clone();
    assert_eq!(
        rows,
        json!([{"id": null, "key": null, "has": false}, {"id": "known", "key": "known", "has": true}])
    );
}
