//! The cursor of a list of consents. It is encrypted for its list, so that nobody can read it, make one up, or use it
//! for another application's list.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::consent::{ConsentState, Store};
use crate::http::error::Error;
use crate::lake::Scope;

/// The last consent of a page (its time and id), and the state that filters its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) at: i64,
    pub(super) id: String,
    pub(super) state: Option<ConsentState>,
}

impl Cursor {
    /// The text for `meta.nextCursor`.
    pub(super) fn seal(&self, store: &Store, scope: &Scope) -> Result<String, Error> {
        let plain = format!("{} {} {}", self.at, self.id, self.state.map_or("", ConsentState::name));
        let sealed = store.seal(&purpose(scope), plain.as_bytes()).map_err(Error::internal)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Reads a cursor that a client sent, if it is from one of this application's lists.
    pub(super) fn open(text: &str, store: &Store, scope: &Scope) -> Result<Cursor, Error> {
        let opened = || {
            let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
            let plain = store.unseal(&purpose(scope), &sealed).ok()?;
            let plain = String::from_utf8(plain).ok()?;
            let (at, rest) = plain.split_once(' ')?;
            let (id, state) = rest.split_once(' ')?;
            Some(Cursor {
                at: at.parse().ok()?,
                id: id.to_owned(),
                state: match state {
                    "" => None,
                    name => Some(ConsentState::named(name)?),
                },
            })
        };
        opened().ok_or_else(|| Error::Invalid("cursor is none that this list gave".to_owned()))
    }
}

/// The application of the list.
fn purpose(scope: &Scope) -> String {
    format!("consents/{}/{}", scope.mode.schema(), scope.application)
}
