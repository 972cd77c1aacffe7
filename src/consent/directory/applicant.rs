//! Requests for access to the service, as the applicants wrote them.

use rusqlite::params;
use uuid::Uuid;

use super::super::error::Error;
use super::super::store::Store;

/// The repository of requests for access to the service.
#[derive(Clone, Copy, Debug)]
pub struct Applicants<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Applicants<'_> {
    /// Stores a request for access and returns its new id. `body` is JSON that the caller has checked.
    pub fn keep(&self, body: &str) -> Result<String, Error> {
        let now = self.store.clock().now();
        let id = Uuid::new_v4().to_string();
        self.store.write(|transaction| {
            let sql = "INSERT INTO applicant (id, received_at, body) VALUES (?1, ?2, ?3)";
            transaction.execute(sql, params![id, now, body])?;
            Ok(())
        })?;
        Ok(id)
    }

    /// Returns at most `limit` requests for access, newest first: id, time and JSON.
    pub fn newest(&self, limit: u32) -> Result<Vec<(String, i64, String)>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT id, received_at, body FROM applicant ORDER BY received_at DESC, id LIMIT ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}
