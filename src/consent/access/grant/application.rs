//! Client credentials: a token for the application itself, in the mode of the caller's keys.

use super::caller::Caller;
use super::error::GrantError;
use crate::consent::access::token::{Issued, Tokens};

impl Tokens {
    /// An access token for the client itself. The client must have authenticated.
    pub fn client_credentials(&self, caller: &Caller) -> Result<Issued, GrantError> {
        if caller.proven {
            Ok(self.for_client(&caller.client)?)
        } else {
            Err(GrantError::NeedsSecret)
        }
    }
}
