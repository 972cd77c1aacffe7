//! Tries a passcode. A try is counted before it is checked, so that parallel tries cannot exceed the limit. If the
//! passcode is right, the try is subtracted from the count again. Wrong tries stay counted, even after a right one.
//! Only one try of a link is checked at a time.

use rusqlite::{OptionalExtension, params};

use super::end::end_one;
use super::passcode;
use super::row::{HealthLink, HealthLinks};
use crate::consent::error::Error;
use crate::consent::log::audit::{Actor, note};

/// The result of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// The passcode is right.
    Right,
    /// The passcode is wrong. If no attempts remain, the link has ended.
    Wrong {
        /// How many more wrong passcodes are allowed.
        remaining: u32,
    },
    /// Another try for the same link is being checked.
    Busy,
    /// The link does not exist, has ended or has no passcode.
    Over,
}

impl HealthLinks<'_> {
    /// Tries the passcode of a link. Blocks on the slow hash and on the store.
    pub fn guess(&self, link: &HealthLink, passcode: &str) -> Result<Guess, Error> {
        let now = self.store.clock().now();
        let Some(_check) = self.store.guesses().begin(&link.id) else {
            return Ok(Guess::Busy);
        };
        let sql = "UPDATE health_link SET attempts = attempts - 1
                   WHERE id = ?1 AND expires_at > ?2 AND attempts > 0 AND passcode IS NOT NULL
                   RETURNING passcode, attempts";
        let counted: Option<(Vec<u8>, u32)> = self.store.write(|transaction| {
            let counted = transaction.query_row(sql, params![link.id, now], |row| Ok((row.get(0)?, row.get(1)?)));
            Ok(counted.optional()?)
        })?;
        let Some((kept, remaining)) = counted else {
            return Ok(Guess::Over);
        };
        if passcode::matches(passcode, &kept) {
            let sql = "UPDATE health_link SET attempts = attempts + 1 WHERE id = ?1";
            let given_back = self
                .store
                .write(|transaction| Ok(transaction.execute(sql, [&link.id])?))?;
            // If no row was changed, the link was revoked during the check.
            return Ok(if given_back > 0 { Guess::Right } else { Guess::Over });
        }
        self.store.write(|transaction| {
            let detail = format!("{} {remaining} left", link.id);
            let about = link.about();
            note(transaction, now, Actor::Service, "health-link.refused", about, &detail)?;
            match remaining {
                0 => end_one(transaction, now, Actor::Service, "health-link.guessed", link),
                _ => Ok(()),
            }
        })?;
        if remaining == 0 {
            self.wipe_ended()?;
        }
        Ok(Guess::Wrong { remaining })
    }
}
