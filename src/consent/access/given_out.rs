//! What was given out of a consent's records and outlives a request: it ends when the records go, by whatever way they
//! do.

use rusqlite::{Connection, params};

use super::super::error::Error;
use super::super::log::audit::Actor;
use super::cards::revoke_cards;
use super::health_link::end_links;

/// Ends everything that lets somebody who has it come by a consent's records later, tokens aside: codes and public
/// tokens that nobody has exchanged, health cards, health links. It is called in the transaction that has the records
/// erased, or the consent revoked; the audit log says by whom and why.
pub(in crate::consent) fn end_what_was_given_out(
    connection: &Connection,
    now: i64,
    (actor, why): (Actor, &str),
    consent: &str,
) -> Result<(), Error> {
    let sql = "UPDATE authorization_code SET expires_at = min(expires_at, ?2) WHERE consent = ?1";
    connection.execute(sql, params![consent, now])?;
    revoke_cards(connection, now, consent)?;
    end_links(connection, now, actor, consent, why)?;
    Ok(())
}
