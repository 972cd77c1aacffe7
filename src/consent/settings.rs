//! The table of settings: values that a server stores so that commands on the same folder can read them.

use rusqlite::OptionalExtension;

use super::error::Error;
use super::store::{BASE_URL, Store};

/// The repository of settings that a server stores for commands.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Settings<'_> {
    /// Returns the base address of the server that last ran on this folder. `None` if no server has run there.
    pub fn base_url(&self) -> Result<Option<String>, Error> {
        let connection = self.store.connection();
        let mut statement = connection.prepare_cached("SELECT value FROM setting WHERE name = ?1")?;
        Ok(statement.query_row([BASE_URL], |row| row.get(0)).optional()?)
    }

    /// Stores the server's base address, so that commands can issue tokens for it.
    pub fn set_base_url(&self, url: &str) -> Result<(), Error> {
        let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
        self.store.connection().execute(sql, [BASE_URL, url])?;
        Ok(())
    }

    /// Removes the base address, as if no server had run on this folder.
    pub fn remove_base_url(&self) -> Result<(), Error> {
        let sql = "DELETE FROM setting WHERE name = ?1";
        self.store.connection().execute(sql, [BASE_URL])?;
        Ok(())
    }
}
