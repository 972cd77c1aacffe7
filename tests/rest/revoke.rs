//! `POST /rest/consent/{id}/revoke`, by the key pair of the application.

use serde_json::json;
use tabularium::consent::Actor;
use tabularium::lake::Mode;

use super::{server, token};
use crate::harness::consented::{App, Flow, Keys, PAYER, SECOND, basic};
use crate::harness::records::{self, Record};
use crate::harness::server::{Answer, Server};

fn revoke(server: &Server, consent: &str, keys: &Keys) -> Answer {
    let path = format!("/rest/consent/{consent}/revoke");
    server.send("POST", &path, &[("authorization", &keys.basic())], "")
}

fn state(server: &Server, app: &App, consent: &str) -> String {
    let answer = server.get(&format!("/rest/consent/{consent}"), &token(server, app, Mode::Test));
    answer.json()["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_key_pair_ends_a_consent_with_its_tokens_and_records() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let flow = Flow {
        places: &[PAYER, SECOND],
        ..Flow::of(&app)
    };
    let finished = flow.finish(&server);
    let tokens = finished.tokens(&server);
    let row = Record {
        mode: Mode::Test,
        application: "app".to_owned(),
        owner: finished.owner,
        patient: Some(finished.patients[0].clone()),
        authorization: Some(finished.authorizations[0].clone()),
        ..Record::new(json!({"resourceType": "Observation", "id": "a"}))
    };
    records::commit(&server.lake, &[row]);
    let answer = revoke(&server, &finished.consent, &app.test);
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({"count": 2})),
        "{}",
        answer.text
    );
    assert_eq!(answer.header("cache-control"), "no-store");
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(server.get("/rest/consent", access).status, 401);
    assert_eq!(server.get("/fhir/Observation/a", access).status, 401);
    let refresh = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
    let refused = server.post("/oauth/token", &[("authorization", &app.test.basic())], &refresh);
    assert_eq!(refused.oauth_error(), (400, "invalid_grant".to_owned()));
    assert_eq!(state(&server, &app, &finished.consent), "REVOKED");
    assert!(server.store.consents().is_erasing(&finished.consent).unwrap());
    let audit = server.store.audit().newest(Some(&finished.consent), 50).unwrap();
    let line = audit.iter().find(|line| line.action == "consent.revoked").unwrap();
    assert_eq!(line.actor, Actor::Application);
    // A repeated request changes nothing.
    let again = revoke(&server, &finished.consent, &app.test);
    assert_eq!((again.status, again.json()), (200, json!({"count": 0})));
}

#[test]
fn a_consent_of_another_application_or_mode_looks_unknown() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let finished = Flow::of(&app).finish(&server);
    finished.tokens(&server);
    for (id, keys) in [
        ("unknown", &app.test),
        ("%27%20OR%201=1", &app.test),
        (&finished.consent, &app.live),
        (&finished.consent, &other.test),
        (&finished.consent, &other.live),
    ] {
        let answer = revoke(&server, id, keys);
        let expected = json!({"message": "There is no consent with this id."});
        assert_eq!((answer.status, answer.json()), (404, expected), "{id}");
    }
    assert_eq!(state(&server, &app, &finished.consent), "EXCHANGED");
    assert_eq!(revoke(&server, &finished.consent, &app.test).status, 200);
}

#[test]
fn anything_else_than_the_key_pair_is_401() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    let path = format!("/rest/consent/{}/revoke", finished.consent);
    let (publishable, secret) = (&app.test.publishable, &app.test.secret);
    let patient = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
    let application = format!("Bearer {}", token(&server, &app, Mode::Test));
    for value in [
        None,
        Some(basic(publishable, &app.live.secret)),
        Some(basic(&app.live.publishable, secret)),
        Some(basic(publishable, "sk_test_wrong")),
        Some(basic("pk_test_unknown", secret)),
        Some(patient),
        Some(application),
        Some("Basic !".to_owned()),
    ] {
        let header = value.as_deref().map(|value| [("authorization", value)]);
        let answer = server.send("POST", &path, header.as_ref().map_or(&[], |header| header), "");
        assert_eq!(answer.status, 401, "{value:?}: {}", answer.text);
        assert!(
            answer.json()["message"].as_str().unwrap().contains("key pair"),
            "{}",
            answer.text
        );
        assert!(answer.header("www-authenticate").starts_with("Basic "));
    }
    // A replaced key works until its grace period ends.
    let rotated = server.store.clients().rotate("app", Mode::Test, 60, Actor::Operator);
    rotated.unwrap();
    assert_eq!(state(&server, &app, &finished.consent), "EXCHANGED");
    server.store.clock().advance(60);
    assert_eq!(revoke(&server, &finished.consent, &app.test).status, 401);
}

#[test]
fn a_consent_for_imported_records_is_the_operators_to_end() {
    let server = Server::start(&[json!({"resourceType": "Patient", "id": "anna"})]);
    server.patient_token("anna");
    let keys = server.store.clients().rotate("local", Mode::Live, 0, Actor::Operator);
    let keys = keys.unwrap();
    let keys = Keys {
        publishable: keys.publishable,
        secret: keys.secret.unwrap(),
    };
    let consent = server
        .store
        .consents()
        .of_imported("local", Mode::Live, "anna")
        .unwrap();
    let answer = revoke(&server, &consent, &keys);
    assert_eq!(answer.status, 403, "{}", answer.text);
}
