//! Registration access tokens (RFC 7592). With one, an application reads, changes and ends its registration for one
//! mode.
//!
//! A change makes a new token. The former one stays valid until the new one is used, so a client that did not receive
//! the answer to a change is not locked out.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::addresses::add_redirect_uri;
use super::clients::rotate_keys;
use super::keys::{Key, NewKeys};
use super::names::checked_name;
use super::record::{Application, NewApplication, SyncFrequency, about, get, insert, known};
use crate::consent::access::secret;
use crate::consent::access::token::APPLICATION_SECONDS;
use crate::consent::error::Error;
use crate::consent::log::audit::{Actor, note};
use crate::consent::mode::mode_of;
use crate::consent::store::Store;
use crate::ingest::LOCAL_APPLICATION;
use crate::lake::Mode;

/// The repository of registration access tokens, and of the registrations that they manage.
#[derive(Clone, Copy, Debug)]
pub struct ManagedRegistrations<'a> {
    pub(in crate::consent) store: &'a Store,
}

/// A registration: an application, and its present key pair for one mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedRegistration {
    /// The application.
    pub application: Application,
    /// The present key pair. Its publishable key is the `client_id`.
    pub key: Key,
}

/// The new content of a registration. It replaces all of the former content.
#[derive(Clone, Debug)]
pub struct RegistrationUpdate<'a> {
    /// The publishable key that the client knows. It must be the present one.
    pub client_id: &'a str,
    /// The secret key, if the client sends it. It must be the present one.
    pub client_secret: Option<&'a str>,
    /// The name that patients see.
    pub name: &'a str,
    /// All redirect URIs.
    pub redirect_uris: &'a [String],
    /// The metadata, as JSON.
    pub registration: &'a str,
    /// How often the records of the application's patients are fetched again.
    pub sync_frequency: SyncFrequency,
    /// If a new key pair is to be made: for how many seconds the present one stays valid.
    pub rotation: Option<i64>,
}

/// The result of a change.
#[derive(Debug)]
pub struct UpdatedRegistration {
    /// The registration as it is now.
    pub registration: ManagedRegistration,
    /// The new secret key. `None` if the keys were not replaced, or if the client is public.
    pub secret: Option<String>,
    /// The new registration access token.
    pub token: String,
}

/// A valid token: its number, and what it manages.
struct Found {
    number: i64,
    application: String,
    mode: Mode,
}

impl ManagedRegistrations<'_> {
    /// Registers an application for one mode, and makes a token for its registration.
    pub fn register(
        &self,
        new: &NewApplication<'_>,
        mode: Mode,
        actor: Actor,
    ) -> Result<(ManagedRegistration, NewKeys, String), Error> {
        let now = self.store.clock().now();
        let modes = [mode];
        let new = NewApplication {
            modes: &modes,
            ..new.clone()
        };
        self.store.write(|transaction| {
            let (application, mut keys) = insert(transaction, now, &new, actor)?;
            let token = make_token(transaction, now, &application.id, mode, actor)?;
            let registration = present(transaction, &application.id, mode)?.ok_or(Error::Lost("registration"))?;
            Ok((registration, keys.pop().ok_or(Error::Lost("keys"))?, token))
        })
    }

    /// Makes a token for an application's registration for one mode. Former tokens for it end.
    pub fn create_token(&self, application: &str, mode: Mode, actor: Actor) -> Result<String, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            known(transaction, application)?;
            if application == LOCAL_APPLICATION {
                return Err(Error::Invalid {
                    what: "the application local".to_owned(),
                    problem: "has the imported records, so only commands change it",
                });
            }
            if present(transaction, application, mode)?.is_none() {
                return Err(Error::Invalid {
                    what: format!("the application {application:?}"),
                    problem: "has no keys for this mode",
                });
            }
            end_tokens(transaction, application, mode)?;
            make_token(transaction, now, application, mode, actor)
        })
    }

    /// Returns the registration of a token. `client` is a publishable key that the application has or had. Former
    /// tokens end. Returns [`Error::RegistrationAccess`] if the token is not valid, or not for this client.
    pub fn open(&self, token: &str, client: &str) -> Result<ManagedRegistration, Error> {
        let opened = self.store.read(|connection| {
            let found = find(connection, token, client)?;
            let sql = "SELECT EXISTS (SELECT 1 FROM registration_access
                                      WHERE application = ?1 AND mode = ?2 AND number < ?3)";
            let former: bool = connection.query_row(
                sql,
                params![found.application, found.mode.schema(), found.number],
                |row| row.get(0),
            )?;
            let registration = present(connection, &found.application, found.mode)?;
            Ok((found, former, registration))
        });
        let (found, former, registration) = opened?;
        if former {
            self.store.write(|transaction| end_former_tokens(transaction, &found))?;
        }
        registration.ok_or(Error::RegistrationAccess)
    }

    /// Replaces the content of a registration, and makes a new token. The given token stays valid until the new one is
    /// used.
    pub fn update(
        &self,
        token: &str,
        client: &str,
        update: &RegistrationUpdate<'_>,
        actor: Actor,
    ) -> Result<UpdatedRegistration, Error> {
        let now = self.store.clock().now();
        let name = checked_name(update.name)?;
        let updated = self.store.write(|transaction| {
            let found = find(transaction, token, client)?;
            let Found { application, mode, .. } = &found;
            let former = present(transaction, application, *mode)?.ok_or(Error::RegistrationAccess)?;
            check_keys(transaction, &former.key, update)?;
            check_shared(transaction, *mode, &former.application, (name, update))?;
            let sql = "UPDATE application SET name = ?2, registration = ?3, sync_frequency = ?4 WHERE id = ?1";
            transaction.execute(
                sql,
                params![application, name, update.registration, update.sync_frequency],
            )?;
            replace_redirect_uris(transaction, now, &former.application, update.redirect_uris, actor)?;
            let of_application =
                |action: &str, detail: &str| note(transaction, now, actor, action, about(application), detail);
            of_application("application.registration-updated", mode.schema())?;
            if former.application.sync_frequency != update.sync_frequency {
                of_application("application.sync-frequency-set", update.sync_frequency.name())?;
            }
            let keys = match update.rotation {
                Some(grace) => Some(rotate_keys(transaction, now, application, (*mode, grace), actor)?),
                None => None,
            };
            // Without this, repeated changes by one token would make any number of valid tokens.
            let sql = "DELETE FROM registration_access WHERE application = ?1 AND mode = ?2 AND number <> ?3";
            transaction.execute(sql, params![application, mode.schema(), found.number])?;
            let token = make_token(transaction, now, application, *mode, actor)?;
            let registration = present(transaction, application, *mode)?.ok_or(Error::Lost("registration"))?;
            Ok(UpdatedRegistration {
                registration,
                secret: keys.and_then(|keys| keys.secret),
                token,
            })
        })?;
        self.store.wakeup().notify_one();
        Ok(updated)
    }

    /// Ends a registration: its keys, its application tokens, its consents with their tokens and records, and at last
    /// its registration access tokens. A call that is interrupted can be repeated. Returns the ids of the consents that
    /// were revoked.
    pub fn end(&self, token: &str, client: &str, actor: Actor) -> Result<Vec<String>, Error> {
        let now = self.store.clock().now();
        let (found, keys) = self.store.write(|transaction| {
            let found = find(transaction, token, client)?;
            let Found { application, mode, .. } = &found;
            let sql = "UPDATE client SET retired_at = ?1
                       WHERE application = ?2 AND mode = ?3 AND (retired_at IS NULL OR retired_at > ?1)";
            if transaction.execute(sql, params![now, application, mode.schema()])? > 0 {
                let action = "application.registration-ended";
                note(transaction, now, actor, action, about(application), mode.schema())?;
            }
            let sql = "SELECT id FROM client WHERE application = ?1 AND mode = ?2";
            let mut statement = transaction.prepare_cached(sql)?;
            let keys = statement.query_map([application.as_str(), mode.schema()], |row| row.get::<_, String>(0))?;
            let keys = keys.collect::<Result<Vec<_>, _>>()?;
            drop(statement);
            Ok((found, keys))
        })?;
        for key in &keys {
            // The subject of an application token is the publishable key.
            self.store.access_tokens().revoke(key, now + APPLICATION_SECONDS)?;
        }
        let consents = self.store.consents().open_of(&found.application, found.mode)?;
        self.store.consents().revoke_all(&consents, actor)?;
        self.store
            .write(|transaction| end_tokens(transaction, &found.application, found.mode))?;
        Ok(consents)
    }
}

/// Finds a token. `client` is a publishable key of the application and mode that the token manages.
fn find(connection: &Connection, token: &str, client: &str) -> Result<Found, Error> {
    let sql = "SELECT number, access.application, access.mode FROM registration_access AS access
               JOIN client ON client.application = access.application AND client.mode = access.mode
               WHERE digest = ?1 AND client.id = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![secret::digest(token), client], |row| {
        Ok(Found {
            number: row.get(0)?,
            application: row.get(1)?,
            mode: mode_of(&row.get::<_, String>(2)?),
        })
    });
    found.optional()?.ok_or(Error::RegistrationAccess)
}

/// Returns an application with its present key pair for a mode. `None` if it has none.
fn present(connection: &Connection, application: &str, mode: Mode) -> Result<Option<ManagedRegistration>, Error> {
    let Some(application) = get(connection, application)? else {
        return Ok(None);
    };
    let key = application
        .keys
        .iter()
        .find(|key| key.mode == mode && key.retired_at.is_none())
        .cloned();
    Ok(key.map(|key| ManagedRegistration { application, key }))
}

fn check_keys(connection: &Connection, present: &Key, update: &RegistrationUpdate<'_>) -> Result<(), Error> {
    if present.publishable != update.client_id {
        return Err(Error::Registration(
            "client_id is not the present one of this registration",
        ));
    }
    let Some(shown) = update.client_secret else {
        return Ok(());
    };
    let sql = "SELECT secret FROM client WHERE id = ?1";
    let kept: Option<Vec<u8>> = connection.query_row(sql, [&present.publishable], |row| row.get(0))?;
    match kept {
        Some(kept) if secret::matches(shown, &kept) => Ok(()),
        _ => Err(Error::Registration(
            "client_secret is not the present one of this registration",
        )),
    }
}

/// Refuses that a token for test mode changes what the application's live mode has, too. Whoever develops with test
/// keys must not decide where the codes of real patients go.
fn check_shared(
    connection: &Connection,
    mode: Mode,
    former: &Application,
    (name, update): (&str, &RegistrationUpdate<'_>),
) -> Result<(), Error> {
    if mode == Mode::Live || present(connection, &former.id, Mode::Live)?.is_none() {
        return Ok(());
    }
    let sorted = |uris: &[String]| uris.iter().cloned().collect::<BTreeSet<String>>();
    let is_same = former.name == name
        && former.sync_frequency == update.sync_frequency
        && sorted(&former.redirect_uris) == sorted(update.redirect_uris);
    match is_same {
        true => Ok(()),
        false => Err(Error::Registration(
            "client_name, redirect_uris and sync_frequency are those of live mode, too, so only a token for live mode changes them",
        )),
    }
}

fn replace_redirect_uris(
    connection: &Connection,
    now: i64,
    former: &Application,
    uris: &[String],
    actor: Actor,
) -> Result<(), Error> {
    let of_application = |action: &str, uri: &str| note(connection, now, actor, action, about(&former.id), uri);
    for uri in former.redirect_uris.iter().filter(|uri| !uris.contains(uri)) {
        let sql = "DELETE FROM redirect_uri WHERE application = ?1 AND uri = ?2";
        connection.execute(sql, [&former.id, uri])?;
        of_application("application.redirect-uri-removed", uri)?;
    }
    for uri in uris {
        if add_redirect_uri(connection, now, &former.id, uri)? {
            of_application("application.redirect-uri-added", uri)?;
        }
    }
    Ok(())
}

fn make_token(connection: &Connection, now: i64, application: &str, mode: Mode, actor: Actor) -> Result<String, Error> {
    let token = secret::random("rat_")?;
    let sql = "INSERT INTO registration_access (digest, application, mode, created_at) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(sql, params![secret::digest(&token), application, mode.schema(), now])?;
    let action = "registration-access-token.created";
    note(connection, now, actor, action, about(application), mode.schema())?;
    Ok(token)
}

/// Deletes the tokens that are older than this one.
fn end_former_tokens(connection: &Connection, found: &Found) -> Result<(), Error> {
    let sql = "DELETE FROM registration_access WHERE application = ?1 AND mode = ?2 AND number < ?3";
    connection.execute(sql, params![found.application, found.mode.schema(), found.number])?;
    Ok(())
}

fn end_tokens(connection: &Connection, application: &str, mode: Mode) -> Result<(), Error> {
    let sql = "DELETE FROM registration_access WHERE application = ?1 AND mode = ?2";
    connection.execute(sql, [application, mode.schema()])?;
    Ok(())
}
