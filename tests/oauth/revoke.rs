//! `POST /oauth/revoke`.

use serde_json::{Value, json};
use tabularium::consent::{AuthorizationState, ConsentState, JobState, PublicKey, is_about, verify_receipt};
use tabularium::lake::Mode;
use tabularium::sync::carry_out_erasures;

use super::bearer;
use crate::harness::consented::{App, Flow, PAYER, TestEndpoint};
use crate::harness::records::{self, Record};
use crate::harness::server::{Answer, Server, rules};

fn server() -> (Server, App) {
    let server = Server::impatient(&[]);
    let app = App::register(&server.store, "app");
    (server, app)
}

fn revoke(server: &Server, tokens: &Value, secret: &str) -> Answer {
    server.post(
        "/oauth/revoke",
        &[("authorization", &bearer(tokens))],
        &json!({"secret_key": secret}),
    )
}

/// The erasure that a revocation over HTTP requests ends with a receipt, which the published keys verify.
#[test]
fn a_revocation_by_either_api_ends_with_a_receipt() {
    let (server, app) = server();
    for (path, flow) in [("/oauth/revoke", Flow::of(&app)), ("/link/revoke", Flow::link(&app))] {
        let flow = Flow {
            user: Some(path),
            ..flow
        };
        let finished = flow.finish(&server);
        let tokens = match path {
            "/link/revoke" => finished.link_tokens(&server, &app.test),
            _ => finished.tokens(&server),
        };
        let record = Record {
            mode: Mode::Test,
            application: app.id.clone(),
            owner: finished.owner,
            patient: Some(finished.patients[0].clone()),
            authorization: Some(finished.authorizations[0].clone()),
            ..Record::new(json!({"resourceType": "Patient", "id": finished.patients[0]}))
        };
        records::commit(&server.lake, &[record]);
        let body = json!({"secret_key": app.test.secret});
        let answer = server.post(path, &[("authorization", &bearer(&tokens))], &body);
        assert_eq!((answer.status, answer.json()), (200, json!({"count": 1})), "{path}");
        carry_out_erasures(&server.store, &server.lake, 0, &rules()).unwrap();
        let jobs = server.store.erasure_jobs().list(Some(&finished.consent), 9).unwrap();
        assert_eq!(jobs.len(), 1, "{path}: {jobs:?}");
        let published = server.send("GET", "/receipts/.well-known/jwks.json", &[], "").json();
        let keys = published["keys"].as_array().unwrap().iter();
        let keys: Vec<PublicKey> = keys.filter_map(PublicKey::from_jwk).collect();
        let claims = verify_receipt(jobs[0].receipt.as_ref().unwrap(), &keys).unwrap();
        let asked = &claims["asked"];
        assert_eq!(
            (&asked["how"], &asked["by"]),
            (&json!("revoke"), &json!("application")),
            "{path}"
        );
        assert_eq!(claims["resources"], json!({"Patient": 1}), "{path}");
        assert!(is_about(&claims, &finished.patients[0]), "{path}");
        assert_eq!(claims["search"]["files"]["found"], 0, "{path}");
    }
}

#[test]
fn the_consent_ends_with_its_tokens_jobs_and_authorizations() {
    let (server, app) = server();
    let places = [
        PAYER,
        TestEndpoint {
            name: "clinic",
            ..PAYER
        },
    ];
    let finished = Flow {
        places: &places,
        ..Flow::of(&app)
    }
    .finish(&server);
    let first = finished.tokens(&server);
    let refresh =
        json!({"grant_type": "refresh_token", "refresh_token": first["refresh_token"], "client_id": finished.client});
    let second = server.post("/oauth/token", &[], &refresh).json();
    let answer = revoke(&server, &second, &app.test.secret);
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({"count": 2})),
        "{}",
        answer.text
    );
    assert_eq!(answer.header("cache-control"), "no-store");

    let full_consent = server.store.consents().full(&finished.consent).unwrap().unwrap();
    assert_eq!(full_consent.consent.state, ConsentState::Revoked);
    for source in &full_consent.sources {
        assert_eq!(source.authorization.state, AuthorizationState::Revoked);
        assert!(source.authorization.revoked_at.is_some() && source.authorization.data_erased_at.is_some());
        assert!(matches!(source.sync, Some(JobState::Failed | JobState::Completed)));
    }
    for tokens in [&first, &second] {
        assert_eq!(
            server
                .get("/fhir/Patient", tokens["access_token"].as_str().unwrap())
                .status,
            401
        );
        assert_eq!(
            server
                .get("/oauth/introspect", tokens["access_token"].as_str().unwrap())
                .json()["active"],
            false
        );
    }
    let refresh =
        json!({"grant_type": "refresh_token", "refresh_token": second["refresh_token"], "client_id": finished.client});
    let answer = server.post("/oauth/token", &[], &refresh);
    assert_eq!(answer.oauth_error(), (400, "invalid_grant".to_owned()));
    assert_eq!(
        revoke(&server, &second, &app.test.secret).status,
        401,
        "a revoked token revokes nothing"
    );
}

#[test]
fn a_wrong_secret_key_is_401_and_ends_nothing() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let tokens = Flow::of(&app).finish(&server).tokens(&server);
    for secret in [
        &other.test.secret,
        &app.live.secret,
        &app.test.publishable,
        "x",
        "' OR 1=1 --",
    ] {
        let answer = revoke(&server, &tokens, secret);
        assert_eq!(answer.status, 401, "{}", answer.text);
        assert_eq!(answer.json().as_object().unwrap().len(), 1);
        assert!(answer.json()["message"].as_str().unwrap().contains("secret_key"));
        // The token is not the cause of the refusal.
        assert_eq!(answer.header("www-authenticate"), r#"Bearer realm="records""#);
    }
    assert_eq!(
        server
            .get("/oauth/introspect", tokens["access_token"].as_str().unwrap())
            .json()["active"],
        true
    );
}

#[test]
fn the_secret_key_is_one_in_use_of_the_application_and_mode() {
    let (server, app) = server();
    let tokens = Flow::of(&app).finish(&server).tokens(&server);
    let actor = tabularium::consent::Actor::Operator;
    let mode = tabularium::lake::Mode::Test;
    let fresh = server.store.clients().rotate(&app.id, mode, 60, actor).unwrap();
    server.store.clock().advance(60);
    assert_eq!(revoke(&server, &tokens, &app.test.secret).status, 401, "replaced");
    let secret = fresh.secret.unwrap();
    assert_eq!(revoke(&server, &tokens, &secret.to_uppercase()).status, 401);
    assert_eq!(revoke(&server, &tokens, &format!("{secret} ")).status, 401);
    assert_eq!(revoke(&server, &tokens, &secret).status, 200);
}

#[test]
fn the_secret_key_is_required() {
    let (server, app) = server();
    let tokens = Flow::of(&app).finish(&server).tokens(&server);
    for body in [
        json!({}),
        json!({"secret_key": ""}),
        json!({"secret_key": 1}),
        json!([]),
    ] {
        let answer = server.post("/oauth/revoke", &[("authorization", &bearer(&tokens))], &body);
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.json()["message"].is_string());
    }
}

#[test]
fn only_a_good_patient_token_revokes() {
    let (server, app) = server();
    let body = json!({"secret_key": app.test.secret});
    let none = server.post("/oauth/revoke", &[], &body);
    assert_eq!(none.status, 401);
    assert!(none.header("www-authenticate").starts_with("Bearer"));
    let application = server
        .tokens
        .for_application(&app.id, tabularium::lake::Mode::Test)
        .unwrap()
        .token;
    let answer = server.post(
        "/oauth/revoke",
        &[("authorization", &format!("Bearer {application}"))],
        &body,
    );
    assert_eq!(answer.status, 401);
    assert_eq!(
        answer.json()["message"],
        "A Consent access token is required for this endpoint."
    );
    let tokens = Flow::of(&app).finish(&server).tokens(&server);
    server.store.clock().advance(86_400);
    assert_eq!(revoke(&server, &tokens, &app.test.secret).status, 401, "expired");
}

#[test]
fn other_consents_stay() {
    let (server, app) = server();
    let (one, two) = (Flow::of(&app).finish(&server), Flow::of(&app).finish(&server));
    let (one, two) = (one.tokens(&server), two.tokens(&server));
    assert_eq!(revoke(&server, &one, &app.test.secret).json()["count"], 1);
    assert_eq!(
        server
            .get("/oauth/introspect", two["access_token"].as_str().unwrap())
            .json()["active"],
        true
    );
}

#[test]
fn a_consent_for_imported_records_is_the_operators_to_end() {
    let server = Server::impatient(&[json!({"resourceType": "Patient", "id": "anna"})]);
    let local = tabularium::consent::LOCAL_APPLICATION;
    let mode = tabularium::lake::Mode::Live;
    let keys = server
        .store
        .clients()
        .rotate(local, mode, 0, tabularium::consent::Actor::Operator)
        .unwrap();
    let token = server.patient_token("anna");
    let headers = [("authorization", format!("Bearer {token}"))];
    let headers = [(headers[0].0, headers[0].1.as_str())];
    if let Some(secret) = keys.secret {
        let answer = server.post("/oauth/revoke", &headers, &json!({"secret_key": secret}));
        assert_eq!(answer.status, 403, "{}", answer.text);
        assert!(answer.json()["message"].is_string());
    }
    assert_eq!(server.get("/fhir/Patient/anna", &token).status, 200);
}

#[test]
fn a_form_is_read_too() {
    let (server, app) = server();
    let tokens = Flow::of(&app).finish(&server).tokens(&server);
    let fields = json!({"secret_key": app.test.secret});
    let answer = server.post_form("/oauth/revoke", &[("authorization", &bearer(&tokens))], &fields);
    assert_eq!((answer.status, answer.json()), (200, json!({"count": 1})));
}

#[test]
fn whatever_races_a_revocation_leaves_no_token_alive() {
    let (server, app) = server();
    let introspected = |token: &Value| {
        server
            .get("/oauth/introspect", token.as_str().unwrap_or_default())
            .json()
    };
    for round in 0..6 {
        let finished = Flow::of(&app).finish(&server);
        // In half of the rounds the exchange itself is running, in the others a refresh is.
        let begun = (round % 2 == 1).then(|| finished.tokens(&server));
        let body = match &begun {
            None => finished.exchange(),
            Some(tokens) => {
                json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": finished.client})
            }
        };
        let granted: Vec<Value> = std::thread::scope(|scope| {
            let ask = || server.post("/oauth/token", &[], &body);
            let asking: Vec<_> = (0..3).map(|_| scope.spawn(ask)).collect();
            scope.spawn(|| {
                let actor = tabularium::consent::Actor::Patient;
                server.store.consents().revoke(&finished.consent, actor).unwrap()
            });
            let answers = asking.into_iter().map(|thread| thread.join().unwrap());
            answers
                .filter(|answer| answer.status == 200)
                .map(|answer| answer.json())
                .collect()
        });
        for tokens in granted.iter().chain(&begun) {
            assert_eq!(introspected(&tokens["access_token"])["active"], false);
            let again = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": finished.client});
            assert_eq!(server.post("/oauth/token", &[], &again).status, 400);
        }
        assert_eq!(server.post("/oauth/token", &[], &finished.exchange()).status, 400);
        let jobs = server
            .store
            .jobs()
            .of_authorization(&finished.authorizations[0])
            .unwrap();
        assert!(jobs.iter().all(|job| !job.state.is_open()), "{jobs:?}");
    }
}
