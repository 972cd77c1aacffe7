//! The directory: organizations and their endpoints.
//!
//! The service's credentials at a source (a client secret) are encrypted. Nothing here calls a source.

use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::super::error::Error;
use super::super::log::audit::{About, Actor, note};
use super::super::mode::mode_of;
use super::super::record::{AuthorizationType, Usage};
use super::super::states::named;
use super::super::store::Store;
use super::super::with_sources::OFFLINE;
use super::checked::{checked, checked_base, checked_line};
use super::organization::{Organization, checked_organization, put_organization};
use crate::lake::Mode;

/// The maximum length of a list of scopes, and the message for a longer one.
const LONGEST_SCOPE: (usize, &str) = (4_000, "is longer than 4000 letters");

named! {
    /// How well an endpoint is known to work.
    EndpointStatus {
        /// Available, not yet validated by user testing.
        Available = "AVAILABLE",
        /// Live and validated by a user.
        UserValidated = "USER_VALIDATED",
        /// Live and validated by related tests.
        Live = "LIVE",
        /// Not live because of an issue found in testing.
        Unavailable = "UNAVAILABLE",
    }
}

/// A source of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The endpoint's id.
    pub id: String,
    /// The organization that runs it.
    pub organization: Organization,
    /// Unique among endpoints. May change.
    pub name: String,
    /// Live or test.
    pub mode: Mode,
    /// Display names: payer or brand.
    pub label: Vec<String>,
    /// How its patients authorize.
    pub authorization_type: AuthorizationType,
    /// Whether access can be refreshed without the user.
    pub refreshable: bool,
    /// For how many seconds access can be refreshed. 0 means without end, `None` unknown.
    pub refresh_valid_for: Option<i64>,
    /// The maximum number of seconds that a user stays authorized. 0 means no end, `None` unknown.
    pub max_auth_period: Option<i64>,
    /// How well it is known to work.
    pub status: EndpointStatus,
    /// The FHIR resource types it supports.
    pub resources: Vec<String>,
    /// Its FHIR base, without a trailing slash.
    pub fhir_base: String,
    /// Its SMART configuration at the last reading, as JSON.
    pub configuration: Option<String>,
    /// The service's client id there.
    pub client_id: String,
    /// Whether the service has a secret there. See [`Endpoints::secret`].
    pub confidential: bool,
    /// The requested scopes, separated by spaces.
    pub scope: String,
    /// The `system` of the identifiers that its resources get.
    pub identifier_system: String,
    /// Seconds since the Unix epoch.
    pub created_at: i64,
    /// When its SMART configuration was last read.
    pub checked_at: Option<i64>,
}

/// An endpoint to be added. If the id is known, a change of that endpoint.
#[derive(Clone, Debug)]
pub struct NewEndpoint<'a> {
    /// The id. `None` makes a random one.
    pub id: Option<&'a str>,
    /// The organization's id.
    pub organization: &'a str,
    /// See [`Endpoint::name`].
    pub name: &'a str,
    /// See [`Endpoint::mode`].
    pub mode: Mode,
    /// See [`Endpoint::label`]. If it is empty, the name.
    pub label: &'a [String],
    /// See [`Endpoint::authorization_type`].
    pub authorization_type: AuthorizationType,
    /// See [`Endpoint::refreshable`].
    pub refreshable: bool,
    /// See [`Endpoint::refresh_valid_for`].
    pub refresh_valid_for: Option<i64>,
    /// See [`Endpoint::max_auth_period`].
    pub max_auth_period: Option<i64>,
    /// See [`Endpoint::status`].
    pub status: EndpointStatus,
    /// See [`Endpoint::resources`].
    pub resources: &'a [String],
    /// See [`Endpoint::fhir_base`].
    pub fhir_base: &'a str,
    /// See [`Endpoint::configuration`].
    pub configuration: Option<&'a str>,
    /// See [`Endpoint::client_id`].
    pub client_id: &'a str,
    /// The service's secret there.
    pub client_secret: Option<&'a str>,
    /// See [`Endpoint::scope`].
    pub scope: &'a str,
    /// See [`Endpoint::identifier_system`].
    pub identifier_system: &'a str,
}

const ENDPOINT: &str = "SELECT endpoint.id, organization.id, organization.name, organization.note, organization.type,
        endpoint.name, endpoint.mode, label, endpoint.type, refreshable, refresh_valid_for, max_auth_period, status,
        resources, fhir_base, configuration, client_id, client_secret IS NOT NULL, scope, identifier_system,
        endpoint.created_at, checked_at
    FROM endpoint JOIN organization ON organization.id = endpoint.organization";

/// Records that a patient's records came through an endpoint. An AVAILABLE endpoint becomes USER_VALIDATED.
pub(in crate::consent) fn validated_by_user(
    connection: &Connection,
    now: i64,
    endpoint: &str,
    about: About<'_>,
) -> Result<(), Error> {
    let sql = "UPDATE endpoint SET status = ?2 WHERE id = ?1 AND status = ?3";
    let (from, to) = (EndpointStatus::Available, EndpointStatus::UserValidated);
    if connection.prepare_cached(sql)?.execute(params![endpoint, to, from])? > 0 {
        let detail = format!("{endpoint} {to}");
        note(connection, now, Actor::Service, "endpoint.status-set", about, &detail)?;
    }
    Ok(())
}

impl Endpoint {
    /// The scopes to request at the source: lasting access only for MULTIPLE usage, and never at a portal.
    pub fn scope_for(&self, usage: Usage) -> String {
        let words = self.scope.split_ascii_whitespace();
        let may_last = usage == Usage::Multiple && self.authorization_type != AuthorizationType::Credentials;
        let lasting = |word: &str| matches!(word, OFFLINE | "online_access");
        let asked = words.filter(|word| may_last || !lasting(word));
        asked.collect::<Vec<_>>().join(" ")
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Endpoint> {
        Ok(Endpoint {
            id: row.get(0)?,
            organization: Organization {
                id: row.get(1)?,
                name: row.get(2)?,
                note: row.get(3)?,
                organization_type: row.get(4)?,
            },
            name: row.get(5)?,
            mode: mode_of(&row.get::<_, String>(6)?),
            label: texts(row, 7)?,
            authorization_type: row.get(8)?,
            // Patients of a portal sign in each time, whatever the request said.
            refreshable: row.get::<_, bool>(9)?
                && row.get::<_, AuthorizationType>(8)? != AuthorizationType::Credentials,
            refresh_valid_for: row.get(10)?,
            max_auth_period: row.get(11)?,
            status: row.get(12)?,
            resources: texts(row, 13)?,
            fhir_base: row.get(14)?,
            configuration: row.get(15)?,
            client_id: row.get(16)?,
            confidential: row.get(17)?,
            scope: row.get(18)?,
            identifier_system: row.get(19)?,
            created_at: row.get(20)?,
            checked_at: row.get(21)?,
        })
    }

    /// The endpoints that a condition selects. The condition may contain order and limit.
    pub(in crate::consent) fn select(
        connection: &Connection,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<Endpoint>, Error> {
        let mut statement = connection.prepare_cached(&format!("{ENDPOINT} {condition}"))?;
        let rows = statement.query_map(parameters, Endpoint::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// A JSON array of strings.
fn texts(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// The endpoints of organizations, with the addresses of their further pages.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Endpoints<'_> {
    /// Adds an endpoint, or changes the one with its id. Without a new secret the former one stays.
    pub fn save(&self, new: &NewEndpoint<'_>, actor: Actor) -> Result<Endpoint, Error> {
        self.put(new, None, actor)
    }

    /// The same together with its organization. Saves both or neither.
    pub fn save_source(
        &self,
        organization: &Organization,
        new: &NewEndpoint<'_>,
        actor: Actor,
    ) -> Result<Endpoint, Error> {
        checked_organization(organization)?;
        self.put(new, Some(organization), actor)
    }

    fn put(&self, new: &NewEndpoint<'_>, organization: Option<&Organization>, actor: Actor) -> Result<Endpoint, Error> {
        let now = self.store.clock().now();
        checked("the endpoint's name", new.name)?;
        for label in new.label {
            checked("the endpoint's label", label)?;
        }
        checked("the endpoint's client id", new.client_id)?;
        checked("the endpoint's identifier system", new.identifier_system)?;
        checked_line("the endpoint's scope", new.scope, LONGEST_SCOPE)?;
        let base = checked_base(new.fhir_base)?;
        let id = new.id.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
        let secret = new
            .client_secret
            .map(|secret| self.store.seal(&purpose(&id), secret.as_bytes()))
            .transpose()?;
        self.store.write(|transaction| {
            if let Some(organization) = organization {
                put_organization(transaction, now, organization, actor)?;
            }
            put_endpoint(transaction, now, &id, base, new, secret)?;
            note(transaction, now, actor, "endpoint.saved", About::default(), &id)?;
            one(transaction, &id)?.ok_or(Error::Lost("endpoint"))
        })
    }

    /// The endpoint with this id.
    pub fn get(&self, id: &str) -> Result<Option<Endpoint>, Error> {
        self.store.read(|connection| one(connection, id))
    }

    /// The endpoint of a mode with this FHIR base.
    pub fn by_base(&self, mode: Mode, fhir_base: &str) -> Result<Option<Endpoint>, Error> {
        let base = fhir_base.trim_end_matches('/');
        self.store.read(|connection| {
            let condition = "WHERE endpoint.mode = ?1 AND fhir_base = ?2";
            Ok(Endpoint::select(connection, condition, [mode.schema(), base])?.pop())
        })
    }

    /// All endpoints by name. With a mode, only those of that mode.
    pub fn all(&self, mode: Option<Mode>) -> Result<Vec<Endpoint>, Error> {
        self.store.read(|connection| {
            let condition = "WHERE ?1 IS NULL OR endpoint.mode = ?1 ORDER BY endpoint.name";
            Endpoint::select(connection, condition, [mode.map(Mode::schema)])
        })
    }

    /// The service's credentials at an endpoint. `None` if the service is a public client there.
    pub fn secret(&self, id: &str) -> Result<Option<String>, Error> {
        let sql = "SELECT client_secret FROM endpoint WHERE id = ?1";
        let sealed = self
            .store
            .read(|connection| Ok(connection.query_row(sql, [id], |row| row.get(0)).optional()?))?;
        self.store.opened(sealed.flatten(), &purpose(id))
    }

    /// The addresses outside its FHIR base that an endpoint may use for further pages.
    pub fn pages(&self, id: &str) -> Result<Vec<String>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT address FROM endpoint_page WHERE endpoint = ?1 ORDER BY address";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([id], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Sets the addresses outside its FHIR base that an endpoint may use for further pages. Access tokens are sent
    /// there, too.
    pub fn set_pages(&self, id: &str, addresses: &[String], actor: Actor) -> Result<(), Error> {
        let now = self.store.clock().now();
        let addresses = addresses.iter().map(|address| checked_base(address));
        let addresses = addresses.collect::<Result<Vec<&str>, Error>>()?;
        self.store.write(|transaction| {
            transaction.execute("DELETE FROM endpoint_page WHERE endpoint = ?1", [id])?;
            transaction.execute("UPDATE endpoint SET elsewhere = NULL WHERE id = ?1", [id])?;
            for address in addresses {
                let sql = "INSERT OR IGNORE INTO endpoint_page (endpoint, address) VALUES (?1, ?2)";
                transaction.execute(sql, params![id, address])?;
            }
            note(transaction, now, actor, "endpoint.pages-set", About::default(), id)
        })
    }

    /// Allows sending an endpoint's secret to the origin of this address, because its token endpoint is not at its FHIR
    /// base.
    pub fn set_token_endpoint(&self, id: &str, address: &str, actor: Actor) -> Result<(), Error> {
        let now = self.store.clock().now();
        let address = checked_base(address)?;
        self.store.write(|transaction| {
            let sql = "UPDATE endpoint SET token_endpoint = ?2 WHERE id = ?1";
            transaction.execute(sql, params![id, address])?;
            note(
                transaction,
                now,
                actor,
                "endpoint.token-endpoint-set",
                About::default(),
                id,
            )
        })
    }

    /// Stores an endpoint's SMART configuration after reading it.
    pub fn checked(&self, id: &str, configuration: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        let sql = "UPDATE endpoint SET configuration = ?2, checked_at = ?3 WHERE id = ?1";
        self.store.write(
            |transaction| match transaction.execute(sql, params![id, configuration, now])? {
                0 => Err(Error::Lost("endpoint")),
                _ => Ok(()),
            },
        )
    }

    /// Sets how well an endpoint is known to work.
    pub fn set_status(&self, id: &str, status: EndpointStatus, actor: Actor) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let sql = "UPDATE endpoint SET status = ?2 WHERE id = ?1 AND status <> ?2";
            if transaction.execute(sql, params![id, status])? > 0 {
                let detail = format!("{id} {status}");
                note(
                    transaction,
                    now,
                    actor,
                    "endpoint.status-set",
                    About::default(),
                    &detail,
                )?;
            }
            Ok(())
        })
    }
}

fn put_endpoint(
    connection: &Connection,
    now: i64,
    id: &str,
    base: &str,
    new: &NewEndpoint<'_>,
    secret: Option<Vec<u8>>,
) -> Result<(), Error> {
    let own_name = [new.name.to_owned()];
    let label = if new.label.is_empty() { &own_name } else { new.label };
    let sql = "INSERT INTO endpoint (id, organization, name, mode, label, type, refreshable, refresh_valid_for,
                   max_auth_period, status, resources, fhir_base, configuration, client_id, client_secret, scope,
                   identifier_system, created_at, checked_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
               ON CONFLICT (id) DO UPDATE SET organization = excluded.organization, name = excluded.name,
                   mode = excluded.mode, label = excluded.label, type = excluded.type,
                   refreshable = excluded.refreshable, refresh_valid_for = excluded.refresh_valid_for,
                   max_auth_period = excluded.max_auth_period, status = excluded.status,
                   resources = excluded.resources, fhir_base = excluded.fhir_base,
                   configuration = coalesce(excluded.configuration, configuration),
                   client_id = excluded.client_id,
                   client_secret = coalesce(excluded.client_secret, client_secret), scope = excluded.scope,
                   identifier_system = excluded.identifier_system,
                   page_size = NULL, client_auth = NULL, statement = NULL, statement_at = NULL, last_error = NULL,
                   last_error_at = NULL, checked_at = coalesce(excluded.checked_at, checked_at)";
    let saved = connection.execute(
        sql,
        params![
            id,
            new.organization,
            new.name,
            new.mode.schema(),
            list(label),
            new.authorization_type,
            new.refreshable,
            new.refresh_valid_for,
            new.max_auth_period,
            new.status,
            list(new.resources),
            base,
            new.configuration,
            new.client_id,
            secret,
            new.scope,
            new.identifier_system,
            now,
            new.configuration.map(|_| now),
        ],
    );
    saved.map(|_| ()).map_err(|error| conflict(error, new))
}

fn purpose(endpoint: &str) -> String {
    format!("endpoint/{endpoint}")
}

pub(super) fn one(connection: &Connection, id: &str) -> Result<Option<Endpoint>, Error> {
    Ok(Endpoint::select(connection, "WHERE endpoint.id = ?1", [id])?.pop())
}

fn list(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}

/// The error for a value that the schema refused, in the directory's terms.
fn conflict(error: rusqlite::Error, new: &NewEndpoint<'_>) -> Error {
    let text = error.to_string();
    if text.contains("endpoint.name") {
        return Error::EndpointExists(format!("is called {:?}", new.name));
    }
    if text.contains("endpoint.mode") {
        return Error::EndpointExists(format!("has the FHIR base {:?}", new.fhir_base));
    }
    if text.contains("FOREIGN KEY") {
        return Error::UnknownOrganization(new.organization.to_owned());
    }
    error.into()
}
