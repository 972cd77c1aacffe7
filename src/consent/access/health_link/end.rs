//! Ends health links: at the patient's request, when their records are removed, when they expire, or after too many
//! wrong passcodes. Only audit lines remain of an ended link.

use rusqlite::{Connection, params};

use super::row::{HealthLink, HealthLinks};
use crate::consent::error::Error;
use crate::consent::log::audit::{About, Actor, note};

/// The condition that selects expired links.
pub(in crate::consent) const LINKS_OVER: &str = "WHERE expires_at <= ?1";

/// Ends all links of a consent in the caller's transaction. Returns their number.
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

/// Ends expired links. Returns their number.
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

/// Ends one link, and writes an audit line with this `action`.
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

impl HealthLinks<'_> {
    /// Revokes one unexpired link of a consent. Returns whether there was one.
    pub fn revoke(&self, consent: &str, id: &str) -> Result<bool, Error> {
        let now = self.store.clock().now();
        let revoked = self.store.write(|transaction| {
            let link = HealthLink::get(transaction, id)?;
            let Some(link) = link.filter(|link| link.consent == consent && link.expires_at > now) else {
                return Ok(false);
            };
            end_one(transaction, now, Actor::Patient, "health-link.revoked", &link)?;
            Ok(true)
        })?;
        self.wipe_ended()?;
        Ok(revoked)
    }

    /// Ends all links of a consent and deletes their files. Returns their number. A caller needs this only if it
    /// removes the consent's records without ending an authorization, because the end of an authorization ends the
    /// links.
    pub fn revoke_all(&self, consent: &str, actor: Actor) -> Result<u64, Error> {
        let now = self.store.clock().now();
        let ended = self
            .store
            .write(|transaction| end_links(transaction, now, actor, consent, "the records are erased"))?;
        self.wipe_ended()?;
        Ok(ended)
    }

    /// Removes the bytes of deleted files from the write-ahead log. In the store's main file SQLite has already
    /// overwritten the deleted rows (`secure_delete`). Returns `false` if another process reads the store, because then
    /// the log cannot be emptied. The next sweep tries again.
    pub fn wipe_ended(&self) -> Result<bool, Error> {
        let newest = "SELECT coalesce(max(id), 0) FROM health_link_gone";
        let newest: i64 = self
            .store
            .read(|connection| Ok(connection.query_row(newest, [], |row| row.get(0))?))?;
        if newest == 0 {
            return Ok(true);
        }
        if !self.store.empty_log()? {
            return Ok(false);
        }
        self.store.write(|transaction| {
            let sql = "DELETE FROM health_link_gone WHERE id <= ?1";
            transaction.execute(sql, params![newest])?;
            Ok(true)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::access::health_link::{
        Guess, HealthLink, LinkContent, LinkRefusal, NewHealthLink, PASSCODE_ATTEMPTS,
    };
    use crate::consent::store::Store;
    use crate::consent::{Clock, Expunge, Expunged, LOCAL_APPLICATION};
    use crate::lake::Mode;

    const MARK: &str = "a file that only its holders can read";

    struct World {
        folder: tempfile::TempDir,
        store: Store,
        consent: String,
    }

    impl World {
        fn new() -> World {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
            let consent = store
                .consents()
                .of_imported(LOCAL_APPLICATION, Mode::Live, "anna")
                .unwrap();
            World { folder, store, consent }
        }

        fn link(&self, passcode: Option<&str>) -> Result<(HealthLink, String), LinkRefusal> {
            let terms = self.store.health_links().terms(&self.consent).unwrap().unwrap();
            // A file of this length does not fit into one page of SQLite.
            let file = MARK.repeat(1_000);
            let new = NewHealthLink {
                consent: &self.consent,
                terms: &terms,
                content: LinkContent::Summary,
                label: None,
                passcode,
                is_direct: false,
                expires_at: 2_000,
                file: &file,
            };
            self.store.health_links().create(&new).unwrap()
        }

        fn is_on_disk(&self) -> bool {
            ["service.sqlite", "service.sqlite-wal"].iter().any(|name| {
                let bytes = std::fs::read(self.folder.path().join(name)).unwrap();
                memchr::memmem::find(&bytes, MARK.as_bytes()).is_some()
            })
        }

        /// Calls `end`, which ends the link at `address`. Checks that the file's bytes are then gone from the disk.
        fn ends(&self, address: &str, end: impl FnOnce(&Store)) {
            assert!(self.store.health_links().file(address).unwrap().is_some());
            assert!(self.is_on_disk());
            end(&self.store);
            assert!(self.store.health_links().at(address).unwrap().is_none());
            assert!(self.store.health_links().visit(address, "somebody").unwrap().is_none());
            assert!(!self.is_on_disk());
        }
    }

    #[test]
    fn whatever_ends_a_link_takes_its_bytes() {
        let world = World::new();
        let (link, address) = world.link(None).unwrap();
        assert!(!world.store.health_links().revoke("another", &link.id).unwrap());
        world.ends(&address, |store| {
            assert!(store.health_links().revoke(&world.consent, &link.id).unwrap());
        });
        let (_, address) = world.link(None).unwrap();
        world.ends(&address, |store| {
            assert_eq!(
                store.health_links().revoke_all(&world.consent, Actor::Service).unwrap(),
                1
            );
        });
        let (_, address) = world.link(None).unwrap();
        world.ends(&address, |store| {
            store.clock().advance(1_000);
            assert_eq!(store.sweep().unwrap().links, 1);
        });
    }

    /// The end of an authorization ends its links, but imported records have no authorization. So a link that was made
    /// during their expunge would keep its file.
    #[test]
    fn no_link_is_made_of_records_that_are_expunged_meanwhile() {
        let world = World::new();
        let terms = world.store.health_links().terms(&world.consent).unwrap().unwrap();
        let asked = Expunge {
            consent: &world.consent,
            request: "r",
            imported: &[("anna".to_owned(), vec![1])],
        };
        assert!(matches!(world.store.expunge(&asked).unwrap(), Expunged::Accepted(_)));
        assert!(world.store.health_links().terms(&world.consent).unwrap().is_none());
        let new = NewHealthLink {
            consent: &world.consent,
            terms: &terms,
            content: LinkContent::Summary,
            label: None,
            passcode: None,
            is_direct: false,
            expires_at: 2_000,
            file: MARK,
        };
        let refused = world.store.health_links().create(&new).unwrap();
        assert_eq!(refused.unwrap_err(), LinkRefusal::Changed);
        assert!(!world.is_on_disk());
    }

    #[test]
    fn the_tenth_wrong_passcode_ends_a_link_for_all() {
        let world = World::new();
        let (link, address) = world.link(Some("2468")).unwrap();
        let guess = |passcode| world.store.health_links().guess(&link, passcode).unwrap();
        assert_eq!(
            guess("1111"),
            Guess::Wrong {
                remaining: PASSCODE_ATTEMPTS - 1
            }
        );
        assert_eq!(guess("2468"), Guess::Right);
        world.ends(&address, |_| {
            for remaining in (0..PASSCODE_ATTEMPTS - 1).rev() {
                assert_eq!(guess("1111"), Guess::Wrong { remaining });
            }
        });
        assert_eq!(guess("2468"), Guess::Over);
    }
}
