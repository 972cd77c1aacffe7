//! A patient's links: only the patient's own token can create, list and revoke them.

use serde_json::{Value, json};
use tabularium::consent::{Actor, NewApplication};

use super::{Link, ask, bearer, made, never, over, server};
use crate::harness::server::{Answer, START, Server};

fn list(server: &Server, patient: &str) -> Vec<Value> {
    let answer = server.get("/rest/health-links", &server.patient_token(patient));
    assert_eq!(
        (answer.status, answer.header("cache-control")),
        (200, "no-store"),
        "{}",
        answer.text
    );
    answer.json()["healthLinks"].as_array().unwrap().clone()
}

fn delete(server: &Server, token: &str, id: &Value) -> Answer {
    let path = format!("/rest/health-links/{}", id.as_str().unwrap());
    server.send("DELETE", &path, &[("authorization", &bearer(token))], "")
}

#[test]
fn a_list_tells_of_uses_and_not_of_keys() {
    let server = server();
    let first = made(&server, &json!({"label": "First", "exp": START + 100}));
    server.store.clock().advance(1);
    let second = made(&server, &json!({"passcode": "2468"}));
    Link::of(&server, &first).manifest(&server, &json!({"recipient": "Dr. A"}));
    server.store.clock().advance(4);
    Link::of(&server, &first).manifest(&server, &json!({"recipient": "Dr. B"}));
    assert_eq!(
        list(&server, "anna"),
        [
            json!({"id": second["id"], "content": "summary", "label": null, "flag": "P", "createdAt": "2027-01-15T08:00:01Z",
                "expiresAt": "2027-02-14T08:00:01Z", "remainingAttempts": 10, "uses": 0, "lastUsedAt": null,
                "lastRecipient": null}),
            json!({"id": first["id"], "content": "summary", "label": "First", "flag": "", "createdAt": "2027-01-15T08:00:00Z",
                "expiresAt": "2027-01-15T08:01:40Z", "uses": 2, "lastUsedAt": "2027-01-15T08:00:05Z",
                "lastRecipient": "Dr. B"}),
        ]
    );
    server.store.clock().advance(95);
    assert_eq!(list(&server, "anna").len(), 1, "one has expired");
    assert!(list(&server, "bert").is_empty());
}

/// A recipient's name with U+202E turned the text after it on the patient's page.
#[test]
fn labels_and_recipients_lose_characters_that_nobody_sees() {
    let server = server();
    let made = made(
        &server,
        &json!({"label": "\u{202e}For \u{2066}Dr. Cohen\u{2069}\u{200b}, \u{5d3}\u{200f}"}),
    );
    let link = Link::of(&server, &made);
    assert_eq!(link.payload["label"], "For Dr. Cohen, \u{5d3}");
    let asked = json!({"recipient": "Dr.\u{2028}\u{202e}A\u{feff}mes\u{e0041}\u{202c} می\u{200c}خواهم"});
    assert_eq!(link.manifest(&server, &asked).status, 200);
    let listed = list(&server, "anna").remove(0);
    assert_eq!(listed["label"], "For Dr. Cohen, \u{5d3}");
    assert_eq!(listed["lastRecipient"], "Dr. Ames می\u{200c}خواهم");
    let audit = server.store.audit().newest(None, 100).unwrap();
    let detail = &audit
        .iter()
        .find(|entry| entry.action == "health-link.used")
        .unwrap()
        .detail;
    assert!(detail.ends_with(" Dr. Ames می\u{200c}خواهم"), "{detail}");

    // What an earlier release has stored is shown without them, too.
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    let sql = "UPDATE health_link SET label = 'a' || char(8238) || 'b', recipient = char(8294) || 'c'";
    store.execute(sql, []).unwrap();
    let listed = list(&server, "anna").remove(0);
    assert_eq!(
        (&listed["label"], &listed["lastRecipient"]),
        (&json!("ab"), &json!("c"))
    );
    let nothing = ask(&server, &server.patient_token("anna"), &json!({"label": "\u{202e}"})).json();
    assert!(Link::of(&server, &nothing).payload.get("label").is_none());
}

#[test]
fn names_with_characters_that_nobody_sees_are_refused() {
    let server = server();
    for name in ["App\u{202e}ppA", "A\u{200b}pp", "App\u{2069}"] {
        let new = NewApplication {
            name,
            ..NewApplication::default()
        };
        let refused = server.store.applications().create(&new, Actor::Operator).unwrap_err();
        assert!(refused.to_string().contains("invisible"), "{refused}");
        let refused = server.store.console_sessions().make_token(name).unwrap_err();
        assert!(refused.to_string().contains("invisible"), "{refused}");
    }
}

#[test]
fn a_revoked_link_is_over_at_once() {
    let server = server();
    let made = made(&server, &json!({}));
    let link = Link::of(&server, &made);
    assert_eq!(link.manifest(&server, &json!({})).status, 200);
    let token = server.patient_token("anna");
    assert_eq!(delete(&server, &token, &made["id"]).status, 204);
    assert_eq!(over(&link.manifest(&server, &json!({}))), never(&server));
    assert!(list(&server, "anna").is_empty());
    assert_eq!(delete(&server, &token, &made["id"]).status, 404);
}

#[test]
fn nobody_else_sees_revokes_or_makes_links_of_a_patient() {
    let server = server();
    let annas = made(&server, &json!({"label": "Anna's"}));
    let bert = server.patient_token("bert");
    let foreign = delete(&server, &bert, &annas["id"]);
    let unknown = delete(&server, &bert, &json!("none"));
    assert_eq!((foreign.status, &foreign.text), (404, &unknown.text));
    assert!(!server.get("/rest/health-links", &bert).text.contains("Anna"));
    let berts = ask(&server, &bert, &json!({})).json();
    let link = Link::of(&server, &berts);
    let file = link.manifest(&server, &json!({})).json()["files"][0]["embedded"]
        .as_str()
        .unwrap()
        .to_owned();
    let document = link.document(&file).to_string();
    assert!(document.contains("Gout") && !document.contains("Asthma") && !document.contains("Anna"));
    assert_eq!(list(&server, "anna").len(), 1);

    let application = server.application_token();
    let refusals = [
        ask(&server, &application, &json!({})),
        server.get("/rest/health-links", &application),
        delete(&server, &application, &annas["id"]),
    ];
    for answer in refusals {
        let expected = json!({"message": "A Consent access token is required for this endpoint."});
        assert_eq!((answer.status, answer.json()), (401, expected));
    }
    for answer in [
        server.send("GET", "/rest/health-links", &[], ""),
        server.post("/rest/health-links", &[], &json!({})),
        server.send("DELETE", "/rest/health-links/x", &[], ""),
    ] {
        assert_eq!(answer.status, 401);
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
    }
    assert_eq!(Link::of(&server, &annas).manifest(&server, &json!({})).status, 200);
}

#[test]
fn a_consent_has_a_bounded_number_of_links() {
    let server = server();
    let first = made(&server, &json!({"exp": START + 10}));
    for _ in 1..20 {
        made(&server, &json!({}));
    }
    let token = server.patient_token("anna");
    let refused = ask(&server, &token, &json!({}));
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.json()["message"].as_str().unwrap().contains("revoke one"));
    assert_eq!(ask(&server, &server.patient_token("bert"), &json!({})).status, 201);
    assert_eq!(delete(&server, &token, &first["id"]).status, 204);
    made(&server, &json!({}));
}

#[test]
fn what_a_link_cannot_be_is_refused_in_a_sentence() {
    let server = server();
    let token = server.patient_token("anna");
    for (body, name) in [
        (json!({"flag": "L"}), "flag L is not offered"),
        (json!({"flag": "U", "passcode": "2468"}), "does not go with a passcode"),
        (json!({"label": "x".repeat(81)}), "label"),
        (json!({"exp": START}), "exp"),
        (json!({"content": "everything"}), "content"),
        (json!({"colour": "red"}), "colour"),
    ] {
        let answer = ask(&server, &token, &body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(
            answer.json()["message"].as_str().unwrap().contains(name),
            "{}",
            answer.text
        );
    }
    let form = server.send(
        "POST",
        "/rest/health-links",
        &[("authorization", &bearer(&token)), ("content-type", "text/plain")],
        "{}",
    );
    assert_eq!(form.status, 415);
    assert!(list(&server, "anna").is_empty());
}

#[test]
fn a_service_whose_address_is_too_long_makes_no_links() {
    let base = format!("https://records.example/{}", "path/".repeat(20));
    let server = Server::known_as(&base, tabularium::consent::Clock::at(START));
    let answer = ask(&server, &server.patient_token("anna"), &json!({}));
    assert_eq!(answer.status, 422, "{}", answer.text);
    assert!(answer.json()["message"].as_str().unwrap().contains("128"));
}
