//! Documents for verifiers of health cards: the issuer's keys, and the revoked cards. Caches must revalidate them
//! before each use, because a card may be revoked at any moment.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::described;
use crate::consent::{CardKey, RevocationList};
use crate::http::error::Error;
use crate::http::message::Refused;
use crate::http::routes::{Operation, Route};
use crate::http::service::Service;

const JSON: &str = "application/json";
/// Caches may store the response, but must revalidate it before each use.
const ASKED_AGAIN: &str = "public, no-cache";

/// Returns the `iss` of health cards. It is not the issuer of tokens, because verifiers load the keys of this issuer,
/// and refuse a key set that has other keys than those of health cards.
pub(in crate::http) fn card_issuer(base_url: &str) -> String {
    format!("{base_url}/health-cards")
}

/// Returns the routes of the issuer's documents.
pub(super) fn routes() -> Vec<Route> {
    let keys = Operation::new(
        "healthCardKeys",
        "The keys that verify health cards, and how new their revocation lists are",
    )
    .open()
    .answers(&[JSON], &described::card_keys());
    let revoked = Operation::new(
        "revokedHealthCards",
        "The health cards of a key that are revoked; the file is its kid and .json",
    )
    .open()
    .answers(&[JSON], &described::revoked_cards());
    vec![
        Route::at("/health-cards/.well-known/jwks.json").get(jwks, keys),
        Route::at("/health-cards/.well-known/crl/{file}").get(crl, revoked),
    ]
}

async fn jwks(State(service): State<Arc<Service>>) -> Result<Response, Refused> {
    let keys = service
        .blocking(|service| service.store.health_cards().keys())
        .await??;
    let shown: Vec<Value> = keys.iter().map(public_jwk).collect();
    Ok(answer(&json!({"keys": shown})))
}

fn public_jwk(CardKey { key, version }: &CardKey) -> Value {
    let mut jwk = key.jwk();
    jwk["crlVersion"] = json!(version);
    jwk
}

async fn crl(State(service): State<Arc<Service>>, Path(file): Path<String>) -> Result<Response, Refused> {
    let unknown = || Error::Unknown("there is no key of health cards with this name".to_owned());
    let kid = file.strip_suffix(".json").ok_or_else(unknown)?.to_owned();
    let found = {
        let kid = kid.clone();
        service
            .blocking(move |service| service.store.health_cards().revoked(&kid))
            .await??
    };
    let RevocationList { version, rids } = found.ok_or_else(unknown)?;
    Ok(answer(
        &json!({"kid": kid, "method": "rid", "ctr": version, "rids": rids}),
    ))
}

fn answer(document: &Value) -> Response {
    (
        [(CONTENT_TYPE, JSON), (CACHE_CONTROL, ASKED_AGAIN)],
        document.to_string(),
    )
        .into_response()
}
