//! The JSON schemas of the members that responses about a consent share, for the OpenAPI document.

use serde_json::{Value, json};

use super::parts::{INDEFINITE, UNKNOWN, UNSUPPORTED};
use crate::consent::{AuthorizationType, JobState, Usage};
use crate::http::routes::{list, named, object, one_of};

/// Returns the schema of `user`.
pub(in crate::http) fn user() -> Value {
    named(
        "User",
        object(&["externalId"], json!({"externalId": {"type": "string"}})),
    )
}

/// Returns the schema of `endpoint`.
pub(in crate::http) fn endpoint() -> Value {
    let text = json!({"type": "string"});
    let properties = json!({"id": text, "name": text, "label": list(&text), "refreshable": {"type": "boolean"}});
    named(
        "ConnectedEndpoint",
        object(&["id", "name", "label", "refreshable"], properties),
    )
}

/// Returns the schema of `mode`.
pub(in crate::http) fn mode() -> Value {
    named("Mode", one_of(["TEST", "LIVE"]))
}

/// Returns the schema of a patient authorization's `type`.
pub(in crate::http) fn authorization_type() -> Value {
    named(
        "AuthorizationType",
        one_of(
            AuthorizationType::ALL
                .iter()
                .map(|authorization_type| authorization_type.name()),
        ),
    )
}

/// Returns the schema of `usage`.
pub(in crate::http) fn usage() -> Value {
    named("Usage", one_of(Usage::ALL.iter().map(|usage| usage.name())))
}

/// Returns the schema of `sync`.
pub(in crate::http) fn sync() -> Value {
    let properties = json!({
        "resourceTypes": {"type": "object", "additionalProperties": {"type": "integer"},
            "description": "how many resources of each type there are"},
        "lastSyncedAt": {"type": ["integer", "null"], "description": "seconds since the Unix epoch"},
        "state": one_of(JobState::ALL.iter().map(|state| state.name())),
        "retry": object(&["resourceTypes", "nextAt"], json!({
            "resourceTypes": {"type": "array", "items": {"type": "string"},
                "description": "the types of which something failed beside stored records"},
            "nextAt": {"type": "integer", "description": "when the source is asked for it again, in seconds since the Unix epoch"},
        })),
    });
    named("Sync", object(&["lastSyncedAt"], properties))
}

/// Returns the schema of `timeUntilMaxAuth`.
pub(in crate::http) fn max_auth() -> Value {
    let seconds = json!({"type": "integer", "description": "seconds, below zero when the time is over"});
    named(
        "TimeUntilMaxAuth",
        json!({"oneOf": [seconds, one_of([UNKNOWN, INDEFINITE, UNSUPPORTED])]}),
    )
}
