//! Finds the authorization of a patient who returns from a source.

use rusqlite::Transaction;

use super::session::{Flow, FlowError};
use crate::consent::record::Authorization;
use crate::consent::states::AuthorizationState;

/// The maximum time in seconds for which the session's page shows that it waits for another service. The request to
/// that service times out earlier.
pub(super) const PATIENCE: i64 = 90;

/// Returns the authorization with this id if it belongs to this session and is AUTHORIZING. Otherwise returns
/// [`FlowError::Stale`]: the authorization was abandoned, because the patient has moved on.
pub(super) fn authorizing(transaction: &Transaction<'_>, flow: &Flow, id: &str) -> Result<Authorization, FlowError> {
    Authorization::get(transaction, id)?
        .filter(|one| one.consent == flow.consent.id && one.state == AuthorizationState::Authorizing)
        .ok_or(FlowError::Stale)
}
