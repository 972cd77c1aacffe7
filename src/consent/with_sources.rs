//! A consent with its sources, their endpoints and the states of their syncs. This file only reads the store. It
//! changes nothing and reads no rows of the lake.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::access::lifetime::REFRESH_SECONDS;
use super::error::Error;
use super::record::{Authorization, AuthorizationType, Consent, Job, Usage};
use super::states::{AuthorizationState, JobState};
use super::syncs::linked::{self, LinkedPatient};
use super::syncs::missing::Missing;
use super::syncs::retries::NextRetry;
use crate::lake::{Lake, PatientScope, Scope};

/// The OAuth scope for lasting access. Applications request it from the service, and the service from sources.
pub(super) const OFFLINE: &str = "offline_access";

/// A consent with all its sources, for answers about the consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentWithSources {
    /// The consent.
    pub consent: Consent,
    /// The sources in the order of their authorizations. Empty for the operator's consents.
    pub sources: Vec<Source>,
}

/// A source of a consent: its authorization, its endpoint and the state of its syncs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The authorization.
    pub authorization: Authorization,
    /// The chosen endpoint.
    pub endpoint: ChosenEndpoint,
    /// The newest sync job. `None` if there is none yet. Retries do not count.
    pub job: Option<Job>,
    /// The state of this job.
    pub sync: Option<JobState>,
    /// When a sync was last completed. `None` if none was.
    pub synced_at: Option<i64>,
    /// The records that the newest finished job and its retries could not get.
    pub missing: Vec<Missing>,
    /// The further Patients of the person at the source.
    pub linked: Vec<LinkedPatient>,
    /// The retry that asks again for some of these records.
    pub next_retry: Option<NextRetry>,
}

/// The facts about an endpoint that token holders get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenEndpoint {
    /// The endpoint's id.
    pub id: String,
    /// The endpoint's unique name, for programs.
    pub name: String,
    /// The names that patients see.
    pub label: Vec<String>,
    /// Whether the service can fetch the records again without the patient.
    pub refreshable: bool,
    /// For how many seconds after the grant access can be refreshed. Zero means without end, and `None` means unknown.
    pub refresh_valid_for: Option<i64>,
    /// For how many seconds a patient stays authorized. Zero means without end, and `None` means unknown.
    pub max_auth_period: Option<i64>,
    /// The FHIR resource types that the endpoint serves.
    pub resources: Vec<String>,
}

/// The time until a patient must authorize again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxAuth {
    /// The number of seconds until the patient must authorize again. Negative if this time has passed.
    Seconds(i64),
    /// It is not known when the patient must authorize again.
    Unknown,
    /// The patient need not authorize again.
    Indefinite,
    /// Not applicable: access cannot be refreshed, because of the endpoint or because of the type of the authorization.
    Unsupported,
}

impl ConsentWithSources {
    /// Returns the source whose Patient is the consent's primary one: the first source that the application may use
    /// now. If there is none: the first source that is AUTHORIZED, that was ever authorized, or else the first source.
    pub fn primary(&self, now: i64) -> Option<&Source> {
        let of = |is: &dyn Fn(&Authorization) -> bool| self.sources.iter().find(|source| is(&source.authorization));
        of(&|authorization| authorization.is_active(now))
            .or_else(|| of(&|authorization| authorization.state == AuthorizationState::Authorized))
            .or_else(|| of(&|authorization| authorization.authorized_at.is_some()))
            .or(self.sources.first())
    }

    /// Returns the scopes that the application got. `offline_access` is among them only if an authorized source has
    /// usage MULTIPLE.
    pub fn granted_scope(&self) -> String {
        let mut granted = self.sources.iter().map(|source| &source.authorization);
        let lasting = granted.any(|one| one.authorized_at.is_some() && one.usage == Usage::Multiple);
        let words = self.consent.scope.split_ascii_whitespace();
        let words: Vec<&str> = words.filter(|word| lasting || *word != OFFLINE).collect();
        words.join(" ")
    }

    /// Returns the scope of the consent's rows in the lake. If `source` is given, the scope has only the authorization
    /// of this source.
    pub fn scope(&self, lake: &Lake, source: Option<&Source>) -> Scope {
        let Consent {
            application,
            mode,
            patients,
            owner,
            ..
        } = &self.consent;
        let sources = self.sources.iter().filter(|one| source.is_none_or(|only| only == *one));
        let owners = match owner {
            Some(owner) => vec![*owner],
            None => patients.iter().flat_map(|id| lake.owners_of(application, id)).collect(),
        };
        Scope {
            mode: *mode,
            application: application.as_str().into(),
            patient: Some(Arc::new(PatientScope {
                patients: patients.clone(),
                owners,
                authorizations: sources.map(|one| one.authorization.id.clone()).collect(),
            })),
        }
    }

    /// Returns the combined sync state of the sources whose records are not gone, or of all sources if all records are
    /// gone. This is the first state of the list ACTIVE, WAITING, CREATED, FAILED, COMPLETED that one of these sources
    /// has.
    pub fn sync(&self, now: i64) -> Option<JobState> {
        let rank = |state: &JobState| match state {
            JobState::Active => 0,
            JobState::Waiting => 1,
            JobState::Created => 2,
            JobState::Failed => 3,
            JobState::Completed => 4,
        };
        let has_records = |source: &&Source| !source.authorization.is_over(now);
        let all = || self.sources.iter();
        let of_records = all()
            .filter(has_records)
            .filter_map(|source| source.sync)
            .min_by_key(rank);
        of_records.or_else(|| all().filter_map(|source| source.sync).min_by_key(rank))
    }

    /// Returns the time at which a new refresh token expires. This is in [`REFRESH_SECONDS`], or earlier if the access
    /// to every source for which [`Source::may_refresh`] holds ends earlier. If it holds for no source, the time is
    /// also in [`REFRESH_SECONDS`].
    pub(super) fn refresh_until(&self, now: i64) -> i64 {
        let usual = now + REFRESH_SECONDS;
        let of = |source: &Source| {
            let bound = source.endpoint.refresh_valid_for.filter(|seconds| *seconds > 0);
            match (
                source.authorization.usage,
                source.authorization.authorized_at.zip(bound),
            ) {
                (Usage::Multiple, Some((at, seconds))) => at.saturating_add(seconds).min(usual),
                _ => usual,
            }
        };
        let longest = self.sources.iter().filter(|source| source.may_refresh()).map(of).max();
        // A lifetime of zero would mean "without end", so the token lives for at least one second.
        longest.unwrap_or(usual).max(now + 1)
    }

    /// Returns the newest time at which a sync of any source was completed.
    pub fn synced_at(&self) -> Option<i64> {
        self.sources.iter().filter_map(|source| source.synced_at).max()
    }
}

impl Source {
    /// Returns the time until the patient must authorize again.
    pub fn max_auth(&self, now: i64) -> MaxAuth {
        let authorization_type = self.authorization.authorization_type;
        let can = matches!(authorization_type, AuthorizationType::Oauth | AuthorizationType::Ial1)
            && self.endpoint.refreshable;
        let granted = self.authorization.authorized_at;
        match (can, self.endpoint.max_auth_period) {
            (false, _) => MaxAuth::Unsupported,
            (true, Some(0)) => MaxAuth::Indefinite,
            (true, period) => {
                let until = self.authorization.max_auth_until;
                let until = until.or_else(|| Some(granted?.saturating_add(period?)));
                until.map_or(MaxAuth::Unknown, |until| MaxAuth::Seconds(until.saturating_sub(now)))
            }
        }
    }

    /// Whether the authorization is EXCHANGED or ERRORED. The tokens of a consent can be refreshed if this holds for
    /// any of its sources. The source's records may be gone.
    pub fn may_refresh(&self) -> bool {
        matches!(
            self.authorization.state,
            AuthorizationState::Exchanged | AuthorizationState::Errored
        )
    }
}

impl ConsentWithSources {
    /// Reads the sources of a consent.
    pub(super) fn of(connection: &Connection, consent: Consent) -> Result<ConsentWithSources, Error> {
        let sources = Authorization::of(connection, &consent.id)?
            .into_iter()
            .map(|authorization| Source::of(connection, authorization))
            .collect::<Result<_, _>>()?;
        Ok(ConsentWithSources { consent, sources })
    }

    /// Reads the consent and its sources from the store again, because the caller has changed them.
    pub(super) fn again(&self, connection: &Connection) -> Result<ConsentWithSources, Error> {
        let consent = Consent::get(connection, &self.consent.id)?.ok_or(Error::Lost("consent"))?;
        ConsentWithSources::of(connection, consent)
    }
}

impl Source {
    fn of(connection: &Connection, authorization: Authorization) -> Result<Source, Error> {
        let newest = "WHERE authorization = ?1 AND retry = 0 ORDER BY rowid DESC LIMIT 1";
        let job = Job::select(connection, newest, [&authorization.id])?.pop();
        let sql =
            "SELECT MAX(finished_at) FROM sync_job WHERE authorization = ?1 AND state = 'COMPLETED' AND retry = 0";
        let mut completed = connection.prepare_cached(sql)?;
        Ok(Source {
            endpoint: ChosenEndpoint::get(connection, &authorization.endpoint)?.ok_or(Error::Lost("endpoint"))?,
            sync: job.as_ref().map(|job| job.state),
            job,
            synced_at: completed.query_row([&authorization.id], |row| row.get(0))?,
            missing: Missing::of_authorization(connection, &authorization.id)?,
            linked: linked::of_authorization(connection, &authorization.id)?,
            next_retry: NextRetry::of_authorization(connection, &authorization.id)?,
            authorization,
        })
    }
}

impl ChosenEndpoint {
    fn get(connection: &Connection, id: &str) -> Result<Option<ChosenEndpoint>, Error> {
        let sql = "SELECT id, name, label, refreshable, refresh_valid_for, max_auth_period, resources FROM endpoint
                   WHERE id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let endpoint = statement.query_row([id], |row| {
            Ok(ChosenEndpoint {
                id: row.get(0)?,
                name: row.get(1)?,
                label: labels(&row.get::<_, String>(2)?),
                refreshable: row.get(3)?,
                refresh_valid_for: row.get(4)?,
                max_auth_period: row.get(5)?,
                resources: labels(&row.get::<_, String>(6)?),
            })
        });
        Ok(endpoint.optional()?)
    }
}

/// Parses a JSON array of strings. Returns an empty list for any other JSON.
fn labels(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}
