//! The client that makes a request, and whether it has authenticated.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::GrantError;
use crate::consent::access::secret;
use crate::consent::directory::application::clients::{Client, Clients, client as of_client};
use crate::consent::error::Error;

/// A client that requests a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The client.
    pub client: Client,
    /// Whether the client sent its secret key.
    pub proven: bool,
}

impl Caller {
    /// Returns the client of an active publishable key, as a caller that has sent no secret key.
    pub(super) fn unproven(connection: &Connection, now: i64, client: &str) -> Result<Caller, GrantError> {
        let (client, _) = in_use(connection, now, client)?.ok_or(GrantError::Client)?;
        Ok(Caller { client, proven: false })
    }

    /// Returns the publishable key if the client sent no secret key.
    pub(super) fn public_key(&self) -> Option<&str> {
        Some(&*self.client.id).filter(|_| !self.proven)
    }
}

impl Clients<'_> {
    /// Returns the client of an active publishable key. Refuses a secret key that is not the client's own.
    pub fn authenticate(&self, client: &str, secret: Option<&str>) -> Result<Caller, GrantError> {
        let now = self.store.clock().now();
        let found = self.store.read(|connection| in_use(connection, now, client))?;
        let (client, kept) = found.ok_or(GrantError::Client)?;
        let proven = match (secret, kept) {
            (None, _) => false,
            (Some(shown), Some(kept)) if secret::matches(shown, &kept) => true,
            (Some(_), _) => return Err(GrantError::Client),
        };
        Ok(Caller { client, proven })
    }
}

/// A client, and the digest of its secret key. The digest is `None` for a public client.
type Keys = (Client, Option<Vec<u8>>);

/// Returns the client of an active publishable key.
fn in_use(connection: &Connection, now: i64, client: &str) -> Result<Option<Keys>, Error> {
    let sql = "SELECT id, application, mode, secret FROM client
               WHERE id = ?1 AND (retired_at IS NULL OR retired_at > ?2)";
    let mut statement = connection.prepare_cached(sql)?;
    let row = statement.query_row(params![client, now], |row| Ok((of_client(row)?, row.get(3)?)));
    Ok(row.optional()?)
}
