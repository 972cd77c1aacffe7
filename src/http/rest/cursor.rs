//! The cursor of a list of consents. It is encrypted for one application and mode. So clients cannot read it, forge
//! it, or use it for the list of another application.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::consent::{ConsentState, Store};
use crate::http::error::Error;
use crate::lake::Scope;

/// The filters of a list. A field that is `None` is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filters {
    pub(super) state: Option<ConsentState>,
    /// The application's identifier of the user.
    pub(super) external_id: Option<String>,
}

/// The position at which the next page of a list begins: after the consent that was created at `at` and has this `id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) at: i64,
    pub(super) id: String,
    pub(super) filters: Filters,
}

impl Cursor {
    /// Encrypts the cursor for `meta.nextCursor`.
    pub(super) fn seal(&self, store: &Store, scope: &Scope) -> Result<String, Error> {
        let Filters { state, external_id } = &self.filters;
        let state = state.map_or("", ConsentState::name);
        // The identifier may have any characters, so it comes last. The sign says that there is one.
        let external_id = external_id.iter().map(|id| format!("={id}")).collect::<String>();
        let plain = format!("{} {} {state} {external_id}", self.at, self.id);
        let sealed = store.seal(&purpose(scope), plain.as_bytes()).map_err(Error::internal)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Decrypts a cursor that a client sent. An error if it is not from a list of this application and mode.
    pub(super) fn open(text: &str, store: &Store, scope: &Scope) -> Result<Cursor, Error> {
        let opened = || {
            let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
            let plain = store.unseal(&purpose(scope), &sealed).ok()?;
            let plain = String::from_utf8(plain).ok()?;
            let (at, rest) = plain.split_once(' ')?;
            let (id, rest) = rest.split_once(' ')?;
            let (state, external_id) = rest.split_once(' ')?;
            let filters = Filters {
                state: match state {
                    "" => None,
                    name => Some(ConsentState::named(name)?),
                },
                external_id: external_id.strip_prefix('=').map(str::to_owned),
            };
            Some(Cursor {
                at: at.parse().ok()?,
                id: id.to_owned(),
                filters,
            })
        };
        opened().ok_or_else(|| Error::Invalid("cursor is none that this list gave".to_owned()))
    }
}

/// Returns the purpose for which the store encrypts cursors. It differs for each mode and application, so a cursor of
/// another application or mode cannot be decrypted.
fn purpose(scope: &Scope) -> String {
    format!("consents/{}/{}", scope.mode.schema(), scope.application)
}
