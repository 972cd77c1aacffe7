//! The OAuth API over HTTP, from the exchange of a code.

mod agreement;
mod body;
mod client;
mod exchange;
mod introspect;
mod manage;
mod model;
mod refresh;
mod register;
mod revoke;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The claims of a token.
pub(crate) fn claims(token: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap()).unwrap()
}

/// `Authorization: Bearer` with the access token of a token response.
pub(crate) fn bearer(tokens: &Value) -> String {
    format!("Bearer {}", tokens["access_token"].as_str().unwrap())
}
