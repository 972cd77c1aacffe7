//! Health cards, health links and codes that were issued for a consent. They give access to the consent's records even
//! after the request that made them. So they end when the records are removed for any reason.

use rusqlite::{Connection, params};

use super::super::error::Error;
use super::super::log::audit::Actor;
use super::cards::revoke_cards;
use super::health_link::end_links;

/// Ends unexchanged codes and public tokens, health cards and health links of a consent, because their holders could
/// get the consent's records later. Access tokens and refresh tokens do not end here. The caller's transaction also
/// requests the erasure or revokes the consent. `actor` and `why` go to the audit log.
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
