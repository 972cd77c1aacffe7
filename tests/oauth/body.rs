//! What `/oauth/token` reads.

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
    for (ty, body) in [
        (
            "application/x-www-form-urlencoded",
            format!("grant_type=refresh_token&grant_type=refresh_token&client_id={client}"),
        ),
        (
            "application/json",
            format!(r#"{{"client_id":"{client}","grant_type":"refresh_token","grant_type":"x"}}"#),
        ),
    ] {
        let answer = server.send("POST", "/oauth/token", &[("content-type", ty)], &body);
        assert_eq!(answer.oauth_error(), (400, "invalid_request".to_owned()));
        assert!(answer.text.contains("grant_type came twice"));
    }
}

#[test]
fn a_body_that_cannot_be_read_is_an_invalid_request() {
    let (server, _app) = server();
    let long = format!("grant_type={}", "x".repeat(70_000));
    for (ty, body, status) in [
        ("application/json", "{", 400),
        ("application/json", "[]", 400),
        ("application/json", "", 400),
        ("application/json", "grant_type=client_credentials", 400),
        ("application/json", r#"{"grant_type":"x"} trailing"#, 400),
        ("text/plain", "grant_type=client_credentials", 415),
        ("application/x-www-form-urlencoded", &long, 413),
    ] {
        let answer = server.send("POST", "/oauth/token", &[("content-type", ty)], body);
        assert_eq!(
            answer.oauth_error(),
            (status, "invalid_request".to_owned()),
            "{ty} {body:.40}"
        );
    }
}

#[test]
fn a_method_that_is_not_served_is_refused_in_the_same_form() {
    let (server, _app) = server();
    for method in ["GET", "PUT", "DELETE"] {
        let answer = server.send(method, "/oauth/token", &[], "");
        assert_eq!(answer.status, 405, "{method} {}", answer.text);
    }
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
