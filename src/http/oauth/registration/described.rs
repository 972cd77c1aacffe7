//! The JSON schemas of registrations, for the OpenAPI document.

use serde_json::{Value, json};

use super::own;
use crate::http::routes::{list, named, object, one_of};

/// Returns the schema of a registration request: the client's metadata.
pub(super) fn registration() -> Value {
    named("ClientMetadata", object(&[], metadata()))
}

/// Returns the schema of a change: the client's metadata with its keys, and what else the change requests.
pub(super) fn change() -> Value {
    let mut properties = metadata();
    properties["client_id"] = json!({"type": "string", "description": "the present publishable key"});
    properties["client_secret"] = json!({"type": "string", "description": "the present secret key; may be left out"});
    extend(&mut properties, own::described_rotation());
    named("ClientChange", object(&["client_id"], properties))
}

/// Returns the schema of an answer about a registration: the client's metadata with its keys.
pub(super) fn registered() -> Value {
    let mut properties = metadata();
    properties["client_id"] = json!({"type": "string", "description": "the publishable key"});
    properties["client_secret"] =
        json!({"type": "string", "description": "the secret key, if this answer makes it; not for public clients"});
    properties["client_id_issued_at"] = json!({"type": "integer", "description": "seconds since the Unix epoch"});
    properties["client_secret_expires_at"] = json!({"type": "integer", "const": 0});
    properties["registration_client_uri"] =
        json!({"type": "string", "description": "where the registration is read, changed and ended (RFC 7592)"});
    properties["registration_access_token"] =
        json!({"type": "string", "description": "the bearer token for registration_client_uri"});
    let required = [
        "client_id",
        "client_id_issued_at",
        "client_secret_expires_at",
        "registration_client_uri",
        "registration_access_token",
        "redirect_uris",
        "token_endpoint_auth_method",
        "grant_types",
        "response_types",
        "client_name",
        "sync_frequency",
    ];
    named("RegisteredClient", object(&required, properties))
}

fn metadata() -> Value {
    let text = json!({"type": "string"});
    let texts = list(&text);
    let mut metadata = json!({
        "redirect_uris": texts,
        "token_endpoint_auth_method": one_of(["client_secret_basic", "client_secret_post", "none"]),
        "grant_types": texts, "response_types": texts, "client_name": text, "scope": text, "client_uri": text,
        "logo_uri": text, "tos_uri": text, "policy_uri": text, "contacts": texts, "software_id": text,
        "software_version": text,
    });
    extend(&mut metadata, own::described());
    metadata
}

fn extend(properties: &mut Value, more: Value) {
    if let (Value::Object(properties), Value::Object(more)) = (properties, more) {
        properties.extend(more);
    }
}
