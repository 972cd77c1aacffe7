//! `GET /link/introspect`.

use serde_json::{Value, json};
use tabularium::lake::Mode;

use crate::harness::consented::{App, Flow, PAYER, TestEndpoint};
use crate::harness::server::Server;

fn server() -> (Server, App) {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    (server, app)
}

fn introspect(server: &Server, tokens: &Value) -> Value {
    let answer = server.get("/link/introspect", tokens["access_token"].as_str().unwrap());
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

#[test]
fn the_result_is_of_the_authorization() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    let tokens = finished.link_tokens(&server, &app.test);
    let result = introspect(&server, &tokens);
    let base = format!("http://{}/", server.address);
    assert_eq!(result["sub"], *finished.authorizations[0]);
    assert_eq!((&result["iss"], &result["aud"]), (&json!(base), &json!(base)));
    assert_eq!(
        (&result["state"], &result["active"]),
        (&json!("EXCHANGED"), &json!(true))
    );
    assert_eq!(result["client_id"], *app.test.publishable);
    for field in [
        "jti",
        "iat",
        "exp",
        "patient",
        "user",
        "usage",
        "endpoint",
        "sync",
        "timeUntilMaxAuth",
    ] {
        assert!(!result[field].is_null(), "{field}");
    }
    assert_eq!(result["timeUntilMaxAuth"], tokens["timeUntilMaxAuth"]);
    assert_eq!(result.as_object().unwrap().len(), 15);
}

#[test]
fn it_alone_shows_that_a_multiple_authorization_was_refreshed() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    let tokens = finished.link_tokens(&server, &app.test);
    let basic = app.test.basic();
    let refresh = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
    let second = server
        .post("/link/token", &[("authorization", &basic)], &refresh)
        .json();
    assert_eq!(introspect(&server, &second)["state"], "REFRESHED");
    assert_eq!(introspect(&server, &tokens)["state"], "REFRESHED");
    let elsewhere = server
        .get("/oauth/introspect", second["access_token"].as_str().unwrap())
        .json();
    assert_eq!(
        (&elsewhere["state"], &elsewhere["sub"]),
        (&json!("EXCHANGED"), &json!(finished.consent))
    );
}

#[test]
fn one_time_usage_is_never_refreshed() {
    let (server, app) = server();
    let finished = Flow::once(&app).finish(&server);
    let tokens = finished.tokens(&server);
    let refresh =
        json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": finished.client});
    let second = server.post("/oauth/token", &[], &refresh).json();
    assert_eq!(introspect(&server, &second)["state"], "EXCHANGED");
}

#[test]
fn with_several_sources_it_is_of_the_primary_one() {
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
    let result = introspect(&server, &finished.tokens(&server));
    assert_eq!(
        (&result["sub"], &result["endpoint"]["name"]),
        (&json!(finished.authorizations[0]), &json!("payer"))
    );
}

#[test]
fn dead_tokens_are_inactive_and_others_401() {
    let (server, app) = server();
    let finished = Flow::link(&app).finish(&server);
    let tokens = finished.link_tokens(&server, &app.test);
    server.store.clock().advance(86_400);
    assert_eq!(introspect(&server, &tokens)["active"], false);
    let application = server.tokens.for_application(&app.id, Mode::Test).unwrap().token;
    for token in ["x", &application] {
        let answer = server.get("/link/introspect", token);
        assert_eq!(answer.status, 401);
        assert!(answer.json()["message"].is_string());
        assert!(answer.header("www-authenticate").starts_with("Bearer "));
    }
    assert_eq!(server.send("GET", "/link/introspect", &[], "").status, 401);
}
