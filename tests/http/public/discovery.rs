//! Discovery documents. Scripts of any page may read these and nothing else.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::server::Server;

const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
const SMART: [&str; 2] = [
    "/.well-known/smart-configuration",
    "/fhir/.well-known/smart-configuration",
];
const JWKS: &str = "/.well-known/jwks.json";

fn document(server: &Server, path: &str) -> Value {
    let answer = server.send("GET", path, &[], "");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json"),
        "{path}"
    );
    answer.json()
}

fn names(document: &Value) -> BTreeSet<&str> {
    document.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_authorization_servers_metadata_has_the_fields_of_rfc_8414() {
    let server = Server::start(&[]);
    let base = format!("http://{}", server.address);
    let expected = json!({
        "issuer": format!("{base}/"),
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "registration_endpoint": format!("{base}/oauth/register"),
        "jwks_uri": format!("{base}/.well-known/jwks.json"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "scopes_supported": ["launch/patient", "offline_access"],
    });
    assert_eq!(document(&server, AUTHORIZATION_SERVER), expected);
    let openid = document(&server, OPENID);
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&openid[name], value);
    }
    assert_eq!(openid["subject_types_supported"], json!(["public"]));
    assert_eq!(openid["id_token_signing_alg_values_supported"], json!(["RS256"]));
    let documentation = openid["service_documentation"].as_str().unwrap();
    let docs = server.send("GET", documentation.strip_prefix(&base).unwrap(), &[], "");
    assert_eq!(docs.status, 200);
    assert_eq!(names(&openid).len(), names(&expected).len() + 3);
}

#[test]
fn smart_apps_are_sent_to_a_flow_that_they_can_speak() {
    let server = Server::start(&[]);
    let base = format!("http://{}", server.address);
    let [root, fhir] = SMART.map(|path| document(&server, path));
    assert_eq!(root, fhir);
    assert_eq!(root["authorization_endpoint"], format!("{base}/link/auth"));
    assert_eq!(root["token_endpoint"], format!("{base}/link/token"));
    let capabilities = [
        "health-cards",
        "launch-standalone",
        "client-public",
        "client-confidential-symmetric",
        "context-standalone-patient",
        "permission-offline",
        "permission-patient",
    ];
    assert_eq!(root["capabilities"], json!(capabilities));
    let expected = [
        "authorization_endpoint",
        "capabilities",
        "code_challenge_methods_supported",
        "grant_types_supported",
        "issuer",
        "jwks_uri",
        "response_types_supported",
        "scopes_supported",
        "token_endpoint",
        "token_endpoint_auth_methods_supported",
    ];
    assert_eq!(names(&root), expected.into());
}

#[test]
fn the_openapi_document_has_the_flows_that_discovery_tells_of() {
    let server = Server::start(&[]);
    let discovered = document(&server, AUTHORIZATION_SERVER);
    let openapi = document(&server, "/openapi.json");
    let scheme = &openapi["components"]["securitySchemes"]["oauth2"];
    assert_eq!(scheme["type"], "oauth2");
    let code = &scheme["flows"]["authorizationCode"];
    assert_eq!(code["authorizationUrl"], discovered["authorization_endpoint"]);
    for url in ["tokenUrl", "refreshUrl"] {
        assert_eq!(code[url], discovered["token_endpoint"]);
    }
    let scopes: Vec<&str> = discovered["scopes_supported"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(names(&code["scopes"]), scopes.into_iter().collect());
    let own = &scheme["flows"]["clientCredentials"];
    assert_eq!(own["tokenUrl"], discovered["token_endpoint"]);
    assert!(names(&own["scopes"]).is_empty());
    // A client may also use an existing token.
    assert_eq!(openapi["security"], json!([{"oauth2": []}, {"bearer": []}]));
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for scheme in operation["security"].as_array().into_iter().flatten() {
                for name in scheme.as_object().unwrap().keys() {
                    let known = openapi["components"]["securitySchemes"].get(name);
                    assert!(known.is_some(), "{method} {path}: {name}");
                }
            }
        }
    }
}

#[test]
fn the_capability_statement_names_the_same_addresses() {
    let server = Server::start(&[]);
    let smart = document(&server, SMART[1]);
    let statement = server.send("GET", "/fhir/metadata", &[], "").json();
    let security = &statement["rest"][0]["security"];
    assert_eq!(security["service"][0]["coding"][0]["code"], "SMART-on-FHIR");
    let extension = &security["extension"][0];
    assert_eq!(
        extension["url"],
        "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris"
    );
    assert_eq!(
        extension["extension"],
        json!([
            {"url": "authorize", "valueUri": smart["authorization_endpoint"]},
            {"url": "token", "valueUri": smart["token_endpoint"]},
        ])
    );
}

#[test]
fn every_issuer_equals_that_of_tokens_byte_for_byte() {
    use base64::Engine;
    let server = Server::start(&[]);
    let token = server.application_token();
    let claims = token.split('.').nth(1).unwrap();
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    for path in [AUTHORIZATION_SERVER, OPENID, SMART[0], SMART[1]] {
        assert_eq!(document(&server, path)["issuer"], claims["iss"], "{path}");
    }
    assert_eq!(claims["iss"], claims["aud"]);
    assert!(claims["iss"].as_str().unwrap().ends_with('/'));
}

#[test]
fn the_key_set_verifies_tokens_and_keeps_rotated_keys_until_their_tokens_expire() {
    let server = Server::start(&[]);
    let kid = |token: &str| jsonwebtoken::decode_header(token).unwrap().kid.unwrap();
    let listed = || -> Vec<String> {
        let keys = document(&server, JWKS);
        let keys = keys["keys"].as_array().unwrap().clone();
        for key in &keys {
            assert_eq!(
                (&key["kty"], &key["use"], &key["alg"]),
                (&json!("RSA"), &json!("sig"), &json!("RS256"))
            );
            for private in ["d", "p", "q", "dp", "dq", "qi", "k"] {
                assert!(key.get(private).is_none(), "{private} is told");
            }
        }
        keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    };
    let before = kid(&server.application_token());
    assert_eq!(listed(), [before.as_str()]);
    server.store.signing_keys().rotate().unwrap();
    let after = kid(&server.application_token());
    assert_eq!(listed(), [after.as_str(), &before]);
    server.store.clock().advance(86_401);
    server.store.signing_keys().rotate().unwrap();
    let newest = kid(&server.application_token());
    assert_eq!(listed(), [newest.as_str(), &after]);
}

#[test]
fn scripts_of_any_page_may_read_discovery_and_nothing_else() {
    let server = Server::start(&[]);
    let origin = ("origin", "https://app.example");
    for path in [AUTHORIZATION_SERVER, OPENID, SMART[0], SMART[1], JWKS] {
        let answer = server.send("GET", path, &[origin], "");
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
        let asking = [
            origin,
            ("access-control-request-method", "GET"),
            ("access-control-request-headers", "x-a"),
        ];
        let preflight = server.send("OPTIONS", path, &asking, "");
        assert_eq!(
            (preflight.status, preflight.header("access-control-allow-origin")),
            (204, "*"),
            "{path}"
        );
        assert_eq!(preflight.header("access-control-allow-headers"), "*");
        assert!(preflight.header("access-control-allow-methods").contains("GET"));
        assert_eq!(preflight.header("access-control-allow-credentials"), "");
    }
    let bearer = format!("Bearer {}", server.application_token());
    for path in [
        "/fhir/metadata",
        "/fhir/Patient",
        "/openapi.json",
        "/endpoints",
        "/rest/consents",
        "/oauth/token",
    ] {
        for method in ["GET", "OPTIONS"] {
            let answer = server.send(method, path, &[origin, ("authorization", &bearer)], "");
            assert_eq!(answer.header("access-control-allow-origin"), "", "{method} {path}");
        }
    }
}
