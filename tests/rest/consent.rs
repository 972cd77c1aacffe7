//! `GET /rest/consent` and `GET /rest/consent/{id}`.

use serde_json::{Value, json};
use tabularium::consent::{Actor, AuthorizationType, Usage};
use tabularium::lake::Mode;

use super::{server, token};
use crate::harness::consented::{App, Flow, PAYER, SECOND, TestEndpoint};
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
    let flow = Flow {
        places: &[PAYER, SECOND],
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
    for other in ["yes", "1", "TRUE", "True", "null", "", "%00", "true%20"] {
        for path in [
            "/rest/consent".to_owned(),
            format!("/rest/consent/{}", finished.consent),
        ] {
            let wrong = server.get(&format!("{path}?skipResourceCounts={other}"), access(&tokens));
            assert_eq!(wrong.status, 400, "{other}");
            let message = wrong.json()["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with("skipResourceCounts"), "{message}");
        }
    }
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
        assert_eq!(missing.header("www-authenticate"), r#"Bearer realm="records""#);
        let bad = server.get(path, "bad");
        assert_eq!(bad.status, 401);
        let challenge = bad.header("www-authenticate");
        assert!(
            challenge.starts_with(r#"Bearer realm="records", error="invalid_token", error_description=""#),
            "{challenge}"
        );
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
        .consents()
        .revoke(&finished.consent, Actor::Application)
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
    let place = |name, authorization_type, refreshable, max_auth_period| TestEndpoint {
        name,
        mode: Mode::Test,
        authorization_type,
        refreshable,
        refresh_valid_for: None,
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

/// The period is the endpoint's, counted from the patient's authorization. The application's later steps do not change
/// it.
#[test]
fn the_time_until_the_maximum_authorization_is_told_whatever_became_of_the_consent() {
    let (server, app) = server();
    let (revoked, expired) = (Flow::of(&app).finish(&server), Flow::of(&app).finish(&server));
    expired.tokens(&server);
    server
        .store
        .consents()
        .revoke(&revoked.consent, Actor::Patient)
        .unwrap();
    server.store.clock().advance(7_776_000);
    server.store.sweep().unwrap();
    let token = token(&server, &app, Mode::Test);
    for (consent, state, time) in [
        (&revoked.consent, "REVOKED", "revokedAt"),
        (&expired.consent, "EXPIRED", "expiredAt"),
    ] {
        let shown = read(&server, &format!("/rest/consent/{consent}"), &token);
        let one = &shown["patientAuthorizations"][0];
        assert_eq!((&one["state"], &one["active"]), (&json!(state), &json!(false)));
        assert!(one[time].is_string(), "{one}");
        assert_eq!(one["timeUntilMaxAuth"], 31_536_000 - 7_776_000);
    }
    server.store.clock().advance(31_536_000);
    let token = self::token(&server, &app, Mode::Test);
    let shown = read(&server, &format!("/rest/consent/{}", revoked.consent), &token);
    assert_eq!(shown["patientAuthorizations"][0]["timeUntilMaxAuth"], -7_776_000);
}

#[test]
fn every_state_of_a_patient_authorization_has_the_times_that_go_with_it() {
    let (server, app) = server();
    let flow = Flow {
        places: &[],
        ..Flow::of(&app)
    };
    let consent = flow.begin(&server.store, &server.lake).consent;
    let endpoint = PAYER.save(&server.store);
    let new = tabularium::consent::NewAuthorization {
        consent: &consent,
        endpoint: &endpoint,
        authorization_type: AuthorizationType::Oauth,
        usage: Usage::Multiple,
        identity_provider: None,
    };
    let authorization = server.store.authorizations().create(&new).unwrap();
    let token = token(&server, &app, Mode::Test);
    let shown = || {
        let path = format!("/rest/consent/{consent}?skipResourceCounts=true");
        read(&server, &path, &token)["patientAuthorizations"][0].clone()
    };
    let created = shown();
    for time in [
        "authorizedAt",
        "exchangedAt",
        "revokedAt",
        "expiredAt",
        "patient",
        "identityProvider",
    ] {
        assert_eq!(created.get(time), Some(&Value::Null), "{time}");
    }
    assert_eq!(
        (&created["state"], &created["active"]),
        (&json!("CREATED"), &json!(false))
    );
    assert_eq!(created["sync"], json!({"lastSyncedAt": null}), "no job ran");
    assert!(created.get("scope").is_none());
    // The duration of an authorization that was not granted is unknown.
    assert_eq!(created["timeUntilMaxAuth"], "unknown");
    server.store.authorizations().send_to_source(&authorization.id).unwrap();
    assert_eq!(shown()["state"], "AUTHORIZING");
}

#[test]
fn an_identity_provider_is_told_by_its_code() {
    let (server, app) = server();
    let flow = Flow {
        places: &[],
        ..Flow::of(&app)
    };
    let consent = flow.begin(&server.store, &server.lake).consent;
    let place = TestEndpoint {
        name: "exchange",
        authorization_type: AuthorizationType::Ial2,
        ..PAYER
    };
    let endpoint = place.save(&server.store);
    let new = tabularium::consent::NewAuthorization {
        consent: &consent,
        endpoint: &endpoint,
        authorization_type: AuthorizationType::Ial2,
        usage: Usage::OneTime,
        identity_provider: Some("truename"),
    };
    server.store.authorizations().create(&new).unwrap();
    let path = format!("/rest/consent/{consent}");
    let shown = read(&server, &path, &token(&server, &app, Mode::Test));
    let one = &shown["patientAuthorizations"][0];
    assert_eq!(
        (&one["type"], &one["identityProvider"], &one["timeUntilMaxAuth"]),
        (&json!("IAL2"), &json!("truename"), &json!("unsupported"))
    );
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
