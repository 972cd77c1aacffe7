//! The JSON Web Key Set: the public keys of all signing keys whose tokens may still be valid.

use serde_json::Value;

use crate::consent::Store;

/// Returns the key set as JSON (RFC 7517).
pub(super) fn key_set(store: &Store) -> Value {
    serde_json::to_value(store.signing_keys().jwks()).unwrap_or_default()
}
