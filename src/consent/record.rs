//! Consents, patient authorizations and sync jobs as the store holds them.

use rusqlite::{Connection, OptionalExtension, Row};

use super::error::Error;
use super::mode::mode_of;
use super::states::{AuthorizationState, ConsentState, JobState, named};
use crate::lake::Mode;

named! {
    /// How long an application may use a source's records.
    Usage {
        /// The records are kept for 24 hours.
        OneTime = "ONE_TIME",
        /// The records are kept until the refresh window or the consent ends.
        Multiple = "MULTIPLE",
    }
}

named! {
    /// How a patient authenticates to a source.
    AuthorizationType {
        /// SMART on FHIR.
        Oauth = "OAUTH",
        /// A patient portal: SMART on FHIR without lasting access, so the patient signs in each time.
        Credentials = "CREDENTIALS",
        /// A verified identity: an identity provider has verified who the patient is.
        Ial2 = "IAL2",
        /// Self-attested details: the patient has entered a name, a date of birth and so on.
        Ial1 = "IAL1",
    }
}

impl AuthorizationType {
    /// Whether the patient signs in at a page of the source. For the other types a record locator has found the
    /// person at the source, and the service requests the records without a sign-in.
    pub fn signs_in(self) -> bool {
        matches!(self, AuthorizationType::Oauth | AuthorizationType::Credentials)
    }
}

named! {
    /// How a consent was made: the value of the column `made_by`.
    Origin {
        /// The consent was made by a request at `/oauth/authorize`.
        Oauth = "oauth",
        /// The consent was made by the link component, or by a request at `/link/auth`.
        Link = "link",
        /// The consent was made by the command line, for imported records.
        Operator = "operator",
    }
}

/// A patient's consent that an application may see records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The consent's id. Patient tokens have it as `sub`.
    pub id: String,
    /// The id of the application that may see the records.
    pub application: String,
    /// Live or test.
    pub mode: Mode,
    /// How the consent was made.
    pub made_by: Origin,
    /// The consent's state.
    pub state: ConsentState,
    /// The publishable key of the client that requested the consent. `None` for the operator's consents.
    pub client: Option<String>,
    /// The application's identifier for the user.
    pub external_id: Option<String>,
    /// The requested usage.
    pub usage: Usage,
    /// Scopes granted to the application, separated by spaces.
    pub scope: String,
    /// The owner of the rows that the consent's syncs store. `None` for the operator's consents.
    pub owner: Option<i64>,
    /// When the consent was made. All times are seconds since the Unix epoch.
    pub created_at: i64,
    /// When the consent's state last changed.
    pub updated_at: Option<i64>,
    /// When the newest refresh token expires: the end of the refresh window.
    pub refresh_until: Option<i64>,
    /// When the erasure of all the consent's records was requested. Only a new consent can fetch records again.
    pub expunged_at: Option<i64>,
    /// The Patient ids of the consent, the primary one first.
    pub patients: Vec<String>,
}

/// One source that a consent covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// The authorization's id.
    pub id: String,
    /// The id of the authorization's consent.
    pub consent: String,
    /// The authorization's position in the consent, starting at 0.
    pub ordinal: i64,
    /// How the patient authenticates.
    pub authorization_type: AuthorizationType,
    /// The authorization's state.
    pub state: AuthorizationState,
    /// The expected usage or, as soon as the source has granted access, the granted usage.
    pub usage: Usage,
    /// The id of the chosen endpoint.
    pub endpoint: String,
    /// The code of the identity provider, for IAL2.
    pub identity_provider: Option<String>,
    /// When the source was chosen.
    pub created_at: i64,
    /// When the source granted access.
    pub authorized_at: Option<i64>,
    /// When the application got its first tokens.
    pub exchanged_at: Option<i64>,
    /// When the authorization was revoked.
    pub revoked_at: Option<i64>,
    /// When the authorization expired.
    pub expired_at: Option<i64>,
    /// The id of the patient's Patient resource in this service.
    pub patient: Option<String>,
    /// The id of the patient's Patient resource at the source.
    pub source_patient: Option<String>,
    /// The scopes requested from the source, separated by spaces.
    pub scope_requested: Option<String>,
    /// The scopes that the source granted, separated by spaces.
    pub scope_granted: Option<String>,
    /// Whether the source gave a refresh token.
    pub refreshable: bool,
    /// When the application last used a refresh token of the consent.
    pub refreshed_at: Option<i64>,
    /// When the source's maximum authorization period ends.
    pub max_auth_until: Option<i64>,
    /// When the records of a ONE_TIME authorization expire.
    pub data_until: Option<i64>,
    /// When the erasure of the authorization's records was requested.
    pub data_erased_at: Option<i64>,
}

/// One sync of an authorization's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The job's id.
    pub id: String,
    /// The id of the authorization whose records the job fetches.
    pub authorization: String,
    /// Why the job was made: `exchange`, `refresh`, `schedule` or `retry`.
    pub cause: String,
    /// 1 for the first retry after a sync, and so on. 0 for a sync.
    pub retry: u32,
    /// The job's state.
    pub state: JobState,
    /// When the job was made.
    pub created_at: i64,
    /// When a worker last began the job.
    pub started_at: Option<i64>,
    /// When the job ended.
    pub finished_at: Option<i64>,
    /// How many times a worker has begun the job.
    pub attempts: u32,
    /// The earliest time at which a worker may begin the job again.
    pub not_before: Option<i64>,
    /// Why the job failed.
    pub failure: Option<String>,
}

const CONSENT: &str =
    "SELECT id, application, mode, made_by, state, client, external_id, usage, scope, owner, created_at,
                       updated_at, refresh_until, expunged_at FROM consent";
const AUTHORIZATION: &str = "SELECT id, consent, ordinal, type, state, usage, endpoint, identity_provider, created_at,
                             authorized_at, exchanged_at, revoked_at, expired_at, patient, source_patient, scope_requested,
                             scope_granted, refreshable, refreshed_at, max_auth_until, data_until, data_erased_at
                             FROM patient_authorization";
const JOB: &str =
    "SELECT id, authorization, CASE WHEN retry > 0 THEN 'retry' ELSE cause END, state, created_at, started_at, finished_at, attempts, not_before, failure, retry
                   FROM sync_job";

impl Consent {
    fn read(row: &Row<'_>) -> rusqlite::Result<Consent> {
        Ok(Consent {
            id: row.get(0)?,
            application: row.get(1)?,
            mode: mode_of(&row.get::<_, String>(2)?),
            made_by: row.get(3)?,
            state: row.get(4)?,
            client: row.get(5)?,
            external_id: row.get(6)?,
            usage: row.get(7)?,
            scope: row.get(8)?,
            owner: row.get(9)?,
            created_at: row.get(10)?,
            updated_at: row.get(11)?,
            refresh_until: row.get(12)?,
            expunged_at: row.get(13)?,
            patients: Vec::new(),
        })
    }

    /// Returns the consent with this id.
    pub(super) fn get(connection: &Connection, id: &str) -> Result<Option<Consent>, Error> {
        let mut statement = connection.prepare_cached(&format!("{CONSENT} WHERE id = ?1"))?;
        let Some(mut consent) = statement.query_row([id], Consent::read).optional()? else {
            return Ok(None);
        };
        consent.patients = patients(connection, id)?;
        Ok(Some(consent))
    }

    /// Returns the consents that match `condition`. The condition follows `FROM consent` in the statement and may end
    /// with ORDER BY and LIMIT.
    pub(super) fn select(
        connection: &Connection,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<Consent>, Error> {
        let mut statement = connection.prepare_cached(&format!("{CONSENT} {condition}"))?;
        let rows = statement.query_map(parameters, Consent::read)?;
        let mut consents: Vec<Consent> = rows.collect::<Result<_, _>>()?;
        for consent in &mut consents {
            consent.patients = patients(connection, &consent.id)?;
        }
        Ok(consents)
    }
}

/// Returns the Patient ids of a consent, the primary Patient first. A Patient comes before all others if it has an
/// authorization that is AUTHORIZED or EXCHANGED and has no `data_erased_at`. Otherwise the order is that of the
/// authorizations.
fn patients(connection: &Connection, consent: &str) -> Result<Vec<String>, Error> {
    let sql = "SELECT patient FROM consent_patient AS known WHERE consent = ?1
               ORDER BY NOT EXISTS (SELECT 1 FROM patient_authorization AS auth
                                    WHERE auth.consent = known.consent AND auth.patient = known.patient
                                      AND auth.state IN ('AUTHORIZED', 'EXCHANGED') AND auth.data_erased_at IS NULL),
                        ordinal";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([consent], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

impl Authorization {
    fn read(row: &Row<'_>) -> rusqlite::Result<Authorization> {
        Ok(Authorization {
            id: row.get(0)?,
            consent: row.get(1)?,
            ordinal: row.get(2)?,
            authorization_type: row.get(3)?,
            state: row.get(4)?,
            usage: row.get(5)?,
            endpoint: row.get(6)?,
            identity_provider: row.get(7)?,
            created_at: row.get(8)?,
            authorized_at: row.get(9)?,
            exchanged_at: row.get(10)?,
            revoked_at: row.get(11)?,
            expired_at: row.get(12)?,
            patient: row.get(13)?,
            source_patient: row.get(14)?,
            scope_requested: row.get(15)?,
            scope_granted: row.get(16)?,
            refreshable: row.get(17)?,
            refreshed_at: row.get(18)?,
            max_auth_until: row.get(19)?,
            data_until: row.get(20)?,
            data_erased_at: row.get(21)?,
        })
    }

    /// Returns the authorization with this id.
    pub(super) fn get(connection: &Connection, id: &str) -> Result<Option<Authorization>, Error> {
        Ok(Authorization::select(connection, "WHERE id = ?1", [id])?.pop())
    }

    /// Returns the authorizations of a consent, in the order in which they were added.
    pub(super) fn of(connection: &Connection, consent: &str) -> Result<Vec<Authorization>, Error> {
        Authorization::select(connection, "WHERE consent = ?1 ORDER BY ordinal", [consent])
    }

    /// Returns the authorizations that match `condition`. The condition follows `FROM patient_authorization` in the
    /// statement and may end with ORDER BY and LIMIT.
    pub(super) fn select(
        connection: &Connection,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<Authorization>, Error> {
        let mut statement = connection.prepare_cached(&format!("{AUTHORIZATION} {condition}"))?;
        let rows = statement.query_map(parameters, Authorization::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Whether the records are gone: their erasure was requested, or `data_until` has passed.
    pub fn is_over(&self, now: i64) -> bool {
        self.data_erased_at.is_some() || self.data_until.is_some_and(|until| until <= now)
    }

    /// Returns the state that applications see. An EXCHANGED authorization whose records are gone is shown as
    /// EXPIRED, because the patient must authorize again. The store keeps EXCHANGED, so that the consent's tokens can
    /// still be refreshed.
    pub fn state_at(&self, now: i64) -> AuthorizationState {
        match self.state {
            AuthorizationState::Exchanged if self.is_over(now) => AuthorizationState::Expired,
            state => state,
        }
    }

    /// Returns the time of expiry that applications see. If the authorization is EXCHANGED and is only shown as
    /// EXPIRED, this is `data_until`, or without it the time at which the erasure was requested.
    pub fn expired_at(&self, now: i64) -> Option<i64> {
        let over = self.state_at(now) == AuthorizationState::Expired;
        let gone = self.data_until.or(self.data_erased_at);
        self.expired_at.or(gone.filter(|_| over))
    }

    /// Whether the application may use the authorization now: it is EXCHANGED and its records are not gone.
    pub fn is_active(&self, now: i64) -> bool {
        self.state_at(now) == AuthorizationState::Exchanged
    }
}

impl Job {
    fn read(row: &Row<'_>) -> rusqlite::Result<Job> {
        Ok(Job {
            id: row.get(0)?,
            authorization: row.get(1)?,
            cause: row.get(2)?,
            state: row.get(3)?,
            created_at: row.get(4)?,
            started_at: row.get(5)?,
            finished_at: row.get(6)?,
            attempts: row.get(7)?,
            not_before: row.get(8)?,
            failure: row.get(9)?,
            retry: row.get(10)?,
        })
    }

    /// Returns the jobs that match `condition`. The condition follows `FROM sync_job` in the statement and may end with
    /// ORDER BY and LIMIT.
    pub(super) fn select(
        connection: &Connection,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<Job>, Error> {
        let mut statement = connection.prepare_cached(&format!("{JOB} {condition}"))?;
        let rows = statement.query_map(parameters, Job::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
