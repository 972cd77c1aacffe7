//! Bearer tokens of all kinds at the FHIR routes.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tabularium::consent::LOCAL_APPLICATION;
use tabularium::lake::Mode;

use crate::harness::consented::{App, Flow};
use crate::harness::server::{Answer, START, Server};

fn server() -> Server {
    Server::start(&[
        json!({"resourceType": "Patient", "id": "anna", "birthDate": "1970"}),
        json!({"resourceType": "Patient", "id": "ben", "birthDate": "1980"}),
    ])
}

fn refused(answer: &Answer) {
    assert_eq!(answer.status, 401, "{}", answer.text);
    assert_eq!(answer.issue(), "login");
    let challenge = answer.header("www-authenticate");
    assert!(challenge.starts_with("Bearer "), "{challenge}");
    assert!(challenge.contains(r#"error="invalid_token""#), "{challenge}");
}

/// A token's part, decoded.
fn part(token: &str, at: usize) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(at).unwrap()).unwrap()).unwrap()
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[test]
fn claims_are_those_of_the_specification() {
    let server = server();
    let base = format!("http://{}/", server.address);
    let client = server.store.clients().of(LOCAL_APPLICATION, Mode::Live).unwrap().id;

    let token = server.patient_token("anna");
    let header = part(&token, 0);
    assert_eq!((&header["alg"], &header["typ"]), (&json!("RS256"), &json!("at+jwt")));
    assert_eq!(
        header["kid"].as_str(),
        server.store.signing_keys().jwks().keys[0].common.key_id.as_deref()
    );
    let claims = part(&token, 1);
    assert!(uuid::Uuid::parse_str(claims["jti"].as_str().unwrap()).is_ok());
    assert!(uuid::Uuid::parse_str(claims["sub"].as_str().unwrap()).is_ok());
    assert_eq!(claims["patient"], "Patient/anna");
    assert_eq!(claims["client_id"], *client);
    assert_eq!(
        (&claims["iat"], &claims["exp"]),
        (&json!(START), &json!(START + 86_400))
    );
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(base), &json!(base)));
    assert_eq!(claims.as_object().unwrap().len(), 8);

    let claims = part(&server.application_token(), 1);
    assert_eq!(claims["sub"], claims["client_id"]);
    assert_eq!(claims["client_id"], *client);
    assert_eq!(claims["exp"], START + 1_800);
    assert_eq!(claims.as_object().unwrap().len(), 7, "no patient claim");
}

#[test]
fn both_kinds_of_token_read() {
    let server = server();
    for token in [server.patient_token("anna"), server.application_token()] {
        let answer = server.get("/fhir/Patient/anna", &token);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.json()["id"], "anna");
    }
    let lower = format!("bearer {}", server.application_token());
    assert_eq!(
        server
            .send("GET", "/fhir/Patient/anna", &[("authorization", &lower)], "")
            .status,
        200
    );
}

#[test]
fn every_route_but_metadata_needs_a_token() {
    let server = server();
    for (method, path) in [
        ("GET", "/fhir/Patient/anna"),
        ("HEAD", "/fhir/Patient/anna"),
        ("GET", "/fhir/Patient"),
        ("GET", "/fhir/Patient?_id=anna"),
        ("POST", "/fhir/Patient/_search"),
        ("POST", "/fhir/ViewDefinition/$run"),
        ("GET", "/fhir/Nonsense/1"),
        ("GET", "/fhir/a/b/c/d"),
        ("GET", "/fhir"),
        ("DELETE", "/fhir/Patient/anna"),
    ] {
        let answer = server.send(method, path, &[], "");
        assert_eq!(answer.status, 401, "{method} {path}");
        assert_eq!(
            answer.header("www-authenticate"),
            r#"Bearer realm="records""#,
            "no error code when nothing was sent"
        );
        if method != "HEAD" {
            assert_eq!(answer.issue(), "login");
        }
    }
    assert_eq!(server.send("GET", "/fhir/metadata", &[], "").status, 200);
    assert_eq!(
        server
            .send("GET", "/fhir/Patient/anna", &[("authorization", "Basic YTpi")], "")
            .status,
        401
    );
}

#[test]
fn malformed_tokens_are_refused() {
    let server = server();
    let good = server.application_token();
    let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts")
    };
    let other_claims = {
        let mut claims = part(&good, 1);
        claims["exp"] = json!(START + 1_000_000);
        encoded(&claims)
    };
    for bad in [
        String::from("x"),
        String::from("a.b.c"),
        format!("{header}.{claims}"),
        format!("{header}.{claims}."),
        format!("{header}.{claims}.{signature}.more"),
        format!("{header}.{other_claims}.{signature}"),
        format!("{header}.{claims}.{}", signature.chars().rev().collect::<String>()),
        "x".repeat(9_000),
    ] {
        refused(&server.get("/fhir/Patient/anna", &bad));
    }
}

#[test]
fn only_rs256_access_tokens_are_accepted() {
    let server = server();
    let good = server.application_token();
    let (header, claims) = (part(&good, 0), good.split('.').nth(1).unwrap());

    // A token without a signature.
    let mut none = header.clone();
    none["alg"] = json!("none");
    refused(&server.get("/fhir/Patient/anna", &format!("{}.{claims}.", encoded(&none))));

    // The public key used as an HMAC secret.
    let jwks = serde_json::to_value(server.store.signing_keys().jwks()).unwrap();
    let modulus = URL_SAFE_NO_PAD.decode(jwks["keys"][0]["n"].as_str().unwrap()).unwrap();
    let mut hs256 = header.clone();
    hs256["alg"] = json!("HS256");
    let message = format!("{}.{claims}", encoded(&hs256));
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &modulus);
    let signature = URL_SAFE_NO_PAD.encode(aws_lc_rs::hmac::sign(&key, message.as_bytes()));
    refused(&server.get("/fhir/Patient/anna", &format!("{message}.{signature}")));

    // Another key under our key id, and under its own.
    let pair = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'static> = pair.as_der().unwrap();
    let key = private_key(der.as_ref());
    for kid in [header["kid"].as_str().unwrap(), "stranger"] {
        let mut forged = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256);
        forged.typ = Some("at+jwt".to_owned());
        forged.kid = Some(kid.to_owned());
        let token = jsonwebtoken::encode(&forged, &part(&good, 1), &key).unwrap();
        refused(&server.get("/fhir/Patient/anna", &token));
    }
}

#[test]
fn tokens_of_another_service_are_refused() {
    let server = server();
    let elsewhere =
        tabularium::consent::Tokens::new(server.store.clone(), server.lake.clone(), "https://elsewhere.example");
    let token = elsewhere.for_application(LOCAL_APPLICATION, Mode::Live).unwrap().token;
    refused(&server.get("/fhir/Patient/anna", &token));
}

#[test]
fn tokens_expire_even_when_remembered() {
    let server = server();
    let (application, patient) = (server.application_token(), server.patient_token("anna"));
    assert_eq!(server.get("/fhir/Patient/anna", &application).status, 200);
    assert_eq!(server.get("/fhir/Patient/anna", &patient).status, 200);
    server.store.clock().advance(1_799);
    assert_eq!(server.get("/fhir/Patient/anna", &application).status, 200);
    server.store.clock().advance(1);
    refused(&server.get("/fhir/Patient/anna", &application));
    refused(&server.get("/fhir/Patient/anna", &application));
    assert_eq!(server.get("/fhir/Patient/anna", &patient).status, 200);
    server.store.clock().advance(86_400 - 1_800);
    refused(&server.get("/fhir/Patient/anna", &patient));
}

#[test]
fn a_revoked_token_is_refused_at_once() {
    let server = server();
    let (one, two) = (server.application_token(), server.application_token());
    assert_eq!(server.get("/fhir/Patient/anna", &one).status, 200);
    let access = server.tokens.verify(&one).unwrap();
    server.tokens.revoke(&access).unwrap();
    refused(&server.get("/fhir/Patient/anna", &one));
    assert_eq!(server.get("/fhir/Patient/anna", &two).status, 200);
}

/// A clock that was ahead for a moment deleted the records of issued and revoked tokens, and former keys.
#[test]
fn a_clock_that_is_ahead_for_a_moment_changes_no_token() {
    let server = server();
    let app = App::register(&server.store, "app");
    let (revoked, imported) = (server.application_token(), server.patient_token("anna"));
    server.tokens.revoke(&server.tokens.verify(&revoked).unwrap()).unwrap();
    server.store.clock().advance(600);
    server.store.sweep().unwrap();
    server.store.clock().jump(2 * 86_400);
    let other = server.application_token();
    server.tokens.revoke(&server.tokens.verify(&other).unwrap()).unwrap();
    server.store.signing_keys().rotate().unwrap();
    Flow::of(&app).finish(&server).tokens(&server);
    server.store.sweep().unwrap();
    server.store.clock().jump(-2 * 86_400);
    refused(&server.get("/fhir/Patient/anna", &revoked));
    assert_eq!(server.get("/fhir/Patient/anna", &imported).status, 200);
    let reopened = tabularium::consent::Store::open(server.folder(), tabularium::consent::Clock::at(START)).unwrap();
    assert_eq!(reopened.signing_keys().jwks().keys.len(), 2);
}

#[test]
fn tokens_outlive_the_key_that_signed_them() {
    let server = server();
    let before = server.patient_token("anna");
    server.store.signing_keys().rotate().unwrap();
    let after = server.patient_token("anna");
    assert_ne!(part(&before, 0)["kid"], part(&after, 0)["kid"]);
    for token in [before, after] {
        assert_eq!(server.get("/fhir/Patient/anna", &token).status, 200);
    }
}

/// A key from its PKCS #8 through PEM, which requires lines of 64 characters.
fn private_key(pkcs8: &[u8]) -> jsonwebtoken::EncodingKey {
    let body = STANDARD.encode(pkcs8);
    let lines: Vec<&str> = body
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        lines.join("\n")
    );
    jsonwebtoken::EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap()
}

/// The newest signing key, as a thief of the store and its encryption key has it: its id and the private key.
fn stolen(server: &Server) -> (String, jsonwebtoken::EncodingKey) {
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    let sql = "SELECT kid, sealed FROM signing_key ORDER BY rowid DESC LIMIT 1";
    let (kid, sealed): (String, Vec<u8>) = store.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let pkcs8 = server.store.unseal(&format!("signing-key/{kid}"), &sealed).unwrap();
    (kid, private_key(&pkcs8))
}

fn forged(kid: &str, key: &jsonwebtoken::EncodingKey, claims: &Value) -> String {
    let mut header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256);
    header.typ = Some("at+jwt".to_owned());
    header.kid = Some(kid.to_owned());
    jsonwebtoken::encode(&header, claims, key).unwrap()
}

#[test]
fn a_stolen_key_is_of_no_use_once_it_was_replaced_for_a_day() {
    let server = server();
    let honest = server.patient_token("anna");
    let (kid, key) = stolen(&server);
    let claims = part(&honest, 1);
    let with = |iat: i64, exp: i64| {
        let mut claims = claims.clone();
        claims["iat"] = json!(iat);
        claims["exp"] = json!(exp);
        claims["jti"] = json!(format!("{iat}-{exp}"));
        forged(&kid, &key, &claims)
    };
    // The key itself is valid.
    assert_eq!(
        server.get("/fhir/Patient/anna", &with(START, START + 86_400)).status,
        200
    );
    // A token must not live longer than ours.
    refused(&server.get("/fhir/Patient/anna", &with(START, START + 10 * 86_400)));
    server.store.signing_keys().rotate().unwrap();
    server.store.clock().advance(3_600);
    assert_eq!(server.get("/fhir/Patient/anna", &honest).status, 200);
    // No new token may be signed with it.
    refused(&server.get("/fhir/Patient/anna", &with(START + 3_600, START + 80_000)));
    // After a day the old key is useless, although the service has not read its keys again.
    server.store.clock().advance(86_400);
    refused(&server.get("/fhir/Patient/anna", &with(START + 86_400, START + 2 * 86_400)));
    refused(&server.get("/fhir/Patient/anna", &with(START, START + 2 * 86_400)));
    let known = server.send("GET", "/.well-known/jwks.json", &[], "").json();
    let kids: Vec<&str> = known["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["kid"].as_str().unwrap())
        .collect();
    assert!(!kids.contains(&kid.as_str()), "{kids:?}");
}

#[test]
fn a_token_that_was_never_given_out_opens_no_consent_of_the_flow() {
    let server = server();
    let app = App::register(&server.store, "app");
    let honest = Flow::of(&app).finish(&server).tokens(&server);
    let token = honest["access_token"].as_str().unwrap();
    assert_eq!(server.get("/rest/consent", token).status, 200);
    // A token with a made-up id is refused, even if it is signed with the current key.
    let (kid, key) = stolen(&server);
    let mut claims = part(token, 1);
    claims["jti"] = json!("made-up");
    let answer = server.get("/rest/consent", &forged(&kid, &key, &claims));
    assert_eq!(answer.status, 401, "{}", answer.text);
}

#[test]
fn a_token_made_by_another_process_works_at_once() {
    let server = server();
    let other = tabularium::consent::Store::open(server.folder(), tabularium::consent::Clock::at(START)).unwrap();
    other.signing_keys().rotate().unwrap();
    let tokens = tabularium::consent::Tokens::new(
        std::sync::Arc::new(other),
        server.lake.clone(),
        &format!("http://{}", server.address),
    );
    let token = tokens.for_patient(LOCAL_APPLICATION, Mode::Live, "ben").unwrap().token;
    assert_eq!(server.get("/fhir/Patient/ben", &token).status, 200);
}

#[test]
fn test_mode_application_tokens_are_told_so() {
    let server = server();
    let token = server
        .tokens
        .for_application(LOCAL_APPLICATION, Mode::Test)
        .unwrap()
        .token;
    let answer = server.get("/fhir/Patient/anna", &token);
    assert_eq!((answer.status, answer.issue().as_str()), (403, "forbidden"));
    assert!(answer.text.contains("live-mode"), "{}", answer.text);
}
