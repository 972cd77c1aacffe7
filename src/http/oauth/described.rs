//! The JSON schemas of the OAuth API's requests and responses, for the OpenAPI document.

use serde_json::{Value, json};

use crate::http::routes::{named, object, one_of, or_null};
use crate::http::shape::described::{endpoint, max_auth, sync, usage, user};

/// The media types of bodies that token endpoints accept.
pub(in crate::http) const BODIES: [&str; 2] = ["application/x-www-form-urlencoded", "application/json"];

/// Returns the schema of a token request.
pub(in crate::http) fn grant() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let grants = one_of(["authorization_code", "refresh_token", "client_credentials"]);
    let properties = json!({
        "grant_type": grants,
        "code": text("for authorization_code"),
        "redirect_uri": text("for authorization_code: as the authorization request named it"),
        "code_verifier": text("for authorization_code: 43 to 128 letters"),
        "client_id": text("the publishable key, unless the key pair comes by Authorization: Basic; a public client's refresh_token \
                           does without"),
        "client_secret": text("the secret key, unless the key pair comes by Authorization: Basic"),
        "refresh_token": text("for refresh_token"),
    });
    named("Grant", object(&["grant_type"], properties))
}

/// Returns the schema of a token response.
pub(in crate::http) fn tokens() -> Value {
    named("Tokens", object(&TOKENS, token_properties()))
}

/// Returns the schema of the link API's token response. It adds the progress of the sync.
pub(in crate::http) fn link_tokens() -> Value {
    let mut properties = token_properties();
    properties["sync"] = sync();
    properties["timeUntilMaxAuth"] = max_auth();
    named("LinkTokens", object(&TOKENS, properties))
}

/// Returns the schema of an introspection response.
pub(in crate::http) fn introspection() -> Value {
    let text = json!({"type": "string"});
    let time = json!({"type": "integer", "description": "seconds since the Unix epoch"});
    let active = json!({"type": "boolean", "description": "whether the token is valid and the source can be used: EXCHANGED, with records that are not over or erased"});
    let properties = json!({
        "jti": text, "iat": time, "exp": time, "active": active, "iss": text, "aud": text, "sub": text,
        "client_id": text, "patient": text, "user": or_null(&user()), "state": text, "usage": usage(),
        "endpoint": or_null(&endpoint()), "sync": sync(), "timeUntilMaxAuth": max_auth(),
        "expungedAt": {"type": "integer", "description": "when the patient had all records erased, in seconds since the Unix epoch; \
                                                          left out otherwise"},
    });
    let mut schema = object(&["active"], properties);
    schema["description"] = json!("only active, which is false, where nothing is left of what the token stood for");
    named("Introspection", schema)
}

/// Returns the schema of a body that has only the secret key.
pub(in crate::http) fn secret() -> Value {
    named(
        "SecretKey",
        object(&["secret_key"], json!({"secret_key": {"type": "string"}})),
    )
}

/// Returns the schema of a revocation's response.
pub(in crate::http) fn count() -> Value {
    named("Revoked", object(&["count"], json!({"count": {"type": "integer"}})))
}

const TOKENS: [&str; 3] = ["access_token", "token_type", "expires_in"];

fn token_properties() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let seconds = |about: &str| json!({"type": "integer", "description": about});
    json!({
        "access_token": text("to be sent as Authorization: Bearer"),
        "token_type": {"type": "string", "const": "Bearer"},
        "expires_in": seconds("86400 for patient tokens, 1800 for application tokens"),
        "scope": text("of patient tokens: what was granted"),
        "patient": text("of patient tokens: the id of the consent's primary Patient"),
        "refresh_token": text("of patient tokens"),
        "refresh_expires_in": seconds("of patient tokens: how long they can be refreshed"),
    })
}
