//! The key set: the public halves of all keys whose tokens may still be valid.

use serde_json::Value;

use crate::consent::Store;

/// The key set in its published form.
pub(super) fn key_set(store: &Store) -> Value {
    serde_json::to_value(store.signing_keys().jwks()).unwrap_or_default()
}
