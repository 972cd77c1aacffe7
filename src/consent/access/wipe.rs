//! Removes secrets that an earlier release wrote unencrypted into the store's files. A migration adds a setting to
//! such a store. The setting stays until the bytes are gone.

use rusqlite::Connection;

/// Whether this setting exists. If so, the store's files may contain unencrypted secrets.
pub(in crate::consent) fn is_marked(connection: &Connection, setting: &str) -> Result<bool, rusqlite::Error> {
    let sql = "SELECT EXISTS (SELECT 1 FROM setting WHERE name = ?1)";
    connection.query_row(sql, [setting], |row| row.get(0))
}

/// Rewrites the whole file, empties the log and deletes the setting. If another process reads the store or the disk is
/// full, only logs a warning, and a later opening of the store tries again. `what` describes the bytes in that warning.
pub(in crate::consent) fn wipe(connection: &Connection, setting: &str, what: &str) {
    match wiped(connection, setting) {
        Ok(true) => {}
        Ok(false) => tracing::warn!("the store is in use: {what} is wiped at the next opening"),
        Err(error) => tracing::warn!(%error, "{what} is wiped at the next opening"),
    }
}

/// Does the work of [`wipe`]. Returns `false` if another process prevented the checkpoint. Does not wait for that
/// process, because a later opening can do the work.
fn wiped(connection: &Connection, setting: &str) -> Result<bool, rusqlite::Error> {
    connection.execute_batch("VACUUM")?;
    let usual: i64 = connection.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
    connection.pragma_update(None, "busy_timeout", 0)?;
    let checkpoint = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    connection.pragma_update(None, "busy_timeout", usual)?;
    if checkpoint? != 0 {
        return Ok(false);
    }
    connection.execute("DELETE FROM setting WHERE name = ?1", [setting])?;
    Ok(true)
}
