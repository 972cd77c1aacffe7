//! Initial access tokens (RFC 7591). With one, an application can register itself once for live mode.

use rusqlite::{Connection, params};

use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::{About, Actor, note};
use crate::consent::store::Store;

/// How long an initial access token is valid, in seconds.
pub const REGISTRATION_SECONDS: i64 = 7 * 86_400;

/// The repository of initial access tokens for the registration of applications in live mode.
#[derive(Clone, Copy, Debug)]
pub struct RegistrationTokens<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl RegistrationTokens<'_> {
    /// Makes an initial access token. One application may register itself for live mode with it.
    pub fn create(&self, actor: Actor) -> Result<String, Error> {
        let now = self.store.clock().now();
        let token = secret::random("iat_")?;
        self.store.write(|transaction| {
            let sql = "INSERT INTO registration_token (digest, created_at, expires_at) VALUES (?1, ?2, ?3)";
            transaction.execute(sql, params![secret::digest(&token), now, now + REGISTRATION_SECONDS])?;
            note(
                transaction,
                now,
                actor,
                "registration-token.created",
                About::default(),
                "",
            )
        })?;
        Ok(token)
    }

    /// Whether an initial access token is valid now. [`Applications::create`](super::Applications::create) uses it
    /// up.
    pub fn is_valid(&self, token: &str) -> Result<bool, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM registration_token
                       WHERE digest = ?1 AND used_at IS NULL AND expires_at > ?2)";
            Ok(connection.query_row(sql, params![secret::digest(token), now], |row| row.get(0))?)
        })
    }
}

/// Marks an initial access token as used. If two requests have the same token, only one succeeds.
pub(super) fn use_registration_token(connection: &Connection, now: i64, token: &str) -> Result<(), Error> {
    let sql = "UPDATE registration_token SET used_at = ?2 WHERE digest = ?1 AND used_at IS NULL AND expires_at > ?2";
    match connection.execute(sql, params![secret::digest(token), now])? {
        0 => Err(Error::InitialAccessToken),
        _ => Ok(()),
    }
}
