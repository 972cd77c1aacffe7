//! Key pairs: made, found, replaced. A secret is shown once, when it is made.

use rusqlite::{Connection, OptionalExtension, params};

use super::record::{about, known};
use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::{Actor, note};
use crate::consent::store::{self, Client, Store};
use crate::lake::Mode;

/// A publishable key.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Key {
    /// The key: `client_id`.
    pub publishable: String,
    /// Which data it reaches.
    #[serde(serialize_with = "mode_name")]
    pub mode: Mode,
    /// Whether it has a secret key.
    pub confidential: bool,
    /// When it was made.
    pub created_at: i64,
    /// From when on it begins nothing any more.
    pub retired_at: Option<i64>,
}

fn mode_name<S: serde::Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(mode.schema())
}

/// Keys just made: the only time that the secret is known.
#[derive(Clone, PartialEq, Eq)]
pub struct NewKeys {
    /// The publishable key.
    pub publishable: String,
    /// The secret key. `None` for a public client.
    pub secret: Option<String>,
    /// Which data they reach.
    pub mode: Mode,
}

impl std::fmt::Debug for NewKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKeys")
            .field("publishable", &self.publishable)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// The client of a publishable key that may begin something: one that is not replaced.
    pub fn active_client(&self, publishable: &str) -> Result<Option<Client>, Error> {
        let now = self.clock().now();
        self.read(|connection| {
            let sql = "SELECT id, application, mode FROM client
                       WHERE id = ?1 AND (retired_at IS NULL OR retired_at > ?2)";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement
                .query_row(params![publishable, now], store::client)
                .optional()?)
        })
    }

    /// Makes new keys for a mode. The present ones begin nothing any more after `grace` seconds, in which an
    /// application can be given the new ones.
    pub fn rotate_keys(&self, application: &str, mode: Mode, grace: i64, actor: Actor) -> Result<NewKeys, Error> {
        let now = self.clock().now();
        self.write(|transaction| {
            known(transaction, application)?;
            let end = now.saturating_add(grace.max(0));
            let confidential = transaction.query_row(
                // A client that registered itself as public stays public.
                "SELECT registration IS NULL OR EXISTS
                     (SELECT 1 FROM client WHERE application = ?1 AND secret IS NOT NULL)
                 FROM application WHERE id = ?1",
                [application],
                |row| row.get(0),
            )?;
            let sql = "UPDATE client SET retired_at = ?1
                       WHERE application = ?2 AND mode = ?3 AND (retired_at IS NULL OR retired_at > ?1)";
            transaction.execute(sql, params![end, application, mode.schema()])?;
            let made = make_keys(transaction, now, application, mode, confidential)?;
            note(
                transaction,
                now,
                actor,
                "application.keys-rotated",
                about(application),
                mode.schema(),
            )?;
            Ok(made)
        })
    }
}

pub(super) fn make_keys(
    connection: &Connection,
    now: i64,
    application: &str,
    mode: Mode,
    confidential: bool,
) -> Result<NewKeys, Error> {
    let publishable = secret::random(&format!("pk_{}_", mode.schema()))?;
    let secret = confidential
        .then(|| secret::random(&format!("sk_{}_", mode.schema())))
        .transpose()?;
    let digest = secret.as_deref().map(secret::digest);
    let sql = "INSERT INTO client (id, application, mode, created_at, secret) VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.execute(sql, params![publishable, application, mode.schema(), now, digest])?;
    Ok(NewKeys {
        publishable,
        secret,
        mode,
    })
}
