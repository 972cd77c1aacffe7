//! The table of RSA keys that sign access tokens. The store caches all of them. Former keys whose last token has
//! expired are not used.

use std::sync::{Arc, PoisonError};

use jsonwebtoken::jwk::JwkSet;
use rusqlite::Connection;

use super::super::super::error::Error;
use super::super::super::log::audit::{About, Actor, note};
use super::super::super::store::Store;
use super::super::lifetime::PATIENT_SECONDS;
use super::keys::SigningKey;
use super::rows;

/// The repository of the RSA keys that sign access tokens.
#[derive(Clone, Copy, Debug)]
pub struct SigningKeys<'a> {
    pub(in crate::consent) store: &'a Store,
}

/// Deletes former keys whose last token has expired.
pub(in crate::consent) fn forget_retired(connection: &Connection, now: i64) -> Result<(), Error> {
    connection.execute("DELETE FROM signing_key WHERE retired_at < ?1", [now - PATIENT_SECONDS])?;
    Ok(())
}

impl SigningKeys<'_> {
    /// Replaces the signing key by a new one. A former key still verifies tokens until the last token that it signed
    /// has expired.
    pub fn rotate(&self) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            transaction.execute("UPDATE signing_key SET retired_at = ?1 WHERE retired_at IS NULL", [now])?;
            let kid = rows::insert_new(transaction, self.store.sealer(), now)?;
            let (actor, about) = (Actor::Operator, About::default());
            note(transaction, now, actor, "signing-key.rotated", about, &kid)
        })?;
        self.store.reload()
    }

    /// Returns the public halves of all keys whose tokens may still be valid.
    pub fn jwks(&self) -> JwkSet {
        let (held, now) = (
            self.store.held().read().unwrap_or_else(PoisonError::into_inner),
            self.store.clock().now(),
        );
        let kept = held.keys.iter().filter(|key| key.is_kept(now, PATIENT_SECONDS));
        JwkSet {
            keys: kept.map(|key| key.jwk.clone()).collect(),
        }
    }

    /// Returns the current signing key.
    pub(in crate::consent) fn current(&self) -> Result<Arc<SigningKey>, Error> {
        let held = self.store.held().read().unwrap_or_else(PoisonError::into_inner);
        held.keys.first().cloned().ok_or(Error::Key("there is none"))
    }

    /// Returns the key with this id if its tokens may still be valid. If the key is not cached, reloads the cache after
    /// a write of another process, which may have made the key.
    pub(in crate::consent) fn get(&self, kid: &str) -> Result<Option<Arc<SigningKey>>, Error> {
        let find = || {
            let held = self.store.held().read().unwrap_or_else(PoisonError::into_inner);
            let mut named = held.keys.iter().filter(|key| key.kid == kid);
            named
                .find(|key| key.is_kept(self.store.clock().now(), PATIENT_SECONDS))
                .cloned()
        };
        if let Some(key) = find() {
            return Ok(Some(key));
        }
        self.store.refresh()?;
        Ok(find())
    }
}
