//! The key set: public halves only, of all keys whose tokens may still be alive.

use serde_json::Value;

use crate::consent::Store;

/// The set as it is shown.
pub(super) fn key_set(store: &Store) -> Value {
    serde_json::to_value(store.signing_keys().jwks()).unwrap_or_default()
}
