//! The end of links: by their patient, by the end of what they were made from, by time. What is left of one is its
//! lines in the audit log.

use rusqlite::{Connection, params};

use super::row::HealthLink;
use crate::consent::audit::{About, Actor, note};
use crate::consent::error::Error;
use crate::consent::store::Store;

/// The condition for links whose time is over.
pub(in crate::consent) const LINKS_OVER: &str = "WHERE expires_at <= ?1";

/// Ends all links of a consent, and says how many there were.
pub(in crate::consent) fn end_links(
    connection: &Connection,
    now: i64,
    actor: Actor,
    consent: &str,
    why: &str,
) -> Result<u64, Error> {
    let sql = "DELETE FROM health_link WHERE consent = ?1 RETURNING id";
    let mut statement = connection.prepare_cached(sql)?;
    let ended = statement.query_map([consent], |row| row.get(0))?;
    let ended: Vec<String> = ended.collect::<Result<_, _>>()?;
    let about = About {
        consent: Some(consent),
        ..About::default()
    };
    for id in &ended {
        note(
            connection,
            now,
            actor,
            "health-link.ended",
            about,
            &format!("{id} {why}"),
        )?;
    }
    Ok(ended.len() as u64)
}

/// Ends the links whose time is over, and says how many there were.
pub(in crate::consent) fn over(connection: &Connection, now: i64) -> Result<usize, Error> {
    let sql = format!("DELETE FROM health_link {LINKS_OVER} RETURNING id, consent");
    let mut statement = connection.prepare_cached(&sql)?;
    let ended = statement.query_map([now], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let ended: Vec<(String, String)> = ended.collect::<Result<_, _>>()?;
    for (id, consent) in &ended {
        let about = About {
            consent: Some(consent),
            ..About::default()
        };
        note(connection, now, Actor::Service, "health-link.expired", about, id)?;
    }
    Ok(ended.len())
}

/// Ends one link.
pub(super) fn end_one(
    connection: &Connection,
    now: i64,
    actor: Actor,
    action: &str,
    link: &HealthLink,
) -> Result<(), Error> {
    connection.execute("DELETE FROM health_link WHERE id = ?1", [&link.id])?;
    note(connection, now, actor, action, link.about(), &link.id)
}

impl Store {
    /// Revokes one link of a consent, and says whether there was such a one.
    pub fn revoke_health_link(&self, consent: &str, id: &str) -> Result<bool, Error> {
        let now = self.clock().now();
        let revoked = self.write(|transaction| {
            let link = HealthLink::get(transaction, id)?;
            let Some(link) = link.filter(|link| link.consent == consent && link.expires_at > now) else {
                return Ok(false);
            };
            end_one(transaction, now, Actor::Patient, "health-link.revoked", &link)?;
            Ok(true)
        })?;
        self.wipe_ended_links()?;
        Ok(revoked)
    }

    /// Ends all links of a consent with the bytes of their files, and says how many there were; for whatever takes
    /// the consent's records away without ending an authorization.
    pub fn revoke_links(&self, consent: &str, actor: Actor) -> Result<u64, Error> {
        let now = self.clock().now();
        let ended = self.write(|transaction| end_links(transaction, now, actor, consent, "the records are erased"))?;
        self.wipe_ended_links()?;
        Ok(ended)
    }

    /// Takes what ended links leave in the write-ahead log out of it, and says whether nothing is left. SQLite
    /// overwrites deleted rows in the file itself (`secure_delete`); while another process reads, the log has to
    /// stay, and the next sweep tries again.
    pub fn wipe_ended_links(&self) -> Result<bool, Error> {
        let newest = "SELECT coalesce(max(id), 0) FROM health_link_gone";
        let newest: i64 = self.read(|connection| Ok(connection.query_row(newest, [], |row| row.get(0))?))?;
        if newest == 0 {
            return Ok(true);
        }
        if !self.empty_log()? {
            return Ok(false);
        }
        self.write(|transaction| {
            let sql = "DELETE FROM health_link_gone WHERE id <= ?1";
            transaction.execute(sql, params![newest])?;
            Ok(true)
        })
    }
}
