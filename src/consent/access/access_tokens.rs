//! The tables of issued and of revoked access tokens.

use std::sync::PoisonError;

use rusqlite::{Connection, params};

use super::super::error::Error;
use super::super::store::Store;

/// The repository of issued and revoked access tokens.
#[derive(Clone, Copy, Debug)]
pub struct AccessTokens<'a> {
    pub(in crate::consent) store: &'a Store,
}

/// Deletes the entries of tokens that have expired. Nobody needs them any more, because an expired token is refused.
pub(in crate::consent) fn forget_expired(connection: &Connection, now: i64) -> Result<(), Error> {
    connection.execute("DELETE FROM revoked_token WHERE expires_at < ?1", [now])?;
    connection.execute("DELETE FROM access_token WHERE expires_at <= ?1", [now])?;
    Ok(())
}

impl AccessTokens<'_> {
    /// Whether the table of issued access tokens has the token `jti` of `consent`. A token leaves this table when it is
    /// revoked together with its family or consent, or some time after it has expired.
    pub(in crate::consent) fn knows(&self, jti: &str, consent: &str) -> Result<bool, Error> {
        self.store.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM access_token WHERE jti = ?1 AND consent = ?2)";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row(params![jti, consent], |row| row.get(0))?)
        })
    }

    /// Revokes a token. `expires_at` is the token's expiry.
    pub fn revoke(&self, jti: &str, expires_at: i64) -> Result<(), Error> {
        let connection = self.store.connection();
        let sql = "INSERT INTO revoked_token (jti, expires_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        connection.execute(sql, params![jti, expires_at])?;
        drop(connection);
        self.store
            .held()
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .revoked
            .insert(jti.into());
        Ok(())
    }

    /// Whether a token id or a consent id was revoked. A revoked consent id revokes all tokens of the consent. Reads
    /// only memory.
    pub(in crate::consent) fn is_revoked(&self, id: &str) -> bool {
        self.store
            .held()
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .revoked
            .contains(id)
    }
}
