//! The addresses of an application: redirect URIs for codes, and origins that may embed the link component.

use rusqlite::{Connection, params};

use crate::consent::directory::address::{check_origin, check_redirect_uri};
use crate::consent::error::Error;
use crate::consent::log::audit::Actor;
use crate::consent::store::Store;

/// The repository of the redirect URIs of applications.
#[derive(Clone, Copy, Debug)]
pub struct RedirectUris<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl RedirectUris<'_> {
    /// Registers a redirect URI for authorization codes. Returns whether it was new.
    pub fn add(&self, application: &str, uri: &str, actor: Actor) -> Result<bool, Error> {
        self.store.applications().change(
            application,
            actor,
            "application.redirect-uri-added",
            uri,
            |connection, now| add_redirect_uri(connection, now, application, uri),
        )
    }

    /// Removes a redirect URI. Returns whether it was registered.
    pub fn remove(&self, application: &str, uri: &str, actor: Actor) -> Result<bool, Error> {
        self.store.applications().change(
            application,
            actor,
            "application.redirect-uri-removed",
            uri,
            |connection, _| {
                let sql = "DELETE FROM redirect_uri WHERE application = ?1 AND uri = ?2";
                Ok(connection.execute(sql, [application, uri])? > 0)
            },
        )
    }
}

/// The repository of the origins that may embed the link component.
#[derive(Clone, Copy, Debug)]
pub struct Origins<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Origins<'_> {
    /// Registers an origin whose pages may embed the link component. Returns whether it was new.
    pub fn add(&self, application: &str, origin: &str, actor: Actor) -> Result<bool, Error> {
        self.store.applications().change(
            application,
            actor,
            "application.origin-added",
            origin,
            |connection, now| add_origin(connection, now, application, origin),
        )
    }

    /// Removes an origin. Returns whether it was registered.
    pub fn remove(&self, application: &str, origin: &str, actor: Actor) -> Result<bool, Error> {
        let kept = check_origin(origin).unwrap_or_else(|_| origin.to_owned());
        self.store.applications().change(
            application,
            actor,
            "application.origin-removed",
            origin,
            |connection, _| {
                let sql = "DELETE FROM origin WHERE application = ?1 AND origin = ?2";
                Ok(connection.execute(sql, [application, &kept])? > 0)
            },
        )
    }
}

pub(super) fn add_redirect_uri(connection: &Connection, now: i64, application: &str, uri: &str) -> Result<bool, Error> {
    check_redirect_uri(uri).map_err(|problem| Error::RedirectUri {
        uri: uri.to_owned(),
        problem,
    })?;
    let sql = "INSERT INTO redirect_uri (application, uri, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    Ok(connection.execute(sql, params![application, uri, now])? > 0)
}

pub(super) fn add_origin(connection: &Connection, now: i64, application: &str, origin: &str) -> Result<bool, Error> {
    let origin = check_origin(origin).map_err(|problem| Error::Invalid {
        what: format!("the origin {origin:?}"),
        problem,
    })?;
    let sql = "INSERT INTO origin (application, origin, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    Ok(connection.execute(sql, params![application, origin, now])? > 0)
}
