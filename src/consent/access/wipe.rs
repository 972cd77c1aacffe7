//! Removes from the store's files what an earlier release wrote there in clear. A migration step marks such a store
//! by a setting. The setting stays until the bytes are gone.

use rusqlite::Connection;

/// Whether the files may contain the bytes that a setting stands for.
pub(in crate::consent) fn is_marked(connection: &Connection, setting: &str) -> Result<bool, rusqlite::Error> {
    let sql = "SELECT EXISTS (SELECT 1 FROM setting WHERE name = ?1)";
    connection.query_row(sql, [setting], |row| row.get(0))
}

/// Rewrites the whole file, empties the log and deletes the setting. If another process reads the store or the disk is
/// full, a later opening does it. `what` names the bytes in the log of the process.
pub(in crate::consent) fn wipe(connection: &Connection, setting: &str, what: &str) {
    match wiped(connection, setting) {
        Ok(true) => {}
        Ok(false) => tracing::warn!("the store is in use: {what} is wiped at the next opening"),
        Err(error) => tracing::warn!(%error, "{what} is wiped at the next opening"),
    }
}

/// Returns whether no reader prevented it. It does not wait for readers, because a later opening can do it.
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
