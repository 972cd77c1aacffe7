//! The operator's access to the console. The command line makes a token, which is valid for ten minutes and for one
//! use. The token opens a session in one browser, whose cookie holds a secret. The store has only digests of tokens
//! and cookies.
//!
//! Neither a console token nor a cookie is a token of the API. They are in tables of their own, which the check of
//! bearer tokens does not read.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::error::Error;
use super::super::log::audit::{About, Actor, note};
use super::super::store::Store;
use super::secret;
use crate::fhir::hidden::is_hidden;
use crate::lake::Mode;

/// How long a token for the console is valid, in seconds.
pub const CONSOLE_TOKEN_SECONDS: i64 = 600;
/// How long a session lasts without use, in seconds.
pub const CONSOLE_IDLE_SECONDS: i64 = 1_800;
/// The maximum duration of a session, in seconds, even if it is in use.
pub const CONSOLE_SESSION_SECONDS: i64 = 43_200;

/// The minimum number of seconds between two updates of a session's last use.
const TOUCHED_EVERY: i64 = 30;
/// The maximum number of characters of an operator's name.
const LONGEST_NAME: usize = 60;
const TOKEN_PREFIX: &str = "console_";

/// A session of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleSession {
    /// The operator's name as it is written to the audit log.
    pub name: String,
    /// When the session began, in seconds since the Unix epoch.
    pub began_at: i64,
    /// When the session ends, even if it is in use.
    pub ends_at: i64,
}

/// The page of records that an operator looks at, for the audit log. Only the consent's id says whose records they are.
#[derive(Clone, Copy, Debug)]
pub struct ConsoleLook<'a> {
    /// The kind of page, such as `table`, `resource` or `patient`.
    pub page: &'a str,
    /// Live or test records.
    pub mode: Mode,
    /// The id of the application to which the records belong.
    pub application: &'a str,
    /// The id of the consent to which the records belong, if the page is about one person.
    pub consent: Option<&'a str>,
    /// Further details, without contents or ids of records.
    pub detail: &'a str,
}

/// The repository of tokens and sessions of the console.
#[derive(Clone, Copy, Debug)]
pub struct ConsoleSessions<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl ConsoleSessions<'_> {
    /// Makes a token that opens the console once, within ten minutes.
    pub fn make_token(&self, name: &str) -> Result<String, Error> {
        let name = checked(name)?;
        let token = secret::random(TOKEN_PREFIX)?;
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let sql = "INSERT INTO console_token (digest, name, until) VALUES (?1, ?2, ?3)";
            transaction.execute(
                sql,
                params![&secret::digest(&token)[..], name, now + CONSOLE_TOKEN_SECONDS],
            )?;
            let about = About::default();
            note(
                transaction,
                now,
                Actor::Operator,
                "console.token",
                about,
                &format!("for {name}"),
            )
        })?;
        Ok(token)
    }

    /// Uses up a token and begins a session. Returns the secret for the session's cookie. `None` if the token is
    /// unknown, used or expired.
    pub fn begin(&self, token: &str) -> Result<Option<String>, Error> {
        let digest = secret::digest(token);
        let now = self.store.clock().now();
        // Read first: a request with a guessed token must not take the write lock.
        let is_known = self.store.read(|connection| {
            let sql = "SELECT 1 FROM console_token WHERE digest = ?1 AND until > ?2";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.exists(params![&digest[..], now])?)
        })?;
        if !is_known {
            return Ok(None);
        }
        let cookie = secret::random("")?;
        let begun = self.store.write(|transaction| {
            let sql = "DELETE FROM console_token WHERE digest = ?1 AND until > ?2 RETURNING name";
            let name: Option<String> = transaction
                .query_row(sql, params![&digest[..], now], |row| row.get(0))
                .optional()?;
            let Some(name) = name else { return Ok(false) };
            let sql = "INSERT INTO console_session (digest, name, began_at, touched_at) VALUES (?1, ?2, ?3, ?3)";
            transaction.execute(sql, params![&secret::digest(&cookie)[..], name, now])?;
            let about = About::default();
            note(
                transaction,
                now,
                Actor::Operator,
                "console.sign_in",
                about,
                &format!("by {name}"),
            )?;
            Ok(true)
        })?;
        Ok(begun.then_some(cookie))
    }

    /// Returns the session of a cookie, and records its use at most every 30 seconds. `None` if the session has ended
    /// or never existed.
    pub fn get(&self, cookie: &str) -> Result<Option<ConsoleSession>, Error> {
        let digest = secret::digest(cookie);
        let now = self.store.clock().now();
        let found = self.store.read(|connection| {
            let sql = "SELECT name, began_at, touched_at FROM console_session WHERE digest = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let row = statement.query_row([&digest[..]], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            Ok(row.optional()?)
        })?;
        let Some((name, began_at, touched_at)): Option<(String, i64, i64)> = found else {
            return Ok(None);
        };
        let ends_at = began_at + CONSOLE_SESSION_SECONDS;
        if now >= ends_at || now >= touched_at + CONSOLE_IDLE_SECONDS {
            return Ok(None);
        }
        if now >= touched_at + TOUCHED_EVERY {
            self.store.write(|transaction| {
                let sql = "UPDATE console_session SET touched_at = ?2 WHERE digest = ?1";
                Ok(transaction.execute(sql, params![&digest[..], now])?)
            })?;
        }
        Ok(Some(ConsoleSession {
            name,
            began_at,
            ends_at,
        }))
    }

    /// Ends the session of a cookie. Does nothing if there is no such session.
    pub fn end(&self, cookie: &str) -> Result<(), Error> {
        let digest = secret::digest(cookie);
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let sql = "DELETE FROM console_session WHERE digest = ?1 RETURNING name";
            let name: Option<String> = transaction.query_row(sql, [&digest[..]], |row| row.get(0)).optional()?;
            match name {
                None => Ok(()),
                Some(name) => {
                    let about = About::default();
                    note(
                        transaction,
                        now,
                        Actor::Operator,
                        "console.sign_out",
                        about,
                        &format!("by {name}"),
                    )
                }
            }
        })
    }

    /// Writes an audit line about a page with records. The caller must do this before it shows the records to the
    /// operator.
    pub fn note_look(&self, session: &ConsoleSession, look: &ConsoleLook<'_>) -> Result<(), Error> {
        let now = self.store.clock().now();
        let detail = format!(
            "{} by {}: {} {}",
            look.page,
            session.name,
            look.mode.schema(),
            look.detail
        );
        let about = About {
            application: Some(look.application),
            consent: look.consent,
            authorization: None,
        };
        self.store.write(|transaction| {
            note(
                transaction,
                now,
                Actor::Operator,
                "console.look",
                about,
                detail.trim_end(),
            )
        })
    }
}

/// Checks an operator's name: after trimming, 1 to 60 characters without control characters.
fn checked(name: &str) -> Result<&str, Error> {
    let name = name.trim();
    let problem = match name.chars().count() {
        0 => "is empty",
        length if length > LONGEST_NAME => "is longer than 60 characters",
        _ if name.chars().any(is_hidden) => "has a control character or an invisible one",
        _ => return Ok(name),
    };
    Err(Error::Invalid {
        what: "the operator's name".to_owned(),
        problem,
    })
}

/// Deletes expired tokens and sessions.
pub(in crate::consent) fn forget_over(connection: &Connection, now: i64) -> Result<(), Error> {
    connection.execute("DELETE FROM console_token WHERE until <= ?1", [now])?;
    let sql = "DELETE FROM console_session WHERE began_at <= ?1 OR touched_at <= ?2";
    connection.execute(sql, [now - CONSOLE_SESSION_SECONDS, now - CONSOLE_IDLE_SECONDS])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::clock::Clock;
    use super::*;

    fn store() -> (tempfile::TempDir, Clock, Store) {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::at(1_000_000);
        let store = Store::open(folder.path(), clock.clone()).unwrap();
        (folder, clock, store)
    }

    #[test]
    fn a_token_opens_one_session_and_only_in_time() {
        let (_folder, clock, store) = store();
        let token = store.console_sessions().make_token("ada").unwrap();
        assert_eq!(store.console_sessions().begin("console_guess").unwrap(), None);
        let cookie = store.console_sessions().begin(&token).unwrap().unwrap();
        assert_eq!(store.console_sessions().begin(&token).unwrap(), None);
        assert_eq!(store.console_sessions().get(&cookie).unwrap().unwrap().name, "ada");
        assert_eq!(store.console_sessions().get(&token).unwrap(), None);
        let late = store.console_sessions().make_token("ada").unwrap();
        clock.advance(CONSOLE_TOKEN_SECONDS);
        assert_eq!(store.console_sessions().begin(&late).unwrap(), None);
    }

    #[test]
    fn a_session_ends_idle_at_its_limit_and_when_signed_out() {
        let (_folder, clock, store) = store();
        let begin = || {
            let token = store.console_sessions().make_token("ada").unwrap();
            store.console_sessions().begin(&token).unwrap().unwrap()
        };
        let idle = begin();
        clock.advance(CONSOLE_IDLE_SECONDS - 1);
        assert!(store.console_sessions().get(&idle).unwrap().is_some());
        clock.advance(CONSOLE_IDLE_SECONDS);
        assert!(store.console_sessions().get(&idle).unwrap().is_none());
        let busy = begin();
        let mut used = 0;
        while store.console_sessions().get(&busy).unwrap().is_some() {
            clock.advance(CONSOLE_IDLE_SECONDS / 2);
            used += CONSOLE_IDLE_SECONDS / 2;
        }
        assert_eq!(used, CONSOLE_SESSION_SECONDS);
        let left = begin();
        store.console_sessions().end(&left).unwrap();
        assert!(store.console_sessions().get(&left).unwrap().is_none());
    }

    #[test]
    fn neither_token_nor_cookie_lies_in_the_store() {
        let (folder, _clock, store) = store();
        let token = store.console_sessions().make_token("ada").unwrap();
        let other = store.console_sessions().make_token("ada").unwrap();
        let cookie = store.console_sessions().begin(&token).unwrap().unwrap();
        store.empty_log().unwrap();
        let bytes = std::fs::read(folder.path().join(super::super::super::store::STORE_FILE)).unwrap();
        let is_in = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(is_in("console.sign_in"));
        for secret in [&token, &other, &cookie] {
            assert!(!is_in(secret));
        }
    }

    #[test]
    fn names_are_short_and_on_one_line() {
        let (_folder, _clock, store) = store();
        for name in ["", "  ", "a\nb", &"x".repeat(61)] {
            assert!(store.console_sessions().make_token(name).is_err(), "{name:?}");
        }
    }
}
