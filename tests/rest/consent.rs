//! `GET /rest/consent` and `GET /rest/consent/{id}`.

use serde_json::{Value, json};
use tabularium::consent::{Actor, AuthorizationType, Usage};
use tabularium::lake::Mode;

use super::{server, token};
use crate::harness::consented::{App, Flow, PAYER, Place};
use crate::harness::records::{self, Record};
use crate::harness::server::Server;

fn access(tokens: &Value) -> &str {
    tokens["access_token"].as_str().unwrap()
}

fn read(server: &Server, path: &str, token: &str) -> Value {
    let answer = server.get(path, token);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json"),
        "{path}: {}",
        answer.text
    );
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.json()
}

#[test]
fn a_full_consent_has_the_fields_of_the_specification() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    server.store.clock().advance(60);
    let tokens = finished.tokens(&server);
    let consent = read(&server, "/rest/consent", access(&tokens));
    let authorization = &consent["patientAuthorizations"][0];
    let counts = &authorization["sync"]["resourceTypes"];
    assert_eq!(counts.as_object().unwrap().len(), 23);
    let state = &authorization["sync"]["state"];
    assert!(
        ["CREATED", "WAITING", "ACTIVE", "FAILED"].contains(&state.as_str().unwrap()),
        "{state}"
    );
    assert_eq!(
        consent,
        json!({
            "id": finished.consent, "state": "EXCHANGED", "mode": "TEST",
            "createdAt": "2027-01-15T08:00:00Z", "updatedAt": "2027-01-15T08:01:00Z",
            "user": {"externalId": "user-1"},
            "patientAuthorizations": [{
                "id": finished.authorizations[0], "type": "OAUTH", "state": "EXCHANGED", "usage": "MULTIPLE",
                "createdAt": "2027-01-15T08:00:00Z", "authorizedAt": "2027-01-15T08:00:00Z",
                "exchangedAt": "2027-01-15T08:01:00Z", "revokedAt": null, "expiredAt": null,
                "patient": format!("Patient/{}", finished.patients[0]), "identityProvider": null,
                "endpoint": {"id": "endpoint-payer", "name": "payer", "label": ["The payer"], "refreshable": true},
                "active": true, "timeUntilMaxAuth": 31_536_000 - 60,
                "sync": {"resourceTypes": counts, "lastSyncedAt": null, "state": state},
                "scope": {
                    "requested": ["patient/*.read", "offline_access"], "granted": ["patient/*.read"],
                    "rejected": ["offline_access"],
                },
            }],
        })
    );
    let by_id = format!("/rest/consent/{}", finished.consent);
    assert_eq!(read(&server, &by_id, access(&tokens)), consent);
    assert_eq!(read(&server, &by_id, &token(&server, &app, Mode::Test)), consent);
}

#[test]
fn resources_are_counted_for_each_source_unless_it_is_skipped() {
    let (server, app) = server();
    let second = Place {
        name: "second",
        ..PAYER
    };
    let flow = Flow {
        places: &[PAYER, second],
        ..Flow::of(&app)
    };
    let finished = flow.finish(&server);
    let tokens = finished.tokens(&server);
    let row = |at: usize, id: &str| Record {
        mode: Mode::Test,
        application: "app".to_owned(),
        owner: finished.owner,
        patient: Some(finished.patients[at].clone()),
        authorization: Some(finished.authorizations[at].clone()),
        ..Record::new(json!({"resourceType": "Observation", "id": id}))
    };
    records::commit(&server.lake, &[row(0, "a"), row(0, "b"), row(1, "c")]);
    let counts = |consent: &Value| -> Vec<Value> {
        let all = consent["patientAuthorizations"].as_array().unwrap();
        all.iter()
            .map(|one| one["sync"]["resourceTypes"]["Observation"].clone())
            .collect()
    };
    for path in ["/rest/consent", "/rest/consent?skipResourceCounts=false"] {
        assert_eq!(counts(&read(&server, path, access(&tokens))), [json!(2), json!(1)]);
    }
    let skipped = read(&server, "/rest/consent?skipResourceCounts=true", access(&tokens));
    let sync = &skipped["patientAuthorizations"][0]["sync"];
    assert!(
        sync.get("resourceTypes").is_none() && sync.get("lastSyncedAt").is_some(),
        "{sync}"
    );
    let wrong = server.get("/rest/consent?skipResourceCounts=yes", access(&tokens));
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.json()["message"]
            .as_str()
            .unwrap()
            .starts_with("skipResourceCounts")
    );
}

#[test]
fn an_application_token_is_refused_by_the_exact_message() {
    let (server, app) = server();
    for mode in [Mode::Test, Mode::Live] {
        let answer = server.get("/rest/consent", &token(&server, &app, mode));
        assert_eq!(answer.status, 401);
        assert_eq!(
            answer.json(),
            json!({"message": "A Consent access token is required for this endpoint."})
        );
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
    }
}

#[test]
fn missing_and_bad_tokens_are_401_with_a_challenge() {
    let (server, _) = server();
    for path in ["/rest/consent", "/rest/consent/x", "/rest/consents"] {
        let missing = server.send("GET", path, &[], "");
        assert_eq!(missing.status, 401);
        assert!(missing.json()["message"].is_string(), "{}", missing.text);
        assert!(missing.header("www-authenticate").starts_with("Bearer"));
        let bad = server.get(path, "bad");
        assert_eq!(bad.status, 401);
        assert!(bad.header("www-authenticate").contains("invalid_token"));
    }
}

#[test]
fn an_unknown_consent_and_anothers_look_the_same() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let (own, foreign) = (Flow::of(&app).finish(&server), Flow::of(&other).finish(&server));
    let second = Flow::of(&app).finish(&server);
    let tokens = own.tokens(&server);
    let (test, live) = (token(&server, &app, Mode::Test), token(&server, &app, Mode::Live));
    let expected = json!({"message": "There is no consent with this id."});
    for (id, token) in [
        ("unknown", &*test),
        ("' OR '1'='1", &test),
        ("%3Cscript%3E", &test),
        (&foreign.consent, &test),
        (&own.consent, &live),
        (&second.consent, access(&tokens)),
        (&foreign.consent, access(&tokens)),
    ] {
        let id = id.replace(' ', "%20");
        let answer = server.get(&format!("/rest/consent/{id}"), token);
        assert_eq!((answer.status, answer.json()), (404, expected.clone()), "{id}");
    }
    assert_eq!(
        server.get(&format!("/rest/consent/{}", second.consent), &test).status,
        200
    );
}

#[test]
fn a_consent_that_was_revoked_is_shown_as_that() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    server.store.clock().advance(60);
    server
        .store
        .revoke_consent(&finished.consent, Actor::Application)
        .unwrap();
    assert_eq!(server.get("/rest/consent", access(&tokens)).status, 401);
    let path = format!("/rest/consent/{}", finished.consent);
    let shown = read(&server, &path, &token(&server, &app, Mode::Test));
    let authorization = &shown["patientAuthorizations"][0];
    assert_eq!(
        (&shown["state"], &authorization["state"]),
        (&json!("REVOKED"), &json!("REVOKED"))
    );
    assert_eq!(
        (&authorization["active"], &authorization["revokedAt"]),
        (&json!(false), &json!("2027-01-15T08:01:00Z"))
    );
}

#[test]
fn the_time_until_the_maximum_authorization_has_four_forms() {
    let (server, app) = server();
    let place = |name, ty, refreshable, max_auth_period| Place {
        name,
        mode: Mode::Test,
        ty,
        refreshable,
        max_auth_period,
    };
    for (place, expected) in [
        (place("seconds", AuthorizationType::Oauth, true, Some(100)), json!(40)),
        (place("over", AuthorizationType::Ial1, true, Some(50)), json!(-10)),
        (place("unknown", AuthorizationType::Oauth, true, None), json!("unknown")),
        (
            place("indefinite", AuthorizationType::Oauth, true, Some(0)),
            json!("indefinite"),
        ),
        (
            place("once", AuthorizationType::Oauth, false, Some(100)),
            json!("unsupported"),
        ),
        (
            place("ial2", AuthorizationType::Ial2, true, Some(100)),
            json!("unsupported"),
        ),
        (
            place("portal", AuthorizationType::Credentials, true, Some(100)),
            json!("unsupported"),
        ),
    ] {
        let name = place.name;
        let flow = Flow {
            places: &[place],
            ..Flow::of(&app)
        };
        let tokens = flow.finish(&server).tokens(&server);
        server.store.clock().advance(60);
        let shown = read(&server, "/rest/consent?skipResourceCounts=true", access(&tokens));
        assert_eq!(
            shown["patientAuthorizations"][0]["timeUntilMaxAuth"], expected,
            "{name}"
        );
    }
}

#[test]
fn hostile_identifiers_of_users_are_shown_as_they_are() {
    let (server, app) = server();
    for user in [
        "'; DROP TABLE consent; --",
        "<img src=x onerror=alert(1)>",
        "\" OR \"\"=\"",
        "\u{0}\u{202e}%00",
    ] {
        let flow = Flow {
            user: Some(user),
            usage: Usage::OneTime,
            ..Flow::of(&app)
        };
        let tokens = flow.finish(&server).tokens(&server);
        let shown = read(&server, "/rest/consent?skipResourceCounts=true", access(&tokens));
        assert_eq!(shown["user"]["externalId"], user);
    }
}

#[test]
fn what_was_never_authorized_has_no_patient_and_no_scope() {
    let (server, app) = server();
    let flow = Flow {
        user: None,
        places: &[],
        ..Flow::of(&app)
    };
    let begun = flow.begin(&server.store, &server.lake);
    let path = format!("/rest/consent/{}", begun.consent);
    let shown = read(&server, &path, &token(&server, &app, Mode::Test));
    assert_eq!(
        shown,
        json!({"id": begun.consent, "state": "CREATED", "mode": "TEST", "createdAt": "2027-01-15T08:00:00Z",
            "updatedAt": null, "user": null, "patientAuthorizations": []})
    );
}
