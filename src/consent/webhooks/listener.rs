//! Receivers of `tabularium listen`. Such a receiver belongs to the process that made it: only this process delivers
//! to it, and renews its lease. If the process dies, the lease ends, and the receiver gets no further events.

use rusqlite::params;

use super::super::directory::application::known;
use super::super::error::Error;
use super::receiver::{NewReceiver, Webhooks, check_url, purpose};

/// The length of a lease, in seconds.
const LEASE: i64 = 60;

impl Webhooks<'_> {
    /// Adds a receiver that gets the events of an application from now on, until its lease ends.
    pub fn listen(&self, application: &str, url: &str) -> Result<NewReceiver, Error> {
        let now = self.store.clock().now();
        check_url(url)?;
        let new = NewReceiver::make(url)?;
        let sealed = self.store.seal(&purpose(&new.id), new.secret.as_bytes())?;
        self.store.write(|transaction| {
            known(transaction, application)?;
            let sql = "INSERT INTO webhook_receiver (id, application, url, secret, created_at, listens_until)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            transaction.execute(sql, params![new.id, application, url, sealed, now, now + LEASE])?;
            Ok(())
        })?;
        Ok(new)
    }

    /// Renews the lease of a listening receiver. Returns `false` if the lease has ended. It may then have missed
    /// events.
    pub fn keep_listening(&self, receiver: &str) -> Result<bool, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let sql = "UPDATE webhook_receiver SET listens_until = ?2 WHERE id = ?1 AND listens_until > ?3";
            Ok(transaction.execute(sql, params![receiver, now + LEASE, now])? > 0)
        })
    }

    /// Removes a listening receiver, with what waits for it.
    pub fn end_listening(&self, receiver: &str) -> Result<(), Error> {
        self.store.write(|transaction| {
            let sql = "DELETE FROM webhook_receiver WHERE id = ?1 AND listens_until IS NOT NULL";
            transaction.execute(sql, [receiver])?;
            Ok(())
        })
    }
}
