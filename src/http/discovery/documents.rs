//! Builds the discovery documents. All have the same issuer, which is byte for byte the `iss` of tokens.

use serde_json::{Value, json};

use crate::consent::issuer;

const GRANTS: [&str; 3] = ["authorization_code", "refresh_token", "client_credentials"];
const SCOPES: [&str; 2] = ["launch/patient", "offline_access"];
/// The ways to authenticate a client. The preferred one comes first.
const METHODS: [&str; 3] = ["client_secret_basic", "client_secret_post", "none"];

/// Returns the URL of the authorization endpoint for SMART apps. It is not `/oauth/authorize`, because that endpoint
/// requires an identifier of the user, which SMART apps do not send.
pub(in crate::http) fn authorization_address(base_url: &str) -> String {
    format!("{base_url}/link/auth")
}

/// Returns the URL of the token endpoint for SMART apps.
pub(in crate::http) fn token_address(base_url: &str) -> String {
    format!("{base_url}/link/token")
}

/// Builds the authorization server's metadata (RFC 8414).
pub(super) fn authorization_server(base_url: &str) -> Value {
    json!({
        "issuer": issuer(base_url),
        "authorization_endpoint": format!("{base_url}/oauth/authorize"),
        "token_endpoint": format!("{base_url}/oauth/token"),
        "registration_endpoint": format!("{base_url}/oauth/register"),
        "jwks_uri": jwks_uri(base_url),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANTS,
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": METHODS,
        "scopes_supported": SCOPES,
    })
}

/// Builds the OpenID Connect discovery document.
pub(super) fn openid(base_url: &str) -> Value {
    let mut document = authorization_server(base_url);
    document["subject_types_supported"] = json!(["public"]);
    document["id_token_signing_alg_values_supported"] = json!(["RS256"]);
    document["service_documentation"] = json!(format!("{base_url}/docs"));
    document
}

/// Builds the SMART App Launch configuration.
pub(super) fn smart(base_url: &str) -> Value {
    json!({
        "issuer": issuer(base_url),
        "authorization_endpoint": authorization_address(base_url),
        "token_endpoint": token_address(base_url),
        "jwks_uri": jwks_uri(base_url),
        "grant_types_supported": GRANTS,
        "response_types_supported": ["code"],
        "scopes_supported": SCOPES,
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": METHODS,
        "capabilities": [
            "health-cards",
            "launch-standalone",
            "client-public",
            "client-confidential-symmetric",
            "context-standalone-patient",
            "permission-offline",
            "permission-patient",
        ],
    })
}

fn jwks_uri(base_url: &str) -> String {
    format!("{base_url}/.well-known/jwks.json")
}
