//! The identity provider, the record locator, and the facilities.

use serde_json::{Value, json};
use url::Url;

use super::{BACK, exchange, text};
use crate::harness::payer::{Payer, Visit, parameter};
use tabularium::sandbox::payer::{CLIENT_ID, CLIENT_SECRET};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The identity provider's authorization URL, with its verifier.
fn identity_url(payer: &Payer) -> (String, String) {
    let (url, verifier) = payer.authorization_url("identity", BACK, "openid profile");
    (format!("{url}&nonce=n-1"), verifier)
}

/// Gets the id_token of a person.
fn id_token(payer: &Payer, user: &str) -> String {
    let (url, verifier) = identity_url(payer);
    let code = parameter(&payer.log_in(&url, user), "code").unwrap();
    let reply = payer.form("/identity/token", &exchange(&code, &verifier));
    assert_eq!(reply.status, 200, "{}", reply.text);
    text(&reply.value()["id_token"]).to_owned()
}

/// The facilities that the locator finds, with or without an id_token.
fn located(payer: &Payer, by: &Value, token: Option<&str>) -> Vec<Value> {
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(token.map(|token| ("authorization", format!("Bearer {token}"))));
    let reply = payer.send("POST", "/locator/search", &headers, &by.to_string());
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.value()["facilities"].as_array().unwrap().clone()
}

fn demographics(payer: &Payer, index: u64) -> Value {
    let person = payer.person(index);
    json!({"given": person.given, "family": person.family, "birthDate": person.birth_date})
}

#[test]
fn an_identity_is_told_in_a_signed_token() {
    let payer = Payer::start(2);
    let person = payer.person(1);
    let discovery = payer.get("/identity/.well-known/openid-configuration", None).value();
    assert_eq!(text(&discovery["issuer"]), format!("{}/identity", payer.base));
    let token = id_token(&payer, &person.user);
    let keys = payer.get(text(&discovery["jwks_uri"]), None).value();
    let key: jsonwebtoken::jwk::Jwk = serde_json::from_value(keys["keys"][0].clone()).unwrap();
    let header = jsonwebtoken::decode_header(&token).unwrap();
    assert_eq!(header.kid, key.common.key_id);
    let mut validation = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::RS256);
    validation.set_audience(&[CLIENT_ID]);
    validation.set_issuer(&[text(&discovery["issuer"])]);
    let key = jsonwebtoken::DecodingKey::from_jwk(&key).unwrap();
    let claims = jsonwebtoken::decode::<Value>(&token, &key, &validation).unwrap().claims;
    assert_eq!(text(&claims["given_name"]), person.given);
    assert_eq!(text(&claims["family_name"]), person.family);
    assert_eq!(text(&claims["birthdate"]), person.birth_date);
    assert_eq!(text(&claims["address"]["postal_code"]), person.postal_code);
    assert_eq!(text(&claims["nonce"]), "n-1");
    assert!(claims["sub"].is_string());
}

#[test]
fn a_person_says_whether_it_is_them() {
    let payer = Payer::start(1);
    let (url, _) = identity_url(&payer);
    let back = payer.visit(
        &url,
        &Visit {
            agree: false,
            ..Visit::of(&payer.person(0).user)
        },
    );
    assert_eq!(parameter(&back, "error").unwrap(), "access_denied");
    let (url, _) = payer.authorization_url("identity", BACK, "profile");
    let back = Url::parse(&payer.get(&url, None).location().unwrap()).unwrap();
    assert_eq!(parameter(&back, "error").unwrap(), "invalid_scope");
}

#[test]
fn facilities_are_found_by_demographics_and_open_with_the_patient() {
    let payer = Payer::start(12);
    for index in 0..12 {
        let person = payer.person(index);
        let found = located(&payer, &demographics(&payer, index), None);
        assert_eq!(found.len() as u64, person.facilities(), "{}", person.user);
        for facility in found {
            assert_eq!(text(&facility["patient"]), person.patient);
            let base = text(&facility["fhirBase"]);
            let configuration = payer
                .get(&format!("{base}/.well-known/smart-configuration"), None)
                .value();
            let form = [
                ("grant_type", "client_credentials"),
                ("patient", person.patient.as_str()),
                ("client_id", CLIENT_ID),
                ("client_secret", CLIENT_SECRET),
            ];
            let tokens = payer.form(text(&configuration["token_endpoint"]), &form).value();
            assert_eq!(text(&tokens["patient"]), person.patient);
            let patient = payer
                .get(&format!("{base}/Patient"), tokens["access_token"].as_str())
                .value();
            assert_eq!(patient["total"], 1);
        }
    }
}

#[test]
fn a_verified_person_is_found_as_who_they_are_only() {
    let payer = Payer::start(12);
    let token = id_token(&payer, &payer.person(2).user);
    let found = located(&payer, &demographics(&payer, 2), Some(&token));
    assert_eq!(found.len(), 3);
    assert!(located(&payer, &demographics(&payer, 1), Some(&token)).is_empty());
    for facility in &found {
        let base = text(&facility["fhirBase"]);
        let endpoint = base.replace("/fhir", "/token");
        let tokens = payer
            .form(&endpoint, &[("grant_type", JWT_BEARER), ("assertion", &token)])
            .value();
        assert_eq!(text(&tokens["patient"]), payer.person(2).patient);
        let path = format!("{base}/Patient/{}", payer.person(2).patient);
        assert_eq!(payer.get(&path, tokens["access_token"].as_str()).status, 200);
    }
    let nobody = id_token(&payer, &payer.person(9).user);
    assert!(located(&payer, &demographics(&payer, 9), Some(&nobody)).is_empty());
    let refused = payer.form(
        "/northfield/token",
        &[("grant_type", JWT_BEARER), ("assertion", &nobody)],
    );
    assert_eq!(
        (refused.status, text(&refused.value()["error"])),
        (400, "invalid_grant")
    );
}

#[test]
fn a_facility_opens_to_nobody_without_proof() {
    let payer = Payer::start(3);
    let patient = payer.person(0).patient;
    let ask = |fields: &[(&str, &str)]| {
        let reply = payer.form("/northfield/token", fields);
        (reply.status, text(&reply.value()["error"]).to_owned())
    };
    let id = ("client_id", CLIENT_ID);
    let secret = ("client_secret", CLIENT_SECRET);
    let credentials = ("grant_type", "client_credentials");
    assert_eq!(
        ask(&[credentials, ("patient", &patient), id]),
        (401, "invalid_client".into())
    );
    assert_eq!(
        ask(&[credentials, ("patient", &patient)]),
        (401, "invalid_client".into())
    );
    assert_eq!(
        ask(&[credentials, ("patient", "x"), id, secret]),
        (400, "invalid_grant".into())
    );
    assert_eq!(ask(&[credentials, id, secret]), (400, "invalid_grant".into()));
    assert_eq!(
        ask(&[("grant_type", JWT_BEARER), ("assertion", "a.b.c")]),
        (400, "invalid_grant".into())
    );
    assert_eq!(
        ask(&[("grant_type", "authorization_code"), ("code", "x"), id]),
        (400, "unsupported_grant_type".into())
    );
    // A token with another provider's signature is refused.
    let mine = id_token(&payer, &payer.person(0).user);
    let other = Payer::start(3);
    let forged = id_token(&other, &other.person(0).user);
    assert_eq!(
        ask(&[("grant_type", JWT_BEARER), ("assertion", &forged)]),
        (400, "invalid_grant".into())
    );
    let mut tampered = mine.clone();
    tampered.replace_range(mine.len() - 4.., "AAAA");
    assert_eq!(
        ask(&[("grant_type", JWT_BEARER), ("assertion", &tampered)]),
        (400, "invalid_grant".into())
    );
    // A facility has no login, and a payer grants nothing without a person.
    let (url, _) = payer.authorization_url("northfield", BACK, "patient/*.read");
    assert_eq!(payer.get(&url, None).status, 404);
    let reply = payer.form("/lakeshore/token", &[credentials, ("patient", &patient), id, secret]);
    assert_eq!(text(&reply.value()["error"]), "unsupported_grant_type");
}

#[test]
fn the_locator_refuses_what_it_cannot_read() {
    let payer = Payer::start(1);
    let ask = |content_type: &str, body: &str, token: Option<&str>| {
        let mut headers = vec![("content-type", content_type.to_owned())];
        headers.extend(token.map(|token| ("authorization", format!("Bearer {token}"))));
        payer.send("POST", "/locator/search", &headers, body).status
    };
    let person = payer.person(0);
    let form = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("given", &person.given),
            ("family", &person.family),
            ("birthDate", &person.birth_date),
        ])
        .finish();
    assert_eq!(ask("application/x-www-form-urlencoded", &form, None), 200);
    assert_eq!(ask("application/x-www-form-urlencoded", "given=A", None), 400);
    assert_eq!(ask("application/json", "{", None), 400);
    assert_eq!(ask("application/json", "[]", None), 400);
    assert_eq!(ask("text/plain", "x", None), 400);
    assert_eq!(ask("application/x-www-form-urlencoded", &form, Some("a.b.c")), 401);
}

#[test]
fn a_facility_without_records_is_not_found() {
    let payer = Payer::start(3);
    payer.turn("northfield", &json!({"no_records": true}));
    let found = located(&payer, &demographics(&payer, 2), None);
    let names: Vec<&str> = found.iter().map(|one| text(&one["name"])).collect();
    assert_eq!(names, ["Eastgate Clinic", "Old Mill Family Practice"]);
}
