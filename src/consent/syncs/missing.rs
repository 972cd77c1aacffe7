//! The results of sync jobs by type: what was stored and what was missing. Kept with the job, for the operator and the
//! application.
//!
//! Invariant: no result contains record contents, tokens, paths or queries. A reason names types, categories, hosts and
//! statuses.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::super::error::Error;
use super::super::record::Job;
use super::super::states::named;
use super::jobs::Jobs;
use crate::normalize::Counts;

/// Entries of one type that are kept of a job.
const OF_TYPE: usize = 12;
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

/// The result of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobReport {
    /// The missing records.
    pub missing: Vec<Missing>,
    /// Records that it brought by type, whether they were new or not.
    pub counts: Vec<(String, u64)>,
    /// The counts of normalization, by rule.
    pub rules: Vec<(String, Counts)>,
    /// The counts of attachments. Unknown for jobs of earlier releases.
    pub attachments: Option<AttachmentCounts>,
}

/// The counts of a job's attachments, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachmentCounts {
    /// Fetched by this job.
    pub fetched: u64,
    /// Not fetched again, because the record's description of them has not changed.
    pub kept: u64,
    /// Left at the source: too large, or too many.
    pub at_source: u64,
    /// Not to be had.
    pub missing: u64,
}

impl AttachmentCounts {
    /// The counts in words. `None` without attachments.
    pub fn told(self) -> Option<String> {
        let counts = [
            (self.fetched, "fetched"),
            (self.kept, "kept"),
            (self.at_source, "left at the source"),
            (self.missing, "missing"),
        ];
        let parts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl JobReport {
    /// The missing records in at most this many entries per type. The last entry counts the rest. So many entries of
    /// one type do not push out another type.
    pub(in crate::consent) fn shortened(&self, of_type: usize) -> Vec<Missing> {
        let mut by_type: Vec<(&str, Vec<&Missing>)> = Vec::new();
        for one in &self.missing {
            match by_type.iter_mut().find(|(ty, _)| *ty == one.ty) {
                Some((_, entries)) => entries.push(one),
                None => by_type.push((&one.ty, vec![one])),
            }
        }
        let mut short = Vec::new();
        for (_, entries) in by_type {
            let listed = match entries.len() {
                count if count <= of_type => count,
                _ => of_type.saturating_sub(1),
            };
            let (listed, rest) = entries.split_at(listed);
            short.extend(listed.iter().map(|one| (*one).clone()));
            short.extend(counted(rest));
        }
        short
    }
}

/// One entry in the place of several of a type.
fn counted(rest: &[&Missing]) -> Option<Missing> {
    let first = rest.first()?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for one in rest {
        *reasons.entry(one.reason.name()).or_default() += 1;
    }
    let reasons: Vec<String> = reasons.iter().map(|(name, count)| format!("{count} {name}")).collect();
    Some(Missing {
        ty: first.ty.clone(),
        part: None,
        reason: first.reason,
        status: None,
        records: rest.iter().map(|one| one.records).sum(),
        detail: format!("and {} more like these: {}", rest.len(), reasons.join(", ")),
    })
}

impl Missing {
    /// In one line: the type, its part and the reason.
    pub fn line(&self) -> String {
        match &self.part {
            Some(part) => format!("{} ({part}) {}", self.ty, self.detail),
            None => format!("{} {}", self.ty, self.detail),
        }
    }

    /// The missing records of an authorization's newest finished job.
    pub(in crate::consent) fn of_authorization(
        connection: &Connection,
        authorization: &str,
    ) -> Result<Vec<Missing>, Error> {
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

/// Stores a job's results in the transaction that ends it.
pub(in crate::consent) fn keep_report(connection: &Connection, job: &str, report: &JobReport) -> Result<(), Error> {
    let sql = "INSERT INTO sync_missing (job, ordinal, type, part, reason, status, records, detail)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut statement = connection.prepare_cached(sql)?;
    for (ordinal, one) in report.shortened(OF_TYPE).iter().enumerate() {
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
    let sql = "INSERT OR REPLACE INTO sync_rule (job, rule, made, changed, unaltered, dangling)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = connection.prepare_cached(sql)?;
    for (rule, did) in &report.rules {
        statement.execute(params![job, rule, did.made, did.changed, did.left, did.dangling])?;
    }
    if let Some(counts) = &report.attachments {
        let sql = "INSERT OR REPLACE INTO sync_attachment (job, fetched, kept, at_source, missing)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut statement = connection.prepare_cached(sql)?;
        statement.execute(params![
            job,
            counts.fetched,
            counts.kept,
            counts.at_source,
            counts.missing
        ])?;
    }
    Ok(())
}

/// Facts from earlier syncs of an authorization that a later one uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSync {
    /// When the newest completed one was begun.
    pub started_at: i64,
    /// Types with missing records.
    pub missing: Vec<String>,
    /// Types with records that a completed sync stored.
    pub had: Vec<String>,
}

/// A job with its patient and application, for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedJob {
    /// The job.
    pub job: Job,
    /// The consent of its authorization.
    pub consent: String,
    /// The endpoint that it asks.
    pub endpoint: String,
    /// The result.
    pub report: JobReport,
}

impl Jobs<'_> {
    /// Whether a sync stored the source's own Patient, for this authorization or for another one of the same consent,
    /// person and endpoint: their rows are the same. Assumed for syncs of earlier releases.
    pub fn had_patient(&self, authorization: &str) -> Result<bool, Error> {
        let sql = "SELECT EXISTS (
                       SELECT 1 FROM patient_authorization AS this
                       JOIN patient_authorization AS auth ON auth.consent = this.consent AND auth.endpoint = this.endpoint
                         AND auth.source_patient = this.source_patient
                       JOIN sync_job AS job ON job.authorization = auth.id
                       WHERE this.id = ?1 AND job.state = 'COMPLETED'
                         AND (NOT EXISTS (SELECT 1 FROM sync_count WHERE sync_count.job = job.id)
                              OR EXISTS (SELECT 1 FROM sync_count WHERE sync_count.job = job.id AND type = 'Patient')
                                 AND NOT EXISTS (SELECT 1 FROM sync_missing WHERE sync_missing.job = job.id AND type = 'Patient'
                                                 AND reason <> 'not-taken')))";
        self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([authorization], |row| row.get(0))?)
        })
    }

    /// Facts from earlier syncs of an authorization. Empty before the first completed one.
    pub fn last_sync(&self, authorization: &str) -> Result<Option<LastSync>, Error> {
        self.store.read(|connection| {
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
    pub fn list(&self, consent: Option<&str>, limit: u32) -> Result<Vec<ListedJob>, Error> {
        self.store.read(|connection| {
            let condition =
                "WHERE ?1 IS NULL OR authorization IN (SELECT id FROM patient_authorization WHERE consent = ?1)
                             ORDER BY rowid DESC LIMIT ?2";
            let jobs = Job::select(connection, condition, params![consent, limit])?;
            jobs.into_iter().map(|job| listed(connection, job)).collect()
        })
    }

    /// The jobs whose id begins with this text, at most `limit`.
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
    let sql = "SELECT type, part, reason, status, records, detail FROM sync_missing WHERE job = ?1 ORDER BY ordinal";
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
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(ty: &str, number: usize, reason: MissingReason) -> Missing {
        Missing {
            ty: ty.to_owned(),
            part: Some(format!("category={number}")),
            reason,
            status: Some(400),
            records: Some(2),
            detail: "no".to_owned(),
        }
    }

    #[test]
    fn late_types_are_kept_however_much_is_missing_of_early_ones() {
        // 200 entries were kept in the order of types: after 300 entries of Observation, the missing Procedures were
        // not listed.
        let mut missing: Vec<Missing> = (0..300)
            .map(|number| part("Observation", number, MissingReason::NotServed))
            .collect();
        missing[299].reason = MissingReason::Forbidden;
        missing.push(part("Procedure", 0, MissingReason::Forbidden));
        let report = JobReport {
            missing,
            counts: Vec::new(),
            rules: Vec::new(),
            attachments: None,
        };
        let short = report.shortened(OF_TYPE);
        assert_eq!(short.len(), OF_TYPE + 1);
        assert_eq!(short[OF_TYPE].ty, "Procedure");
        let more = &short[OF_TYPE - 1];
        assert_eq!(
            more.line(),
            "Observation and 289 more like these: 1 forbidden, 288 not-served"
        );
        assert_eq!((more.records, more.status), (Some(578), None));
        let few = JobReport {
            missing: report.missing[..OF_TYPE].to_vec(),
            counts: Vec::new(),
            rules: Vec::new(),
            attachments: None,
        };
        assert_eq!(few.shortened(OF_TYPE), few.missing);
    }
}
