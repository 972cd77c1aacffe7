//! The table of applications: creates, reads and lists them. Changes of an application's addresses and of its sync
//! frequency go through `Applications::change`.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::addresses::{add_origin, add_redirect_uri};
use super::keys::{Key, NewKeys, make_keys};
use super::names::{checked_id, checked_name, exists, free_id};
use super::registration::use_registration_token;
use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::{About, Actor, note};
use crate::consent::mode::mode_of;
use crate::consent::states::named;
use crate::consent::store::Store;
use crate::lake::Mode;

named! {
    /// How often the records of MULTIPLE authorizations are fetched again, without a request from the application.
    SyncFrequency {
        /// Never.
        Off = "off",
        /// Every 24 hours.
        Daily = "daily",
        /// Every 7 days.
        Weekly = "weekly",
        /// Every 30 days.
        Monthly = "monthly",
    }
}

impl SyncFrequency {
    /// Returns the seconds from one sync to the next. `None` for [`SyncFrequency::Off`].
    pub fn seconds(self) -> Option<i64> {
        match self {
            SyncFrequency::Off => None,
            SyncFrequency::Daily => Some(86_400),
            SyncFrequency::Weekly => Some(7 * 86_400),
            SyncFrequency::Monthly => Some(30 * 86_400),
        }
    }
}

/// A registered application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The application's id.
    pub id: String,
    /// The name that patients see.
    pub name: String,
    /// When the application was registered, in seconds since the Unix epoch.
    pub created_at: i64,
    /// How often the records of its patients are fetched again.
    pub sync_frequency: SyncFrequency,
    /// The metadata of a dynamic registration, as JSON. `None` if an operator registered the application.
    pub registration: Option<String>,
    /// The application's redirect URIs.
    pub redirect_uris: Vec<String>,
    /// The origins whose pages may embed the link component.
    pub origins: Vec<String>,
    /// The application's keys. Replaced keys come last. Otherwise they are ordered by mode, then by age, the newest
    /// first.
    pub keys: Vec<Key>,
}

/// An application to be registered.
#[derive(Clone, Debug)]
pub struct NewApplication<'a> {
    /// The requested id. If it is `None`, an id is made from the name.
    pub id: Option<&'a str>,
    /// The name that patients see.
    pub name: &'a str,
    /// The modes for which the application gets keys.
    pub modes: &'a [Mode],
    /// Whether the application gets secret keys.
    pub confidential: bool,
    /// The application's redirect URIs.
    pub redirect_uris: &'a [String],
    /// The origins whose pages may embed the link component.
    pub origins: &'a [String],
    /// How often the records of its patients are fetched again.
    pub sync_frequency: SyncFrequency,
    /// The metadata of its dynamic registration, as JSON. `None` if an operator registers the application.
    pub registration: Option<&'a str>,
    /// The initial access token with which an application registers itself for live mode. The registration uses it up.
    /// `None` for test mode, and if an operator registers the application.
    pub initial_access_token: Option<&'a str>,
}

impl Default for NewApplication<'_> {
    fn default() -> Self {
        NewApplication {
            id: None,
            name: "",
            modes: &[Mode::Test, Mode::Live],
            confidential: true,
            redirect_uris: &[],
            origins: &[],
            sync_frequency: SyncFrequency::Off,
            registration: None,
            initial_access_token: None,
        }
    }
}

/// The repository of registered applications.
#[derive(Clone, Copy, Debug)]
pub struct Applications<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Applications<'_> {
    /// Adds the application if it does not exist. For each mode without a client, adds a client without a secret key.
    pub fn register(&self, id: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        let mut connection = self.store.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sql = "INSERT INTO application (id, name, created_at) VALUES (?1, ?1, ?2) ON CONFLICT DO NOTHING";
        transaction.execute(sql, params![id, now])?;
        for mode in [Mode::Live, Mode::Test] {
            let known: bool = transaction.query_row(
                "SELECT EXISTS (SELECT 1 FROM client WHERE application = ?1 AND mode = ?2)",
                [id, mode.schema()],
                |row| row.get(0),
            )?;
            if !known {
                transaction.execute(
                    "INSERT INTO client (id, application, mode, created_at) VALUES (?1, ?2, ?3, ?4)",
                    params![
                        secret::random(&format!("pk_{}_", mode.schema()))?,
                        id,
                        mode.schema(),
                        now
                    ],
                )?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Registers an application, and makes keys for its modes.
    pub fn create(&self, new: &NewApplication<'_>, actor: Actor) -> Result<(Application, Vec<NewKeys>), Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| insert(transaction, now, new, actor))
    }

    /// Returns the application with this id.
    pub fn get(&self, id: &str) -> Result<Option<Application>, Error> {
        self.store.read(|connection| get(connection, id))
    }

    /// Returns all applications, oldest first.
    pub fn all(&self) -> Result<Vec<Application>, Error> {
        self.store.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM application ORDER BY created_at, id")?;
            let ids: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let found = ids.iter().filter_map(|id| get(connection, id).transpose());
            found.collect()
        })
    }

    /// Sets how often the application's MULTIPLE authorizations are synced.
    pub fn set_sync_frequency(&self, application: &str, frequency: SyncFrequency, actor: Actor) -> Result<(), Error> {
        let name = frequency.name();
        self.change(
            application,
            actor,
            "application.sync-frequency-set",
            name,
            |connection, _| {
                let sql = "UPDATE application SET sync_frequency = ?2 WHERE id = ?1";
                Ok(connection.execute(sql, params![application, frequency])? > 0)
            },
        )?;
        self.store.wakeup().notify_one();
        Ok(())
    }

    /// Runs a change of an existing application in one transaction. Writes an audit line if `work` changed something.
    pub(super) fn change(
        &self,
        application: &str,
        actor: Actor,
        action: &str,
        detail: &str,
        work: impl FnOnce(&Connection, i64) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            known(transaction, application)?;
            let changed = work(transaction, now)?;
            if changed {
                note(transaction, now, actor, action, about(application), detail)?;
            }
            Ok(changed)
        })
    }
}

/// Registers an application in the caller's transaction, and makes keys for its modes.
pub(super) fn insert(
    connection: &Connection,
    now: i64,
    new: &NewApplication<'_>,
    actor: Actor,
) -> Result<(Application, Vec<NewKeys>), Error> {
    let name = checked_name(new.name)?;
    if let Some(token) = new.initial_access_token {
        use_registration_token(connection, now, token)?;
    }
    let id = match new.id {
        Some(id) => checked_id(id)?.to_owned(),
        None => free_id(connection, name)?,
    };
    if exists(connection, &id)? {
        return Err(Error::ApplicationExists(id));
    }
    let sql = "INSERT INTO application (id, name, created_at, sync_frequency, registration)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.execute(sql, params![id, name, now, new.sync_frequency, new.registration])?;
    note(connection, now, actor, "application.created", about(&id), "")?;
    for uri in new.redirect_uris {
        add_redirect_uri(connection, now, &id, uri)?;
    }
    for origin in new.origins {
        add_origin(connection, now, &id, origin)?;
    }
    let mut keys = Vec::new();
    for mode in new.modes {
        keys.push(make_keys(connection, now, &id, *mode, new.confidential)?);
    }
    let made = get(connection, &id)?.ok_or(Error::Lost("application"))?;
    Ok((made, keys))
}

pub(in crate::consent) fn about(application: &str) -> About<'_> {
    About {
        application: Some(application),
        ..About::default()
    }
}

pub(super) fn get(connection: &Connection, id: &str) -> Result<Option<Application>, Error> {
    let sql = "SELECT id, name, created_at, sync_frequency, registration FROM application WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let Some(mut found) = statement.query_row([id], read).optional()? else {
        return Ok(None);
    };
    let list = |sql: &str| -> Result<Vec<String>, Error> {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map([id], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    found.redirect_uris = list("SELECT uri FROM redirect_uri WHERE application = ?1 ORDER BY created_at, uri")?;
    found.origins = list("SELECT origin FROM origin WHERE application = ?1 ORDER BY created_at, origin")?;
    let sql = "SELECT id, mode, secret IS NOT NULL, created_at, retired_at FROM client WHERE application = ?1
               ORDER BY retired_at IS NOT NULL, mode, created_at DESC, id";
    let mut statement = connection.prepare_cached(sql)?;
    let keys = statement.query_map([id], |row| {
        Ok(Key {
            publishable: row.get(0)?,
            mode: mode_of(&row.get::<_, String>(1)?),
            confidential: row.get(2)?,
            created_at: row.get(3)?,
            retired_at: row.get(4)?,
        })
    })?;
    found.keys = keys.collect::<Result<_, _>>()?;
    Ok(Some(found))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Application> {
    Ok(Application {
        id: row.get(0)?,
        name: row.get(1)?,
        created_at: row.get(2)?,
        sync_frequency: row.get(3)?,
        registration: row.get(4)?,
        redirect_uris: Vec::new(),
        origins: Vec::new(),
        keys: Vec::new(),
    })
}

pub(in crate::consent) fn known(connection: &Connection, id: &str) -> Result<(), Error> {
    if exists(connection, id)? {
        Ok(())
    } else {
        Err(Error::UnknownApplication(id.to_owned()))
    }
}
