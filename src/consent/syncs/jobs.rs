//! Sync jobs from the queue to their end, and what they change in their authorizations. What to fetch and when to
//! retry is decided in `sync`.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::super::directory::endpoint::validated_by_user;
use super::super::error::Error;
use super::super::log::audit::Actor;
use super::super::moves::{forget_access, forget_outcomes};
use super::super::record::{Authorization, AuthorizationType, Consent, Job};
use super::super::states::{AuthorizationEvent, AuthorizationState, JobEvent, JobState};
use super::super::store::Store;
use super::super::webhooks::tell_job_end;
use super::dangling::keep_dangling;
use super::linked::{LinkedPatient, keep_linked};
use super::outcome::SourceOutcome;
use super::report::{JobReport, keep_report};
use super::retries::{RetryTarget, carry_missing, make_next, targets};

/// The maximum number of characters of a reason that is stored with a job. A detail in the audit log can have four
/// times as many.
const LONGEST: usize = 500;
const DAY: i64 = 86_400;
/// The maximum time in seconds for which a job may wait. One that waits longer was put off by a clock that was ahead,
/// and starts.
const LONGEST_WAIT: i64 = DAY;
/// The maximum number of audit lines about the missing records of one type in one job.
const NOTED: usize = 4;

/// A job that was begun, with its authorization and consent.
#[derive(Clone, Debug)]
pub struct BegunJob {
    /// The job.
    pub job: Job,
    /// The authorization whose records the job fetches.
    pub authorization: Authorization,
    /// The consent of the authorization.
    pub consent: Consent,
    /// What the job asks for, if it is a retry.
    pub targets: Vec<RetryTarget>,
}

/// Why a job failed.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobFailure<'a> {
    /// The reason in words, without secrets or contents of records.
    pub why: &'a str,
    /// Whether the service has lost its access to the source. After a failed first sync, the credential is then
    /// deleted. Otherwise the application can request the first sync again.
    pub access_ended: bool,
    /// What the source said in OperationOutcomes. It is stored encrypted, and only the application gets it.
    pub outcome: Option<&'a SourceOutcome>,
    /// The missing records. `None` if the job failed before it knew them.
    pub report: Option<&'a JobReport>,
}

/// The result of a completed job.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobSuccess<'a> {
    /// A text for the audit log, without secrets or contents of records.
    pub detail: &'a str,
    /// What the rules of normalization did, for the audit log. Empty if they changed nothing.
    pub normalized: &'a str,
    /// The hashes of references whose targets are missing, each with the number of consecutive syncs in which the
    /// target was missing. `None` keeps the stored hashes.
    pub dangling: Option<&'a BTreeMap<u64, u32>>,
    /// The number of fetched records, and the missing records.
    pub report: Option<&'a JobReport>,
    /// The further ids of the person at the source. `None` keeps those that are stored.
    pub linked: Option<&'a [LinkedPatient]>,
}

impl<'a> From<&'a str> for JobSuccess<'a> {
    fn from(detail: &'a str) -> JobSuccess<'a> {
        JobSuccess {
            detail,
            normalized: "",
            dangling: None,
            report: None,
            linked: None,
        }
    }
}

impl<'a> From<&'a str> for JobFailure<'a> {
    fn from(why: &'a str) -> JobFailure<'a> {
        JobFailure {
            why,
            ..JobFailure::default()
        }
    }
}

/// A job that can start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The id of the job.
    pub job: String,
    /// The id of the endpoint that the job queries.
    pub endpoint: String,
}

/// The repository of sync jobs and their results.
#[derive(Clone, Copy, Debug)]
pub struct Jobs<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Jobs<'_> {
    /// Makes a sync job for an authorization and wakes the worker. `cause` is `exchange`, `refresh` or `schedule`.
    /// Retries are made when another job ends.
    pub fn create(&self, authorization: &str, cause: &str) -> Result<String, Error> {
        let now = self.store.clock().now();
        self.store
            .write_jobs(|transaction| Job::create(transaction, now, authorization, cause))
    }

    /// Returns the jobs of an authorization, newest first.
    pub fn of_authorization(&self, authorization: &str) -> Result<Vec<Job>, Error> {
        self.store.read(|connection| {
            let condition = "WHERE authorization = ?1 ORDER BY rowid DESC";
            Job::select(connection, condition, [authorization])
        })
    }

    /// Puts all ACTIVE jobs back into the queue. The caller calls this when the worker that began them has ended.
    /// Returns their number.
    pub fn take_up(&self) -> Result<usize, Error> {
        let now = self.store.clock().now();
        self.store.write_jobs(|transaction| {
            let mut jobs = Job::select(transaction, "WHERE state = 'ACTIVE'", [])?;
            for job in &mut jobs {
                job.step(transaction, now, JobEvent::Returned)?;
            }
            Ok(jobs.len())
        })
    }

    /// Puts new jobs into the queue. Returns at most `max_jobs` jobs that can start, oldest first. While one job of an
    /// authorization is ACTIVE, the authorization's other jobs wait. At most `each` jobs query one endpoint at a time,
    /// so that a slow endpoint does not hold up others. Retries come last.
    pub fn due(&self, max_jobs: usize, each: usize) -> Result<Vec<Due>, Error> {
        let now = self.store.clock().now();
        let any = self.store.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM sync_job WHERE state = 'CREATED'
                           OR (state = 'WAITING' AND (not_before IS NULL OR not_before NOT BETWEEN ?1 + 1 AND ?2)))";
            Ok(connection
                .prepare_cached(sql)?
                .query_row([now, now + LONGEST_WAIT], |row| row.get::<_, bool>(0))?)
        })?;
        if !any {
            return Ok(Vec::new());
        }
        self.store.write(|transaction| {
            for mut job in Job::select(transaction, "WHERE state = 'CREATED'", [])? {
                job.step(transaction, now, JobEvent::Queued)?;
            }
            let sql = "WITH waiting AS (
                           SELECT job.id, endpoint, job.created_at, job.rowid AS place,
                                  row_number() OVER (PARTITION BY endpoint
                                                     ORDER BY job.retry > 0, job.created_at, job.rowid) AS nth,
                                  job.retry > 0 AS is_retry
                           FROM sync_job AS job
                           JOIN patient_authorization ON patient_authorization.id = job.authorization
                           WHERE job.state = 'WAITING' AND (not_before IS NULL OR not_before NOT BETWEEN ?1 + 1 AND ?4)
                             AND NOT EXISTS (SELECT 1 FROM sync_job AS other
                                             WHERE other.authorization = job.authorization AND other.state = 'ACTIVE')
                       ), active AS (
                           SELECT endpoint, count(*) AS count FROM sync_job AS job
                           JOIN patient_authorization ON patient_authorization.id = job.authorization
                           WHERE job.state = 'ACTIVE' GROUP BY endpoint
                       )
                       SELECT waiting.id, waiting.endpoint FROM waiting
                       LEFT JOIN active ON active.endpoint = waiting.endpoint
                       WHERE nth + COALESCE(active.count, 0) <= ?3
                       ORDER BY is_retry, waiting.created_at, place LIMIT ?2";
            let mut statement = transaction.prepare_cached(sql)?;
            let rows = statement.query_map(params![now, max_jobs as i64, each as i64, now + LONGEST_WAIT], |row| {
                Ok(Due {
                    job: row.get(0)?,
                    endpoint: row.get(1)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Starts a job. Returns `None` if the job is not WAITING, or if another job of its authorization is ACTIVE. Stops
    /// the job and returns `None` if its authorization has ended.
    pub fn begin(&self, id: &str) -> Result<Option<BegunJob>, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let Some(mut job) = find(transaction, id)?.filter(|job| job.state == JobState::Waiting) else {
                return Ok(None);
            };
            let lost = || Error::Lost("patient authorization");
            let authorization = Authorization::get(transaction, &job.authorization)?.ok_or_else(lost)?;
            if authorization.state != AuthorizationState::Exchanged || authorization.data_erased_at.is_some() {
                job.step(transaction, now, JobEvent::Stopped)?;
                set_failure(transaction, id, "the authorization has ended")?;
                tell_job_end(transaction, now, &job)?;
                return Ok(None);
            }
            // `due` may have returned two jobs of this authorization, and the other one may already be ACTIVE.
            let sql = "SELECT EXISTS (SELECT 1 FROM sync_job WHERE authorization = ?1 AND state = 'ACTIVE')";
            if transaction.query_row(sql, [&job.authorization], |row| row.get(0))? {
                return Ok(None);
            }
            job.step(transaction, now, JobEvent::Started)?;
            job.attempts += 1;
            let consent = Consent::get(transaction, &authorization.consent)?.ok_or(Error::Lost("consent"))?;
            let targets = targets(transaction, &job.id)?;
            Ok(Some(BegunJob {
                targets,
                job,
                authorization,
                consent,
            }))
        })
    }

    /// Whether a job is ACTIVE and its authorization still allows it to store records.
    pub fn stands(&self, id: &str) -> Result<bool, Error> {
        self.store.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM sync_job AS job
                       JOIN patient_authorization ON patient_authorization.id = job.authorization
                       WHERE job.id = ?1 AND job.state = 'ACTIVE' AND patient_authorization.state = 'EXCHANGED'
                         AND patient_authorization.data_erased_at IS NULL)";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([id], |row| row.get(0))?)
        })
    }

    /// Whether a job is FAILED or was deleted. If the job's worker has not ended the job, this means that somebody has
    /// stopped it.
    pub fn was_stopped(&self, id: &str) -> Result<bool, Error> {
        self.store
            .read(|connection| Ok(find(connection, id)?.is_none_or(|job| job.state == JobState::Failed)))
    }

    /// Completes a job whose records are stored, and stores its report. Changes the status of an AVAILABLE endpoint
    /// to USER_VALIDATED. For IAL2, deletes the credential. Returns `false` and changes nothing if the job is not
    /// ACTIVE any more.
    pub fn complete<'a>(&self, id: &str, success: impl Into<JobSuccess<'a>>) -> Result<bool, Error> {
        let success: JobSuccess<'_> = success.into();
        self.end(id, |transaction, now, job| {
            job.step(transaction, now, JobEvent::Succeeded)?;
            note_sync(transaction, now, job, "sync.stored", success.detail)?;
            if !success.normalized.is_empty() {
                note_sync(transaction, now, job, "sync.normalized", success.normalized)?;
            }
            if let Some(report) = success.report {
                keep_report(transaction, &job.id, report)?;
                for missing in report.shortened(NOTED) {
                    note_sync(transaction, now, job, "sync.missing", &missing.line())?;
                }
                if job.is_retry() {
                    carry_missing(transaction, job, false)?;
                }
            }
            forget_outcomes(transaction, &job.authorization)?;
            let lost = Error::Lost("patient authorization");
            let authorization = Authorization::get(transaction, &job.authorization)?.ok_or(lost)?;
            if let Some(linked) = success.linked {
                keep_linked(transaction, &authorization, linked)?;
            }
            if let Some(dangling) = success.dangling {
                keep_dangling(transaction, &authorization.id, dangling)?;
            }
            // A verified identity (IAL2) allows one sync only.
            if authorization.authorization_type == AuthorizationType::Ial2 {
                transaction.execute("DELETE FROM credential WHERE authorization = ?1", [&authorization.id])?;
            } else if let Some(report) = success.report {
                ask_again(transaction, now, job, &report.again)?;
            }
            validated_by_user(transaction, now, &authorization.endpoint, authorization.about())
        })
    }

    /// Puts a job back into the queue after a temporary failure. It may start again at `not_before`. Returns `false`
    /// if the job is not ACTIVE any more.
    pub fn put_back(&self, id: &str, not_before: i64, why: &str) -> Result<bool, Error> {
        self.end(id, |transaction, now, job| {
            job.step(transaction, now, JobEvent::Returned)?;
            let sql = "UPDATE sync_job SET not_before = ?1 WHERE id = ?2";
            transaction.execute(sql, params![not_before, job.id])?;
            set_failure(transaction, &job.id, why)?;
            note_sync(transaction, now, job, "sync.put-off", why)
        })
    }

    /// Ends a job that cannot succeed. A failed retry changes nothing else, and the next retry follows. If no job of
    /// its EXCHANGED authorization was ever completed, the authorization becomes ERRORED, and the source's message
    /// (`outcome`) is stored. Returns `false` if the job is not ACTIVE any more.
    pub fn fail<'a>(&self, id: &str, failure: impl Into<JobFailure<'a>>) -> Result<bool, Error> {
        let failure: JobFailure<'_> = failure.into();
        let sealed = failure
            .outcome
            .and_then(|outcome| serde_json::to_vec(outcome).ok())
            .map(|outcome| self.store.seal(&purpose(id), &outcome))
            .transpose()?;
        self.end(id, |transaction, now, job| {
            job.step(transaction, now, JobEvent::Failed)?;
            set_failure(transaction, &job.id, failure.why)?;
            note_sync(transaction, now, job, "sync.not-stored", failure.why)?;
            if job.is_retry() {
                carry_missing(transaction, job, true)?;
                if !failure.access_ended {
                    ask_again(transaction, now, job, &targets(transaction, &job.id)?)?;
                }
                return Ok(());
            }
            if let Some(report) = failure.report {
                keep_report(transaction, &job.id, report)?;
            }
            // What earlier syncs lack is still missing.
            carry_missing(transaction, job, true)?;
            let sql = "SELECT EXISTS (SELECT 1 FROM sync_job WHERE authorization = ?1 AND state = 'COMPLETED')";
            let synced: bool = transaction.query_row(sql, [&job.authorization], |row| row.get(0))?;
            let authorization = Authorization::get(transaction, &job.authorization)?;
            if let Some(mut authorization) = authorization.filter(|_| !synced)
                && authorization.state == AuthorizationState::Exchanged
            {
                authorization.step(transaction, now, Actor::Service, AuthorizationEvent::Failed)?;
                if failure.access_ended {
                    forget_access(transaction, &authorization.id)?;
                } else {
                    forget_outcomes(transaction, &authorization.id)?;
                }
                let sql = "UPDATE sync_job SET outcome = ?1 WHERE id = ?2";
                transaction.execute(sql, params![sealed, job.id])?;
            }
            Ok(())
        })
    }

    fn end(&self, id: &str, work: impl FnOnce(&Connection, i64, &mut Job) -> Result<(), Error>) -> Result<bool, Error> {
        let now = self.store.clock().now();
        self.store.write_jobs(|transaction| {
            let Some(mut job) = find(transaction, id)?.filter(|job| job.state == JobState::Active) else {
                return Ok(false);
            };
            work(transaction, now, &mut job)?;
            if !job.state.is_open() {
                tell_job_end(transaction, now, &job)?;
            }
            Ok(true)
        })
    }

    /// Returns what the sources said about the failed first syncs of a consent.
    pub fn source_outcomes(&self, consent: &str) -> Result<Vec<SourceOutcome>, Error> {
        let sql = "SELECT job.id, job.outcome FROM sync_job AS job
                   JOIN patient_authorization AS auth ON auth.id = job.authorization
                   WHERE auth.consent = ?1 AND auth.state = 'ERRORED' AND job.outcome IS NOT NULL ORDER BY auth.ordinal";
        let kept = self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([consent], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<Vec<(String, Vec<u8>)>, _>>()?)
        })?;
        let opened = kept.into_iter().map(|(job, sealed)| {
            let plain = self.store.unseal(&purpose(&job), &sealed)?;
            // An outcome that an earlier release stored has another form. It counts as none.
            Ok(serde_json::from_slice(&plain).unwrap_or_default())
        });
        opened.collect()
    }

    /// Makes the jobs that the applications' sync frequencies require, at most 1,000 per call. An authorization gets a
    /// job if it is EXCHANGED and has usage MULTIPLE, has no open job, and its newest job was made at least one period
    /// ago. So does one whose newest job was made in the future, by a clock that was ahead. Returns the number of new
    /// jobs.
    pub fn schedule(&self) -> Result<usize, Error> {
        let now = self.store.clock().now();
        let future = self.store.settled_now().map_or(i64::MAX, |now| now + DAY);
        let sql = "SELECT auth.id FROM patient_authorization AS auth
                   JOIN consent ON consent.id = auth.consent
                   JOIN application ON application.id = consent.application
                   WHERE auth.state = 'EXCHANGED' AND auth.usage = 'MULTIPLE' AND auth.data_erased_at IS NULL
                     AND application.sync_frequency <> 'off'
                     AND (SELECT created_at FROM sync_job WHERE authorization = auth.id AND retry = 0
                          ORDER BY rowid DESC LIMIT 1)
                         NOT BETWEEN ?1 + 1 - CASE application.sync_frequency
                             WHEN 'daily' THEN 86400 WHEN 'weekly' THEN 604800 ELSE 2592000 END AND ?2
                     AND NOT EXISTS (SELECT 1 FROM sync_job WHERE authorization = auth.id AND retry = 0
                                     AND state IN ('CREATED', 'WAITING', 'ACTIVE'))
                   LIMIT 1000";
        let overdue = |connection: &Connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([now, future], |row| row.get::<_, String>(0))?;
            Ok::<_, Error>(rows.collect::<Result<Vec<String>, _>>()?)
        };
        if self.store.read(overdue)?.is_empty() {
            return Ok(0);
        }
        self.store.write_jobs(|transaction| {
            let overdue = overdue(transaction)?;
            for authorization in &overdue {
                Job::create(transaction, now, authorization, "schedule")?;
            }
            Ok(overdue.len())
        })
    }
}

/// Makes the retry that follows a job, and notes it in the audit log.
fn ask_again(connection: &Connection, now: i64, job: &Job, again: &[RetryTarget]) -> Result<(), Error> {
    let Some(wait) = make_next(connection, now, job, again)? else {
        return Ok(());
    };
    let types: BTreeSet<&str> = again.iter().map(|target| target.resource_type.as_str()).collect();
    let types: Vec<&str> = types.into_iter().collect();
    note_sync(
        connection,
        now,
        job,
        "sync.retried",
        &format!("in {wait} s: {}", types.join(", ")),
    )
}

fn purpose(job: &str) -> String {
    format!("outcome/{job}")
}

fn find(connection: &Connection, id: &str) -> Result<Option<Job>, Error> {
    Ok(Job::select(connection, "WHERE id = ?1", [id])?.pop())
}

fn set_failure(connection: &Connection, id: &str, why: &str) -> Result<(), Error> {
    let why: String = why.chars().take(LONGEST).collect();
    connection.execute("UPDATE sync_job SET failure = ?1 WHERE id = ?2", params![why, id])?;
    Ok(())
}

fn note_sync(connection: &Connection, now: i64, job: &Job, action: &str, detail: &str) -> Result<(), Error> {
    let detail: String = detail.chars().take(4 * LONGEST).collect();
    job.note(connection, now, action, &detail)
}
