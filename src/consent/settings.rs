//! The table of settings: values that a server leaves for commands.

use rusqlite::OptionalExtension;

use super::error::Error;
use super::store::{BASE_URL, Store};

/// Settings of the service.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Settings<'_> {
    /// The base address that the last `serve` on this folder announced.
    pub fn base_url(&self) -> Result<Option<String>, Error> {
        let connection = self.store.connection();
        let mut statement = connection.prepare_cached("SELECT value FROM setting WHERE name = ?1")?;
        Ok(statement.query_row([BASE_URL], |row| row.get(0)).optional()?)
    }

    /// Records the base address for commands that make tokens.
    pub fn set_base_url(&self, url: &str) -> Result<(), Error> {
        let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
        self.store.connection().execute(sql, [BASE_URL, url])?;
        Ok(())
    }
}
