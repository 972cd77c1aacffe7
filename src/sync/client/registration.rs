//! The service's registration with a source.

use super::http::realm::Realm;
use crate::consent::ClientAuth;

/// The service's registration with a source.
#[derive(Clone, PartialEq, Eq)]
pub struct Registration {
    /// The client id.
    pub client_id: String,
    /// The secret of a confidential client.
    pub client_secret: Option<String>,
    /// The scopes to request, separated by spaces.
    pub scope: String,
    /// How the source accepts the secret, if this is known.
    pub client_auth: Option<ClientAuth>,
    /// The addresses to which the secret may be sent. `None` allows all addresses with TLS, and all addresses of this
    /// machine.
    pub secret_at: Option<Realm>,
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
