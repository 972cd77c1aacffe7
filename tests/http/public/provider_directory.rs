//! The provider directory: an application token of live mode finds Practitioners and Organizations.

use serde_json::json;
use tabularium::consent::{Actor, LOCAL_APPLICATION, NewApplication};
use tabularium::lake::Mode;

use crate::harness::server::Server;

fn records() -> Vec<serde_json::Value> {
    vec![
        json!({"resourceType": "Organization", "id": "blue", "name": "Blue Sky Health", "identifier":
            [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567893"}]}),
        json!({"resourceType": "Organization", "id": "green", "name": "Green Clinic"}),
        json!({"resourceType": "Practitioner", "id": "ada", "name": [{"family": "Ng", "given": ["Ada"]}],
            "address": [{"state": "MA"}]}),
        json!({"resourceType": "Practitioner", "id": "bob", "name": [{"family": "Ode", "given": ["Bob"]}]}),
        json!({"resourceType": "Patient", "id": "p", "managingOrganization": {"reference": "Organization/blue"}}),
    ]
}

fn found(server: &Server, query: &str, token: &str) -> Vec<String> {
    let answer = server.get(&format!("/fhir/{query}"), token);
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    let bundle = answer.json();
    let entries = bundle["entry"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn practitioners_and_organizations_are_found_with_a_live_application_token() {
    let server = Server::imported(&records());
    let token = server.application_token();
    for (query, expected) in [
        ("Practitioner?name=ng", vec!["ada"]),
        ("Practitioner?given=Bob", vec!["bob"]),
        ("Practitioner?address-state=MA", vec!["ada"]),
        ("Practitioner?_sort=_id", vec!["ada", "bob"]),
        ("Organization?name=blue", vec!["blue"]),
        (
            "Organization?identifier=http://hl7.org/fhir/sid/us-npi|1234567893",
            vec!["blue"],
        ),
        ("Organization?name:contains=clinic", vec!["green"]),
    ] {
        assert_eq!(found(&server, query, &token), expected, "{query}");
    }
    assert_eq!(
        server.get("/fhir/Organization/green", &token).json()["name"],
        "Green Clinic"
    );
}

#[test]
fn a_test_application_token_is_forbidden_and_says_so() {
    let server = Server::imported(&records());
    let token = server
        .tokens
        .for_application(LOCAL_APPLICATION, Mode::Test)
        .unwrap()
        .token;
    for query in ["Practitioner?name=ng", "Organization/blue"] {
        let answer = server.get(&format!("/fhir/{query}"), &token);
        assert_eq!((answer.status, answer.issue().as_str()), (403, "forbidden"));
        assert!(answer.text.contains("live-mode"), "{}", answer.text);
    }
}

#[test]
fn another_application_finds_its_own_directory_only() {
    let server = Server::imported(&records());
    let new = NewApplication {
        name: "other",
        ..NewApplication::default()
    };
    server.store.applications().create(&new, Actor::Operator).unwrap();
    let token = server.tokens.for_application("other", Mode::Live).unwrap().token;
    assert_eq!(found(&server, "Practitioner", &token), Vec::<String>::new());
    assert_eq!(server.get("/fhir/Organization/blue", &token).status, 404);
}

#[test]
fn a_patient_token_sees_of_the_directory_what_its_records_refer_to() {
    let server = Server::imported(&records());
    let token = server.patient_token("p");
    assert_eq!(found(&server, "Organization", &token), ["blue"]);
    assert_eq!(found(&server, "Practitioner", &token), Vec::<String>::new());
}
