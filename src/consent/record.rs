//! Consents, patient authorizations and sync jobs, as the store holds them.

use rusqlite::{Connection, OptionalExtension, Row};

use super::error::Error;
use super::mode::mode_of;
use super::states::{AuthorizationState, ConsentState, JobState, named};
use crate::lake::Mode;

named! {
    /// How long an application may use a source.
    Usage {
        /// One window of 24 hours.
        OneTime = "ONE_TIME",
        /// Until the refresh window or the consent ends.
        Multiple = "MULTIPLE",
    }
}

named! {
    /// How a patient authenticates to a source.
    AuthorizationType {
        /// SMART on FHIR.
        Oauth = "OAUTH",
        /// A patient portal: SMART on FHIR without lasting access.
        Credentials = "CREDENTIALS",
        /// Identity verification, through nationwide exchanges.
        Ial2 = "IAL2",
        /// Self-attested demographics.
        Ial1 = "IAL1",
    }
}

impl AuthorizationType {
    /// Whether the patient signs in at a page of the source. Other sources get a request for a person that a record
    /// locator found there.
    pub fn signs_in(self) -> bool {
        matches!(self, AuthorizationType::Oauth | AuthorizationType::Credentials)
    }
}

named! {
    /// The origin of a consent, `made_by` in the store.
    Origin {
        /// `/oauth/authorize`.
        Oauth = "oauth",
        /// The link component, or `/link/auth`.
        Link = "link",
        /// The command line, for imported records.
        Operator = "operator",
    }
}

/// A patient's consent that an application sees records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Its id: `sub` of patient tokens.
    pub id: String,
    /// The application of the consent.
    pub application: String,
    /// Live or test.
    pub mode: Mode,
    /// The consent's origin.
    pub made_by: Origin,
    /// The consent's state.
    pub state: ConsentState,
    /// The publishable key of its request.
    pub client: Option<String>,
    /// The application's identifier for the user.
    pub external_id: Option<String>,
    /// The requested usage.
    pub usage: Usage,
    /// Scopes granted to the application, separated by spaces.
    pub scope: String,
    /// The owner of the rows of its syncs. `None` for the operator's consents.
    pub owner: Option<i64>,
    /// Seconds since the Unix epoch, like all times.
    pub created_at: i64,
    /// When its state last changed.
    pub updated_at: Option<i64>,
    /// When the newest refresh token ends.
    pub refresh_until: Option<i64>,
    /// When the patient requested the erasure of all its records. Only a new consent can fetch records again.
    pub expunged_at: Option<i64>,
    /// The consent's Patients, the primary one first.
    pub patients: Vec<String>,
}

/// One source that a consent covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// The authorization's id.
    pub id: String,
    /// The authorization's consent.
    pub consent: String,
    /// The authorization's place in the order of the consent.
    pub ordinal: i64,
    /// How the patient authenticates.
    pub authorization_type: AuthorizationType,
    /// The authorization's state.
    pub state: AuthorizationState,
    /// The usage: expected when the source was chosen, final after it granted access.
    pub usage: Usage,
    /// The chosen endpoint.
    pub endpoint: String,
    /// The identity provider, for IAL2.
    pub identity_provider: Option<String>,
    /// When the source was chosen.
    pub created_at: i64,
    /// When the source granted access.
    pub authorized_at: Option<i64>,
    /// When the application got its first tokens.
    pub exchanged_at: Option<i64>,
    /// When it was revoked.
    pub revoked_at: Option<i64>,
    /// When it expired.
    pub expired_at: Option<i64>,
    /// The id of its Patient here.
    pub patient: Option<String>,
    /// The id of its Patient at the source.
    pub source_patient: Option<String>,
    /// The scopes requested from the source, separated by spaces.
    pub scope_requested: Option<String>,
    /// Scopes that the source granted.
    pub scope_granted: Option<String>,
    /// Whether the source gave a refresh token.
    pub refreshable: bool,
    /// When it was last refreshed over the link API.
    pub refreshed_at: Option<i64>,
    /// When the source's maximum authorization period ends.
    pub max_auth_until: Option<i64>,
    /// When the data of a ONE_TIME authorization expires.
    pub data_until: Option<i64>,
    /// When the erasure of its data was requested.
    pub data_erased_at: Option<i64>,
}

/// One sync of an authorization's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The job's id.
    pub id: String,
    /// The authorization whose records it fetches.
    pub authorization: String,
    /// Why it was made: `exchange`, `refresh` or `schedule`.
    pub cause: String,
    /// The job's state.
    pub state: JobState,
    /// When it was made.
    pub created_at: i64,
    /// When it was last begun.
    pub started_at: Option<i64>,
    /// When it ended.
    pub finished_at: Option<i64>,
    /// How many times it was begun.
    pub attempts: u32,
    /// The earliest time at which the job is begun again.
    pub not_before: Option<i64>,
    /// The reason of its failure.
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
    "SELECT id, authorization, cause, state, created_at, started_at, finished_at, attempts, not_before, failure
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

    /// The consent with this id.
    pub(super) fn get(connection: &Connection, id: &str) -> Result<Option<Consent>, Error> {
        let mut statement = connection.prepare_cached(&format!("{CONSENT} WHERE id = ?1"))?;
        let Some(mut consent) = statement.query_row([id], Consent::read).optional()? else {
            return Ok(None);
        };
        consent.patients = patients(connection, id)?;
        Ok(Some(consent))
    }

    /// The consents that a condition on the table `consent` selects. The condition may contain order and limit.
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

/// Patients of sources with stored or expected records come first. So the primary Patient is one of them if there are
/// any.
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

    /// The authorization with this id.
    pub(super) fn get(connection: &Connection, id: &str) -> Result<Option<Authorization>, Error> {
        Ok(Authorization::select(connection, "WHERE id = ?1", [id])?.pop())
    }

    /// The authorizations of a consent, in order.
    pub(super) fn of(connection: &Connection, consent: &str) -> Result<Vec<Authorization>, Error> {
        Authorization::select(connection, "WHERE consent = ?1 ORDER BY ordinal", [consent])
    }

    /// The authorizations that a condition on the table `patient_authorization` selects. The condition may contain
    /// order and limit.
    pub(super) fn select(
        connection: &Connection,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<Authorization>, Error> {
        let mut statement = connection.prepare_cached(&format!("{AUTHORIZATION} {condition}"))?;
        let rows = statement.query_map(parameters, Authorization::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Whether its records are gone: their erasure was requested, or their one day has ended.
    pub fn is_over(&self, now: i64) -> bool {
        self.data_erased_at.is_some() || self.data_until.is_some_and(|until| until <= now)
    }

    /// The state shown to applications. An exchanged authorization whose records are gone is shown as EXPIRED: the
    /// patient must authorize again. The store keeps it as EXCHANGED while its consent may be refreshed.
    pub fn state_at(&self, now: i64) -> AuthorizationState {
        match self.state {
            AuthorizationState::Exchanged if self.is_over(now) => AuthorizationState::Expired,
            state => state,
        }
    }

    /// The expiry that applications see.
    pub fn expired_at(&self, now: i64) -> Option<i64> {
        let over = self.state_at(now) == AuthorizationState::Expired;
        let gone = self.data_until.or(self.data_erased_at);
        self.expired_at.or(gone.filter(|_| over))
    }

    /// Whether the application may use it now: it was exchanged, it is not revoked or expired, and its records are
    /// stored or expected.
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
        })
    }

    /// The jobs that a condition on the table `sync_job` selects. The condition may contain order and limit.
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
