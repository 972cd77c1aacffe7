//! Requests and answers about tokens, as the OpenAPI document describes them.

use serde_json::{Value, json};

/// What token endpoints read.
pub(in crate::http) const BODIES: [&str; 2] = ["application/x-www-form-urlencoded", "application/json"];

/// A grant's fields.
pub(in crate::http) fn grant() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    json!({
        "type": "object",
        "required": ["grant_type"],
        "properties": {
            "grant_type": {"type": "string", "enum": ["authorization_code", "refresh_token", "client_credentials"]},
            "code": text("for authorization_code"),
            "redirect_uri": text("for authorization_code: as the authorization request named it"),
            "code_verifier": text("for authorization_code: 43 to 128 letters"),
            "client_id": text("the publishable key, unless the key pair comes by Authorization: Basic"),
            "refresh_token": text("for refresh_token"),
        },
    })
}

/// The answer to a grant.
pub(in crate::http) fn tokens() -> Value {
    json!({
        "type": "object",
        "required": ["access_token", "token_type", "expires_in"],
        "properties": {
            "access_token": {"type": "string"},
            "token_type": {"type": "string", "const": "Bearer"},
            "expires_in": {"type": "integer", "description": "86400 for patient tokens, 1800 for application tokens"},
            "scope": {"type": "string"},
            "patient": {"type": "string", "description": "the id of the consent's primary Patient"},
            "refresh_token": {"type": "string"},
            "refresh_expires_in": {"type": "integer"},
        },
    })
}

/// The refusal of a token endpoint.
pub(in crate::http) fn refusal() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "required": ["error", "error_description"],
        "properties": {"error": text, "error_description": text},
    })
}

/// The answer about a token.
pub(in crate::http) fn introspection() -> Value {
    let text = json!({"type": "string"});
    let time = json!({"type": "integer", "description": "seconds since the Unix epoch"});
    let active = json!({"type": "boolean", "description": "false also once the records of every source are over"});
    json!({
        "type": "object",
        "required": ["active"],
        "properties": {
            "jti": text, "iat": time, "exp": time, "active": active, "iss": text, "aud": text, "sub": text,
            "client_id": text, "patient": text, "user": {"type": ["object", "null"]}, "state": text,
            "usage": {"type": "string", "enum": ["ONE_TIME", "MULTIPLE"]}, "endpoint": {"type": ["object", "null"]},
            "sync": {"type": "object"}, "timeUntilMaxAuth": {"type": ["integer", "string"]},
        },
    })
}

/// A body with the secret key.
pub(in crate::http) fn secret() -> Value {
    json!({"type": "object", "required": ["secret_key"], "properties": {"secret_key": {"type": "string"}}})
}

/// The answer of a revocation.
pub(in crate::http) fn count() -> Value {
    json!({"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}})
}

/// A client's metadata.
pub(in crate::http) fn registration() -> Value {
    let (text, texts) = (
        json!({"type": "string"}),
        json!({"type": "array", "items": {"type": "string"}}),
    );
    json!({
        "type": "object",
        "properties": {
            "redirect_uris": texts, "token_endpoint_auth_method": {"enum": ["client_secret_basic", "none"]},
            "grant_types": texts, "response_types": texts, "client_name": text, "scope": text, "client_uri": text,
            "logo_uri": text, "tos_uri": text, "policy_uri": text, "contacts": texts, "software_id": text,
            "software_version": text,
        },
    })
}
