//! Retries: jobs that ask a source again for what failed beside stored records, and for nothing else. The first begins
//! a minute after the sync, the others 5 minutes, half an hour and 2 hours after the one before. Then the next sync
//! asks.
//!
//! A retry delays no sync but by what it is doing. Each new sync of an authorization stops its retries, because it asks
//! for all that is missing. An authorization's sync state is that of its last job that is no retry, and what it misses
//! is told of that job and its retries together.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::super::error::Error;
use super::super::record::Job;
use super::super::states::JobEvent;

/// The number of seconds before each retry.
const WAITS: [i64; 4] = [60, 300, 1_800, 7_200];

/// What a retry asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetryTarget {
    /// The resource type.
    pub resource_type: String,
    /// The source's id of a record to which others refer. `None` means the search for all records of the type.
    pub source_id: Option<String>,
}

/// The next retry of an authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextRetry {
    /// When a worker may begin it, in seconds since the Unix epoch.
    pub at: i64,
    /// The types for which it asks.
    pub types: Vec<String>,
}

impl Job {
    /// Whether the job is a retry.
    pub fn is_retry(&self) -> bool {
        self.retry > 0
    }
}

impl NextRetry {
    /// Returns an authorization's retry that has not ended.
    pub(in crate::consent) fn of_authorization(
        connection: &Connection,
        authorization: &str,
    ) -> Result<Option<NextRetry>, Error> {
        let sql = "SELECT id, COALESCE(not_before, created_at) FROM sync_job
                   WHERE authorization = ?1 AND retry > 0 AND state IN ('CREATED', 'WAITING', 'ACTIVE')";
        let mut statement = connection.prepare_cached(sql)?;
        let open = statement.query_row([authorization], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
        let Some((job, at)) = open.optional()? else {
            return Ok(None);
        };
        let targets = targets(connection, &job)?;
        let types: BTreeSet<String> = targets.into_iter().map(|target| target.resource_type).collect();
        Ok(Some(NextRetry {
            at,
            types: types.into_iter().collect(),
        }))
    }
}

/// Makes the retry that follows a job, unless it was the last one or nothing is left to ask for. Returns how many
/// seconds it waits.
pub(in crate::consent) fn make_next(
    connection: &Connection,
    now: i64,
    job: &Job,
    targets: &[RetryTarget],
) -> Result<Option<i64>, Error> {
    let Some(wait) = WAITS.get(job.retry as usize).filter(|_| !targets.is_empty()) else {
        return Ok(None);
    };
    // Another sync of the authorization is on its way and asks for everything that is missing.
    let sql = "SELECT EXISTS (SELECT 1 FROM sync_job WHERE authorization = ?1 AND retry = 0
                              AND state IN ('CREATED', 'WAITING', 'ACTIVE'))";
    if connection.query_row(sql, [&job.authorization], |row| row.get(0))? {
        return Ok(None);
    }
    let id = Uuid::new_v4().to_string();
    let sql = "INSERT INTO sync_job (id, authorization, cause, retry, state, created_at, updated_at, not_before)
               SELECT ?1, authorization, cause, retry + 1, 'CREATED', ?2, ?2, ?3 FROM sync_job WHERE id = ?4";
    connection.execute(sql, params![id, now, now + wait, job.id])?;
    let mut statement =
        connection.prepare_cached("INSERT OR IGNORE INTO sync_retry (job, type, source_id) VALUES (?1, ?2, ?3)")?;
    for target in targets {
        let source_id = target.source_id.as_deref().unwrap_or_default();
        statement.execute(params![id, target.resource_type, source_id])?;
    }
    Ok(Some(*wait))
}

/// Returns what a retry asks for.
pub(in crate::consent) fn targets(connection: &Connection, job: &str) -> Result<Vec<RetryTarget>, Error> {
    let sql = "SELECT type, source_id FROM sync_retry WHERE job = ?1 ORDER BY type, source_id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([job], |row| {
        Ok(RetryTarget {
            resource_type: row.get(0)?,
            source_id: Some(row.get::<_, String>(1)?).filter(|id| !id.is_empty()),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Adds what was missing before a retry to the retry's own report, but not what the retry has asked for. With `all`,
/// also that, because the retry brought nothing.
pub(in crate::consent) fn carry_missing(connection: &Connection, job: &Job, all: bool) -> Result<(), Error> {
    let sql = "INSERT INTO sync_missing (job, ordinal, type, part, reason, status, records, detail, again)
               SELECT ?1, 1000 + ordinal, type, part, reason, status, records, detail, again FROM sync_missing
               WHERE job = (SELECT id FROM sync_job WHERE authorization = ?2 AND id <> ?1
                            AND state IN ('COMPLETED', 'FAILED') ORDER BY rowid DESC LIMIT 1)
                 AND (?3 OR again = 0)
                 AND (?3 OR type NOT IN (SELECT type FROM sync_retry WHERE sync_retry.job = ?1 AND source_id = ''))
                 AND NOT EXISTS (SELECT 1 FROM sync_missing AS own WHERE own.job = ?1 AND own.type = sync_missing.type
                                 AND own.part IS sync_missing.part AND own.reason = sync_missing.reason)";
    connection
        .prepare_cached(sql)?
        .execute(params![job.id, job.authorization, all])?;
    // The numbers of entries that are carried again must not grow for ever.
    let sql = "UPDATE sync_missing SET ordinal = ordinal - 1000
               WHERE job = ?1 AND ordinal >= 2000
                 AND NOT EXISTS (SELECT 1 FROM sync_missing AS other WHERE other.job = ?1 AND other.ordinal = sync_missing.ordinal - 1000)";
    connection.prepare_cached(sql)?.execute([&job.id])?;
    Ok(())
}

/// Stops an authorization's waiting retries, because a new sync asks for the same. One that is running ends itself, so
/// that access which it renews is not lost.
pub(in crate::consent) fn give_way(connection: &Connection, now: i64, authorization: &str) -> Result<(), Error> {
    let open = "WHERE authorization = ?1 AND retry > 0 AND state IN ('CREATED', 'WAITING')";
    for mut job in Job::select(connection, open, [authorization])? {
        job.step(connection, now, JobEvent::Stopped)?;
        connection.execute(
            "UPDATE sync_job SET failure = 'a newer sync asks for the same' WHERE id = ?1",
            [&job.id],
        )?;
        carry_missing(connection, &job, true)?;
    }
    Ok(())
}
