//! Where a list of consents goes on. A cursor is sealed for the list it came from, so that it can neither be read, nor made up, nor taken
//! to another application's list.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::consent::{ConsentState, Store};
use crate::http::error::Error;
use crate::lake::Scope;

/// The last consent of a page: when it was made, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) at: i64,
    pub(super) id: String,
}

impl Cursor {
    /// As it stands in `meta.nextCursor`.
    pub(super) fn seal(&self, store: &Store, scope: &Scope, state: Option<ConsentState>) -> Result<String, Error> {
        let plain = format!("{} {}", self.at, self.id);
        let sealed = store
            .seal(&purpose(scope, state), plain.as_bytes())
            .map_err(Error::internal)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// The cursor that a client sent back, if it is one of this list's.
    pub(super) fn open(text: &str, store: &Store, scope: &Scope, state: Option<ConsentState>) -> Result<Cursor, Error> {
        let opened = || {
            let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
            let plain = store.unseal(&purpose(scope, state), &sealed).ok()?;
            let plain = String::from_utf8(plain).ok()?;
            let (at, id) = plain.split_once(' ')?;
            Some(Cursor {
                at: at.parse().ok()?,
                id: id.to_owned(),
            })
        };
        opened().ok_or_else(|| Error::Invalid("cursor is none that this list gave".to_owned()))
    }
}

/// Which list it is: whose, and what it leaves out.
fn purpose(scope: &Scope, state: Option<ConsentState>) -> String {
    let state = state.map_or("", ConsentState::name);
    format!("consents/{}/{}/{state}", scope.mode.schema(), scope.application)
}
