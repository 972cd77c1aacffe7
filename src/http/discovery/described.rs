//! The JSON schemas of the discovery documents, for the OpenAPI document.

use serde_json::{Value, json};

use crate::http::routes::{list, named, object};

/// Returns the schema of the authorization server's metadata (RFC 8414).
pub(super) fn authorization_server() -> Value {
    let properties = common();
    named("AuthorizationServer", all_of(&properties))
}

/// Returns the schema of the OpenID Connect discovery document.
pub(super) fn openid() -> Value {
    let (text, texts) = (json!({"type": "string"}), list(&json!({"type": "string"})));
    let mut properties = common();
    properties["subject_types_supported"] = texts.clone();
    properties["id_token_signing_alg_values_supported"] = texts;
    properties["service_documentation"] = text;
    named("OpenIdConfiguration", all_of(&properties))
}

/// Returns the schema of the SMART App Launch configuration.
pub(super) fn smart() -> Value {
    let (text, texts) = (json!({"type": "string"}), list(&json!({"type": "string"})));
    let properties = json!({
        "issuer": text, "authorization_endpoint": text, "token_endpoint": text, "jwks_uri": text,
        "grant_types_supported": texts, "response_types_supported": texts, "scopes_supported": texts,
        "code_challenge_methods_supported": texts, "token_endpoint_auth_methods_supported": texts, "capabilities": texts,
    });
    named("SmartConfiguration", all_of(&properties))
}

/// Returns the schema of a JSON Web Key Set (RFC 7517) with public RSA keys.
pub(super) fn keys() -> Value {
    let text = json!({"type": "string"});
    let key = json!({"kty": text, "kid": text, "use": text, "alg": text, "n": text, "e": text});
    let key = named("JsonWebKey", all_of(&key));
    named("JsonWebKeySet", object(&["keys"], json!({"keys": list(&key)})))
}

/// Returns the schema of a key set with public P-256 keys, each with the version of its revocation list.
pub(super) fn card_keys() -> Value {
    let text = json!({"type": "string"});
    let version = json!({"type": "integer", "minimum": 1, "description": "the ctr of the key's revocation list"});
    let key = json!({
        "kty": text, "kid": text, "use": text, "alg": text, "crv": text, "x": text, "y": text, "crlVersion": version,
    });
    let key = named("HealthCardKey", all_of(&key));
    named("HealthCardKeySet", object(&["keys"], json!({"keys": list(&key)})))
}

/// Returns the schema of a revocation list as SMART Health Cards defines it.
pub(super) fn revoked_cards() -> Value {
    let text = json!({"type": "string"});
    let properties = json!({
        "kid": text,
        "method": {"type": "string", "const": "rid"},
        "ctr": {"type": "integer", "minimum": 1},
        "rids": list(&text),
    });
    named("RevokedHealthCards", all_of(&properties))
}

fn common() -> Value {
    let (text, texts) = (json!({"type": "string"}), list(&json!({"type": "string"})));
    json!({
        "issuer": text, "authorization_endpoint": text, "token_endpoint": text, "registration_endpoint": text,
        "jwks_uri": text, "response_types_supported": texts, "response_modes_supported": texts,
        "grant_types_supported": texts, "code_challenge_methods_supported": texts,
        "token_endpoint_auth_methods_supported": texts, "scopes_supported": texts,
    })
}

/// Returns the schema of an object in which all of these properties are required.
fn all_of(properties: &Value) -> Value {
    let names: Vec<&str> = properties
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    object(&names, properties.clone())
}
