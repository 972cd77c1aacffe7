//! The directory and applications for access, which need no authorization.

use serde_json::{Value, json};
use tabularium::consent::{Actor, AuthorizationType, EndpointStatus, NewEndpoint, Organization};
use tabularium::lake::Mode;

use crate::harness::server::{Answer, Server};

/// Texts that would do harm in SQL, pages or logs.
const HOSTILE: [&str; 4] = [
    "'; DROP TABLE applicant; --",
    "\" OR 1=1 --",
    "<script>alert(1)</script>",
    "{{ 7*7 }} ${7*7} %s",
];

fn organization(server: &Server, id: &str, name: &str) {
    let organization = Organization {
        id: id.to_owned(),
        name: name.to_owned(),
        note: "all plans".to_owned(),
        organization_type: "PAYER".to_owned(),
    };
    server
        .store
        .organizations()
        .save(&organization, Actor::Operator)
        .unwrap();
}

fn endpoint<'a>(name: &'a str, fhir_base: &'a str, label: &'a [String]) -> NewEndpoint<'a> {
    NewEndpoint {
        id: None,
        organization: "o1",
        name,
        mode: Mode::Test,
        label,
        authorization_type: AuthorizationType::Oauth,
        refreshable: true,
        refresh_valid_for: Some(0),
        max_auth_period: None,
        status: EndpointStatus::UserValidated,
        resources: &[],
        fhir_base,
        configuration: None,
        client_id: "our name there",
        client_secret: Some("our secret there"),
        scope: "launch/patient",
        identifier_system: "urn:x",
    }
}

#[test]
fn organizations_have_name_id_note_and_type() {
    let server = Server::start(&[]);
    assert_eq!(server.send("GET", "/organizations", &[], "").json(), json!([]));
    organization(&server, "o1", "Blue");
    assert_eq!(
        server.send("GET", "/organizations", &[], "").json(),
        json!([{"name": "Blue", "id": "o1", "note": "all plans", "type": "PAYER"}])
    );
}

#[test]
fn endpoints_have_every_field_and_no_secret() {
    let server = Server::start(&[]);
    organization(&server, "o1", "Blue");
    let label = ["Blue Sky".to_owned(), "Blue".to_owned()];
    let resources = ["Patient".to_owned(), "Coverage".to_owned()];
    let first = NewEndpoint {
        resources: &resources,
        ..endpoint("blue-test", "https://blue.example/fhir", &label)
    };
    let first = server.store.endpoints().save(&first, Actor::Operator).unwrap();
    let second = NewEndpoint {
        mode: Mode::Live,
        authorization_type: AuthorizationType::Ial1,
        refreshable: false,
        refresh_valid_for: None,
        max_auth_period: Some(3_600),
        status: EndpointStatus::Available,
        ..endpoint("green", "https://green.example/fhir", &[])
    };
    server.store.endpoints().save(&second, Actor::Operator).unwrap();
    let answer = server.send("GET", "/endpoints", &[], "");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json")
    );
    let listed = answer.json();
    assert_eq!(
        listed[0],
        json!({
            "name": "blue-test", "id": first.id, "mode": "TEST", "type": "OAUTH", "label": ["Blue Sky", "Blue"], "refreshable": true,
            "refreshValidFor": 0, "maxAuthPeriod": null, "status": "USER_VALIDATED",
            "resources": ["Patient", "Coverage"], "organization": {"id": "o1", "name": "Blue"},
        })
    );
    let (mode, period) = (&listed[1]["mode"], &listed[1]["maxAuthPeriod"]);
    assert_eq!(
        (mode, period, &listed[1]["refreshValidFor"]),
        (&json!("LIVE"), &json!(3_600), &Value::Null)
    );
    assert_eq!(
        (&listed[1]["status"], &listed[1]["label"]),
        (&json!("AVAILABLE"), &json!(["green"]))
    );
    assert_eq!(listed[1]["type"], "IAL1");
    assert!(!answer.text.contains("our "), "{}", answer.text);
}

#[test]
fn hostile_names_in_the_directory_are_shown_as_they_are() {
    let server = Server::start(&[]);
    for (at, text) in HOSTILE.into_iter().enumerate() {
        organization(&server, "o1", text);
        let base = format!("https://x{at}.example/fhir");
        server
            .store
            .endpoints()
            .save(&endpoint(text, &base, &[text.to_owned()]), Actor::Operator)
            .unwrap();
    }
    // A name that turns the text after it is not accepted.
    let turned = endpoint("evil \u{202e}", "https://turned.example/fhir", &[]);
    assert!(server.store.endpoints().save(&turned, Actor::Operator).is_err());
    let listed = server.send("GET", "/endpoints", &[], "");
    assert_eq!(listed.header("x-content-type-options"), "nosniff");
    let names: Vec<String> = listed
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|endpoint| endpoint["name"].as_str().unwrap().to_owned())
        .collect();
    let mut expected = HOSTILE.to_vec();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

fn apply(server: &Server, body: &Value) -> Answer {
    server.send(
        "POST",
        "/apply",
        &[("content-type", "application/json")],
        &body.to_string(),
    )
}

fn applicant() -> Value {
    json!({"name": "Ada", "email": "ada@example.org", "why": "To help\nmy patients", "location": "London",
        "resume": "https://ada.example/cv"})
}

#[test]
fn an_application_is_taken_down_with_202_and_its_id() {
    let server = Server::start(&[]);
    let mut body = applicant();
    body["phone"] = json!("+44 1");
    body["unknown"] = json!("left out");
    body["website"] = Value::Null;
    let answer = apply(&server, &body);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (202, "application/json"),
        "{}",
        answer.text
    );
    let kept = server.store.applicants().newest(10).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(answer.json(), json!({"id": kept[0].0}));
    let mut expected = applicant();
    expected["phone"] = json!("+44 1");
    assert_eq!(serde_json::from_str::<Value>(&kept[0].2).unwrap(), expected);
}

#[test]
fn links_of_an_application_need_no_scheme() {
    let server = Server::start(&[]);
    for (sent, kept) in [
        ("example.org", "https://example.org"),
        ("www.example.org/me?x=1", "https://www.example.org/me?x=1"),
        ("example.org:8443/cv", "https://example.org:8443/cv"),
        ("bücher.example/über", "https://bücher.example/über"),
        ("http://example.org", "http://example.org"),
    ] {
        let mut body = applicant();
        body["website"] = json!(sent);
        body["resume"] = json!(sent);
        let answer = apply(&server, &body);
        assert_eq!(answer.status, 202, "{sent}: {}", answer.text);
        let id = answer.json()["id"].as_str().unwrap().to_owned();
        let all = server.store.applicants().newest(100).unwrap();
        let (_, _, text) = all.iter().find(|(one, _, _)| *one == id).unwrap();
        let stored: Value = serde_json::from_str(text).unwrap();
        assert_eq!((&stored["website"], &stored["resume"]), (&json!(kept), &json!(kept)));
    }
}

#[test]
fn hostile_applications_are_kept_as_they_are() {
    let server = Server::start(&[]);
    for text in HOSTILE {
        let filled = |text: &str| {
            let mut body = applicant();
            for name in ["name", "why", "location", "phone", "github", "linkedin", "twitter"] {
                body[name] = json!(text);
            }
            body
        };
        // Characters that nobody sees are lost.
        let sent = filled(&format!("{text}\u{202e}"));
        assert_eq!(apply(&server, &sent).status, 202, "{text}");
        let body = filled(text);
        let kept = server.store.applicants().newest(100).unwrap();
        assert!(
            kept.iter()
                .any(|(_, _, kept)| serde_json::from_str::<Value>(kept).unwrap() == body)
        );
    }
    assert_eq!(server.store.applicants().newest(100).unwrap().len(), HOSTILE.len());
}

#[test]
fn what_is_wrong_with_an_application_is_named() {
    let server = Server::start(&[]);
    for name in ["name", "email", "why", "location", "resume"] {
        for (value, problem) in [
            (None, "missing"),
            (Some(json!(" ")), "empty"),
            (Some(json!(1)), "no string"),
        ] {
            let mut body = applicant();
            match value {
                Some(value) => body[name] = value,
                None => drop(body.as_object_mut().unwrap().remove(name)),
            }
            let answer = apply(&server, &body);
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert_eq!(answer.status, 400, "{body}");
            assert!(message.starts_with(name) && message.contains(problem), "{message}");
        }
    }
    for (name, value) in [
        ("email", "nobody"),
        ("email", "a@b"),
        ("email", "a b@example.org"),
        ("resume", "javascript:alert(1)"),
        ("resume", "my cv"),
        ("website", "file:///etc/passwd"),
        ("website", "example"),
        ("website", "//example.org"),
        ("website", "javascript:alert(1)"),
        ("website", "mailto:ada@example.org"),
        ("website", "a b.example.org"),
        ("resume", "user:secret@example.org"),
        ("phone", &"1".repeat(501)),
        ("name", "A\r\nBcc: x"),
    ] {
        let mut body = applicant();
        body[name] = json!(value);
        let answer = apply(&server, &body);
        assert_eq!(answer.status, 400, "{name}: {value}");
        assert!(
            answer.json()["message"].as_str().unwrap().starts_with(name),
            "{}",
            answer.text
        );
    }
    for (content_type, body, status) in [
        ("application/json", "{", 400),
        ("application/json", "[]", 400),
        ("text/plain", "{}", 415),
        ("application/json", "", 400),
    ] {
        let answer = server.send("POST", "/apply", &[("content-type", content_type)], body);
        assert_eq!(answer.status, status, "{body}");
        assert!(answer.json()["message"].is_string());
    }
    assert_eq!(server.store.applicants().newest(10).unwrap().len(), 0);
    assert_eq!(server.send("GET", "/apply", &[], "").status, 405);
}
