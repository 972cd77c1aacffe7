//! The answer about a registration: the client information response of RFC 7591, section 3.2.1, and RFC 7592, section
//! 3.

use serde::Serialize;

use super::metadata::Metadata;
use crate::consent::ManagedRegistration;

/// Where a registration is managed, before the publishable key.
pub(super) const MANAGED_AT: &str = "/oauth/register";

#[derive(Serialize)]
pub(super) struct ClientInformation<'r> {
    client_id: &'r str,
    /// The secret key. Only answers that make a new one have it, because the store has only digests.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'r str>,
    client_id_issued_at: i64,
    /// Always 0, because the secret key does not expire (RFC 7591, section 3.2.1).
    client_secret_expires_at: i64,
    registration_client_uri: String,
    registration_access_token: &'r str,
    #[serde(flatten)]
    metadata: Metadata,
}

impl<'r> ClientInformation<'r> {
    /// Builds the answer about a registration. `secret` is a new secret key, and `token` the registration access token.
    pub(super) fn of(
        base_url: &str,
        registration: &'r ManagedRegistration,
        secret: Option<&'r str>,
        token: &'r str,
    ) -> ClientInformation<'r> {
        let client_id = &registration.key.publishable;
        ClientInformation {
            client_id,
            client_secret: secret,
            client_id_issued_at: registration.key.created_at,
            client_secret_expires_at: 0,
            registration_client_uri: format!("{base_url}{MANAGED_AT}/{client_id}"),
            registration_access_token: token,
            metadata: Metadata::stored(registration),
        }
    }
}
