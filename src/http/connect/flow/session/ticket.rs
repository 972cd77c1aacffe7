//! The ticket with which a frame opens a window. It contains, encrypted, the session's key and the turn at which the
//! frame was rendered. The turn counts the session's changes. A ticket is valid only as long as the session is at this
//! turn. So it opens only one window, because opening the window advances the turn.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::consent::{Error, SessionKey, Store};

const PURPOSE: &str = "window";

/// Creates the ticket for a frame that is rendered at this turn of the session.
pub(in crate::http::connect) fn made(store: &Store, key: SessionKey, turn: u64) -> Result<String, Error> {
    let plain = format!("{}.{turn}", key.text());
    Ok(URL_SAFE_NO_PAD.encode(store.seal(PURPOSE, plain.as_bytes())?))
}

/// Decrypts the session's key and the turn of a ticket. `None` if this service did not create the ticket.
pub(in crate::http::connect) fn read(store: &Store, ticket: &str) -> Option<(SessionKey, u64)> {
    let sealed = URL_SAFE_NO_PAD.decode(ticket).ok()?;
    let plain = String::from_utf8(store.unseal(PURPOSE, &sealed).ok()?).ok()?;
    let (key, turn) = plain.split_once('.')?;
    Some((SessionKey::from_text(key)?, turn.parse().ok()?))
}
