//! Searches of a Patient's whole compartment: `/fhir/Patient/[id]/*`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::server::{Answer, Server};

fn server() -> Server {
    let of = |resource_type: &str, id: &str, patient: &str| {
        json!({"resourceType": resource_type, "id": id, "status": "final", "code": {"text": "x"},
            "subject": {"reference": format!("Patient/{patient}")}})
    };
    let mut performed = of("Observation", "o3", "b");
    performed["performer"] = json!([{"reference": "Patient/a"}, {"reference": "Practitioner/d"}]);
    Server::imported(&[
        json!({"resourceType": "Patient", "id": "a"}),
        json!({"resourceType": "Patient", "id": "b", "link": [{"other": {"reference": "Patient/a"}, "type": "seealso"}]}),
        json!({"resourceType": "Practitioner", "id": "d"}),
        json!({"resourceType": "Organization", "id": "g"}),
        of("Observation", "o1", "a"),
        of("Observation", "o2", "b"),
        performed,
        of("Condition", "c1", "a"),
        of("Condition", "c2", "b"),
        json!({"resourceType": "Coverage", "id": "v", "status": "active", "beneficiary": {"reference": "Patient/a"},
            "payor": [{"reference": "Organization/g"}]}),
    ])
}

fn get(server: &Server, token: &str, path: &str) -> Answer {
    server.get(path, token)
}

/// `Type/id` of the matches on all pages.
fn walk(server: &Server, token: &str, path: &str) -> Vec<String> {
    let base = format!("http://{}", server.address);
    let (mut found, mut next) = (Vec::new(), Some(path.to_owned()));
    while let Some(path) = next {
        let bundle = get(server, token, &path).json();
        let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
        for entry in entries.iter().filter(|entry| entry["search"]["mode"] == "match") {
            let resource = &entry["resource"];
            found.push(format!(
                "{}/{}",
                resource["resourceType"].as_str().unwrap(),
                resource["id"].as_str().unwrap()
            ));
        }
        let links = bundle["link"].as_array().cloned().unwrap_or_default();
        let link = links.iter().find(|link| link["relation"] == "next");
        next = link.map(|link| link["url"].as_str().unwrap().strip_prefix(&base).unwrap().to_owned());
    }
    found
}

fn named(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_whole_compartment_is_one_search() {
    let server = server();
    let application = server.application_token();
    let check = |path: &str, expected: &str| {
        let found = walk(&server, &application, path);
        assert_eq!(
            found.iter().cloned().collect::<BTreeSet<_>>(),
            named(expected),
            "{path}"
        );
        assert_eq!(found.len(), named(expected).len(), "{path}: each once");
    };
    let all = "Patient/a Patient/b Observation/o1 Observation/o3 Condition/c1 Coverage/v";
    for count in [1, 2, 50] {
        check(&format!("/fhir/Patient/a/*?_count={count}"), all);
    }
    check(
        "/fhir/Patient/a/%2A?_type=Observation,Condition",
        "Observation/o1 Observation/o3 Condition/c1",
    );
    check(
        "/fhir/Patient/a/*?_type=Observation,Condition&_sort=-_id&_count=1",
        "Condition/c1 Observation/o1 Observation/o3",
    );
    check("/fhir/Patient/a/*?_id=o3,c2", "Observation/o3");
    check("/fhir/Patient/nobody/*", "");
    let counted = get(&server, &application, "/fhir/Patient/a/*?_summary=count").json();
    assert_eq!(counted["total"], 6);
    assert_eq!(
        counted["link"][0]["url"],
        format!("http://{}/fhir/Patient/a/*?_summary=count&_count=20", server.address)
    );
    let bearer = format!("Bearer {application}");
    let headers = [
        ("authorization", &*bearer),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let posted = server
        .send("POST", "/fhir/Patient/a/*/_search", &headers, "_type=Condition")
        .json();
    assert_eq!(posted["entry"].as_array().map(Vec::len), Some(1));
    // Practitioners are in no Patient's compartment, and have no compartment of their own here.
    for path in ["/fhir/Patient/a/*?_type=Practitioner", "/fhir/Practitioner/d/*"] {
        let answer = get(&server, &application, path);
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (404, "not-supported"),
            "{path}"
        );
    }
}

#[test]
fn a_patients_token_sees_its_own_rows_of_a_compartment() {
    let server = server();
    let (a, b) = (server.patient_token("a"), server.patient_token("b"));
    let found = |token: &str, path: &str| walk(&server, token, path).into_iter().collect::<BTreeSet<_>>();
    let own = named("Patient/a Observation/o1 Condition/c1 Coverage/v");
    assert_eq!(found(&a, "/fhir/Patient/$PATIENT_ID/*"), own);
    assert_eq!(found(&a, "/fhir/Patient/a/*?_count=1"), own);
    // b's rows that refer to a are found, but none of a's.
    assert_eq!(found(&b, "/fhir/Patient/a/*"), named("Patient/b Observation/o3"));
    assert_eq!(found(&a, "/fhir/Patient/b/*"), BTreeSet::new());
    // A page link is valid only for this search.
    let page: Value = get(&server, &a, "/fhir/Patient/a/*?_count=1").json();
    let next = page["link"]
        .as_array()
        .unwrap()
        .iter()
        .find(|link| link["relation"] == "next");
    let next = next.unwrap()["url"].as_str().unwrap();
    let elsewhere = next.replace("/fhir/Patient/a/*", "/fhir");
    let path = elsewhere.strip_prefix(&format!("http://{}", server.address)).unwrap();
    assert_eq!(get(&server, &a, path).status, 400);
}
