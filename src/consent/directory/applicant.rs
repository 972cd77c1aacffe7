//! Requests for access, as the applicants wrote them.

use rusqlite::params;
use uuid::Uuid;

use super::super::error::Error;
use super::super::store::Store;

impl Store {
    /// Stores a request for access (checked JSON) under a new id.
    pub fn keep_applicant(&self, body: &str) -> Result<String, Error> {
        let now = self.clock().now();
        let id = Uuid::new_v4().to_string();
        self.write(|transaction| {
            let sql = "INSERT INTO applicant (id, received_at, body) VALUES (?1, ?2, ?3)";
            transaction.execute(sql, params![id, now, body])?;
            Ok(())
        })?;
        Ok(id)
    }

    /// The requests for access, newest first, at most `limit`: id, time and the JSON.
    pub fn applicants(&self, limit: u32) -> Result<Vec<(String, i64, String)>, Error> {
        self.read(|connection| {
            let sql = "SELECT id, received_at, body FROM applicant ORDER BY received_at DESC, id LIMIT ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}
