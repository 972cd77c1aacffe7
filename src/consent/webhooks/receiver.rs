//! The receivers of an application's events: their addresses and their secrets. A secret is shown once, when it is
//! made. The store keeps it sealed, because every delivery is signed with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{Connection, Row, params};
use url::Url;
use uuid::Uuid;

use super::super::directory::address::check_receiver;
use super::super::directory::application::{about, known};
use super::super::error::Error;
use super::super::log::audit::{Actor, note};
use super::super::store::Store;

/// The maximum number of receivers of an application.
pub const RECEIVERS: usize = 5;
/// The beginning of every secret.
const PREFIX: &str = "whsec_";

/// A receiver of webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// The receiver's id.
    pub id: String,
    /// The id of its application.
    pub application: String,
    /// The address to which events are posted.
    pub url: String,
    /// When it was added, in seconds since the Unix epoch.
    pub created_at: i64,
    /// Until when the former secret signs, too.
    pub former_until: Option<i64>,
    /// When it answered 410. It has got no events since.
    pub disabled_at: Option<i64>,
    /// For a receiver of `tabularium listen`: until when it listens, unless its process renews this.
    pub listens_until: Option<i64>,
}

/// A receiver with a new secret. This is the only time at which the secret is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct NewReceiver {
    /// The receiver's id.
    pub id: String,
    /// Its address.
    pub url: String,
    /// The new secret: `whsec_` and 32 bytes in base64.
    pub secret: String,
}

impl std::fmt::Debug for NewReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewReceiver")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The repository of the receivers of webhooks and of their deliveries.
#[derive(Clone, Copy, Debug)]
pub struct Webhooks<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Webhooks<'_> {
    /// Adds a receiver to an application and makes its secret. Fails if the application has this address already, or
    /// has [`RECEIVERS`] receivers. Checks only the form of the address.
    pub fn add(&self, application: &str, url: &str, actor: Actor) -> Result<NewReceiver, Error> {
        let now = self.store.clock().now();
        check_url(url)?;
        let new = NewReceiver::make(url)?;
        let sealed = self.store.seal(&purpose(&new.id), new.secret.as_bytes())?;
        self.store.write(|transaction| {
            known(transaction, application)?;
            if find(transaction, application, url)?.is_some() {
                return Err(refused(url, "is a receiver already"));
            }
            let sql = "SELECT count(*) FROM webhook_receiver WHERE application = ?1 AND listens_until IS NULL";
            let count: usize = transaction.query_row(sql, [application], |row| row.get(0))?;
            if count >= RECEIVERS {
                return Err(refused(
                    url,
                    "is one too many: an application has at most five receivers",
                ));
            }
            let sql =
                "INSERT INTO webhook_receiver (id, application, url, secret, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.execute(sql, params![new.id, application, url, sealed, now])?;
            let action = "application.webhook-added";
            note(transaction, now, actor, action, about(application), &host(url))
        })?;
        Ok(new)
    }

    /// Returns the receivers of an application, or all, oldest first.
    pub fn receivers(&self, application: Option<&str>) -> Result<Vec<Receiver>, Error> {
        self.store.read(|connection| {
            if let Some(application) = application {
                known(connection, application)?;
            }
            let condition = "WHERE ?1 IS NULL OR application = ?1 ORDER BY application, created_at, id";
            select(connection, condition, params![application])
        })
    }

    /// Removes a receiver, with what waits for it. `name` is its address or its id. Returns `false` if there is none.
    pub fn remove(&self, application: &str, name: &str, actor: Actor) -> Result<bool, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            known(transaction, application)?;
            let Some(receiver) = find(transaction, application, name)? else {
                return Ok(false);
            };
            transaction.execute("DELETE FROM webhook_receiver WHERE id = ?1", [&receiver.id])?;
            let action = "application.webhook-removed";
            note(
                transaction,
                now,
                actor,
                action,
                about(application),
                &host(&receiver.url),
            )?;
            Ok(true)
        })
    }

    /// Lets a receiver that answered 410 get messages again. What was given up stays given up until somebody sends it
    /// again. `name` is its address or its id. Returns `false` if there is none that is disabled.
    pub fn enable(&self, application: &str, name: &str, actor: Actor) -> Result<bool, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            known(transaction, application)?;
            let receiver = find(transaction, application, name)?;
            let Some(receiver) = receiver.filter(|receiver| receiver.disabled_at.is_some()) else {
                return Ok(false);
            };
            let sql = "UPDATE webhook_receiver SET disabled_at = NULL WHERE id = ?1";
            transaction.execute(sql, [&receiver.id])?;
            let action = "application.webhook-enabled";
            note(
                transaction,
                now,
                actor,
                action,
                about(application),
                &host(&receiver.url),
            )?;
            Ok(true)
        })
    }

    /// Makes a new secret for a receiver. The present one signs, too, for `grace` more seconds. `name` is the
    /// receiver's address or its id. Returns `None` if there is none.
    pub fn rotate(
        &self,
        application: &str,
        name: &str,
        grace: i64,
        actor: Actor,
    ) -> Result<Option<NewReceiver>, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            known(transaction, application)?;
            let Some(receiver) = find(transaction, application, name)? else {
                return Ok(None);
            };
            let new = NewReceiver {
                id: receiver.id,
                ..NewReceiver::make(&receiver.url)?
            };
            let sealed = self.store.seal(&purpose(&new.id), new.secret.as_bytes())?;
            let sql = "UPDATE webhook_receiver SET former_secret = CASE WHEN ?3 > ?4 THEN secret END,
                       former_until = CASE WHEN ?3 > ?4 THEN ?3 END, secret = ?2 WHERE id = ?1";
            transaction.execute(sql, params![new.id, sealed, now + grace, now])?;
            let action = "application.webhook-secret-rotated";
            note(transaction, now, actor, action, about(application), &host(&new.url))?;
            Ok(Some(new))
        })
    }
}

impl NewReceiver {
    /// Makes a receiver with a random id and secret.
    pub(super) fn make(url: &str) -> Result<NewReceiver, Error> {
        let mut bytes = [0u8; 32];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::Key("the system gave no random numbers"))?;
        Ok(NewReceiver {
            id: Uuid::new_v4().to_string(),
            url: url.to_owned(),
            secret: format!("{PREFIX}{}", STANDARD.encode(bytes)),
        })
    }
}

/// Disables a receiver that wants no more events, and gives up what waits for it.
pub(super) fn disable(connection: &Connection, now: i64, receiver: &str) -> Result<(), Error> {
    let sql = "UPDATE webhook_delivery SET state = 'GIVEN_UP', due_at = NULL, failure = 'the receiver was disabled'
               WHERE receiver = ?1 AND state = 'WAITING'";
    connection.execute(sql, [receiver])?;
    let sql = "UPDATE webhook_receiver SET disabled_at = ?2 WHERE id = ?1 AND disabled_at IS NULL";
    connection.execute(sql, params![receiver, now])?;
    for receiver in select(connection, "WHERE id = ?1 AND listens_until IS NULL", [receiver])? {
        let detail = format!("{} answered 410", host(&receiver.url));
        tracing::warn!(
            receiver = receiver.id,
            "a receiver of webhooks answered 410 and is disabled"
        );
        let (action, about) = ("application.webhook-disabled", about(&receiver.application));
        note(connection, now, Actor::Service, action, about, &detail)?;
    }
    Ok(())
}

/// Checks the form of an address.
pub(super) fn check_url(url: &str) -> Result<(), Error> {
    check_receiver(url).map_err(|problem| refused(url, problem))
}

fn refused(url: &str, problem: &'static str) -> Error {
    Error::Invalid {
        what: format!("the address {url:?}"),
        problem,
    }
}

/// Returns the host of an address with its port, for logs: a path or a query may contain a secret.
pub(super) fn host(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let name = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

/// The purpose for which the secrets of a receiver are sealed.
pub(super) fn purpose(receiver: &str) -> String {
    format!("webhook/{receiver}")
}

/// Finds a registered receiver of an application by its address or its id.
fn find(connection: &Connection, application: &str, name: &str) -> Result<Option<Receiver>, Error> {
    let condition = "WHERE application = ?1 AND (url = ?2 OR id = ?2) AND listens_until IS NULL";
    Ok(select(connection, condition, params![application, name])?.pop())
}

fn select(connection: &Connection, condition: &str, parameters: impl rusqlite::Params) -> Result<Vec<Receiver>, Error> {
    let sql = format!(
        "SELECT id, application, url, created_at, former_until, disabled_at, listens_until FROM webhook_receiver {condition}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(parameters, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Receiver> {
    Ok(Receiver {
        id: row.get(0)?,
        application: row.get(1)?,
        url: row.get(2)?,
        created_at: row.get(3)?,
        former_until: row.get(4)?,
        disabled_at: row.get(5)?,
        listens_until: row.get(6)?,
    })
}
