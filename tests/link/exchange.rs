//! `POST /link/exchange`.

use serde_json::{Value, json};
use tabularium::consent::{AuthorizationState, ConsentState};
use tabularium::lake::Mode;

use crate::harness::consented::{App, Finished, Flow, PAYER, TestEndpoint};
use crate::harness::server::{Answer, START, Server};
use crate::oauth::claims;

fn server() -> (Server, App) {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    (server, app)
}

fn exchange(server: &Server, finished: &Finished, secret: &str) -> Answer {
    server.post(
        "/link/exchange",
        &[],
        &json!({"public_token": finished.code, "secret_key": secret}),
    )
}

#[test]
fn the_response_has_the_fields_of_the_specification() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    let answer = exchange(&server, &finished, &app.test.secret);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    let body = answer.json();
    assert_eq!(
        (&body["expires_in"], &body["usage"]),
        (&json!(86_400), &json!("MULTIPLE"))
    );
    assert!(body["refresh_token"].is_string());
    assert_eq!(body["refresh_expires_in"], 7_776_000);
    assert_eq!(body["patient"], format!("Patient/{}", finished.patients[0]));
    assert_eq!(body["user"], json!({"externalId": "user-1"}));
    let endpoint = json!({"id": "endpoint-payer", "name": "payer", "label": ["The payer"], "refreshable": true});
    assert_eq!(body["endpoint"], endpoint);
    assert_eq!(body["sync"]["resourceTypes"].as_object().unwrap().len(), 23);
    assert_eq!(body["sync"]["state"], "CREATED");
    assert_eq!(body["sync"]["lastSyncedAt"], Value::Null);
    assert_eq!(body["timeUntilMaxAuth"], 31_536_000);
    assert_eq!(body.as_object().unwrap().len(), 10, "{body}");
    let claims = claims(body["access_token"].as_str().unwrap());
    assert_eq!(
        (&claims["sub"], &claims["client_id"]),
        (&json!(finished.consent), &json!(app.test.publishable))
    );
    let consent = server.store.consents().get(&finished.consent).unwrap().unwrap();
    assert_eq!(consent.state, ConsentState::Exchanged);
}

#[test]
fn one_time_usage_has_no_refresh_token() {
    let (server, app) = server();
    let fax = [TestEndpoint {
        name: "fax",
        refreshable: false,
        ..PAYER
    }];
    let once = Flow {
        usage: tabularium::consent::Usage::OneTime,
        ..Flow::link(&app)
    };
    for flow in [
        once,
        Flow {
            places: &fax,
            ..Flow::link(&app)
        },
    ] {
        let finished = flow.finish(&server);
        let body = finished.link_tokens(&server, &app.test);
        assert_eq!(body["usage"], "ONE_TIME");
        assert!(body.get("refresh_token").is_none());
        assert_eq!(body["refresh_expires_in"], Value::Null);
        assert!(body.as_object().unwrap().contains_key("refresh_expires_in"));
    }
}

#[test]
fn a_one_time_link_expires_after_its_day() {
    let (server, app) = server();
    let finished = Flow {
        usage: tabularium::consent::Usage::OneTime,
        ..Flow::link(&app)
    }
    .finish(&server);
    finished.link_tokens(&server, &app.test);
    server.store.clock().advance(86_400);
    server.store.sweep().unwrap();
    let authorization = server
        .store
        .authorizations()
        .get(&finished.authorizations[0])
        .unwrap()
        .unwrap();
    assert_eq!(authorization.state, AuthorizationState::Expired);
    assert_eq!(authorization.expired_at, Some(START + 86_400));
    assert_eq!(authorization.data_erased_at, Some(START + 86_400));
}

#[test]
fn a_user_whom_the_application_did_not_name_is_null() {
    let (server, app) = server();
    let finished = Flow {
        user: None,
        ..Flow::link(&app)
    }
    .finish(&server);
    assert_eq!(finished.link_tokens(&server, &app.test)["user"], Value::Null);
}

#[test]
fn a_wrong_secret_key_is_an_invalid_client_and_leaves_the_token_good() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    for secret in ["x", &app.test.publishable, "sk_test_unknown", "' OR '1'='1"] {
        let answer = exchange(&server, &finished, secret);
        assert_eq!(answer.oauth_error(), (401, "invalid_client".to_owned()));
    }
    finished.link_tokens(&server, &app.test);
}

#[test]
fn another_applications_or_modes_public_token_is_an_invalid_grant() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let finished = Flow::link(&app).finish(&server);
    for secret in [&other.test.secret, &app.live.secret] {
        let answer = exchange(&server, &finished, secret);
        assert_eq!(answer.oauth_error(), (400, "invalid_grant".to_owned()));
    }
    finished.link_tokens(&server, &app.test);
    let live = [TestEndpoint {
        name: "live",
        mode: Mode::Live,
        ..PAYER
    }];
    let finished = Flow {
        mode: Mode::Live,
        places: &live,
        ..Flow::link(&app)
    }
    .finish(&server);
    assert_eq!(
        exchange(&server, &finished, &app.test.secret).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
    finished.link_tokens(&server, &app.live);
}

#[test]
fn a_public_token_is_used_once_and_within_thirty_minutes() {
    let (server, app) = server();
    let (one, two) = (Flow::link(&app).finish(&server), Flow::link(&app).finish(&server));
    one.link_tokens(&server, &app.test);
    assert_eq!(
        exchange(&server, &one, &app.test.secret).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
    server.store.clock().advance(1_800);
    assert_eq!(
        exchange(&server, &two, &app.test.secret).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
}

#[test]
fn a_public_token_that_comes_again_later_ends_the_tokens_that_it_gave() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    let body = finished.link_tokens(&server, &app.test);
    server.store.clock().advance(11);
    assert_eq!(
        exchange(&server, &finished, &app.test.secret).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
    let introspected = server
        .get("/link/introspect", body["access_token"].as_str().unwrap())
        .json();
    assert_eq!(introspected["active"], false);
}

#[test]
fn of_concurrent_exchanges_of_one_public_token_one_wins() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let one = || exchange(&server, &finished, &app.test.secret).status;
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        server
            .store
            .jobs()
            .of_authorization(&finished.authorizations[0])
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn both_fields_are_required() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    for body in [
        json!({}),
        json!({"public_token": finished.code}),
        json!({"secret_key": app.test.secret}),
        json!({"public_token": 1, "secret_key": app.test.secret}),
        json!({"public_token": finished.code, "secret_key": null}),
    ] {
        let answer = server.post("/link/exchange", &[], &body);
        assert_eq!(answer.oauth_error(), (400, "invalid_request".to_owned()), "{body}");
    }
    for token in ["x", "public_", "' OR 1=1 --", "<b>", "\u{0}"] {
        let body = json!({"public_token": token, "secret_key": app.test.secret});
        assert_eq!(
            server.post("/link/exchange", &[], &body).oauth_error(),
            (400, "invalid_grant".to_owned())
        );
    }
    let code = Flow::of(&app).finish(&server);
    assert_eq!(
        exchange(&server, &code, &app.test.secret).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
    finished.link_tokens(&server, &app.test);
}

#[test]
fn a_body_that_could_be_read_in_two_ways_is_an_invalid_request_and_leaves_the_token_good() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    let (token, secret) = (&finished.code, &app.test.secret);
    let (json, form) = ("application/json", "application/x-www-form-urlencoded");
    for (content_type, body, status) in [
        (
            json,
            format!(r#"{{"public_token": ["{token}"], "secret_key": "{secret}"}}"#),
            400,
        ),
        (
            json,
            format!(r#"{{"public_token": "{token}", "secret_key": {{"a": "{secret}"}}}}"#),
            400,
        ),
        (
            json,
            format!(r#"{{"public_token": "x", "public_token": "{token}", "secret_key": "{secret}"}}"#),
            400,
        ),
        (
            form,
            format!("public_token={token}&public_token={token}&secret_key={secret}"),
            400,
        ),
        (
            json,
            format!(r#"[{{"public_token": "{token}", "secret_key": "{secret}"}}]"#),
            400,
        ),
        (
            json,
            format!(r#"{{"public_token": "{token}", "secret_key": "{secret}""#),
            400,
        ),
        (json, String::new(), 400),
        (
            json,
            format!(
                r#"{{"public_token": "{}", "secret_key": "{secret}"}}"#,
                "x".repeat(70_000)
            ),
            413,
        ),
        (
            "text/plain",
            format!(r#"{{"public_token": "{token}", "secret_key": "{secret}"}}"#),
            415,
        ),
    ] {
        let answer = server.send("POST", "/link/exchange", &[("content-type", content_type)], &body);
        assert_eq!(
            answer.oauth_error(),
            (status, "invalid_request".to_owned()),
            "{content_type}: {}",
            answer.text
        );
        assert!(!answer.text.contains(secret.as_str()) && !answer.text.contains(token.as_str()));
        assert!(!answer.header("x-request-id").is_empty());
    }
    finished.link_tokens(&server, &app.test);
}

#[test]
fn an_identifier_of_the_user_comes_back_as_it_was_given() {
    let (server, app) = server();
    let long = "x".repeat(1_024);
    for user in [
        "'; DROP TABLE consent; --",
        "<script>alert(1)</script>",
        "{{7*7}} %s",
        "Zo\u{eb} \u{202e}\u{1f600}",
        &long,
    ] {
        let finished = Flow {
            user: Some(user),
            ..Flow::link(&app)
        }
        .finish(&server);
        let body = finished.link_tokens(&server, &app.test);
        assert_eq!(body["user"], json!({"externalId": user}));
        let told = server.get("/link/introspect", body["access_token"].as_str().unwrap());
        assert_eq!(told.json()["user"], json!({"externalId": user}));
    }
}

#[test]
fn keys_that_were_rotated_meanwhile_exchange_with_the_new_pair() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    let actor = tabularium::consent::Actor::Operator;
    let fresh = server.store.clients().rotate(&app.id, Mode::Test, 0, actor).unwrap();
    assert_eq!(
        exchange(&server, &finished, &app.test.secret).oauth_error(),
        (401, "invalid_client".to_owned())
    );
    let answer = exchange(&server, &finished, fresh.secret.as_deref().unwrap());
    assert_eq!(answer.status, 200, "{}", answer.text);
}
