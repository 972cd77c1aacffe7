//! The key of a session in the store.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::consent::access::secret::{self, Digest};

/// The store's key of a session. Nobody can open the session with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionKey(pub(super) Digest);

impl SessionKey {
    /// The key of the session for a cookie.
    pub fn of(cookie: &str) -> SessionKey {
        SessionKey(secret::digest(cookie))
    }

    /// The bytes in the store.
    pub(in crate::consent) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key as text.
    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Parses the text.
    pub fn from_text(text: &str) -> Option<SessionKey> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(SessionKey(bytes.try_into().ok()?))
    }
}
