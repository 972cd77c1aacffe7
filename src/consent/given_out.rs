//! What was given out of a consent's records and outlives a request: it ends when the records go, by whatever way they do.

use rusqlite::{Connection, params};

use super::error::Error;

/// Ends everything that lets somebody who has it come by a consent's records later, tokens aside: codes and public tokens that nobody has
/// exchanged. It is called in the transaction that has the records erased, or the consent revoked.
pub(super) fn end_what_was_given_out(connection: &Connection, now: i64, consent: &str) -> Result<(), Error> {
    let sql = "UPDATE authorization_code SET expires_at = min(expires_at, ?2) WHERE consent = ?1";
    connection.execute(sql, params![consent, now])?;
    Ok(())
}
