//! The table of clients: the key pairs of applications, each for one mode.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::keys::{NewKeys, make_keys};
use super::record::{about, known};
use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::{Actor, note};
use crate::consent::mode::mode_of;
use crate::consent::store::Store;
use crate::lake::Mode;

/// A client: one key pair of an application, for one mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The publishable key, which is the `client_id` in tokens.
    pub id: Arc<str>,
    /// The id of the client's application.
    pub application: Arc<str>,
    /// The mode of the records that the client may see.
    pub mode: Mode,
}

/// The repository of clients, which are the key pairs of applications.
#[derive(Clone, Copy, Debug)]
pub struct Clients<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Clients<'_> {
    /// Returns the client with this active secret key.
    pub fn of_secret(&self, shown: &str) -> Result<Option<Client>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| {
            let sql = "SELECT id, application, mode FROM client
                       WHERE secret = ?1 AND (retired_at IS NULL OR retired_at > ?2)";
            let mut statement = connection.prepare_cached(sql)?;
            let row = statement.query_row(params![secret::digest(shown), now], client);
            Ok(row.optional()?)
        })
    }

    /// Whether this is an active secret key of the application in this mode.
    pub fn is_secret_of(&self, application: &str, mode: Mode, shown: &str) -> Result<bool, Error> {
        let client = self.of_secret(shown)?;
        Ok(client.is_some_and(|client| *client.application == *application && client.mode == mode))
    }

    /// Returns the client of a publishable key if the key is active: not replaced, or replaced and still in its grace
    /// period.
    pub fn active(&self, publishable: &str) -> Result<Option<Client>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| {
            let sql = "SELECT id, application, mode FROM client
                       WHERE id = ?1 AND (retired_at IS NULL OR retired_at > ?2)";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row(params![publishable, now], client).optional()?)
        })
    }

    /// Makes a new key pair for a mode. The present keys stop working after `grace` seconds, so that the application
    /// has time to change its configuration. Tokens that were issued to the present keys stay valid.
    pub fn rotate(&self, application: &str, mode: Mode, grace: i64, actor: Actor) -> Result<NewKeys, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            known(transaction, application)?;
            rotate_keys(transaction, now, application, (mode, grace), actor)
        })
    }

    /// Returns the application's newest client for a mode. Ignores clients whose keys were replaced.
    pub fn of(&self, application: &str, mode: Mode) -> Result<Client, Error> {
        let connection = self.store.connection();
        let sql = "SELECT id, application, mode FROM client WHERE application = ?1 AND mode = ?2 AND retired_at IS NULL
                   ORDER BY created_at DESC, id LIMIT 1";
        let client = connection
            .prepare_cached(sql)?
            .query_row([application, mode.schema()], client)
            .optional()?;
        client.ok_or_else(|| Error::UnknownApplication(application.to_owned()))
    }

    /// Returns the client of this publishable key, even if the key was replaced.
    pub fn get(&self, id: &str) -> Result<Option<Client>, Error> {
        let connection = self.store.connection();
        let mut statement = connection.prepare_cached("SELECT id, application, mode FROM client WHERE id = ?1")?;
        Ok(statement.query_row([id], client).optional()?)
    }

    /// Returns the client of a key pair. `None` if the keys are not active or do not belong together.
    pub fn with_secret(&self, publishable: &str, secret: &str) -> Result<Option<Client>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT id, application, mode, secret FROM client
                       WHERE id = ?1 AND secret IS NOT NULL AND (retired_at IS NULL OR retired_at > ?2)";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement
                .query_row(params![publishable, self.store.clock().now()], |row| {
                    Ok((client(row)?, row.get::<_, Vec<u8>>(3)?))
                })
                .optional()?;
            Ok(found
                .filter(|(_, kept)| secret::matches(secret, kept))
                .map(|(client, _)| client))
        })
    }
}

/// Makes a new key pair for a mode in the caller's transaction. The present keys stop working after `grace` seconds.
pub(super) fn rotate_keys(
    connection: &Connection,
    now: i64,
    application: &str,
    (mode, grace): (Mode, i64),
    actor: Actor,
) -> Result<NewKeys, Error> {
    let end = now.saturating_add(grace.max(0));
    let confidential = connection.query_row(
        // An application that registered itself as a public client stays public.
        "SELECT registration IS NULL OR EXISTS
             (SELECT 1 FROM client WHERE application = ?1 AND secret IS NOT NULL)
         FROM application WHERE id = ?1",
        [application],
        |row| row.get(0),
    )?;
    let sql = "UPDATE client SET retired_at = ?1
               WHERE application = ?2 AND mode = ?3 AND (retired_at IS NULL OR retired_at > ?1)";
    connection.execute(sql, params![end, application, mode.schema()])?;
    let made = make_keys(connection, now, application, mode, confidential)?;
    note(
        connection,
        now,
        actor,
        "application.keys-rotated",
        about(application),
        mode.schema(),
    )?;
    Ok(made)
}

/// Reads a client from the columns id, application and mode.
pub(in crate::consent) fn client(row: &rusqlite::Row<'_>) -> rusqlite::Result<Client> {
    Ok(Client {
        id: row.get(0)?,
        application: row.get(1)?,
        mode: mode_of(&row.get::<_, String>(2)?),
    })
}
