//! What the window beside a frame comes with: which session and which turn of it the frame showed, sealed. It opens one
//! window, since the turn goes on with that.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::consent::{Error, SessionKey, Store};

const PURPOSE: &str = "window";

/// The ticket of a frame that shows this turn.
pub(in crate::http::connect) fn made(store: &Store, key: SessionKey, turn: u64) -> Result<String, Error> {
    let plain = format!("{}.{turn}", key.text());
    Ok(URL_SAFE_NO_PAD.encode(store.seal(PURPOSE, plain.as_bytes())?))
}

/// The session and the turn of a ticket of ours.
pub(in crate::http::connect) fn read(store: &Store, ticket: &str) -> Option<(SessionKey, u64)> {
    let sealed = URL_SAFE_NO_PAD.decode(ticket).ok()?;
    let plain = String::from_utf8(store.unseal(PURPOSE, &sealed).ok()?).ok()?;
    let (key, turn) = plain.split_once('.')?;
    Some((SessionKey::from_text(key)?, turn.parse().ok()?))
}
