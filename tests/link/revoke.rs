//! `POST /link/revoke`.

use serde_json::{Value, json};
use tabularium::consent::{AuthorizationState, ConsentState};

use crate::harness::consented::{App, Finished, Flow, PAYER, TestEndpoint};
use crate::harness::server::{Answer, Server};
use crate::oauth::bearer;

fn server() -> (Server, App) {
    let server = Server::impatient(&[]);
    let app = App::register(&server.store, "app");
    (server, app)
}

fn revoke(server: &Server, tokens: &Value, secret: &str) -> Answer {
    server.post(
        "/link/revoke",
        &[("authorization", &bearer(tokens))],
        &json!({"secret_key": secret}),
    )
}

fn state(server: &Server, finished: &Finished) -> ConsentState {
    server.store.consents().get(&finished.consent).unwrap().unwrap().state
}

#[test]
fn one_call_revokes_every_link_of_the_same_user_and_endpoint() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let clinic = [TestEndpoint {
        name: "clinic",
        ..PAYER
    }];
    let (one, two) = (Flow::link(&app).finish(&server), Flow::link(&app).finish(&server));
    let by_code = Flow::of(&app).finish(&server);
    let waiting = Flow::link(&app).finish(&server);
    let elsewhere = Flow {
        places: &clinic,
        ..Flow::link(&app)
    }
    .finish(&server);
    let somebody = Flow {
        user: Some("user-2"),
        ..Flow::link(&app)
    }
    .finish(&server);
    let others = Flow::link(&other).finish(&server);
    let tokens = one.link_tokens(&server, &app.test);
    let second = two.link_tokens(&server, &app.test);
    by_code.tokens(&server);
    elsewhere.link_tokens(&server, &app.test);
    somebody.link_tokens(&server, &app.test);
    others.link_tokens(&server, &other.test);

    let answer = revoke(&server, &tokens, &app.test.secret);
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({"count": 4})),
        "{}",
        answer.text
    );
    let exchanged = server.post(
        "/link/exchange",
        &[],
        &json!({"public_token": waiting.code, "secret_key": app.test.secret}),
    );
    assert_eq!(exchanged.oauth_error(), (400, "invalid_grant".to_owned()));
    for ended in [&one, &two, &by_code, &waiting] {
        assert_eq!(state(&server, ended), ConsentState::Revoked);
        let authorization = server
            .store
            .authorizations()
            .get(&ended.authorizations[0])
            .unwrap()
            .unwrap();
        assert_eq!(authorization.state, AuthorizationState::Revoked);
    }
    for kept in [&elsewhere, &somebody, &others] {
        assert_eq!(state(&server, kept), ConsentState::Exchanged);
    }
    for (tokens, finished) in [(&tokens, &one), (&second, &two)] {
        let body = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
        let refreshed = server.post("/link/token", &[("authorization", &app.test.basic())], &body);
        assert_eq!(refreshed.oauth_error(), (400, "invalid_grant".to_owned()));
        let told = server
            .get("/link/introspect", tokens["access_token"].as_str().unwrap())
            .json();
        assert_eq!(
            (&told["active"], &told["state"], &told["sub"]),
            (&json!(false), &json!("REVOKED"), &json!(finished.authorizations[0]))
        );
        assert_eq!(
            server
                .get("/fhir/Patient", tokens["access_token"].as_str().unwrap())
                .status,
            401
        );
    }
}

#[test]
fn a_link_that_was_refreshed_counts_once() {
    let (server, app) = server();
    let mut tokens = Flow::link(&app).finish(&server).link_tokens(&server, &app.test);
    for _ in 0..3 {
        let body = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
        tokens = server
            .post("/link/token", &[("authorization", &app.test.basic())], &body)
            .json();
    }
    assert_eq!(revoke(&server, &tokens, &app.test.secret).json(), json!({"count": 1}));
    let again = revoke(&server, &tokens, &app.test.secret);
    assert_eq!(again.status, 401, "{}", again.text);
}

#[test]
fn a_consent_with_other_sources_goes_on_with_these() {
    let (server, app) = server();
    let places = [
        PAYER,
        TestEndpoint {
            name: "clinic",
            ..PAYER
        },
    ];
    let several = Flow {
        places: &places,
        ..Flow::of(&app)
    }
    .finish(&server);
    let kept = several.tokens(&server);
    let link = Flow::link(&app).finish(&server);
    let tokens = link.link_tokens(&server, &app.test);
    assert_eq!(revoke(&server, &tokens, &app.test.secret).json()["count"], 2);
    assert_eq!(state(&server, &several), ConsentState::Exchanged);
    let states: Vec<_> = several
        .authorizations
        .iter()
        .map(|id| server.store.authorizations().get(id).unwrap().unwrap().state)
        .collect();
    assert_eq!(states, [AuthorizationState::Revoked, AuthorizationState::Exchanged]);
    assert_eq!(
        server
            .get("/oauth/introspect", kept["access_token"].as_str().unwrap())
            .json()["active"],
        true
    );
}

#[test]
fn users_whom_the_application_did_not_name_are_not_taken_for_one() {
    let (server, app) = server();
    let flow = || Flow {
        user: None,
        ..Flow::link(&app)
    };
    let (one, two) = (flow().finish(&server), flow().finish(&server));
    let (first, _) = (one.link_tokens(&server, &app.test), two.link_tokens(&server, &app.test));
    assert_eq!(revoke(&server, &first, &app.test.secret).json()["count"], 1);
    assert_eq!(state(&server, &two), ConsentState::Exchanged);
}

#[test]
fn a_wrong_secret_key_is_401() {
    let (server, app) = server();
    let tokens = Flow::link(&app).finish(&server).link_tokens(&server, &app.test);
    for secret in [&app.live.secret, "x"] {
        let answer = revoke(&server, &tokens, secret);
        assert_eq!(answer.status, 401);
        assert!(answer.json()["message"].as_str().unwrap().contains("secret_key"));
    }
    let missing = server.post("/link/revoke", &[("authorization", &bearer(&tokens))], &json!({}));
    assert_eq!(missing.status, 400);
    assert_eq!(
        server
            .post("/link/revoke", &[], &json!({"secret_key": app.test.secret}))
            .status,
        401
    );
    assert_eq!(revoke(&server, &tokens, &app.test.secret).json()["count"], 1);
}
