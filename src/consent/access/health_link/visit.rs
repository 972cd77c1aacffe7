//! Returns the file of a link, and records the recipients.

use rusqlite::{Connection, OptionalExtension, params};

use super::row::{HealthLink, HealthLinks, LinkContent};
use crate::consent::error::Error;
use crate::consent::log::audit::{Actor, note};

/// The file of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFile {
    /// What the file contains. This determines its media type.
    pub content: LinkContent,
    /// When the link was made, in seconds since the Unix epoch.
    pub created_at: i64,
    /// The file as a compact JWE, encrypted with the link's key.
    pub jwe: String,
}

impl HealthLinks<'_> {
    /// Returns the file of the link at this address, and records the recipient's name. `None` if the link has ended.
    pub fn visit(&self, address: &str, recipient: &str) -> Result<Option<LinkFile>, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let Some(link) = HealthLink::at(transaction, address, now)? else {
                return Ok(None);
            };
            let sql = "UPDATE health_link SET uses = uses + 1, used_at = ?2, recipient = ?3 WHERE id = ?1";
            transaction.execute(sql, params![link.id, now, recipient])?;
            let detail = format!("{} {recipient}", link.id);
            let about = link.about();
            note(transaction, now, Actor::Service, "health-link.used", about, &detail)?;
            file(transaction, &link)
        })
    }

    /// Returns the file of the link at this address without recording a recipient. `None` if the link has ended.
    pub fn file(&self, address: &str) -> Result<Option<LinkFile>, Error> {
        let now = self.store.clock().now();
        self.store
            .read(|connection| match HealthLink::at(connection, address, now)? {
                Some(link) => file(connection, &link),
                None => Ok(None),
            })
    }
}

fn file(connection: &Connection, link: &HealthLink) -> Result<Option<LinkFile>, Error> {
    let mut statement = connection.prepare_cached("SELECT jwe FROM health_link_file WHERE link = ?1")?;
    let jwe: Option<String> = statement.query_row([&link.id], |row| row.get(0)).optional()?;
    Ok(jwe.map(|jwe| LinkFile {
        content: link.content,
        created_at: link.created_at,
        jwe,
    }))
}
