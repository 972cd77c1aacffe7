//! The results of earlier sync jobs, for later jobs and for the operator.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::error::Error;
use super::super::record::Job;
use super::jobs::Jobs;
use super::missing::select;
use super::report::{AttachmentCounts, JobReport};
use crate::normalize::Counts;

/// What a sync needs to know of earlier syncs of its authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSync {
    /// When the newest completed sync was begun.
    pub started_at: i64,
    /// The types of which this sync and its retries could not get all records. Binary is not among them if the service
    /// only refused some Binaries.
    pub missing: Vec<String>,
    /// The types of which any completed job fetched records.
    pub had: Vec<String>,
}

/// A job with its consent, endpoint and result, for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedJob {
    /// The job.
    pub job: Job,
    /// The id of the consent of the job's authorization.
    pub consent: String,
    /// The name of the endpoint that the job queries.
    pub endpoint: String,
    /// The result of the job.
    pub report: JobReport,
}

impl Jobs<'_> {
    /// Whether a completed sync of this authorization stored the source's own Patient resource. Syncs of other
    /// authorizations with the same consent, endpoint and Patient count, too, because they store the same rows. A
    /// completed sync without counts also makes the answer `true`, because earlier releases stored no counts.
    pub fn had_patient(&self, authorization: &str) -> Result<bool, Error> {
        let sql = "SELECT EXISTS (
                       SELECT 1 FROM patient_authorization AS this
                       JOIN patient_authorization AS auth ON auth.consent = this.consent AND auth.endpoint = this.endpoint
                         AND auth.source_patient = this.source_patient
                       JOIN sync_job AS job ON job.authorization = auth.id
                       WHERE this.id = ?1 AND job.state = 'COMPLETED'
                         AND (job.retry = 0 AND NOT EXISTS (SELECT 1 FROM sync_count WHERE sync_count.job = job.id)
                              OR EXISTS (SELECT 1 FROM sync_count WHERE sync_count.job = job.id AND type = 'Patient')
                                 AND NOT EXISTS (SELECT 1 FROM sync_missing WHERE sync_missing.job = job.id AND type = 'Patient' AND part IS NULL
                                                 AND reason <> 'not-taken')))";
        self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([authorization], |row| row.get(0))?)
        })
    }

    /// Returns what earlier syncs of an authorization have shown. `None` if no sync was completed.
    pub fn last_sync(&self, authorization: &str) -> Result<Option<LastSync>, Error> {
        self.store.read(|connection| {
            let newest = "WHERE authorization = ?1 AND state = 'COMPLETED' AND retry = 0 ORDER BY rowid DESC LIMIT 1";
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
            let missing = "SELECT DISTINCT type FROM sync_missing
                           WHERE NOT (type = 'Binary' AND reason = 'not-taken') AND job = (
                               SELECT id FROM sync_job WHERE authorization = ?1
                                 AND (state = 'COMPLETED' OR state = 'FAILED' AND retry > 0) ORDER BY rowid DESC LIMIT 1)";
            Ok(Some(LastSync {
                started_at: job.started_at.unwrap_or(job.created_at),
                missing: texts(missing, authorization)?,
                had: texts(had, authorization)?,
            }))
        })
    }

    /// Returns at most `limit` jobs, newest first. If a consent is given, only its jobs.
    pub fn list(&self, consent: Option<&str>, limit: u32) -> Result<Vec<ListedJob>, Error> {
        self.store.read(|connection| {
            let condition =
                "WHERE ?1 IS NULL OR authorization IN (SELECT id FROM patient_authorization WHERE consent = ?1)
                             ORDER BY rowid DESC LIMIT ?2";
            let jobs = Job::select(connection, condition, params![consent, limit])?;
            jobs.into_iter().map(|job| listed(connection, job)).collect()
        })
    }

    /// Returns at most `limit` jobs whose id begins with `beginning`. A job with exactly this id comes first, and then
    /// newer jobs before older ones.
    pub fn beginning(&self, beginning: &str, limit: u32) -> Result<Vec<ListedJob>, Error> {
        self.store.read(|connection| {
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
    let sql =
        "SELECT type, part, reason, status, records, detail, again FROM sync_missing WHERE job = ?1 ORDER BY ordinal";
    let missing = select(connection, sql, &job.id)?;
    let mut statement =
        connection.prepare_cached("SELECT type, records FROM sync_count WHERE job = ?1 ORDER BY type")?;
    let counts = statement.query_map([&job.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let counts = counts.collect::<Result<_, _>>()?;
    let sql = "SELECT rule, made, changed, unaltered, dangling FROM sync_rule WHERE job = ?1 ORDER BY rule";
    let mut statement = connection.prepare_cached(sql)?;
    let rules = statement.query_map([&job.id], |row| {
        let did = Counts {
            made: row.get(1)?,
            changed: row.get(2)?,
            left: row.get(3)?,
            dangling: row.get(4)?,
        };
        Ok((row.get(0)?, did))
    })?;
    let rules = rules.collect::<Result<_, _>>()?;
    let mut statement =
        connection.prepare_cached("SELECT fetched, kept, at_source, missing FROM sync_attachment WHERE job = ?1")?;
    let attachments = statement.query_row([&job.id], |row| {
        Ok(AttachmentCounts {
            fetched: row.get(0)?,
            kept: row.get(1)?,
            at_source: row.get(2)?,
            missing: row.get(3)?,
        })
    });
    let attachments = attachments.optional()?;
    Ok(ListedJob {
        job,
        consent,
        endpoint,
        report: JobReport {
            missing,
            counts,
            rules,
            attachments,
            again: Vec::new(),
        },
    })
}
