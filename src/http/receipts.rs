//! `GET /receipts/.well-known/jwks.json`: the public keys that verify receipts of erasures.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::error::Error;
use super::routes::{Operation, Route, list, named, object};
use super::service::Service;

const JSON: &str = "application/json";
const PATH: &str = "/receipts/.well-known/jwks.json";
/// Clients may cache the key set for 300 seconds. Not longer, because keys may be added.
const KEPT: &str = "public, max-age=300";

/// Returns the URL of the key set.
pub(super) fn address(base_url: &str) -> String {
    format!("{base_url}{PATH}")
}

/// Returns the route of the key set.
pub(super) fn routes() -> Vec<Route> {
    let text = json!({"type": "string"});
    let names = ["kty", "kid", "use", "alg", "crv", "x", "y"];
    let key = object(
        &names,
        json!({"kty": text, "kid": text, "use": text, "alg": text, "crv": text, "x": text, "y": text}),
    );
    let set = object(&["keys"], json!({"keys": list(&named("ReceiptKey", key))}));
    let summary = "The keys that verify receipts of erasures (RFC 7517): ES256, past ones included";
    let operation = Operation::new("receiptKeys", summary).open();
    let operation = operation.answers(&[JSON], &named("ReceiptKeySet", set));
    vec![Route::at(PATH).get(keys, operation).readable_anywhere()]
}

async fn keys(State(service): State<Arc<Service>>) -> Result<Response, Error> {
    let keys = service
        .blocking(|service| service.store.erasure_jobs().receipt_jwks())
        .await?;
    let keys = keys.map_err(Error::internal)?;
    let body = serde_json::to_string(&keys).map_err(Error::internal)?;
    Ok(([(CONTENT_TYPE, JSON), (CACHE_CONTROL, KEPT)], body).into_response())
}
