//! The key by which the store finds a session.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::consent::access::secret::{self, Digest};

/// The key by which the store finds a session: the digest of its cookie. Nobody can use the session with the key alone,
/// because the cookie cannot be computed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionKey(pub(super) Digest);

impl SessionKey {
    /// Returns the key of the session with this cookie.
    pub fn of(cookie: &str) -> SessionKey {
        SessionKey(secret::digest(cookie))
    }

    /// Returns the bytes of the key, which the store has in the column `digest`.
    pub(in crate::consent) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the key in base64url.
    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Parses a key in base64url.
    pub fn from_text(text: &str) -> Option<SessionKey> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(SessionKey(bytes.try_into().ok()?))
    }
}
