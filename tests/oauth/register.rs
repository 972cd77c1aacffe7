//! `POST /oauth/register` (RFC 7591).

use serde_json::{Value, json};
use tabularium::consent::{Actor, REGISTRATION_SECONDS};
use tabularium::lake::Mode;

use crate::harness::consented::{App, Flow, Keys, REDIRECT_URI, basic};
use crate::harness::server::{START, Server};

fn metadata() -> Value {
    json!({"redirect_uris": ["https://client.example/cb"], "client_name": "A client"})
}

fn refused(server: &Server, body: &Value, error: &str) {
    let answer = server.post("/oauth/register", &[], body);
    assert_eq!(answer.oauth_error(), (400, error.to_owned()), "{body}");
}

#[test]
fn a_client_is_registered_for_test_mode_with_its_metadata() {
    let server = Server::start(&[]);
    let answer = server.post("/oauth/register", &[], &metadata());
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    let client = answer.json();
    let (id, secret) = (
        client["client_id"].as_str().unwrap(),
        client["client_secret"].as_str().unwrap(),
    );
    assert!(id.starts_with("pk_test_") && secret.starts_with("sk_test_"));
    assert_eq!(
        (&client["client_id_issued_at"], &client["client_secret_expires_at"]),
        (&json!(START), &json!(0))
    );
    assert_eq!(client["redirect_uris"], metadata()["redirect_uris"]);
    assert_eq!(client["client_name"], "A client");
    assert_eq!(client["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(
        client["grant_types"],
        json!(["authorization_code", "refresh_token", "client_credentials"])
    );
    assert_eq!(client["response_types"], json!(["code"]));
    assert_eq!(client["scope"], "launch/patient offline_access");
    let body = json!({"grant_type": "client_credentials"});
    let answer = server.post("/oauth/token", &[("authorization", &basic(id, secret))], &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(server.store.clients().get(id).unwrap().unwrap().mode, Mode::Test);
}

/// Most libraries send their keys in the body by default after a registration.
#[test]
fn a_client_that_registers_for_client_secret_post_gets_what_it_asked_for() {
    let server = Server::start(&[]);
    let mut body = metadata();
    body["token_endpoint_auth_method"] = json!("client_secret_post");
    let answer = server.post("/oauth/register", &[], &body);
    assert_eq!(answer.status, 201, "{}", answer.text);
    let client = answer.json();
    assert_eq!(client["token_endpoint_auth_method"], "client_secret_post");
    let own = json!({"grant_type": "client_credentials", "client_id": client["client_id"],
        "client_secret": client["client_secret"]});
    for path in ["/oauth/token", "/link/token"] {
        let answer = server.post_form(path, &[], &own);
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

#[test]
fn a_public_client_gets_no_secret() {
    let server = Server::start(&[]);
    let mut body = metadata();
    body["token_endpoint_auth_method"] = json!("none");
    body["grant_types"] = json!(["authorization_code", "refresh_token"]);
    body["redirect_uris"] = json!(["com.example.app:/callback", "http://127.0.0.1/cb"]);
    body["contacts"] = json!(["me@client.example"]);
    body["client_uri"] = json!("https://client.example");
    body["unknown"] = json!({"left": "alone"});
    let answer = server.post("/oauth/register", &[], &body);
    assert_eq!(answer.status, 201, "{}", answer.text);
    let client = answer.json();
    assert!(client.get("client_secret").is_none() && client.get("unknown").is_none());
    assert_eq!(client["client_secret_expires_at"], 0);
    assert_eq!(
        (&client["contacts"], &client["client_uri"]),
        (&body["contacts"], &body["client_uri"])
    );
    let pair = basic(client["client_id"].as_str().unwrap(), "anything");
    let body = json!({"grant_type": "client_credentials"});
    let answer = server.post("/oauth/token", &[("authorization", &pair)], &body);
    assert_eq!(answer.oauth_error(), (401, "invalid_client".to_owned()));
}

#[test]
fn an_initial_access_token_registers_one_live_client() {
    let server = Server::start(&[]);
    let token = server.store.registration_tokens().create(Actor::Operator).unwrap();
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    // A refused request does not use it up.
    assert_eq!(server.post("/oauth/register", &headers, &json!({})).status, 400);
    let answer = server.post("/oauth/register", &headers, &metadata());
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert!(answer.json()["client_id"].as_str().unwrap().starts_with("pk_live_"));
    let late = server.store.registration_tokens().create(Actor::Operator).unwrap();
    server.store.clock().advance(REGISTRATION_SECONDS);
    for value in [&bearer, &format!("Bearer {late}"), "Bearer x", "Basic eDp5", ""] {
        let answer = server.post("/oauth/register", &[("authorization", value)], &metadata());
        assert_eq!(answer.oauth_error(), (401, "invalid_token".to_owned()), "{value}");
        assert_eq!(answer.header("www-authenticate"), r#"Bearer error="invalid_token""#);
    }
}

#[test]
fn bad_redirect_uris_are_invalid_redirect_uri() {
    let server = Server::start(&[]);
    for uris in [
        json!(null),
        json!([]),
        json!("https://client.example/cb"),
        json!([1]),
        json!(["http://client.example/cb"]),
        json!(["https://client.example/cb#fragment"]),
        json!(["javascript:alert(1)"]),
        json!(["not a uri"]),
        json!(["https://good.example/cb", "ftp://bad.example"]),
        json!(["https://x.example/cb", "';DROP TABLE redirect_uri;--"]),
    ] {
        let mut body = metadata();
        body["redirect_uris"] = uris;
        refused(&server, &body, "invalid_redirect_uri");
    }
    assert!(
        server
            .store
            .applications()
            .all()
            .unwrap()
            .iter()
            .all(|one| one.registration.is_none()),
        "nothing is left"
    );
}

#[test]
fn bad_metadata_is_invalid_client_metadata() {
    let server = Server::start(&[]);
    for (name, value) in [
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("token_endpoint_auth_method", json!(1)),
        ("grant_types", json!(["implicit"])),
        ("grant_types", json!("authorization_code")),
        ("response_types", json!(["token"])),
        ("response_types", json!([])),
        ("client_name", json!(["x"])),
        ("client_name", json!("x".repeat(300))),
        ("client_uri", json!("javascript:alert(1)")),
        ("logo_uri", json!("not an address")),
        ("contacts", json!("me")),
        ("scope", json!(1)),
    ] {
        let mut body = metadata();
        body[name] = value;
        refused(&server, &body, "invalid_client_metadata");
    }
    let mut body = metadata();
    body["token_endpoint_auth_method"] = json!("none");
    body["grant_types"] = json!(["authorization_code", "client_credentials"]);
    refused(&server, &body, "invalid_client_metadata");
    for body in [json!([]), json!("x"), json!(null)] {
        refused(&server, &body, "invalid_client_metadata");
    }
}

#[test]
fn a_client_of_client_credentials_needs_no_redirect_uri() {
    let server = Server::start(&[]);
    let body = json!({"grant_types": ["client_credentials"], "client_name": "Batch"});
    let answer = server.post("/oauth/register", &[], &body);
    assert_eq!(answer.status, 201, "{}", answer.text);
    let client = answer.json();
    assert_eq!(
        (&client["grant_types"], &client["response_types"]),
        (&json!(["client_credentials"]), &json!([]))
    );
    assert!(client.get("scope").is_none(), "scopes are for patients' tokens");
    let public = json!({"grant_types": [], "token_endpoint_auth_method": "none"});
    refused(&server, &public, "invalid_redirect_uri");
}

/// A client can use exactly the grants in its registration response (RFC 7591, section 3.2.1).
#[test]
fn the_grants_that_are_answered_are_those_that_the_token_endpoint_gives() {
    let server = Server::start(&[]);
    for asked in [
        json!({}),
        json!({"grant_types": ["authorization_code"]}),
        json!({"grant_types": ["client_credentials"]}),
        json!({"token_endpoint_auth_method": "client_secret_post"}),
        json!({"token_endpoint_auth_method": "none"}),
        json!({"token_endpoint_auth_method": "none", "grant_types": ["authorization_code"]}),
        json!({"grant_types": ["client_credentials"], "redirect_uris": []}),
    ] {
        let mut body = json!({"redirect_uris": [REDIRECT_URI]});
        body.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let client = server.post("/oauth/register", &[], &body).json();
        let listed = |grant: &str| client["grant_types"].as_array().unwrap().contains(&json!(grant));
        let (id, secret) = (client["client_id"].as_str().unwrap(), client["client_secret"].as_str());
        assert_eq!(secret.is_some(), client["token_endpoint_auth_method"] != "none");
        let own = json!({"grant_type": "client_credentials"});
        let pair = basic(id, secret.unwrap_or("anything"));
        let answer = server.post("/oauth/token", &[("authorization", &pair)], &own);
        assert_eq!(
            answer.status == 200,
            listed("client_credentials"),
            "{asked} {}",
            answer.text
        );
        assert_eq!(
            listed("authorization_code"),
            client["response_types"] == json!(["code"])
        );
        assert_eq!(
            listed("authorization_code"),
            client["scope"] == "launch/patient offline_access"
        );
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs([
            ("client_id", id),
            ("redirect_uri", REDIRECT_URI),
            ("response_type", "code"),
            ("code_challenge_method", "S256"),
            ("code_challenge", &"c".repeat(43)),
            ("scope", "launch/patient offline_access"),
            ("svc_external_id", "user-1"),
        ]);
        let entered = server.send("HEAD", &format!("/oauth/authorize?{}", query.finish()), &[], "");
        assert_eq!(entered.status != 400, listed("authorization_code"), "{asked}");
        if !listed("authorization_code") {
            continue;
        }
        let keys = |secret: Option<&str>| Keys {
            publishable: id.to_owned(),
            secret: secret.unwrap_or_default().to_owned(),
        };
        let app = App {
            id: server.store.clients().get(id).unwrap().unwrap().application.to_string(),
            test: keys(secret),
            live: keys(None),
        };
        let tokens = Flow::of(&app).finish(&server).tokens(&server);
        let refresh = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": id});
        let answer = server.post("/oauth/token", &[], &refresh);
        assert_eq!(answer.status == 200, listed("refresh_token"), "{asked} {}", answer.text);
    }
}

#[test]
fn registrations_are_json() {
    let server = Server::start(&[]);
    let answer = server.send("POST", "/oauth/register", &[("content-type", "text/plain")], "{}");
    assert_eq!(answer.oauth_error(), (415, "invalid_request".to_owned()));
    let long = json!({"client_name": "x".repeat(70_000)});
    assert_eq!(
        server.post("/oauth/register", &[], &long).oauth_error(),
        (413, "invalid_request".to_owned())
    );
}

#[test]
fn scopes_are_those_that_every_client_may_ask_for() {
    let server = Server::start(&[]);
    for scope in ["openid launch/patient fhirUser <script>", "launch/patient", ""] {
        let mut body = metadata();
        body["scope"] = json!(scope);
        let client = server.post("/oauth/register", &[], &body).json();
        assert_eq!(client["scope"], "launch/patient offline_access", "{scope}");
    }
}
