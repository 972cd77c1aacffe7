//! The table of endpoints.
//!
//! The service's client secrets at sources are encrypted. This file calls no source.

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

/// The maximum length of a list of scopes in characters, and the end of the error message for a longer list.
const LONGEST_SCOPE: (usize, &str) = (4_000, "is longer than 4000 letters");

named! {
    /// Whether an endpoint can be used, and how well it is tested.
    EndpointStatus {
        /// Patients can choose the endpoint. When a sync through it is completed, the service changes this to
        /// USER_VALIDATED.
        Available = "AVAILABLE",
        /// A sync through the endpoint was completed.
        UserValidated = "USER_VALIDATED",
        /// The operator has declared that the endpoint works. The service never sets this status.
        Live = "LIVE",
        /// The operator has hidden the endpoint from patients.
        Unavailable = "UNAVAILABLE",
    }
}

/// An endpoint: the address of a source, and what the service needs to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The endpoint's id.
    pub id: String,
    /// The organization that runs the endpoint.
    pub organization: Organization,
    /// A name that is unique among endpoints. It may change.
    pub name: String,
    /// Live or test.
    pub mode: Mode,
    /// The names that patients see, such as those of payers or brands.
    pub label: Vec<String>,
    /// How patients authorize the service at this endpoint.
    pub authorization_type: AuthorizationType,
    /// Whether access can be refreshed without the patient.
    pub refreshable: bool,
    /// For how many seconds access can be refreshed. Zero means without end, and `None` means unknown.
    pub refresh_valid_for: Option<i64>,
    /// For how many seconds at most a patient stays authorized. Zero means without end, and `None` means unknown.
    pub max_auth_period: Option<i64>,
    /// Whether the endpoint can be used, and how well it is tested.
    pub status: EndpointStatus,
    /// The FHIR resource types that the endpoint serves.
    pub resources: Vec<String>,
    /// The FHIR base, without a trailing slash.
    pub fhir_base: String,
    /// The source's SMART configuration as JSON, as the service last read it. `None` if it was never read.
    pub configuration: Option<String>,
    /// The service's client id at the source.
    pub client_id: String,
    /// Whether the service has a client secret at the source. See [`Endpoints::secret`].
    pub confidential: bool,
    /// The scopes to request at the source, separated by spaces. See [`Endpoint::scope_for`].
    pub scope: String,
    /// The `system` of the identifiers that the service adds to the endpoint's resources.
    pub identifier_system: String,
    /// When the endpoint was added, in seconds since the Unix epoch.
    pub created_at: i64,
    /// When the SMART configuration was last read.
    pub checked_at: Option<i64>,
}

/// An endpoint to be added, or a change of the endpoint with this id.
#[derive(Clone, Debug)]
pub struct NewEndpoint<'a> {
    /// The id. If it is `None`, a random one is made.
    pub id: Option<&'a str>,
    /// The organization's id.
    pub organization: &'a str,
    /// See [`Endpoint::name`].
    pub name: &'a str,
    /// See [`Endpoint::mode`].
    pub mode: Mode,
    /// See [`Endpoint::label`]. If it is empty, the label is the name.
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
    /// See [`Endpoint::configuration`]. `None` keeps the stored configuration.
    pub configuration: Option<&'a str>,
    /// See [`Endpoint::client_id`].
    pub client_id: &'a str,
    /// The service's client secret at the source. `None` keeps the stored secret.
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

/// Changes the status AVAILABLE to USER_VALIDATED, because a sync through the endpoint was completed. Keeps any other
/// status.
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
    /// Returns the scopes to request at the source. The scopes `offline_access` and `online_access`, which allow to
    /// refresh the access, are included only for usage MULTIPLE, and never for a patient portal.
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
            // At a portal, patients sign in each time. So access is never refreshable, whatever the column says.
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

    /// Returns the endpoints that match a condition. The condition follows the FROM of the query and may end with ORDER
    /// BY and LIMIT.
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

/// Reads a column with a JSON array of strings.
fn texts(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// The repository of endpoints, and of the addresses outside their FHIR bases from which the service also fetches pages
/// and documents.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Endpoints<'_> {
    /// Adds an endpoint, or changes the one with its id. If `client_secret` is `None`, a former secret stays. A change
    /// deletes the parts of the dialect that may no longer hold: page size, client authentication, statement, last
    /// error.
    pub fn save(&self, new: &NewEndpoint<'_>, actor: Actor) -> Result<Endpoint, Error> {
        self.put(new, None, actor)
    }

    /// Saves an endpoint like [`Endpoints::save`], together with its organization. Saves both or neither.
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

    /// Returns the endpoint with this id.
    pub fn get(&self, id: &str) -> Result<Option<Endpoint>, Error> {
        self.store.read(|connection| one(connection, id))
    }

    /// Returns the endpoint of a mode with this FHIR base.
    pub fn by_base(&self, mode: Mode, fhir_base: &str) -> Result<Option<Endpoint>, Error> {
        let base = fhir_base.trim_end_matches('/');
        self.store.read(|connection| {
            let condition = "WHERE endpoint.mode = ?1 AND fhir_base = ?2";
            Ok(Endpoint::select(connection, condition, [mode.schema(), base])?.pop())
        })
    }

    /// Returns all endpoints, ordered by name. If `mode` is given, returns only the endpoints of this mode.
    pub fn all(&self, mode: Option<Mode>) -> Result<Vec<Endpoint>, Error> {
        self.store.read(|connection| {
            let condition = "WHERE ?1 IS NULL OR endpoint.mode = ?1 ORDER BY endpoint.name";
            Endpoint::select(connection, condition, [mode.map(Mode::schema)])
        })
    }

    /// Returns the service's client secret at an endpoint. `None` if the service is a public client there.
    pub fn secret(&self, id: &str) -> Result<Option<String>, Error> {
        let sql = "SELECT client_secret FROM endpoint WHERE id = ?1";
        let sealed = self
            .store
            .read(|connection| Ok(connection.query_row(sql, [id], |row| row.get(0)).optional()?))?;
        self.store.opened(sealed.flatten(), &purpose(id))
    }

    /// Returns the addresses outside an endpoint's FHIR base from which the service may fetch the next pages of a
    /// search, and documents.
    pub fn pages(&self, id: &str) -> Result<Vec<String>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT address FROM endpoint_page WHERE endpoint = ?1 ORDER BY address";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([id], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Sets the addresses outside an endpoint's FHIR base from which the service may fetch the next pages of a search,
    /// and documents. The service sends access tokens to these addresses, too.
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

    /// Allows the service to send an endpoint's client secret to the origin of this address, because the token
    /// endpoint has another origin than the FHIR base.
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

    /// Stores an endpoint's SMART configuration, which the caller has just read, and the present time.
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

    /// Sets the status of an endpoint.
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
                   page_size = NULL, bases = NULL, client_auth = NULL, statement = NULL, statement_at = NULL, last_error = NULL,
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

/// Converts the error of a violated constraint into an error of the directory.
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
