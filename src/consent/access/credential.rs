//! The service's credentials for an authorization: the source's tokens, encrypted. They are deleted at the
//! authorization's end.

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::super::error::Error;
use super::super::record::{Authorization, AuthorizationType};
use super::super::store::Store;

/// The tokens of a source.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// The access token.
    pub access_token: String,
    /// When it expires, if the source states it.
    #[serde(default)]
    pub expires_at: Option<i64>,
    /// The refresh token that renews it.
    #[serde(default)]
    pub refresh_token: Option<String>,
    /// An identity provider's statement of who the patient is. It replaces a sign-in at the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertion: Option<String>,
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential")
            .field("expires_at", &self.expires_at)
            .field("refreshable", &self.refresh_token.is_some())
            .finish_non_exhaustive()
    }
}

impl Credential {
    /// Whether the source accepts it at the time `now`, or it can be renewed. `located` if the source accepts the
    /// service's own statement.
    fn is_good(&self, now: i64, located: bool) -> bool {
        let holds = self.expires_at.is_none_or(|ends| ends > now);
        holds || located || self.refresh_token.is_some() || self.assertion.is_some()
    }
}

/// The sealed credentials that the service presents to sources.
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Credentials<'_> {
    /// The credential for an authorization's source. `None` once the authorization has ended.
    pub fn get(&self, authorization: &str) -> Result<Option<Credential>, Error> {
        self.store.read(|connection| self.opened(connection, authorization))
    }

    /// Whether the source of an authorization can be queried, within a transaction.
    pub(in crate::consent) fn has_access(
        &self,
        connection: &Connection,
        now: i64,
        authorization: &Authorization,
    ) -> Result<bool, Error> {
        let located = authorization.authorization_type == AuthorizationType::Ial1;
        let credential = self.opened(connection, &authorization.id)?;
        Ok(credential.is_some_and(|credential| credential.is_good(now, located)))
    }

    fn opened(&self, connection: &Connection, authorization: &str) -> Result<Option<Credential>, Error> {
        let sql = "SELECT sealed FROM credential WHERE authorization = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let sealed: Option<Vec<u8>> = statement.query_row([authorization], |row| row.get(0)).optional()?;
        let Some(sealed) = sealed else { return Ok(None) };
        let plain = self.store.unseal(&purpose(authorization), &sealed)?;
        serde_json::from_slice(&plain)
            .map(Some)
            .map_err(|_| Error::Lost("credential"))
    }

    /// Stores renewed tokens. `false` if the authorization has ended in the meantime. The tokens are then useless.
    pub fn renew(&self, authorization: &str, credential: &Credential) -> Result<bool, Error> {
        let (now, sealed) = (self.store.clock().now(), self.seal(authorization, credential)?);
        self.store.write(|transaction| {
            let sql = "UPDATE credential SET sealed = ?2, updated_at = ?3 WHERE authorization = ?1";
            Ok(transaction.execute(sql, params![authorization, sealed, now])? == 1)
        })
    }

    /// Records the first tokens of an authorization.
    pub fn save(&self, authorization: &str, credential: &Credential) -> Result<(), Error> {
        let (now, sealed) = (self.store.clock().now(), self.seal(authorization, credential)?);
        self.store
            .write(|transaction| keep(transaction, now, authorization, &sealed))
    }

    pub(in crate::consent) fn seal(&self, authorization: &str, credential: &Credential) -> Result<Vec<u8>, Error> {
        let plain = serde_json::to_vec(credential).map_err(|_| Error::Lost("credential"))?;
        self.store.seal(&purpose(authorization), &plain)
    }
}

/// Stores sealed credentials in the transaction that records the source's grant.
pub(in crate::consent) fn keep(
    connection: &Connection,
    now: i64,
    authorization: &str,
    sealed: &[u8],
) -> Result<(), Error> {
    let sql = "INSERT INTO credential (authorization, sealed, updated_at) VALUES (?1, ?2, ?3)
               ON CONFLICT DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at";
    connection
        .prepare_cached(sql)?
        .execute(params![authorization, sealed, now])?;
    Ok(())
}

fn purpose(authorization: &str) -> String {
    format!("credential/{authorization}")
}
