//! Client credentials: an access token for the application itself, in the mode of the client's keys.

use super::caller::Caller;
use super::error::GrantError;
use crate::consent::access::token::{Issued, Tokens};

impl Tokens {
    /// Issues an access token for the client itself. The client must have sent its secret key.
    pub fn client_credentials(&self, caller: &Caller) -> Result<Issued, GrantError> {
        if caller.proven {
            Ok(self.for_client(&caller.client)?)
        } else {
            Err(GrantError::NeedsSecret)
        }
    }
}
