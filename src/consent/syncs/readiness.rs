//! Computes whether a consent's records can be read, and whose they are. Every FHIR request of a patient needs this, so
//! the result is cached until a job changes or a source's records expire.

use std::sync::Arc;

use super::super::consents::Consents;
use super::super::error::Error;
use super::super::record::Job;
use super::super::states::{AuthorizationState, JobState};
use super::super::store::KnownPresence;
use super::super::with_sources::{ConsentWithSources, Source};
use super::presence::{Incomplete, Presence, Readiness};

/// How many seconds the records of a consent's other sources wait for a source that has not answered yet.
const WAITED_FOR: i64 = 60;

impl Consents<'_> {
    /// Returns whether a consent's records can be read, and whose they are. If there is no such consent, the answer is
    /// `Ready` without Patients.
    pub fn presence(&self, consent: &str) -> Result<Presence, Error> {
        // Read the counter before anything else. If a job changes while the value is computed, the counter differs at
        // the next request, which then computes the value again.
        let (moment, now) = (self.store.jobs_moment(), self.store.clock().now());
        if let Some(known) = self.store.known_presence().get(consent)
            && known.moment == moment
            && (known.since..known.presence.until).contains(&now)
        {
            return Ok(known.presence);
        }
        let presence = match self.full(consent)? {
            Some(full_consent) => full_consent.presence(now),
            None => Presence {
                readiness: Readiness::Ready,
                patients: Arc::default(),
                incomplete: Arc::default(),
                until: i64::MAX,
            },
        };
        let kept = KnownPresence {
            presence: presence.clone(),
            moment,
            since: now,
        };
        self.store.known_presence().insert(consent.to_owned(), kept);
        Ok(presence)
    }
}

impl ConsentWithSources {
    /// Returns whether the consent's records can be read. An operator's consent has no sources. Its records can always
    /// be read, unless they were expunged.
    pub fn readiness(&self, now: i64) -> Readiness {
        if self.consent.expunged_at.is_some() {
            return Readiness::Expunged;
        }
        let first: Vec<&Source> = self.sources.iter().filter(|source| source.is_first(now)).collect();
        // With records of one source, the others are waited for only until each was asked once, and not for long.
        if !first.is_empty() && (!self.has_records(now) || first.iter().any(|source| source.is_waited_for(now))) {
            // Take the earliest time. A job that is not postponed has `None`, which comes before all times. Such a job
            // can end soon, so clients should ask again soon.
            let again = first.iter().map(|source| source.put_off_until(now));
            let again_at = again.min().flatten();
            return Readiness::Syncing { again_at };
        }
        let told = |state| {
            let mut sources = self.sources.iter();
            sources.any(|source| source.authorization.state_at(now) == state)
        };
        if self.sources.is_empty() || told(AuthorizationState::Exchanged) {
            Readiness::Ready
        } else if told(AuthorizationState::Expired) {
            Readiness::Expired
        } else {
            Readiness::Nothing
        }
    }

    /// Whether a sync of any source has stored records that can be read.
    fn has_records(&self, now: i64) -> bool {
        let mut sources = self.sources.iter();
        sources.any(|source| source.authorization.is_active(now) && source.synced_at.is_some())
    }

    /// Returns what an answer about the consent's records lacks.
    fn incomplete(&self, now: i64) -> Vec<Incomplete> {
        let active = self.sources.iter().filter(|source| source.authorization.is_active(now));
        let mut incomplete = Vec::new();
        for source in active {
            let of_source = |resource_type: Option<&str>, detail: String| Incomplete {
                resource_type: resource_type.map(str::to_owned),
                source: source.endpoint.label.first().unwrap_or(&source.endpoint.name).clone(),
                detail,
                reason: None,
            };
            if source.is_first(now) {
                incomplete.push(of_source(None, "its records are still asked for".to_owned()));
            }
            if source.synced_at.is_none() {
                continue;
            }
            let told = source.missing.iter().map(|missing| {
                let line = missing.line();
                let detail = match source.next_retry.as_ref().filter(|_| missing.again) {
                    Some(_) => format!("{line}; it is asked for again"),
                    None => line,
                };
                Incomplete {
                    reason: Some(missing.reason),
                    ..of_source(Some(&missing.resource_type), detail)
                }
            });
            incomplete.extend(told);
        }
        incomplete
    }

    fn presence(&self, now: i64) -> Presence {
        let active: Vec<&Source> = self
            .sources
            .iter()
            .filter(|source| source.authorization.is_active(now))
            .collect();
        let is_there = |patient: &&String| {
            let is_of = |source: &&Source| {
                source.authorization.patient.as_ref() == Some(*patient)
                    || source.linked.iter().any(|linked| linked.patient == **patient)
            };
            self.sources.is_empty() || active.iter().any(is_of)
        };
        let ends = active.iter().filter_map(|source| source.authorization.data_until);
        let waits = active.iter().filter(|source| source.is_waited_for(now));
        let ends = ends.chain(waits.filter_map(|source| source.waited_until()));
        Presence {
            readiness: self.readiness(now),
            patients: self.consent.patients.iter().filter(is_there).cloned().collect(),
            incomplete: self.incomplete(now).into(),
            until: ends.min().unwrap_or(i64::MAX),
        }
    }
}

impl Source {
    /// Whether the first sync of this source is in the queue or is running.
    fn is_first(&self, now: i64) -> bool {
        let open = self.sync.is_some_and(JobState::is_open);
        self.authorization.is_active(now) && self.synced_at.is_none() && open
    }

    fn put_off_until(&self, now: i64) -> Option<i64> {
        let job = self.job.as_ref().filter(|job| job.state == JobState::Waiting)?;
        job.not_before.filter(|until| *until > now)
    }

    /// Until when the other sources' records wait for those of this source.
    fn waited_until(&self) -> Option<i64> {
        Some(self.job.as_ref()?.created_at + WAITED_FOR)
    }

    /// Whether the other sources' records still wait for those of this source: its first sync is in its first attempt,
    /// and has not run for long.
    fn is_waited_for(&self, now: i64) -> bool {
        let is_in_first = |job: &Job| job.attempts + u32::from(job.state != JobState::Active) <= 1;
        self.is_first(now)
            && self.job.as_ref().is_some_and(is_in_first)
            && self.waited_until().is_some_and(|until| now < until)
    }
}
