//! Records that a sync job could not get, and why.

use rusqlite::Connection;

use super::super::error::Error;
use super::super::states::named;

named! {
    /// Why records are missing.
    MissingReason {
        /// The source does not serve the type, or serves it only for requests that the service cannot make.
        NotServed = "not-served",
        /// The source forbids access to these records.
        Forbidden = "forbidden",
        /// The source reported an error, did not answer, or returned something other than records.
        Failed = "failed",
        /// Other records refer to the missing record, and the source does not have it.
        NotFound = "not-found",
        /// The service did not request all records. The source accepts only narrower queries, it refused too many
        /// queries, or there are too many records.
        NotAsked = "not-asked",
        /// The service refused the records that the source returned, or did not fetch a record because it is too large.
        NotTaken = "not-taken",
    }
}

/// Records that a job could not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The resource type.
    pub resource_type: String,
    /// The part of the type, such as `category=laboratory`. `None` for the whole type.
    pub part: Option<String>,
    /// Why these records are missing.
    pub reason: MissingReason,
    /// The HTTP status, if the source answered.
    pub status: Option<u16>,
    /// The number of records, if known.
    pub records: Option<u64>,
    /// The reason in words.
    pub detail: String,
    /// Whether a retry asks for these records again.
    pub again: bool,
}

impl Missing {
    /// Returns one line with the type, its part and the reason.
    pub fn line(&self) -> String {
        match &self.part {
            Some(part) => format!("{} ({part}) {}", self.resource_type, self.detail),
            None => format!("{} {}", self.resource_type, self.detail),
        }
    }

    /// Returns the missing records of an authorization's newest finished job.
    pub(in crate::consent) fn of_authorization(
        connection: &Connection,
        authorization: &str,
    ) -> Result<Vec<Missing>, Error> {
        let sql = "SELECT type, part, reason, status, records, detail, again FROM sync_missing
                   WHERE job = (SELECT id FROM sync_job WHERE authorization = ?1 AND state IN ('COMPLETED', 'FAILED')
                                ORDER BY rowid DESC LIMIT 1)
                   ORDER BY ordinal";
        select(connection, sql, authorization)
    }
}

pub(super) fn select(connection: &Connection, sql: &str, id: &str) -> Result<Vec<Missing>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([id], |row| {
        Ok(Missing {
            resource_type: row.get(0)?,
            part: row.get(1)?,
            reason: row.get(2)?,
            status: row.get(3)?,
            records: row.get(4)?,
            detail: row.get(5)?,
            again: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
