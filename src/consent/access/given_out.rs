//! Things issued from a consent's records that outlive a request: health cards, health links, codes. They end when the
//! records are removed, for any reason.

use rusqlite::{Connection, params};

use super::super::error::Error;
use super::super::log::audit::Actor;
use super::cards::revoke_cards;
use super::health_link::end_links;

/// Ends unexchanged codes and public tokens, health cards and health links. Their holders could get a consent's records
/// later. Access tokens and refresh tokens are not ended here. Call it in the transaction that requests the erasure or
/// revokes the consent. The audit log says who did it and why.
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
