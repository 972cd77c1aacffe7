//! Makes key pairs. A secret key is shown once, when it is made.

use rusqlite::{Connection, params};

use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::lake::Mode;

/// A client of an application, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Key {
    /// The publishable key, which is the `client_id` in requests.
    pub publishable: String,
    /// The mode of the records that the client may see.
    #[serde(serialize_with = "mode_name")]
    pub mode: Mode,
    /// Whether the client has a secret key.
    pub confidential: bool,
    /// When the keys were made, in seconds since the Unix epoch.
    pub created_at: i64,
    /// When the keys stop working. `None` if they were not replaced.
    pub retired_at: Option<i64>,
}

fn mode_name<S: serde::Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(mode.schema())
}

/// A new key pair. This is the only time at which the secret key is known.
#[derive(Clone, PartialEq, Eq)]
pub struct NewKeys {
    /// The publishable key.
    pub publishable: String,
    /// The secret key. `None` for a public client.
    pub secret: Option<String>,
    /// The mode of the records that the keys give access to.
    pub mode: Mode,
}

impl std::fmt::Debug for NewKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKeys")
            .field("publishable", &self.publishable)
            .finish_non_exhaustive()
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
