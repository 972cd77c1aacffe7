//! What sync jobs brought and what they could not have, by type: kept with the job, for the operator and for the application.
//!
//! Invariant: nothing here repeats contents of records, tokens, paths or queries. A reason names types, categories, hosts and statuses.

use rusqlite::{Connection, params};

use super::error::Error;
use super::record::Job;
use super::states::named;
use super::store::Store;

/// Entries of one job that are kept.
const LARGEST: usize = 200;
/// Letters of a detail that are kept.
const LONGEST: usize = 300;

named! {
    /// Why records are missing.
    MissingReason {
        /// The source does not serve the type, or not in a way that the service can ask for.
        NotServed = "not-served",
        /// The source forbids it.
        Forbidden = "forbidden",
        /// The source failed, or gave something else than records.
        Failed = "failed",
        /// Records refer to it, and the source does not have it.
        NotFound = "not-found",
        /// The source takes narrower questions only, and they do not reach all records.
        NotAsked = "not-asked",
        /// It came, and the service did not take it.
        NotTaken = "not-taken",
    }
}

/// Something that a job could not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The resource type.
    pub ty: String,
    /// The part of the type, as `category=laboratory`; all of it without.
    pub part: Option<String>,
    /// Why.
    pub reason: MissingReason,
    /// HTTP's status, if the source answered.
    pub status: Option<u16>,
    /// How many records, if that is known.
    pub records: Option<u64>,
    /// The reason in words.
    pub detail: String,
}

/// What came of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobReport {
    /// What it could not have.
    pub missing: Vec<Missing>,
    /// Records that it brought by type, whether they were new or not.
    pub counts: Vec<(String, u64)>,
}

impl Missing {
    /// In one line: the type, its part and the reason.
    pub fn line(&self) -> String {
        match &self.part {
            Some(part) => format!("{} ({part}) {}", self.ty, self.detail),
            None => format!("{} {}", self.ty, self.detail),
        }
    }

    /// What is missing of the newest job of an authorization that has ended.
    pub(super) fn of_authorization(connection: &Connection, authorization: &str) -> Result<Vec<Missing>, Error> {
        let sql = "SELECT type, part, reason, status, records, detail FROM sync_missing
                   WHERE job = (SELECT id FROM sync_job WHERE authorization = ?1 AND state IN ('COMPLETED', 'FAILED')
                                ORDER BY rowid DESC LIMIT 1)
                   ORDER BY ordinal";
        select(connection, sql, authorization)
    }
}

fn select(connection: &Connection, sql: &str, id: &str) -> Result<Vec<Missing>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([id], |row| {
        Ok(Missing {
            ty: row.get(0)?,
            part: row.get(1)?,
            reason: row.get(2)?,
            status: row.get(3)?,
            records: row.get(4)?,
            detail: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Keeps what came of a job, within the transaction that ends it.
pub(super) fn keep_report(connection: &Connection, job: &str, report: &JobReport) -> Result<(), Error> {
    let sql = "INSERT INTO sync_missing (job, ordinal, type, part, reason, status, records, detail)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut statement = connection.prepare_cached(sql)?;
    for (ordinal, one) in report.missing.iter().take(LARGEST).enumerate() {
        let detail: String = one.detail.chars().take(LONGEST).collect();
        let ordinal = ordinal as i64;
        statement.execute(params![
            job,
            ordinal,
            one.ty,
            one.part,
            one.reason,
            one.status,
            one.records,
            detail
        ])?;
    }
    let mut statement =
        connection.prepare_cached("INSERT OR REPLACE INTO sync_count (job, type, records) VALUES (?1, ?2, ?3)")?;
    for (ty, records) in &report.counts {
        statement.execute(params![job, ty, records])?;
    }
    Ok(())
}

/// What earlier syncs of an authorization brought, as far as a later one goes by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSync {
    /// When the newest completed one was begun.
    pub started_at: i64,
    /// Types of which it could not have all.
    pub missing: Vec<String>,
    /// Types of which any completed one brought records.
    pub had: Vec<String>,
}

/// A job with whom it is for, as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedJob {
    /// The job.
    pub job: Job,
    /// The consent of its authorization.
    pub consent: String,
    /// The endpoint that it asks.
    pub endpoint: String,
    /// What came of it.
    pub report: JobReport,
}

impl Store {
    /// Whether a sync of this authorization brought the source's own Patient. Of syncs of earlier releases it is presumed.
    pub fn had_patient(&self, authorization: &str) -> Result<bool, Error> {
        let sql = "SELECT EXISTS (
                       SELECT 1 FROM sync_job AS job WHERE authorization = ?1 AND state = 'COMPLETED'
                         AND (NOT EXISTS (SELECT 1 FROM sync_count WHERE sync_count.job = job.id)
                              OR EXISTS (SELECT 1 FROM sync_count WHERE sync_count.job = job.id AND type = 'Patient')
                                 AND NOT EXISTS (SELECT 1 FROM sync_missing WHERE sync_missing.job = job.id AND type = 'Patient'
                                                 AND reason <> 'not-taken')))";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([authorization], |row| row.get(0))?)
        })
    }

    /// What earlier syncs of an authorization brought; nothing before the first that was completed.
    pub fn last_sync(&self, authorization: &str) -> Result<Option<LastSync>, Error> {
        self.read(|connection| {
            let newest = "WHERE authorization = ?1 AND state = 'COMPLETED' ORDER BY rowid DESC LIMIT 1";
            let Some(job) = Job::select(connection, newest, [authorization])?.pop() else {
                return Ok(None);
            };
            let texts = |sql: &str, id: &str| {
                let mut statement = connection.prepare_cached(sql)?;
                let rows = statement.query_map([id], |row| row.get(0))?;
                Ok::<_, Error>(rows.collect::<Result<Vec<String>, _>>()?)
            };
            let had = "SELECT DISTINCT type FROM sync_count JOIN sync_job AS job ON job.id = sync_count.job
                       WHERE job.authorization = ?1 AND job.state = 'COMPLETED'";
            Ok(Some(LastSync {
                started_at: job.started_at.unwrap_or(job.created_at),
                missing: texts("SELECT DISTINCT type FROM sync_missing WHERE job = ?1 AND NOT (type = 'Binary' AND reason = 'not-taken')", &job.id)?,
                had: texts(had, authorization)?,
            }))
        })
    }

    /// The newest jobs, newest first: at most `limit`, of one consent where it is named.
    pub fn listed_jobs(&self, consent: Option<&str>, limit: u32) -> Result<Vec<ListedJob>, Error> {
        self.read(|connection| {
            let condition =
                "WHERE ?1 IS NULL OR authorization IN (SELECT id FROM patient_authorization WHERE consent = ?1)
                             ORDER BY rowid DESC LIMIT ?2";
            let jobs = Job::select(connection, condition, params![consent, limit])?;
            jobs.into_iter().map(|job| listed(connection, job)).collect()
        })
    }

    /// The jobs whose id is or begins with this, at most `limit`.
    pub fn jobs_beginning(&self, beginning: &str, limit: u32) -> Result<Vec<ListedJob>, Error> {
        self.read(|connection| {
            let condition = "WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC, rowid DESC LIMIT ?2";
            let jobs = Job::select(connection, condition, params![beginning, limit])?;
            jobs.into_iter().map(|job| listed(connection, job)).collect()
        })
    }
}

fn listed(connection: &Connection, job: Job) -> Result<ListedJob, Error> {
    let sql = "SELECT auth.consent, endpoint.name FROM patient_authorization AS auth
               JOIN endpoint ON endpoint.id = auth.endpoint WHERE auth.id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let (consent, endpoint) = statement.query_row([&job.authorization], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sql = "SELECT type, part, reason, status, records, detail FROM sync_missing WHERE job = ?1 ORDER BY ordinal";
    let missing = select(connection, sql, &job.id)?;
    let mut statement =
        connection.prepare_cached("SELECT type, records FROM sync_count WHERE job = ?1 ORDER BY type")?;
    let counts = statement.query_map([&job.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let counts = counts.collect::<Result<_, _>>()?;
    Ok(ListedJob {
        job,
        consent,
        endpoint,
        report: JobReport { missing, counts },
    })
}
