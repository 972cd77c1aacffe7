//! The authorization of a patient who returns from a source.

use rusqlite::Transaction;

use super::session::{Flow, FlowError};
use crate::consent::record::Authorization;
use crate::consent::states::AuthorizationState;

/// How many seconds the session waits for an answer. The request itself times out earlier.
pub(super) const PATIENCE: i64 = 90;

/// An authorization of this session whose source has not answered yet. It is abandoned if the patient has moved on.
pub(super) fn authorizing(transaction: &Transaction<'_>, flow: &Flow, id: &str) -> Result<Authorization, FlowError> {
    Authorization::get(transaction, id)?
        .filter(|one| one.consent == flow.consent.id && one.state == AuthorizationState::Authorizing)
        .ok_or(FlowError::Stale)
}
