//! Client authentication at `/oauth/token`, and tokens for the client itself.

use serde_json::json;
use tabularium::lake::Mode;

use super::claims;
use crate::harness::consented::{App, Flow, basic};
use crate::harness::server::{START, Server};

fn server() -> (Server, App) {
    let server = Server::start(&[json!({"resourceType": "Patient", "id": "anna"})]);
    let app = App::register(&server.store, "app");
    (server, app)
}

#[test]
fn client_credentials_give_an_application_token_of_the_keys_mode() {
    let (server, app) = server();
    for mode in [Mode::Live, Mode::Test] {
        let keys = app.keys(mode);
        for form in [false, true] {
            let body = json!({"grant_type": "client_credentials"});
            let headers = [("authorization", keys.basic())];
            let headers = [(headers[0].0, headers[0].1.as_str())];
            let answer = if form {
                server.post_form("/oauth/token", &headers, &body)
            } else {
                server.post("/oauth/token", &headers, &body)
            };
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert_eq!(answer.header("cache-control"), "no-store");
            let tokens = answer.json();
            assert_eq!(
                (&tokens["token_type"], &tokens["expires_in"]),
                (&json!("Bearer"), &json!(1_800))
            );
            assert_eq!(tokens.as_object().unwrap().len(), 3, "no refresh token: {tokens}");
            let token = tokens["access_token"].as_str().unwrap();
            let claims = claims(token);
            assert_eq!(
                (&claims["sub"], &claims["client_id"]),
                (&json!(keys.publishable), &json!(keys.publishable))
            );
            assert_eq!(claims["exp"], START + 1_800);
            assert!(claims.get("patient").is_none());
            let expected = if mode == Mode::Live { 200 } else { 403 };
            assert_eq!(server.get("/fhir/Patient", token).status, expected);
        }
    }
}

#[test]
fn client_credentials_need_the_key_pair() {
    let (server, app) = server();
    let body = json!({"grant_type": "client_credentials", "client_id": app.test.publishable});
    assert_eq!(
        server.post("/oauth/token", &[], &body).oauth_error(),
        (401, "invalid_client".to_owned())
    );
}

#[test]
fn a_wrong_key_pair_is_an_invalid_client() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let pairs = [
        // An unknown key.
        ("pk_test_unknown", app.test.secret.as_str()),
        (&app.test.publishable, "sk_test_unknown"),
        // Keys of different modes, and of different applications.
        (&app.test.publishable, &app.live.secret),
        (&app.live.publishable, &app.test.secret),
        (&app.test.publishable, &other.test.secret),
        // Swapped keys, and one of them twice.
        (&app.test.secret, &app.test.publishable),
        (&app.test.publishable, &app.test.publishable),
        (&app.test.publishable, "' OR '1'='1"),
    ];
    for (publishable, secret) in pairs {
        let body = json!({"grant_type": "client_credentials"});
        let answer = server.post("/oauth/token", &[("authorization", &basic(publishable, secret))], &body);
        assert_eq!(
            answer.oauth_error(),
            (401, "invalid_client".to_owned()),
            "{publishable}:{secret}"
        );
    }
}

#[test]
fn percent_encoded_halves_are_the_same_pair() {
    let (server, app) = server();
    let encoded = |text: &str| text.replace('_', "%5F").replace('-', "%2d");
    let basic = basic(&encoded(&app.test.publishable), &encoded(&app.test.secret));
    let body = json!({"grant_type": "client_credentials"});
    let answer = server.post("/oauth/token", &[("authorization", &basic)], &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[test]
fn an_authorization_header_that_is_no_key_pair_is_refused() {
    let (server, app) = server();
    let body = json!({"grant_type": "client_credentials"});
    let token = server.tokens.for_application(&app.id, Mode::Test).unwrap().token;
    for value in [
        "Basic",
        "Basic ???",
        "Basic cGs6",
        "Negotiate abc",
        &format!("Bearer {token}"),
    ] {
        let answer = server.post("/oauth/token", &[("authorization", value)], &body);
        assert_eq!(answer.oauth_error(), (401, "invalid_client".to_owned()), "{value}");
    }
}

#[test]
fn a_client_names_itself_in_exactly_one_way() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let basic = app.test.basic();
    let answer = server.post("/oauth/token", &[("authorization", &basic)], &finished.exchange());
    assert_eq!(
        answer.oauth_error(),
        (400, "invalid_request".to_owned()),
        "both at once"
    );
    let mut none = finished.exchange();
    none.as_object_mut().unwrap().remove("client_id");
    assert_eq!(
        server.post("/oauth/token", &[], &none).oauth_error(),
        (401, "invalid_client".to_owned())
    );
    let mut in_body = finished.exchange();
    in_body["client_secret"] = json!(app.test.secret);
    let answer = server.post("/oauth/token", &[("authorization", &basic)], &in_body);
    assert_eq!(
        answer.oauth_error(),
        (400, "invalid_request".to_owned()),
        "the key pair twice"
    );
    in_body.as_object_mut().unwrap().remove("client_id");
    for headers in [&[][..], &[("authorization", basic.as_str())]] {
        let answer = server.post("/oauth/token", headers, &in_body);
        assert_eq!(answer.oauth_error(), (400, "invalid_request".to_owned()));
    }
    let mut unknown = finished.exchange();
    unknown["client_id"] = json!("pk_test_unknown");
    assert_eq!(
        server.post("/oauth/token", &[], &unknown).oauth_error(),
        (401, "invalid_client".to_owned())
    );
    finished.tokens(&server);
}

/// RFC 6749, section 2.3.1: many libraries send this by default.
#[test]
fn the_key_pair_may_come_in_the_body() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let own = |client: &str, secret: &str| json!({"grant_type": "client_credentials", "client_id": client, "client_secret": secret});
    for path in ["/oauth/token", "/link/token"] {
        for mode in [Mode::Live, Mode::Test] {
            let keys = app.keys(mode);
            let body = own(&keys.publishable, &keys.secret);
            for answer in [server.post(path, &[], &body), server.post_form(path, &[], &body)] {
                assert_eq!(answer.status, 200, "{}", answer.text);
                let claims = claims(answer.json()["access_token"].as_str().unwrap());
                assert_eq!(claims["client_id"], *keys.publishable);
            }
        }
        for (client, secret) in [
            (app.test.publishable.as_str(), "sk_test_unknown"),
            (&app.test.publishable, &app.live.secret),
            (&app.test.publishable, &other.test.secret),
            (&app.test.secret, &app.test.publishable),
            ("pk_test_unknown", &app.test.secret),
        ] {
            let answer = server.post(path, &[], &own(client, secret));
            assert_eq!(answer.oauth_error(), (401, "invalid_client".to_owned()), "{client}");
        }
    }
    // A code is exchanged only for the client with the right secret key.
    let finished = Flow::of(&app).finish(&server);
    let mut body = finished.exchange();
    body["client_secret"] = json!(other.test.secret);
    assert_eq!(
        server.post("/oauth/token", &[], &body).oauth_error(),
        (401, "invalid_client".to_owned())
    );
    body["client_secret"] = json!(app.test.secret);
    let answer = server.post_form("/oauth/token", &[], &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
}
