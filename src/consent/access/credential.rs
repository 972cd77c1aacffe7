//! The credential that the service has for each authorization: the tokens of its source, encrypted. The credential is
//! deleted when the authorization ends.

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::super::error::Error;
use super::super::record::{Authorization, AuthorizationType};
use super::super::store::Store;

/// The tokens that a source has issued to the service.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// The access token.
    pub access_token: String,
    /// When the access token expires. `None` if the source does not say.
    #[serde(default)]
    pub expires_at: Option<i64>,
    /// The refresh token. It renews the access token.
    #[serde(default)]
    pub refresh_token: Option<String>,
    /// An identity provider's assertion of who the patient is. The source accepts it in place of a sign-in.
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
    /// Whether the service can query the source at the time `now`: the access token is valid, or the service can get
    /// a new one. `located` is true for sources that accept an assertion which the service makes itself.
    fn is_good(&self, now: i64, located: bool) -> bool {
        let holds = self.expires_at.is_none_or(|ends| ends > now);
        holds || located || self.refresh_token.is_some() || self.assertion.is_some()
    }
}

/// The repository of the sealed credentials for sources.
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Credentials<'_> {
    /// Returns the credential for an authorization's source. `None` if the source has not granted access or the
    /// authorization has ended.
    pub fn get(&self, authorization: &str) -> Result<Option<Credential>, Error> {
        self.store.read(|connection| self.opened(connection, authorization))
    }

    /// Whether the service has access to the source of an authorization. Reads on the caller's connection.
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

    /// Stores renewed tokens. Returns `false` and stores nothing if the authorization has ended in the meantime.
    pub fn renew(&self, authorization: &str, credential: &Credential) -> Result<bool, Error> {
        let (now, sealed) = (self.store.clock().now(), self.seal(authorization, credential)?);
        self.store.write(|transaction| {
            let sql = "UPDATE credential SET sealed = ?2, updated_at = ?3 WHERE authorization = ?1";
            Ok(transaction.execute(sql, params![authorization, sealed, now])? == 1)
        })
    }

    /// Stores the credential of an authorization, in place of an earlier one.
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

/// Stores an encrypted credential in the caller's transaction, in place of an earlier one.
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
