//! The events, and their data. Each function writes the event of one move, in the caller's transaction. It writes
//! nothing if the application has no receiver.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use serde::Serialize;
use uuid::Uuid;

use super::super::erasure::job::ErasureJob;
use super::super::error::Error;
use super::super::log::audit::Actor;
use super::super::record::{Authorization, Consent, Job};
use super::super::states::{JobState, named};
use super::queue::enqueue;
use crate::lake::Mode;

named! {
    /// The type of an event.
    EventType {
        /// A sync has stored its records.
        SyncCompleted = "sync_completed",
        /// A sync has ended without storing records.
        SyncFailed = "sync_failed",
        /// A sync has stored its records, and some are missing. It follows `sync_completed`.
        SyncIncomplete = "sync_incomplete",
        /// The refresh window of an authorization, or its one-time access, has ended.
        RefreshExpired = "refresh_expired",
        /// A consent was revoked.
        ConsentRevoked = "consent_revoked",
        /// Records of a consent were erased. No file has them any more.
        DataExpunged = "data_expunged",
    }
}

/// The data of an event about a sync.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfSync<'a> {
    consent_id: &'a str,
    mode: &'a str,
    authorization_id: &'a str,
    endpoint_id: &'a str,
    job_id: &'a str,
    cause: &'a str,
    state: JobState,
    /// The number of resource types of which records are missing, by reason.
    missing: BTreeMap<String, u64>,
}

/// The data of an event about one authorization.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfAuthorization<'a> {
    consent_id: &'a str,
    mode: &'a str,
    authorization_id: &'a str,
    endpoint_id: &'a str,
}

/// The data of an event about several authorizations of a consent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfConsent<'a> {
    consent_id: &'a str,
    mode: &'a str,
    /// Who revoked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Actor>,
    /// The id of the erasure.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<&'a str>,
    /// What caused the erasure.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    authorizations: Vec<Place>,
}

/// An authorization and its endpoint.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    authorization_id: String,
    endpoint_id: String,
}

/// Tells the end of a sync job: `sync_completed`, and `sync_incomplete` after it if records are missing; or
/// `sync_failed`. The report of the job must be stored before.
pub(in crate::consent) fn tell_job_end(connection: &Connection, now: i64, job: &Job) -> Result<(), Error> {
    // What a retry could not get was told when its sync ended.
    if job.is_retry() && job.state == JobState::Failed {
        return Ok(());
    }
    let lost = || Error::Lost("patient authorization");
    let authorization = Authorization::get(connection, &job.authorization)?.ok_or_else(lost)?;
    let consent = Consent::get(connection, &authorization.consent)?.ok_or(Error::Lost("consent"))?;
    let data = OfSync {
        consent_id: &consent.id,
        mode: named_mode(consent.mode),
        authorization_id: &authorization.id,
        endpoint_id: &authorization.endpoint,
        job_id: &job.id,
        cause: &job.cause,
        state: job.state,
        missing: missing(connection, &job.id)?,
    };
    let about = (consent.application.as_str(), consent.id.as_str());
    if job.state == JobState::Failed {
        return tell(connection, now, about, EventType::SyncFailed, &data);
    }
    tell(connection, now, about, EventType::SyncCompleted, &data)?;
    if data.missing.is_empty() {
        return Ok(());
    }
    tell(connection, now, about, EventType::SyncIncomplete, &data)
}

/// Returns how many types are missing in a job, by reason.
fn missing(connection: &Connection, job: &str) -> Result<BTreeMap<String, u64>, Error> {
    let sql = "SELECT reason, count(DISTINCT type) FROM sync_missing WHERE job = ?1 GROUP BY reason";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([job], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Tells that an authorization has expired.
pub(in crate::consent) fn tell_expired(
    connection: &Connection,
    now: i64,
    authorization: &Authorization,
) -> Result<(), Error> {
    let consent = Consent::get(connection, &authorization.consent)?.ok_or(Error::Lost("consent"))?;
    let data = OfAuthorization {
        consent_id: &consent.id,
        mode: named_mode(consent.mode),
        authorization_id: &authorization.id,
        endpoint_id: &authorization.endpoint,
    };
    let about = (consent.application.as_str(), consent.id.as_str());
    tell(connection, now, about, EventType::RefreshExpired, &data)
}

/// Tells that a consent was revoked.
pub(in crate::consent) fn tell_revoked(
    connection: &Connection,
    now: i64,
    consent: &Consent,
    actor: Actor,
) -> Result<(), Error> {
    let sql = "SELECT id, endpoint FROM patient_authorization WHERE consent = ?1 ORDER BY ordinal";
    let data = OfConsent {
        consent_id: &consent.id,
        mode: named_mode(consent.mode),
        by: Some(actor),
        job_id: None,
        cause: None,
        authorizations: places(connection, sql, &consent.id)?,
    };
    let about = (consent.application.as_str(), consent.id.as_str());
    tell(connection, now, about, EventType::ConsentRevoked, &data)
}

/// Tells that the records of an erasure job are gone. Does nothing for the operator's command, which names no consent.
pub(in crate::consent) fn tell_erased(connection: &Connection, now: i64, job: &ErasureJob) -> Result<(), Error> {
    let Some(consent) = &job.consent else { return Ok(()) };
    let sql = "SELECT id, endpoint FROM patient_authorization
               WHERE id IN (SELECT authorization FROM erasure WHERE job = ?1) ORDER BY ordinal";
    let data = OfConsent {
        consent_id: consent,
        mode: named_mode(job.mode),
        by: None,
        job_id: Some(&job.id),
        cause: Some(job.cause.name()),
        authorizations: places(connection, sql, &job.id)?,
    };
    let about = (job.application.as_str(), consent.as_str());
    tell(connection, now, about, EventType::DataExpunged, &data)
}

fn places(connection: &Connection, sql: &str, id: &str) -> Result<Vec<Place>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([id], |row| {
        Ok(Place {
            authorization_id: row.get(0)?,
            endpoint_id: row.get(1)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the mode as `/rest/consent` names it.
fn named_mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "LIVE",
        Mode::Test => "TEST",
    }
}

/// Writes an event, and a delivery for each receiver of the application.
fn tell(
    connection: &Connection,
    now: i64,
    (application, consent): (&str, &str),
    event_type: EventType,
    data: &impl Serialize,
) -> Result<(), Error> {
    let sql = "SELECT id FROM webhook_receiver WHERE application = ?1 AND disabled_at IS NULL
               AND (listens_until IS NULL OR listens_until > ?2) ORDER BY created_at, id";
    let mut statement = connection.prepare_cached(sql)?;
    let receivers = statement.query_map(params![application, now], |row| row.get(0))?;
    let receivers = receivers.collect::<Result<Vec<String>, _>>()?;
    if receivers.is_empty() {
        return Ok(());
    }
    let id = format!("msg_{}", Uuid::new_v4().simple());
    let data = serde_json::to_string(data).map_err(|_| Error::Lost("data of an event"))?;
    let sql = "INSERT INTO webhook_event (id, application, type, consent, at, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection
        .prepare_cached(sql)?
        .execute(params![id, application, event_type, consent, now, data])?;
    for receiver in &receivers {
        enqueue(connection, now, &id, receiver, consent)?;
    }
    Ok(())
}
