//! The dialect of an endpoint: the facts that earlier requests have shown about it. They are stored, so that later sync
//! jobs need not find them out again.

use rusqlite::{OptionalExtension, params};

use super::super::error::Error;
use super::super::log::audit::{Actor, note};
use super::super::record::Authorization;
use super::super::states::named;
use super::super::store::Store;

/// The maximum number of characters of an OAuth error that are stored.
const LONGEST: usize = 64;

named! {
    /// How the service authenticates at a token endpoint of a source.
    ClientAuth {
        /// HTTP Basic. Client id and secret are form-encoded, as RFC 6749 requires.
        Basic = "basic",
        /// HTTP Basic. Client id and secret are not encoded.
        PlainBasic = "plain-basic",
        /// Client id and secret are sent in the body.
        Post = "post",
    }
}

/// The stored dialect of an endpoint. `None` means that a fact is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The `_count` that the endpoint accepts. 0 if it accepts none.
    pub page_size: Option<u32>,
    /// How the endpoint accepts the service's secret.
    pub client_auth: Option<ClientAuth>,
    /// Facts from the endpoint's CapabilityStatement, as JSON. `sync` decides which facts are stored.
    pub statement: Option<String>,
    /// When the CapabilityStatement was read.
    pub statement_at: Option<i64>,
    /// The scheme, host and port of a next page that the service did not request, because it is outside the addresses
    /// that the endpoint may use.
    pub elsewhere: Option<String>,
    /// An address whose origin may get the service's secret, in addition to the origin of the FHIR base. The operator
    /// has set it.
    pub token_endpoint: Option<String>,
    /// Other bases under which the endpoint shows its records, beside its FHIR base.
    pub bases: Vec<String>,
    /// The OAuth error with which the endpoint last sent a patient back, and the time.
    pub last_error: Option<(String, i64)>,
}

/// The repository of what the service has found out about endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Dialects<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Dialects<'_> {
    /// Returns the dialect of an endpoint. An unknown endpoint has no facts.
    pub fn get(&self, endpoint: &str) -> Result<Dialect, Error> {
        let sql = "SELECT page_size, client_auth, statement, statement_at, elsewhere, last_error, last_error_at, token_endpoint, bases
                   FROM endpoint WHERE id = ?1";
        let found = self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let row = statement.query_row([endpoint], |row| {
                Ok(Dialect {
                    page_size: row.get(0)?,
                    client_auth: row.get(1)?,
                    statement: row.get(2)?,
                    statement_at: row.get(3)?,
                    elsewhere: row.get(4)?,
                    last_error: row.get::<_, Option<String>>(5)?.zip(row.get(6)?),
                    token_endpoint: row.get(7)?,
                    bases: row
                        .get::<_, Option<String>>(8)?
                        .and_then(|json| serde_json::from_str(&json).ok())
                        .unwrap_or_default(),
                })
            });
            Ok(row.optional()?)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Stores which `_count` an endpoint accepts. 0 if it accepts none.
    pub fn set_page_size(&self, endpoint: &str, size: u32) -> Result<(), Error> {
        self.remember(
            "UPDATE endpoint SET page_size = ?2 WHERE id = ?1 AND page_size IS NOT ?2",
            params![endpoint, size],
        )
    }

    /// Stores how an endpoint accepts the service's secret.
    pub fn set_client_auth(&self, endpoint: &str, how: ClientAuth) -> Result<(), Error> {
        self.remember(
            "UPDATE endpoint SET client_auth = ?2 WHERE id = ?1 AND client_auth IS NOT ?2",
            params![endpoint, how],
        )
    }

    /// Stores facts from an endpoint's CapabilityStatement.
    pub fn set_statement(&self, endpoint: &str, statement: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.remember(
            "UPDATE endpoint SET statement = ?2, statement_at = ?3 WHERE id = ?1",
            params![endpoint, statement, now],
        )
    }

    /// Stores other bases under which an endpoint shows its records.
    pub fn set_bases(&self, endpoint: &str, bases: &[String]) -> Result<(), Error> {
        let json = serde_json::to_string(bases).map_err(|_| Error::Lost("bases of an endpoint"))?;
        self.remember(
            "UPDATE endpoint SET bases = ?2 WHERE id = ?1 AND bases IS NOT ?2",
            params![endpoint, json],
        )
    }

    /// Stores the origin of a next page that the service did not request.
    pub fn set_elsewhere(&self, endpoint: &str, origin: &str) -> Result<(), Error> {
        self.remember(
            "UPDATE endpoint SET elsewhere = ?2 WHERE id = ?1 AND elsewhere IS NOT ?2",
            params![endpoint, origin],
        )
    }

    /// Stores the OAuth error with which an endpoint sent a patient back, and writes an audit line.
    pub fn note_error(&self, authorization: &Authorization, code: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let code: String = code.chars().filter(is_plain).take(LONGEST).collect();
        let endpoint = &authorization.endpoint;
        self.store.write(|transaction| {
            let sql = "UPDATE endpoint SET last_error = ?2, last_error_at = ?3 WHERE id = ?1";
            transaction.execute(sql, params![endpoint, code, now])?;
            let detail = format!("{endpoint} {code}");
            note(
                transaction,
                now,
                Actor::Service,
                "source.refused",
                authorization.about(),
                &detail,
            )
        })
    }

    fn remember(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<(), Error> {
        self.store.write(|transaction| {
            transaction.execute(sql, parameters)?;
            Ok(())
        })
    }
}
