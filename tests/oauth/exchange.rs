//! `POST /oauth/token` with an authorization code.

use serde_json::{Value, json};
use tabularium::consent::{AuthorizationState, ConsentState, JobState, Usage};
use tabularium::lake::Mode;

use super::{bearer, claims};
use crate::harness::consented::{App, Finished, Flow, PAYER, REDIRECT_URI, TestEndpoint};
use crate::harness::server::{START, Server};

fn server() -> (Server, App) {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    (server, app)
}

fn with(finished: &Finished, field: &str, value: &str) -> Value {
    let mut body = finished.exchange();
    body[field] = json!(value);
    body
}

fn invalid_grant(server: &Server, body: &Value) {
    let answer = server.post("/oauth/token", &[], body);
    assert_eq!(
        answer.oauth_error(),
        (400, "invalid_grant".to_owned()),
        "{}",
        answer.text
    );
}

#[test]
fn the_response_has_the_fields_of_the_specification() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let answer = server.post("/oauth/token", &[], &finished.exchange());
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("pragma"), "no-cache");
    let tokens = answer.json();
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["expires_in"], 86_400);
    assert_eq!(tokens["refresh_expires_in"], 7_776_000);
    assert_eq!(tokens["scope"], "launch/patient offline_access");
    assert_eq!(tokens["patient"], *finished.patients[0], "the bare id, as SMART wants");
    assert!(tokens["refresh_token"].as_str().unwrap().len() >= 43);
    assert_eq!(tokens.as_object().unwrap().len(), 7, "{tokens}");

    let claims = claims(tokens["access_token"].as_str().unwrap());
    assert_eq!(claims["sub"], *finished.consent);
    assert_eq!(claims["patient"], format!("Patient/{}", finished.patients[0]));
    assert_eq!(claims["client_id"], *finished.client);
    assert_eq!(
        (&claims["iat"], &claims["exp"]),
        (&json!(START), &json!(START + 86_400))
    );
}

#[test]
fn the_exchange_moves_the_consent_and_makes_sync_jobs() {
    let (server, app) = server();
    let other = TestEndpoint {
        name: "clinic",
        ..PAYER
    };
    let places = [PAYER, other];
    let flow = Flow {
        places: &places,
        ..Flow::of(&app)
    };
    let finished = flow.finish(&server);
    finished.tokens(&server);
    let full_consent = server.store.consents().full(&finished.consent).unwrap().unwrap();
    assert_eq!(full_consent.consent.state, ConsentState::Exchanged);
    assert_eq!(full_consent.consent.refresh_until, Some(START + 7_776_000));
    assert_eq!(full_consent.sources.len(), 2);
    for source in &full_consent.sources {
        assert_eq!(source.authorization.state, AuthorizationState::Exchanged);
        assert_eq!(source.authorization.exchanged_at, Some(START));
        assert_eq!(source.authorization.data_until, None);
        let jobs = server.store.jobs().of_authorization(&source.authorization.id).unwrap();
        assert_eq!(jobs.len(), 1);
        assert_eq!(jobs[0].cause, "exchange");
    }
}

#[test]
fn one_time_usage_begins_its_day_and_still_has_a_refresh_token() {
    let (server, app) = server();
    let finished = Flow::once(&app).finish(&server);
    let tokens = finished.tokens(&server);
    assert!(tokens["refresh_token"].is_string());
    assert_eq!(tokens["scope"], "launch/patient");
    let authorization = server
        .store
        .authorizations()
        .get(&finished.authorizations[0])
        .unwrap()
        .unwrap();
    assert_eq!(authorization.usage, Usage::OneTime);
    assert_eq!(authorization.data_until, Some(START + 86_400));
}

#[test]
fn an_endpoint_that_cannot_be_refreshed_still_gives_a_refresh_token() {
    let (server, app) = server();
    let places = [TestEndpoint {
        name: "fax",
        refreshable: false,
        ..PAYER
    }];
    let finished = Flow {
        places: &places,
        ..Flow::of(&app)
    }
    .finish(&server);
    let tokens = finished.tokens(&server);
    assert!(tokens["refresh_token"].is_string());
    assert_eq!(tokens["refresh_expires_in"], 7_776_000);
}

#[test]
fn a_form_says_the_same_as_json() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let answer = server.post_form("/oauth/token", &[], &finished.exchange());
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json()["expires_in"], 86_400);
}

#[test]
fn confidential_clients_exchange_with_their_key_pair() {
    let (server, app) = server();
    let finished = Flow {
        mode: Mode::Live,
        places: &[TestEndpoint {
            name: "live",
            mode: Mode::Live,
            ..PAYER
        }],
        ..Flow::of(&app)
    }
    .finish(&server);
    let mut body = finished.exchange();
    body.as_object_mut().unwrap().remove("client_id");
    let answer = server.post("/oauth/token", &[("authorization", &app.live.basic())], &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[test]
fn a_code_is_used_once() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    invalid_grant(&server, &finished.exchange());
    // A client's own retry does not end the grant.
    assert_eq!(
        server
            .get("/oauth/introspect", tokens["access_token"].as_str().unwrap())
            .json()["active"],
        true
    );
}

#[test]
fn a_code_that_comes_again_later_ends_the_tokens_that_it_gave() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let first = finished.tokens(&server);
    let refresh =
        json!({"grant_type": "refresh_token", "refresh_token": first["refresh_token"], "client_id": finished.client});
    let second = server.post("/oauth/token", &[], &refresh).json();
    server.store.clock().advance(11);
    // Neither another client nor a wrong verifier ends the grant.
    invalid_grant(&server, &with(&finished, "code_verifier", &"x".repeat(43)));
    invalid_grant(&server, &with(&finished, "client_id", &app.live.publishable));
    assert_eq!(
        server
            .get("/oauth/introspect", first["access_token"].as_str().unwrap())
            .json()["active"],
        true
    );
    invalid_grant(&server, &finished.exchange());
    for tokens in [&first, &second] {
        assert_eq!(
            server
                .get("/oauth/introspect", tokens["access_token"].as_str().unwrap())
                .json()["active"],
            false
        );
        let answer = server.send("GET", "/fhir/Patient", &[("authorization", &bearer(tokens))], "");
        assert_eq!(answer.status, 401);
    }
    let refresh =
        json!({"grant_type": "refresh_token", "refresh_token": second["refresh_token"], "client_id": finished.client});
    invalid_grant(&server, &refresh);
    let entries = server.store.audit().newest(Some(&finished.consent), 100).unwrap();
    assert_eq!(
        entries.iter().filter(|entry| entry.action == "tokens.revoked").count(),
        1
    );
}

#[test]
fn a_code_expires_after_thirty_minutes() {
    let (server, app) = server();
    let (early, late) = (Flow::of(&app).finish(&server), Flow::of(&app).finish(&server));
    server.store.clock().advance(1_799);
    early.tokens(&server);
    server.store.clock().advance(1);
    invalid_grant(&server, &late.exchange());
    server.store.sweep().unwrap();
    let consent = server.store.consents().get(&late.consent).unwrap().unwrap();
    assert_eq!(consent.state, ConsentState::Abandoned);
    invalid_grant(&server, &late.exchange());
}

#[test]
fn verifier_mismatch_is_refused_and_leaves_the_code_good() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    invalid_grant(&server, &with(&finished, "code_verifier", &"a".repeat(43)));
    invalid_grant(&server, &with(&finished, "code_verifier", &"a".repeat(128)));
    finished.tokens(&server);
}

#[test]
fn a_verifier_has_43_to_128_letters() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let invalid = [
        "a".repeat(42),
        "a".repeat(129),
        format!("{}+", "a".repeat(43)),
        format!("{}é", "a".repeat(43)),
    ];
    for verifier in &invalid {
        let answer = server.post("/oauth/token", &[], &with(&finished, "code_verifier", verifier));
        assert_eq!(answer.oauth_error(), (400, "invalid_request".to_owned()), "{verifier}");
    }
    finished.tokens(&server);
}

#[test]
fn redirect_mismatch_is_refused() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    for other in [
        "https://app.example/callback/",
        "https://app.example/Callback",
        "http://app.example/callback",
        "https://app.example/callback?x=1",
        "https://evil.example/callback",
    ] {
        invalid_grant(&server, &with(&finished, "redirect_uri", other));
    }
    finished.tokens(&server);
}

#[test]
fn client_mismatch_is_refused() {
    let (server, app) = server();
    let stranger = App::register(&server.store, "stranger");
    let finished = Flow::of(&app).finish(&server);
    invalid_grant(&server, &with(&finished, "client_id", &stranger.test.publishable));
    let mut body = finished.exchange();
    body.as_object_mut().unwrap().remove("client_id");
    let answer = server.post("/oauth/token", &[("authorization", &stranger.test.basic())], &body);
    assert_eq!(answer.oauth_error(), (400, "invalid_grant".to_owned()));
    finished.tokens(&server);
}

#[test]
fn key_mode_mismatch_is_refused() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    invalid_grant(&server, &with(&finished, "client_id", &app.live.publishable));
    finished.tokens(&server);
}

#[test]
fn a_replaced_key_exchanges_its_codes_until_its_grace_is_over() {
    let (server, app) = server();
    let flow = || Flow::of(&app).finish(&server);
    let (before, early, late) = (flow(), flow(), flow());
    let actor = tabularium::consent::Actor::Operator;
    before.tokens(&server);
    let fresh = server.store.clients().rotate(&app.id, Mode::Test, 600, actor).unwrap();
    server.store.clock().advance(599);
    early.tokens(&server);
    server.store.clock().advance(1);
    let answer = server.post("/oauth/token", &[], &late.exchange());
    assert_eq!(answer.oauth_error(), (401, "invalid_client".to_owned()));
    // A code is valid only for the key that requested it.
    invalid_grant(&server, &with(&late, "client_id", &fresh.publishable));
}

#[test]
fn every_field_of_the_grant_is_required() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    for field in ["grant_type", "code", "redirect_uri", "code_verifier"] {
        for value in [
            None,
            Some(json!("")),
            Some(Value::Null),
            Some(json!(1)),
            Some(json!(["a"])),
        ] {
            let mut body = finished.exchange();
            match value {
                None => drop(body.as_object_mut().unwrap().remove(field)),
                Some(value) => body[field] = value,
            }
            let answer = server.post("/oauth/token", &[], &body);
            assert_eq!(answer.oauth_error(), (400, "invalid_request".to_owned()), "{body}");
            assert!(answer.json()["error_description"].as_str().unwrap().contains(field));
        }
    }
    finished.tokens(&server);
}

#[test]
fn an_unknown_grant_type_is_refused() {
    let (server, app) = server();
    for other in [
        "password",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "AUTHORIZATION_CODE",
        "implicit",
    ] {
        let body = json!({"grant_type": other, "client_id": app.test.publishable});
        let answer = server.post("/oauth/token", &[], &body);
        assert_eq!(answer.oauth_error(), (400, "unsupported_grant_type".to_owned()));
    }
}

#[test]
fn an_unknown_code_is_refused() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    for code in [
        "x",
        &finished.verifier,
        &"x".repeat(10_000),
        "' OR 1=1 --",
        "\u{0}",
        "é",
    ] {
        invalid_grant(&server, &with(&finished, "code", code));
    }
    // A link's public token is not a code, and a code is not a public token.
    let link = Flow::link(&app).finish(&server);
    invalid_grant(&server, &with(&finished, "code", &link.code));
    finished.tokens(&server);
}

#[test]
fn of_concurrent_exchanges_of_one_code_one_wins() {
    let (server, app) = server();
    for _ in 0..5 {
        let finished = Flow::of(&app).finish(&server);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let exchange = || server.post("/oauth/token", &[], &finished.exchange());
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(exchange)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 7));
        assert!(
            lost.iter()
                .all(|answer| answer.oauth_error() == (400, "invalid_grant".to_owned()))
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
        let token = won[0].json()["access_token"].as_str().unwrap().to_owned();
        assert_eq!(
            server.get("/oauth/introspect", &token).json()["active"],
            true,
            "a race is no theft"
        );
    }
}

#[test]
fn a_consent_that_was_revoked_meanwhile_gives_nothing() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let actor = tabularium::consent::Actor::Patient;
    server.store.consents().revoke(&finished.consent, actor).unwrap();
    invalid_grant(&server, &finished.exchange());
}

#[test]
fn a_source_that_was_not_authorized_is_not_exchanged() {
    let (server, app) = server();
    let flow = Flow::of(&app);
    let begun = flow.begin(&server.store, &server.lake);
    let left = TestEndpoint { name: "left", ..PAYER }.save(&server.store);
    let new = tabularium::consent::NewAuthorization {
        consent: &begun.consent,
        endpoint: &left,
        authorization_type: PAYER.authorization_type,
        usage: Usage::Multiple,
        identity_provider: None,
    };
    let left = server.store.authorizations().create(&new).unwrap();
    let verifier = "v".repeat(50);
    let challenge = {
        use base64::Engine;
        use sha2::Digest;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(&verifier))
    };
    let new = tabularium::consent::NewCode {
        consent: &begun.consent,
        client: &begun.client,
        redirect_uri: REDIRECT_URI,
        challenge: &challenge,
    };
    let code = server.store.codes().issue(&new).unwrap();
    let body = json!({"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT_URI,
        "code_verifier": verifier, "client_id": begun.client});
    assert_eq!(server.post("/oauth/token", &[], &body).status, 200);
    let left = server.store.authorizations().get(&left.id).unwrap().unwrap();
    assert_eq!(left.state, AuthorizationState::Created);
    assert!(server.store.jobs().of_authorization(&left.id).unwrap().is_empty());
    let jobs = server.store.jobs().of_authorization(&begun.authorizations[0]).unwrap();
    assert!(jobs[0].state != JobState::Failed);
}
