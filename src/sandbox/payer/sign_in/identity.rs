//! The identity provider. It supports OpenID Connect, has the same logins as the organizations, and verifies identities
//! (IAL2). Its ID tokens have the demographics by which the record locator searches.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::super::answer;
use super::super::office::organization::IDENTITY;
use super::super::office::people::Person;
use super::super::office::world::World;
use super::grants::Consent;

/// The lifetime of an ID token in seconds.
const LASTS: i64 = 3600;
const SUBJECT: &str = "person-";

fn issuer(world: &World) -> String {
    format!("{}/{}", world.base_url, IDENTITY.id)
}

/// Returns the configuration of the identity provider, as OpenID Connect Discovery defines it.
pub(in crate::sandbox::payer) async fn discovery(State(world): State<Arc<World>>) -> Response {
    let issuer = issuer(&world);
    answer::json(
        StatusCode::OK,
        &json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/jwks"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "profile"],
            "claims_supported": ["sub", "given_name", "family_name", "birthdate", "gender", "address", "nonce", "acr"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        }),
    )
}

/// Returns the public key that verifies ID tokens, as a JSON Web Key Set.
pub(in crate::sandbox::payer) async fn jwks(State(world): State<Arc<World>>) -> Response {
    match world.key.jwk() {
        Some(jwk) => answer::json(StatusCode::OK, &json!({"keys": [jwk]})),
        None => answer::oauth(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "there is no key"),
    }
}

/// Returns a signed ID token with a person's identity. `None` if there is no key.
pub(in crate::sandbox::payer) fn id_token(world: &World, person: &Person, consent: &Consent) -> Option<String> {
    let now = chrono::Utc::now().timestamp();
    let mut claims = json!({
        "iss": issuer(world),
        "sub": format!("{SUBJECT}{}", person.index + 1),
        "aud": consent.client,
        "iat": now,
        "exp": now + LASTS,
        "auth_time": now,
        "acr": "http://idmanagement.gov/ns/assurance/ial/2",
        "given_name": person.given,
        "family_name": person.family,
        "birthdate": person.birth_date,
        "gender": person.gender,
        "address": {
            "street_address": person.line,
            "locality": person.city,
            "region": person.state,
            "postal_code": person.postal_code,
            "country": "US",
        },
    });
    if let Some(nonce) = &consent.nonce {
        claims["nonce"] = nonce.as_str().into();
    }
    world.key.sign(&claims)
}

/// Returns a signed ID token of an organization. Its `fhirUser` is the person's Patient at this organization. `None` if
/// there is no key.
pub(in crate::sandbox::payer) fn fhir_user(
    world: &World,
    base: &str,
    patient: &str,
    consent: &Consent,
) -> Option<String> {
    let now = chrono::Utc::now().timestamp();
    let mut claims = json!({
        "iss": base,
        "sub": patient,
        "aud": consent.client,
        "iat": now,
        "exp": now + LASTS,
        "fhirUser": format!("{base}/Patient/{patient}"),
    });
    if let Some(nonce) = &consent.nonce {
        claims["nonce"] = nonce.as_str().into();
    }
    world.key.sign(&claims)
}

/// Returns the index of the person whom an ID token of the identity provider names. `None` if the token is not valid.
pub(in crate::sandbox::payer) fn subject(world: &World, token: &str) -> Option<u64> {
    let claims: Value = world.key.verify(token, &issuer(world))?;
    let number: u64 = claims["sub"].as_str()?.strip_prefix(SUBJECT)?.parse().ok()?;
    number.checked_sub(1)
}
