//! Signed addresses of attachments. Whoever has such an address reads one attachment without a token, for ten minutes.
//!
//! The signature binds the attachment, the authorization that brought it, the token that read the record, and the time.
//! It is an HMAC-SHA256 under a key that is derived from the service's key. The store keeps nothing of an address.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::error::Error;
use super::super::states::ConsentState;
use super::super::store::Store;
use crate::lake::{Lake, Scope};

/// How long a signed address is valid, in seconds.
pub const ADDRESS_SECONDS: i64 = 600;

/// What a signed address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachmentAddress<'a> {
    /// The id of the Binary.
    pub attachment: &'a str,
    /// The id of the authorization that brought the attachment.
    pub authorization: &'a str,
    /// The id of the token that read the record with the address.
    pub jti: &'a str,
    /// Until when the address is valid, in seconds since the Unix epoch.
    pub until: i64,
}

impl AttachmentAddress<'_> {
    /// Returns the signed text. Ids have no line breaks, so two addresses never have the same text.
    fn text(&self) -> String {
        let AttachmentAddress {
            attachment,
            authorization,
            jti,
            until,
        } = self;
        format!("attachment\n{attachment}\n{authorization}\n{jti}\n{until}")
    }
}

impl Store {
    /// Returns the signature of an address, in base64url.
    pub fn sign_address(&self, address: &AttachmentAddress<'_>) -> String {
        let tag = hmac::sign(self.sealer().addresses(), address.text().as_bytes());
        URL_SAFE_NO_PAD.encode(tag)
    }

    /// Returns the rows that a signed address may read: those of its authorization. `None` if the signature is not that
    /// of this address, if its time is over, if its token was revoked, or if the application may not use the
    /// authorization any more.
    pub fn scope_of_address(
        &self,
        lake: &Lake,
        address: &AttachmentAddress<'_>,
        signature: &str,
    ) -> Result<Option<Scope>, Error> {
        let now = self.clock().now();
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
            return Ok(None);
        };
        let text = address.text();
        let is_ours = hmac::verify(self.sealer().addresses(), text.as_bytes(), &signature).is_ok();
        let is_in_time = (now + 1..=now.saturating_add(ADDRESS_SECONDS)).contains(&address.until);
        if !is_ours || !is_in_time || self.access_tokens().is_revoked(address.jti) {
            return Ok(None);
        }
        let Some(authorization) = self.authorizations().get(address.authorization)? else {
            return Ok(None);
        };
        let Some(full_consent) = self.consents().full(&authorization.consent)? else {
            return Ok(None);
        };
        let consent = &full_consent.consent;
        let stands = consent.state == ConsentState::Exchanged && consent.expunged_at.is_none();
        let source = full_consent
            .sources
            .iter()
            .find(|source| source.authorization.id == authorization.id && source.authorization.is_active(now));
        Ok(source
            .filter(|_| stands)
            .map(|source| full_consent.scope(lake, Some(source))))
    }
}
