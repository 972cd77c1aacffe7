//! Deletes by time: old events with their deliveries, former secrets, and receivers whose process has died.

use rusqlite::{Connection, params};

use super::super::error::Error;

/// How long events are kept, in seconds.
const KEPT: i64 = 30 * 86_400;

/// Deletes events that are older than 30 days and for which no delivery waits, secrets that sign no more, and
/// listening receivers whose lease has ended.
pub(in crate::consent) fn forget_old(connection: &Connection, now: i64) -> Result<(), Error> {
    let sql = "DELETE FROM webhook_event WHERE at < ?1
               AND NOT EXISTS (SELECT 1 FROM webhook_delivery WHERE event = webhook_event.id AND state = 'WAITING')";
    connection.execute(sql, [now - KEPT])?;
    connection.execute("DELETE FROM webhook_receiver WHERE listens_until <= ?1", [now])?;
    let sql = "UPDATE webhook_receiver SET former_secret = NULL, former_until = NULL WHERE former_until <= ?1";
    connection.execute(sql, params![now])?;
    Ok(())
}
