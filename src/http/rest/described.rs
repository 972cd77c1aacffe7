//! The JSON schemas of consents, for the OpenAPI document.

use serde_json::{Value, json};

use crate::consent::{AuthorizationState, ConsentState};
use crate::http::routes::{list, named, object, one_of, or_null};
use crate::http::shape::described::{authorization_type, endpoint, max_auth, mode, sync, usage, user};

/// Returns the schema of a consent.
pub(super) fn consent() -> Value {
    let properties = json!({
        "id": {"type": "string"},
        "state": named("ConsentState", one_of(ConsentState::ALL.iter().map(|state| state.name()))),
        "mode": mode(),
        "createdAt": or_null(&time()),
        "updatedAt": or_null(&time()),
        "user": or_null(&user()),
        "patientAuthorizations": list(&authorization()),
    });
    let required = [
        "id",
        "state",
        "mode",
        "createdAt",
        "updatedAt",
        "user",
        "patientAuthorizations",
    ];
    named("Consent", object(&required, properties))
}

/// Returns the schema of a page of consents.
pub(super) fn consents() -> Value {
    let meta = json!({
        "hasMore": {"type": "boolean"},
        "nextCursor": {"type": ["string", "null"], "description": "the cursor of the next page"},
    });
    let properties = json!({"consents": list(&consent()), "meta": object(&["hasMore", "nextCursor"], meta)});
    named("Consents", object(&["consents", "meta"], properties))
}

/// Returns the schema of a patient authorization. In a list, authorizations have no `sync`, `scope` and `syncIssues`.
fn authorization() -> Value {
    let texts = list(&json!({"type": "string"}));
    let scope = json!({"requested": texts, "granted": texts, "rejected": texts});
    let states = AuthorizationState::ALL.iter().map(|state| state.name());
    let properties = json!({
        "id": {"type": "string"},
        "type": authorization_type(),
        "state": named("AuthorizationState", one_of(states)),
        "usage": usage(),
        "createdAt": or_null(&time()),
        "authorizedAt": or_null(&time()),
        "exchangedAt": or_null(&time()),
        "revokedAt": or_null(&time()),
        "expiredAt": or_null(&time()),
        "patient": {"type": ["string", "null"], "description": "Patient/id"},
        "identityProvider": {"type": ["string", "null"]},
        "endpoint": or_null(&endpoint()),
        "active": {"type": "boolean"},
        "timeUntilMaxAuth": max_auth(),
        "sync": sync(),
        "scope": object(&["requested", "granted", "rejected"], scope),
        "syncIssues": {"type": "object", "description": "OperationOutcome: what the newest sync could not have, one issue \
            for each type or part of one; absent where it had all"},
    });
    let required = [
        "id",
        "type",
        "state",
        "usage",
        "createdAt",
        "authorizedAt",
        "exchangedAt",
        "revokedAt",
        "expiredAt",
        "patient",
        "identityProvider",
        "endpoint",
        "active",
        "timeUntilMaxAuth",
    ];
    named("PatientAuthorization", object(&required, properties))
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}
