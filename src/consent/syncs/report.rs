//! The results of sync jobs: what was fetched and what is missing, by resource type. They are stored with the job. The
//! operator and the application can see them.
//!
//! Invariant: a result contains no contents of records, no tokens, no paths and no queries. A reason contains only
//! types, categories, hosts and HTTP statuses.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::super::error::Error;
use super::missing::Missing;
use super::retries::RetryTarget;
use crate::normalize::Counts;

/// The maximum number of entries about one type that are stored for a job.
const OF_TYPE: usize = 12;

/// The maximum number of characters of a stored detail.
const LONGEST: usize = 300;

/// The result of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobReport {
    /// The missing records.
    pub missing: Vec<Missing>,
    /// The number of fetched records of each type, unchanged ones included.
    pub counts: Vec<(String, u64)>,
    /// What each rule of normalization did.
    pub rules: Vec<(String, Counts)>,
    /// What happened to the attachments. `None` for jobs of earlier releases.
    pub attachments: Option<AttachmentCounts>,
    /// What a retry asks for again. Empty in a report that was read from the store.
    pub again: Vec<RetryTarget>,
}

impl JobReport {
    /// Returns the number of fetched records of all types.
    pub fn records(&self) -> u64 {
        self.counts.iter().map(|(_, records)| records).sum()
    }
}

/// The number of a job's attachments by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachmentCounts {
    /// Attachments that this job fetched.
    pub fetched: u64,
    /// Attachments that were not fetched again, because the record's description of them has not changed.
    pub kept: u64,
    /// Attachments that were not fetched, because they are too large or because there are too many.
    pub at_source: u64,
    /// Attachments that could not be fetched.
    pub missing: u64,
}

impl AttachmentCounts {
    /// Returns the counts as a text. `None` if all are zero.
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
    /// Returns the missing records with at most `of_type` entries for each type, so that one type cannot fill the whole
    /// list. If a type has more entries, its last returned entry stands for all remaining ones and counts them.
    pub(in crate::consent) fn shortened(&self, of_type: usize) -> Vec<Missing> {
        let mut by_type: Vec<(&str, Vec<&Missing>)> = Vec::new();
        for one in &self.missing {
            match by_type
                .iter_mut()
                .find(|(resource_type, _)| *resource_type == one.resource_type)
            {
                Some((_, entries)) => entries.push(one),
                None => by_type.push((&one.resource_type, vec![one])),
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

/// Combines the entries of `rest`, which have the same type, into one entry. Its detail has their number and their
/// reasons. `None` if `rest` is empty.
fn counted(rest: &[&Missing]) -> Option<Missing> {
    let first = rest.first()?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for one in rest {
        *reasons.entry(one.reason.name()).or_default() += 1;
    }
    let reasons: Vec<String> = reasons.iter().map(|(name, count)| format!("{count} {name}")).collect();
    Some(Missing {
        resource_type: first.resource_type.clone(),
        part: None,
        reason: first.reason,
        status: None,
        records: rest.iter().map(|one| one.records).sum(),
        detail: format!("and {} more like these: {}", rest.len(), reasons.join(", ")),
        again: rest.iter().any(|one| one.again),
    })
}

/// Stores a job's result, in the transaction that ends the job.
pub(in crate::consent) fn keep_report(connection: &Connection, job: &str, report: &JobReport) -> Result<(), Error> {
    let sql = "INSERT INTO sync_missing (job, ordinal, type, part, reason, status, records, detail, again)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let mut statement = connection.prepare_cached(sql)?;
    for (ordinal, one) in report.shortened(OF_TYPE).iter().enumerate() {
        let detail: String = one.detail.chars().take(LONGEST).collect();
        let ordinal = ordinal as i64;
        statement.execute(params![
            job,
            ordinal,
            one.resource_type,
            one.part,
            one.reason,
            one.status,
            one.records,
            detail,
            one.again
        ])?;
    }
    let mut statement =
        connection.prepare_cached("INSERT OR REPLACE INTO sync_count (job, type, records) VALUES (?1, ?2, ?3)")?;
    for (resource_type, records) in &report.counts {
        statement.execute(params![job, resource_type, records])?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::syncs::missing::MissingReason;

    fn part(resource_type: &str, number: usize, reason: MissingReason) -> Missing {
        Missing {
            resource_type: resource_type.to_owned(),
            part: Some(format!("category={number}")),
            reason,
            status: Some(400),
            records: Some(2),
            detail: "no".to_owned(),
            again: false,
        }
    }

    #[test]
    fn late_types_are_kept_however_much_is_missing_of_early_ones() {
        // Earlier releases stored only the first 200 entries, in the order of types. So 300 entries of Observation left
        // no room for those of Procedure.
        let mut missing: Vec<Missing> = (0..300)
            .map(|number| part("Observation", number, MissingReason::NotServed))
            .collect();
        missing[299].reason = MissingReason::Forbidden;
        missing.push(part("Procedure", 0, MissingReason::Forbidden));
        let report = JobReport {
            missing,
            ..JobReport::default()
        };
        let short = report.shortened(OF_TYPE);
        assert_eq!(short.len(), OF_TYPE + 1);
        assert_eq!(short[OF_TYPE].resource_type, "Procedure");
        let more = &short[OF_TYPE - 1];
        assert_eq!(
            more.line(),
            "Observation and 289 more like these: 1 forbidden, 288 not-served"
        );
        assert_eq!((more.records, more.status), (Some(578), None));
        let few = JobReport {
            missing: report.missing[..OF_TYPE].to_vec(),
            ..JobReport::default()
        };
        assert_eq!(few.shortened(OF_TYPE), few.missing);
    }
}
