//! The accepted request bodies of `/oauth/token`.

use serde_json::json;

use crate::harness::consented::{App, Flow};
use crate::harness::server::Server;

fn server() -> (Server, App) {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    (server, app)
}

#[test]
fn a_field_that_comes_twice_is_an_invalid_request() {
    let (server, app) = server();
    let client = &app.test.publishable;
    for (content_type, body) in [
        (
            "application/x-www-form-urlencoded",
            format!("grant_type=refresh_token&grant_type=refresh_token&client_id={client}"),
        ),
        (
            "application/json",
            format!(r#"{{"client_id":"{client}","grant_type":"refresh_token","grant_type":"x"}}"#),
        ),
    ] {
        let answer = server.send("POST", "/oauth/token", &[("content-type", content_type)], &body);
        assert_eq!(answer.oauth_error(), (400, "invalid_request".to_owned()));
        assert!(answer.text.contains("grant_type came twice"));
    }
}

#[test]
fn a_body_that_cannot_be_read_is_an_invalid_request() {
    let (server, _app) = server();
    let long = format!("grant_type={}", "x".repeat(70_000));
    for (content_type, body, status) in [
        ("application/json", "{", 400),
        ("application/json", "[]", 400),
        ("application/json", "", 400),
        ("application/json", "grant_type=client_credentials", 400),
        ("application/json", r#"{"grant_type":"x"} trailing"#, 400),
        ("text/plain", "grant_type=client_credentials", 415),
        ("application/x-www-form-urlencoded", &long, 413),
    ] {
        let answer = server.send("POST", "/oauth/token", &[("content-type", content_type)], body);
        assert_eq!(
            answer.oauth_error(),
            (status, "invalid_request".to_owned()),
            "{content_type} {body:.40}"
        );
    }
}

#[test]
fn a_method_that_is_not_served_is_refused_in_the_same_form() {
    let (server, _app) = server();
    for method in ["GET", "PUT", "DELETE"] {
        for path in ["/oauth/token", "/oauth/register", "/link/token", "/link/exchange"] {
            let answer = server.send(method, path, &[], "");
            assert_eq!(
                answer.oauth_error(),
                (405, "invalid_request".to_owned()),
                "{method} {path}"
            );
            assert_eq!(answer.header("allow"), "POST");
        }
    }
}

#[test]
fn a_missing_grant_type_is_named_before_the_client() {
    let (server, app) = server();
    let (basic, json) = (app.test.basic(), "application/json");
    for (headers, body) in [
        (vec![("content-type", json)], "{}"),
        (vec![("content-type", json)], r#"{"grant_type":null,"code":"x"}"#),
        (vec![("content-type", "application/x-www-form-urlencoded")], "code=x"),
        (vec![], ""),
        (vec![("content-type", json), ("authorization", "Basic ???")], "{}"),
        (vec![("content-type", json), ("authorization", basic.as_str())], "{}"),
    ] {
        let answer = server.send("POST", "/oauth/token", &headers, body);
        assert_eq!(
            answer.oauth_error(),
            (400, "invalid_request".to_owned()),
            "{headers:?} {body}"
        );
        assert_eq!(answer.json()["error_description"], "the field grant_type is missing");
    }
    let named = server.post("/oauth/token", &[], &json!({"grant_type": "client_credentials"}));
    assert_eq!(named.oauth_error(), (401, "invalid_client".to_owned()));
    // A refresh token of a public client needs no client id, but the refresh token itself is missing here.
    let refresh = server.post("/oauth/token", &[], &json!({"grant_type": "refresh_token"}));
    assert_eq!(refresh.oauth_error(), (400, "invalid_request".to_owned()));
    assert_eq!(
        refresh.json()["error_description"],
        "the field refresh_token is missing"
    );
}

#[test]
fn a_store_that_fails_is_a_server_error_and_uses_nothing_up() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    let break_down =
        "CREATE TRIGGER broken BEFORE INSERT ON refresh_token BEGIN SELECT RAISE(ABORT, 'no space in /secret'); END";
    store.execute_batch(break_down).unwrap();
    let answer = server.post("/oauth/token", &[], &finished.exchange());
    assert_eq!(answer.oauth_error(), (500, "server_error".to_owned()));
    assert!(
        !answer.text.contains("secret") && !answer.text.contains("broken"),
        "{}",
        answer.text
    );
    assert!(!answer.header("x-request-id").is_empty());
    store.execute_batch("DROP TRIGGER broken").unwrap();
    let tokens = finished.tokens(&server);
    let spent = "CREATE TRIGGER broken BEFORE UPDATE ON refresh_token BEGIN SELECT RAISE(ABORT, 'no space'); END";
    store.execute_batch(spent).unwrap();
    let refresh =
        json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": finished.client});
    let answer = server.post("/oauth/token", &[], &refresh);
    assert_eq!(answer.oauth_error(), (500, "server_error".to_owned()));
    store.execute_batch("DROP TRIGGER broken").unwrap();
    assert_eq!(server.post("/oauth/token", &[], &refresh).status, 200);
}

#[test]
fn unknown_fields_are_left_alone() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let mut body = finished.exchange();
    body["state"] = json!("opaque");
    body["nested"] = json!({"deep": [1, 2, {"x": null}]});
    body["scope"] = json!("openid");
    let answer = server.post("/oauth/token", &[], &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[test]
fn injection_in_every_string_finds_nothing_and_breaks_nothing() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let attacks = [
        "'; DROP TABLE consent; --",
        "\" OR \"\"=\"",
        "<img src=x onerror=alert(1)>",
        "%00",
        "{{7*7}}",
        "\r\nSet-Cookie: a=b",
        "../../etc/passwd",
        "\u{202e}\u{0}\u{7f}",
    ];
    for field in [
        "grant_type",
        "code",
        "redirect_uri",
        "code_verifier",
        "client_id",
        "refresh_token",
    ] {
        for attack in attacks {
            for grant in ["authorization_code", "refresh_token"] {
                let mut body = finished.exchange();
                body["grant_type"] = json!(grant);
                body["refresh_token"] = json!("x");
                body["code"] = json!("x");
                body[field] = json!(attack);
                let (json, form) = (
                    server.post("/oauth/token", &[], &body),
                    server.post_form("/oauth/token", &[], &body),
                );
                for answer in [json, form] {
                    let (status, _) = answer.oauth_error();
                    assert!(matches!(status, 400 | 401), "{field} {attack}");
                    assert!(
                        !answer.text.contains("<img") && !answer.text.contains("DROP"),
                        "{}",
                        answer.text
                    );
                }
            }
        }
    }
    finished.tokens(&server);
}
