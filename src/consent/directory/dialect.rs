//! The dialect of an endpoint: facts that earlier requests learned about it, so that no job must learn them again.

use rusqlite::{OptionalExtension, params};

use super::super::error::Error;
use super::super::log::audit::{Actor, note};
use super::super::record::Authorization;
use super::super::states::named;
use super::super::store::Store;

/// The maximum number of characters kept of an OAuth error.
const LONGEST: usize = 64;

named! {
    /// How the service authenticates at a token endpoint.
    ClientAuth {
        /// HTTP Basic, with both halves encoded as RFC 6749 requires.
        Basic = "basic",
        /// HTTP Basic, with both halves unencoded.
        PlainBasic = "plain-basic",
        /// The secret is sent in the body.
        Post = "post",
    }
}

/// The stored dialect of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The `_count` that it accepts. 0 if it accepts none.
    pub page_size: Option<u32>,
    /// How it accepts the service's secret.
    pub client_auth: Option<ClientAuth>,
    /// The facts of its CapabilityStatement, as JSON. `sync` decides which facts.
    pub statement: Option<String>,
    /// When the statement was read.
    pub statement_at: Option<i64>,
    /// The scheme, host and port of a next page that was not followed, because it is under none of the endpoint's
    /// addresses.
    pub elsewhere: Option<String>,
    /// An address to which the service's secret may be sent besides the origin of the FHIR base, as the operator
    /// allowed.
    pub token_endpoint: Option<String>,
    /// The error with which it last sent a patient back, and the time.
    pub last_error: Option<(String, i64)>,
}

/// The facts that the service has learned about each endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Dialects<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Dialects<'_> {
    /// The dialect of an endpoint. Empty for an unknown one.
    pub fn get(&self, endpoint: &str) -> Result<Dialect, Error> {
        let sql = "SELECT page_size, client_auth, statement, statement_at, elsewhere, last_error, last_error_at, token_endpoint
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
                })
            });
            Ok(row.optional()?)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Records which `_count` an endpoint accepts. 0 if it accepts none.
    pub fn set_page_size(&self, endpoint: &str, size: u32) -> Result<(), Error> {
        self.remember(
            "UPDATE endpoint SET page_size = ?2 WHERE id = ?1 AND page_size IS NOT ?2",
            params![endpoint, size],
        )
    }

    /// Records how an endpoint accepts the service's secret.
    pub fn set_client_auth(&self, endpoint: &str, how: ClientAuth) -> Result<(), Error> {
        self.remember(
            "UPDATE endpoint SET client_auth = ?2 WHERE id = ?1 AND client_auth IS NOT ?2",
            params![endpoint, how],
        )
    }

    /// Stores the facts of an endpoint's CapabilityStatement.
    pub fn set_statement(&self, endpoint: &str, statement: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.remember(
            "UPDATE endpoint SET statement = ?2, statement_at = ?3 WHERE id = ?1",
            params![endpoint, statement, now],
        )
    }

    /// Records the address of a next page that was not followed.
    pub fn set_elsewhere(&self, endpoint: &str, origin: &str) -> Result<(), Error> {
        self.remember(
            "UPDATE endpoint SET elsewhere = ?2 WHERE id = ?1 AND elsewhere IS NOT ?2",
            params![endpoint, origin],
        )
    }

    /// Records the OAuth error with which an endpoint sent a patient back, and writes it to the audit log.
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
