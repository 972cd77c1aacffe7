//! Changes the states of consents, authorizations and jobs. No other file changes these states. Each change of a state
//! sets the times of the new state and writes an audit line, in the caller's transaction. So do the events that
//! webhooks tell applications.
//!
//! The caller handles the consequences for codes, tokens, jobs and rows in the lake. The end of an authorization has
//! the same consequences for all callers, so the function [`end`] handles these.

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::access::given_out::end_what_was_given_out;
use super::erasure::job::{ErasureCause, ErasureJob};
use super::error::Error;
use super::flow::forget_closed_sessions;
use super::log::audit::{About, Actor, note};
use super::record::{Authorization, AuthorizationType, Consent, Job, Origin, Usage};
use super::states::{AuthorizationEvent, AuthorizationState, ConsentEvent, ConsentState, JobEvent, JobState};
use super::syncs::retries::give_way;
use super::webhooks::{tell_expired, tell_job_end, tell_revoked};
use crate::lake::Mode;

/// How long a patient may be idle in the flow, and how long a code or public token is valid, in seconds.
pub const IDLE_SECONDS: i64 = 1_800;
/// How long the records of a ONE_TIME authorization are kept, in seconds.
pub const ONE_TIME_SECONDS: i64 = 86_400;

/// The values of a consent that a new flow makes.
#[derive(Clone, Debug)]
pub struct NewConsent<'a> {
    /// The publishable key of the client that requested the consent.
    pub client: &'a str,
    /// The id of the application that the client belongs to.
    pub application: &'a str,
    /// The mode of the client's publishable key.
    pub mode: Mode,
    /// How the consent is made.
    pub made_by: Origin,
    /// The application's identifier for the user.
    pub external_id: Option<&'a str>,
    /// The requested usage.
    pub usage: Usage,
    /// Scopes granted to the application, separated by spaces.
    pub scope: &'a str,
}

/// The values of the authorization for a source that the patient has chosen.
#[derive(Clone, Debug)]
pub struct NewAuthorization<'a> {
    /// The id of the authorization's consent.
    pub consent: &'a str,
    /// The id of the endpoint.
    pub endpoint: &'a str,
    /// How the patient authenticates.
    pub authorization_type: AuthorizationType,
    /// The expected usage. The source's grant may reduce it to ONE_TIME.
    pub usage: Usage,
    /// The code of the identity provider, for IAL2.
    pub identity_provider: Option<&'a str>,
}

/// The access that a source grants.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    /// The id of the Patient in this service.
    pub patient: &'a str,
    /// The id of the Patient at the source.
    pub source_patient: &'a str,
    /// The scopes requested from the source, separated by spaces.
    pub scope_requested: &'a str,
    /// The scopes that the source granted, separated by spaces.
    pub scope_granted: &'a str,
    /// Whether the source gave a refresh token.
    pub refreshable: bool,
    /// When the source's maximum authorization period ends.
    pub max_auth_until: Option<i64>,
}

impl Consent {
    /// Makes a consent without an audit line. `owner_of` computes the owner of the consent's rows from the consent's
    /// id. If another consent already has this owner, a new id is drawn.
    pub(super) fn create(
        connection: &Connection,
        now: i64,
        new: &NewConsent<'_>,
        owner_of: impl Fn(&str) -> i64,
    ) -> Result<Consent, Error> {
        let taken = |owner: i64| {
            let sql = "SELECT EXISTS (SELECT 1 FROM consent WHERE owner = ?1)";
            connection.query_row(sql, [owner], |row| row.get::<_, bool>(0))
        };
        let (id, owner) = loop {
            let id = Uuid::new_v4().to_string();
            let owner = owner_of(&id);
            if !taken(owner)? {
                break (id, owner);
            }
        };
        let sql =
            "INSERT INTO consent (id, application, mode, made_by, state, client, external_id, usage, scope, owner,
                                        created_at, touched_at)
                   VALUES (?1, ?2, ?3, ?4, 'CREATED', ?5, ?6, ?7, ?8, ?9, ?10, ?10)";
        let mode = new.mode.schema();
        connection.execute(
            sql,
            params![
                id,
                new.application,
                mode,
                new.made_by,
                new.client,
                new.external_id,
                new.usage,
                new.scope,
                owner,
                now
            ],
        )?;
        Consent::get(connection, &id)?.ok_or(Error::Lost("consent"))
    }

    /// Writes the audit line `consent.created`. Some callers write it when they make the consent, others when a browser
    /// first opens the flow.
    pub(super) fn note_created(&self, connection: &Connection, now: i64) -> Result<(), Error> {
        let (actor, origin) = (Actor::Application, self.made_by.name());
        note(connection, now, actor, "consent.created", self.about(), origin)
    }

    /// Applies an event: changes the consent's state and writes an audit line. Returns [`Error::Lost`] if another
    /// transaction has changed the state since `self` was read.
    pub(super) fn step(
        &mut self,
        connection: &Connection,
        now: i64,
        actor: Actor,
        event: ConsentEvent,
    ) -> Result<ConsentState, Error> {
        let next = self.state.after(event)?;
        // The condition on `state` fails if another transaction has changed the state since `self` was read.
        let sql = "UPDATE consent SET state = ?1, updated_at = ?2, touched_at = ?2 WHERE id = ?3 AND state = ?4";
        if connection.execute(sql, params![next, now, self.id, self.state])? == 0 {
            return Err(Error::Lost("consent"));
        }
        let action = format!("consent.{}", next.name().to_ascii_lowercase());
        note(connection, now, actor, &action, self.about(), event.name())?;
        self.state = next;
        self.updated_at = Some(now);
        if next == ConsentState::Revoked {
            tell_revoked(connection, now, self, actor)?;
        }
        Ok(next)
    }

    pub(super) fn about(&self) -> About<'_> {
        About {
            application: Some(&self.application),
            consent: Some(&self.id),
            authorization: None,
        }
    }
}

impl Authorization {
    /// Adds an authorization to a consent, as the last one of the consent, and writes an audit line.
    pub(super) fn create(
        connection: &Connection,
        now: i64,
        new: &NewAuthorization<'_>,
    ) -> Result<Authorization, Error> {
        let id = Uuid::new_v4().to_string();
        let sql =
            "INSERT INTO patient_authorization (id, consent, ordinal, type, state, usage, endpoint, identity_provider,
                                                      created_at, updated_at)
                   VALUES (?1, ?2, (SELECT COALESCE(MAX(ordinal) + 1, 0) FROM patient_authorization WHERE consent = ?2),
                           ?3, 'CREATED', ?4, ?5, ?6, ?7, ?7)";
        let provider = new.identity_provider;
        connection.execute(
            sql,
            params![
                id,
                new.consent,
                new.authorization_type,
                new.usage,
                new.endpoint,
                provider,
                now
            ],
        )?;
        let made = Authorization::get(connection, &id)?.ok_or(Error::Lost("patient authorization"))?;
        note(
            connection,
            now,
            Actor::Patient,
            "authorization.created",
            made.about(),
            "",
        )?;
        Ok(made)
    }

    /// Applies an event: changes the state, sets the time of the new state and writes an audit line. Returns
    /// [`Error::Lost`] if another transaction has changed the state since `self` was read.
    pub(super) fn step(
        &mut self,
        connection: &Connection,
        now: i64,
        actor: Actor,
        event: AuthorizationEvent,
    ) -> Result<AuthorizationState, Error> {
        let next = self.state.after(event)?;
        let (column, time) = match next {
            // After a retry the authorization is EXCHANGED again. It keeps the time of its first exchange.
            _ if event == AuthorizationEvent::Retried => ("", &mut None),
            AuthorizationState::Authorized => ("authorized_at = ?2,", &mut self.authorized_at),
            AuthorizationState::Exchanged => ("exchanged_at = ?2,", &mut self.exchanged_at),
            AuthorizationState::Revoked => ("revoked_at = ?2,", &mut self.revoked_at),
            AuthorizationState::Expired => ("expired_at = ?2,", &mut self.expired_at),
            _ => ("", &mut None),
        };
        *time = Some(now);
        let sql = format!(
            "UPDATE patient_authorization SET {column} state = ?1, updated_at = ?2 WHERE id = ?3 AND state = ?4"
        );
        let done = connection
            .prepare_cached(&sql)?
            .execute(params![next, now, self.id, self.state])?;
        if done == 0 {
            return Err(Error::Lost("patient authorization"));
        }
        let action = format!("authorization.{}", next.name().to_ascii_lowercase());
        note(connection, now, actor, &action, self.about(), event.name())?;
        self.state = next;
        if next == AuthorizationState::Expired {
            tell_expired(connection, now, self)?;
        }
        Ok(next)
    }

    /// Records a source's grant: changes the state to AUTHORIZED, adds the Patient to the consent, and sets the usage.
    /// The usage stays MULTIPLE only if the service can request records again without the patient: the source gave a
    /// refresh token, or the type is IAL1, for which a source always accepts an assertion that the service makes.
    pub(super) fn grant(&mut self, connection: &Connection, now: i64, grant: &Grant<'_>) -> Result<(), Error> {
        self.step(connection, now, Actor::Patient, AuthorizationEvent::Granted)?;
        let again = grant.refreshable || self.authorization_type == AuthorizationType::Ial1;
        let usage = if again { self.usage } else { Usage::OneTime };
        let sql = "UPDATE patient_authorization SET patient = ?1, source_patient = ?2, scope_requested = ?3, scope_granted = ?4,
                   refreshable = ?5, max_auth_until = ?6, usage = ?7 WHERE id = ?8";
        connection.execute(
            sql,
            params![
                grant.patient,
                grant.source_patient,
                grant.scope_requested,
                grant.scope_granted,
                grant.refreshable,
                grant.max_auth_until,
                usage,
                self.id
            ],
        )?;
        // The consent already has this Patient if the patient has authorized the same source before.
        let sql = "INSERT INTO consent_patient (consent, ordinal, patient) SELECT ?1, ?2, ?3
                   WHERE NOT EXISTS (SELECT 1 FROM consent_patient WHERE consent = ?1 AND patient = ?3)";
        connection.execute(sql, params![self.consent, self.ordinal, grant.patient])?;
        *self = Authorization::get(connection, &self.id)?.ok_or(Error::Lost("patient authorization"))?;
        Ok(())
    }

    pub(super) fn about(&self) -> About<'_> {
        About {
            application: None,
            consent: Some(&self.consent),
            authorization: Some(&self.id),
        }
    }
}

impl Job {
    /// Makes a sync job in state CREATED and returns its id. `cause` is `exchange`, `refresh` or `schedule`. Stops the
    /// retries of the authorization, because the sync asks for the same.
    pub(super) fn create(connection: &Connection, now: i64, authorization: &str, cause: &str) -> Result<String, Error> {
        give_way(connection, now, authorization)?;
        let id = Uuid::new_v4().to_string();
        let sql = "INSERT INTO sync_job (id, authorization, cause, state, created_at, updated_at)
                   VALUES (?1, ?2, ?3, 'CREATED', ?4, ?4)";
        connection.execute(sql, params![id, authorization, cause, now])?;
        Ok(id)
    }

    /// Applies an event: changes the job's state, sets its times and the number of attempts, and writes an audit
    /// line. If this ends the job, the caller calls [`tell_job_end`] once the report is stored. Returns
    /// [`Error::Lost`] if another transaction has changed the state since `self` was read.
    pub(super) fn step(&mut self, connection: &Connection, now: i64, event: JobEvent) -> Result<JobState, Error> {
        let next = self.state.after(event)?;
        let more = match next {
            JobState::Active => ", started_at = ?2, attempts = attempts + 1, not_before = NULL",
            JobState::Completed | JobState::Failed => ", finished_at = ?2",
            JobState::Created | JobState::Waiting => "",
        };
        let sql = format!("UPDATE sync_job SET state = ?1, updated_at = ?2{more} WHERE id = ?3 AND state = ?4");
        let done = connection
            .prepare_cached(&sql)?
            .execute(params![next, now, self.id, self.state])?;
        if done == 0 {
            return Err(Error::Lost("sync job"));
        }
        let action = format!("sync.{}", next.name().to_ascii_lowercase());
        self.note(connection, now, &action, event.name())?;
        self.state = next;
        Ok(next)
    }

    /// Writes an audit line about the job's consent and authorization.
    pub(super) fn note(&self, connection: &Connection, now: i64, action: &str, detail: &str) -> Result<(), Error> {
        let sql = "SELECT consent FROM patient_authorization WHERE id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let consent: Option<String> = statement
            .query_row([&self.authorization], |row| row.get(0))
            .optional()?;
        let about = About {
            consent: consent.as_deref(),
            authorization: Some(&self.authorization),
            ..About::default()
        };
        note(connection, now, Actor::Service, action, about, detail)
    }
}

/// Ends an authorization by `event`: deletes its credential, stops its jobs, and requests the erasure of its rows.
/// Requests no erasure if the authorization was never exchanged (then it has no rows), if the erasure was already
/// requested, or if the consent is an operator's.
pub(super) fn end(
    connection: &Connection,
    now: i64,
    actor: Actor,
    consent: &Consent,
    authorization: &mut Authorization,
    event: AuthorizationEvent,
) -> Result<(), Error> {
    authorization.step(connection, now, actor, event)?;
    forget_access(connection, &authorization.id)?;
    // Delete the stored `source_patient`, so that no job can fetch records any more.
    let sql = "UPDATE patient_authorization SET source_patient = NULL WHERE id = ?1";
    connection.execute(sql, [&authorization.id])?;
    authorization.source_patient = None;
    let why = format!("the authorization was {}", event.name());
    stop_jobs(connection, now, &authorization.id, &why)?;
    if consent.owner.is_none() || authorization.exchanged_at.is_none() || authorization.data_erased_at.is_some() {
        return Ok(());
    }
    let cause = match event {
        AuthorizationEvent::WindowElapsed => ErasureCause::Expiry,
        _ => ErasureCause::Revoke,
    };
    let job = ErasureJob::of(connection, now, consent, cause, actor)?;
    ask_to_erase(connection, now, consent, authorization, (event.name(), &job))
}

/// Deletes an authorization's credential, and the source's message about its failed first sync.
pub(super) fn forget_access(connection: &Connection, authorization: &str) -> Result<(), Error> {
    connection
        .prepare_cached("DELETE FROM credential WHERE authorization = ?1")?
        .execute([authorization])?;
    forget_outcomes(connection, authorization)
}

/// Deletes the source's message about an authorization's failed first sync.
pub(super) fn forget_outcomes(connection: &Connection, authorization: &str) -> Result<(), Error> {
    let sql = "UPDATE sync_job SET outcome = NULL WHERE authorization = ?1 AND outcome IS NOT NULL";
    connection.prepare_cached(sql)?.execute([authorization])?;
    Ok(())
}

/// Stops the jobs of an authorization that have not ended, because the service must not fetch its records any more.
/// Each job stores `why` as the reason of its failure.
pub(super) fn stop_jobs(connection: &Connection, now: i64, authorization: &str, why: &str) -> Result<(), Error> {
    let open = "WHERE authorization = ?1 AND state IN ('CREATED', 'WAITING', 'ACTIVE')";
    for mut job in Job::select(connection, open, [authorization])? {
        job.step(connection, now, JobEvent::Stopped)?;
        let sql = "UPDATE sync_job SET failure = ?1 WHERE id = ?2";
        connection.execute(sql, params![why, job.id])?;
        tell_job_end(connection, now, &job)?;
    }
    Ok(())
}

/// Requests the erasure of an authorization's rows as a part of the erasure job `job`, and ends the codes, cards and
/// links of the consent for `reason`. Does nothing if the authorization was never exchanged, because then it has no
/// rows. Does nothing either if the erasure of its rows was already requested, or if the consent is an operator's.
pub(super) fn ask_to_erase(
    connection: &Connection,
    now: i64,
    consent: &Consent,
    authorization: &mut Authorization,
    (reason, job): (&str, &str),
) -> Result<(), Error> {
    let may_have = authorization.exchanged_at.is_some() && authorization.data_erased_at.is_none();
    let Some(owner) = consent.owner.filter(|_| may_have) else {
        return Ok(());
    };
    let sql = "INSERT INTO erasure (consent, authorization, mode, application, owner, reason, asked_at, job)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mode = consent.mode.schema();
    connection.execute(
        sql,
        params![
            consent.id,
            authorization.id,
            mode,
            consent.application,
            owner,
            reason,
            now,
            job
        ],
    )?;
    // Cards and links can contain records of all sources. So all of them end even if only one source's rows are erased.
    end_what_was_given_out(connection, now, (Actor::Service, reason), &consent.id)?;
    let sql = "UPDATE patient_authorization SET data_erased_at = ?1 WHERE id = ?2";
    connection.execute(sql, params![now, authorization.id])?;
    authorization.data_erased_at = Some(now);
    Ok(())
}

/// Revokes every access token, code, refresh token, card and link of a consent, and deletes its sessions that have
/// ended. `ending` has the actor and the reason, for the audit log.
pub(super) fn kill_tokens(
    connection: &Connection,
    now: i64,
    ending: (Actor, &str),
    consent: &str,
) -> Result<(), Error> {
    connection.execute(
        "INSERT OR IGNORE INTO revoked_token (jti, expires_at)
         SELECT jti, expires_at FROM access_token WHERE consent = ?1",
        [consent],
    )?;
    connection.execute("DELETE FROM access_token WHERE consent = ?1", [consent])?;
    let sql = "UPDATE refresh_token SET revoked_at = ?2 WHERE consent = ?1 AND revoked_at IS NULL";
    connection.execute(sql, params![consent, now])?;
    forget_closed_sessions(connection, consent)?;
    end_what_was_given_out(connection, now, ending, consent)
}
