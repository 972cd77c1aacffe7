//! The members of a client's metadata that only this service has. They may stand beside those of RFC 7591 in each
//! request, and each answer repeats them.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::metadata::{text, wrong};
use crate::consent::{ManagedRegistration, SyncFrequency};
use crate::http::oauth::error::OAuthError;
use crate::http::routes::one_of;

const SYNC_FREQUENCY: &str = "sync_frequency";
const ROTATE_KEYS: &str = "rotate_keys";
const GRACE: &str = "rotate_keys_grace_hours";
/// The maximum grace period of replaced keys, in hours: one year, as on the command line.
const LONGEST_GRACE: i64 = 8_760;

/// The members of this service's own that a registration has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Own {
    /// How often the records of patients with lasting access are fetched again.
    pub(super) sync_frequency: SyncFrequency,
}

impl Own {
    /// Reads the members. A member that is absent gets its default.
    pub(super) fn of(object: &Map<String, Value>) -> Result<Own, OAuthError> {
        let sync_frequency = match text(object, SYNC_FREQUENCY)? {
            None => SyncFrequency::Off,
            Some(name) => SyncFrequency::named(name)
                .ok_or_else(|| wrong(SYNC_FREQUENCY, "must be off, daily, weekly or monthly"))?,
        };
        Ok(Own { sync_frequency })
    }

    /// Returns the members of a stored registration.
    pub(super) fn stored(registration: &ManagedRegistration) -> Own {
        Own {
            sync_frequency: registration.application.sync_frequency,
        }
    }
}

/// Reads whether a change requests new keys, which no answer repeats. Returns for how many seconds the present keys
/// stay valid.
pub(super) fn rotation(object: &Map<String, Value>) -> Result<Option<i64>, OAuthError> {
    let is_wanted = match object.get(ROTATE_KEYS) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(wanted)) => *wanted,
        Some(_) => return Err(wrong(ROTATE_KEYS, "must be true or false")),
    };
    let hours = match object.get(GRACE) {
        None | Some(Value::Null) => 0,
        Some(value) => value
            .as_i64()
            .filter(|hours| (0..=LONGEST_GRACE).contains(hours))
            .ok_or_else(|| wrong(GRACE, "must be a whole number from 0 to 8760"))?,
    };
    Ok(is_wanted.then_some(hours * 3_600))
}

/// Returns the schemas of the members that requests and answers have.
pub(super) fn described() -> Value {
    let about = "how often the records of patients with lasting access are fetched again; off by default";
    let mut frequency = one_of(SyncFrequency::ALL.iter().map(|frequency| frequency.name()));
    frequency["description"] = about.into();
    json!({SYNC_FREQUENCY: frequency})
}

/// Returns the schemas of the members that only a change may have.
pub(super) fn described_rotation() -> Value {
    json!({
        ROTATE_KEYS: {"type": "boolean", "description": "true for a new key pair, which the answer has; false by default"},
        GRACE: {"type": "integer", "minimum": 0, "maximum": LONGEST_GRACE,
            "description": "for how many hours the present key pair stays valid beside the new one; 0 by default"},
    })
}
