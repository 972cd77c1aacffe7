//! The tables of identity providers (for IAL2) and of record locators. A record locator finds the facilities that
//! have a person's records.

use rusqlite::{OptionalExtension, params};

use super::super::error::Error;
use super::super::log::audit::{About, Actor, note};
use super::super::mode::mode_of;
use super::super::store::Store;
use super::checked::{checked, checked_base};
use crate::lake::Mode;

/// An OpenID Connect provider that verifies who a patient is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityProvider {
    /// The provider's code. Authorizations refer to it.
    pub code: String,
    /// Live or test.
    pub mode: Mode,
    /// The name that patients see.
    pub name: String,
    /// The issuer of the provider's tokens.
    pub issuer: String,
    /// The service's client id at the provider.
    pub client_id: String,
}

/// The repository of identity providers.
#[derive(Clone, Copy, Debug)]
pub struct IdentityProviders<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl IdentityProviders<'_> {
    /// Adds an identity provider, or changes the one with its code and mode. If `client_secret` is `None`, a former
    /// secret stays.
    pub fn save(&self, provider: &IdentityProvider, client_secret: Option<&str>, actor: Actor) -> Result<(), Error> {
        let now = self.store.clock().now();
        checked("the identity provider's code", &provider.code)?;
        checked("the identity provider's name", &provider.name)?;
        checked("the identity provider's client id", &provider.client_id)?;
        // Store the issuer unchanged, because it is compared with the `iss` of tokens character by character.
        checked_base(&provider.issuer)?;
        let purpose = provider_purpose(provider.mode, &provider.code);
        let secret = client_secret
            .map(|secret| self.store.seal(&purpose, secret.as_bytes()))
            .transpose()?;
        self.store.write(|transaction| {
            let sql = "INSERT INTO identity_provider (code, mode, name, issuer, client_id, client_secret, created_at)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                       ON CONFLICT (code, mode) DO UPDATE SET name = excluded.name, issuer = excluded.issuer,
                           client_id = excluded.client_id,
                           client_secret = coalesce(excluded.client_secret, client_secret)";
            let IdentityProvider {
                code,
                mode,
                name,
                issuer,
                client_id,
            } = provider;
            transaction.execute(sql, params![code, mode.schema(), name, issuer, client_id, secret, now])?;
            note(
                transaction,
                now,
                actor,
                "identity-provider.saved",
                About::default(),
                code,
            )
        })
    }

    /// Returns the identity providers of a mode, by name.
    pub fn all(&self, mode: Mode) -> Result<Vec<IdentityProvider>, Error> {
        self.store.read(|connection| {
            let sql =
                "SELECT code, mode, name, issuer, client_id FROM identity_provider WHERE mode = ?1 ORDER BY name, code";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([mode.schema()], |row| {
                Ok(IdentityProvider {
                    code: row.get(0)?,
                    mode: mode_of(&row.get::<_, String>(1)?),
                    name: row.get(2)?,
                    issuer: row.get(3)?,
                    client_id: row.get(4)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the service's client secret at an identity provider. `None` if there is none.
    pub fn secret(&self, mode: Mode, code: &str) -> Result<Option<String>, Error> {
        let sql = "SELECT client_secret FROM identity_provider WHERE mode = ?1 AND code = ?2";
        let sealed = self.store.read(|connection| {
            let row = connection.query_row(sql, [mode.schema(), code], |row| row.get(0));
            Ok(row.optional()?)
        })?;
        self.store.opened(sealed.flatten(), &provider_purpose(mode, code))
    }
}

/// The repository of the record locators, at most one for each mode.
#[derive(Clone, Copy, Debug)]
pub struct RecordLocators<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl RecordLocators<'_> {
    /// Returns the address of the record locator of a mode.
    pub fn get(&self, mode: Mode) -> Result<Option<String>, Error> {
        let sql = "SELECT url FROM record_locator WHERE mode = ?1";
        self.store.read(|connection| {
            Ok(connection
                .query_row(sql, [mode.schema()], |row| row.get(0))
                .optional()?)
        })
    }

    /// Sets the address of the record locator of a mode.
    pub fn set(&self, mode: Mode, url: &str, actor: Actor) -> Result<(), Error> {
        let now = self.store.clock().now();
        let url = checked_base(url)?;
        self.store.write(|transaction| {
            let sql = "INSERT INTO record_locator (mode, url, created_at) VALUES (?1, ?2, ?3)
                       ON CONFLICT (mode) DO UPDATE SET url = excluded.url";
            transaction.execute(sql, params![mode.schema(), url, now])?;
            note(
                transaction,
                now,
                actor,
                "record-locator.set",
                About::default(),
                mode.schema(),
            )
        })
    }
}

fn provider_purpose(mode: Mode, code: &str) -> String {
    format!("identity-provider/{}/{code}", mode.schema())
}
