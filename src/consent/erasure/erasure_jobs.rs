//! Erasure jobs: who requested an erasure, and its result. One job covers all rows of a consent that are erased
//! together. A job ends when none of its rows is left and its receipt is signed. It is kept afterwards, because it
//! names no person.

use rusqlite::{Connection, params};

use super::super::access::given_out::end_what_was_given_out;
use super::super::error::Error;
use super::super::flow::forget_sessions;
use super::super::log::audit::{About, Actor, note};
use super::super::moves::{ask_to_erase, forget_access, stop_jobs};
use super::super::record::{Authorization, Consent};
use super::super::states::ConsentState;
use super::super::store::Store;
use super::super::syncs::presence::Readiness;
use super::super::with_sources::ConsentWithSources;
use super::digest::receipt_digest;
use super::job::{ErasureCause, ErasureJob};

/// The progress of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasureProgress {
    /// Parts whose rows have left the lake.
    pub gone: u32,
    /// All parts: the sources of a consent. For imported records, its Patients.
    pub all: u32,
}

/// A patient's request to have all records erased.
#[derive(Clone, Copy, Debug)]
pub struct Expunge<'a> {
    /// The consent of the request's token.
    pub consent: &'a str,
    /// The request's id.
    pub request: &'a str,
    /// For imported records: the Patients, each with the owners of the rows filed under it.
    pub imported: &'a [(String, Vec<i64>)],
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expunged {
    /// The records will be erased. A repeated request gets the first job.
    Accepted(ErasureJob),
    /// The records do not exist, or do not exist yet.
    NotNow(Readiness),
}

impl Store {
    /// Requests the erasure of all records of a consent for the patient. Its syncs stop, and only a new consent can
    /// fetch records again. Its tokens stay valid and find nothing.
    pub fn expunge(&self, asked: &Expunge<'_>) -> Result<Expunged, Error> {
        let now = self.clock().now();
        let done = self.write(|transaction| expunge(transaction, now, asked))?;
        self.jobs_changed();
        // Continue: the records must be erased. The next sweep removes the rest.
        if let Err(error) = self.health_links().wipe_ended() {
            tracing::warn!(%error, "bytes of ended health links may still stand in the store's log");
        }
        Ok(done)
    }
}

/// Erasures that were requested together, with their receipts.
#[derive(Clone, Copy, Debug)]
pub struct ErasureJobs<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl ErasureJobs<'_> {
    /// The job with this id.
    pub fn get(&self, id: &str) -> Result<Option<ErasureJob>, Error> {
        self.store
            .read(|connection| Ok(ErasureJob::select(connection, "WHERE id = ?1", [id])?.pop()))
    }

    /// The newest jobs, newest first. With a consent, only its own.
    pub fn list(&self, consent: Option<&str>, limit: u32) -> Result<Vec<ErasureJob>, Error> {
        let condition = "WHERE ?1 IS NULL OR consent = ?1 ORDER BY asked_at DESC, rowid DESC LIMIT ?2";
        self.store
            .read(|connection| ErasureJob::select(connection, condition, params![consent, limit]))
    }

    /// The progress of a job.
    pub fn progress(&self, job: &str) -> Result<ErasureProgress, Error> {
        self.store.read(|connection| {
            let sql = "SELECT count(*) FILTER (WHERE gone_at IS NOT NULL OR done_at IS NOT NULL), count(*) FROM erasure
                       WHERE job = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([job], |row| {
                Ok(ErasureProgress {
                    gone: row.get(0)?,
                    all: row.get(1)?,
                })
            })?)
        })
    }
}

fn expunge(connection: &Connection, now: i64, asked: &Expunge<'_>) -> Result<Expunged, Error> {
    let consent = Consent::get(connection, asked.consent)?.ok_or(Error::Lost("consent"))?;
    if consent.expunged_at.is_some() {
        let earlier = "WHERE consent = ?1 AND cause = ?2 ORDER BY rowid DESC LIMIT 1";
        let earlier = ErasureJob::select(connection, earlier, params![consent.id, ErasureCause::Expunge])?.pop();
        return earlier.map(Expunged::Accepted).ok_or(Error::Lost("erasure"));
    }
    let full_consent = ConsentWithSources::of(connection, consent)?;
    let readiness = full_consent.readiness(now);
    if readiness != Readiness::Ready || full_consent.consent.state != ConsentState::Exchanged {
        return Ok(Expunged::NotNow(readiness));
    }
    let (consent, cause, actor) = (&full_consent.consent, ErasureCause::Expunge, Actor::Patient);
    let job = ErasureJob::create(connection, now, consent, cause, (actor, Some(asked.request)))?;
    for mut authorization in Authorization::of(connection, &consent.id)? {
        stop_jobs(connection, now, &authorization.id, "the records were expunged")?;
        forget_access(connection, &authorization.id)?;
        let sql = "UPDATE patient_authorization SET source_patient = NULL WHERE id = ?1";
        connection.execute(sql, [&authorization.id])?;
        ask_to_erase(connection, now, consent, &mut authorization, (cause.name(), &job))?;
    }
    if consent.owner.is_none() {
        ask_to_erase_imported(connection, now, consent, asked.imported, &job)?;
    }
    connection.execute(
        "UPDATE consent SET expunged_at = ?1 WHERE id = ?2",
        params![now, consent.id],
    )?;
    forget_sessions(connection, &consent.id)?;
    end_what_was_given_out(connection, now, (actor, cause.name()), &consent.id)?;
    note(connection, now, actor, "consent.expunged", consent.about(), &job)?;
    let made = ErasureJob::select(connection, "WHERE id = ?1", [&job])?.pop();
    made.map(Expunged::Accepted).ok_or(Error::Lost("erasure"))
}

/// Requests the erasure of imported rows.
fn ask_to_erase_imported(
    connection: &Connection,
    now: i64,
    consent: &Consent,
    imported: &[(String, Vec<i64>)],
    job: &str,
) -> Result<(), Error> {
    let sql = "INSERT INTO erasure (consent, mode, application, owner, patient, reason, asked_at, job)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let (mode, reason) = (consent.mode.schema(), ErasureCause::Expunge.name());
    for (patient, owners) in imported {
        for owner in owners {
            connection.execute(
                sql,
                params![consent.id, mode, consent.application, owner, patient, reason, now, job],
            )?;
        }
    }
    Ok(())
}

impl ErasureJobs<'_> {
    /// Jobs without remaining rows and without a receipt.
    pub fn unreceipted(&self) -> Result<Vec<ErasureJob>, Error> {
        let condition = "WHERE done_at IS NULL AND NOT EXISTS (SELECT 1 FROM erasure WHERE job = erasure_job.id
                                                               AND done_at IS NULL) ORDER BY rowid LIMIT 1000";
        self.store
            .read(|connection| ErasureJob::select(connection, condition, []))
    }

    /// Whether a receipt is to be signed.
    pub fn has_unreceipted(&self) -> Result<bool, Error> {
        Ok(!self.unreceipted()?.is_empty())
    }

    /// Stores the receipt of a job and so ends the job. The audit log has the receipt's digest.
    pub fn keep_receipt(&self, job: &ErasureJob, receipt: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let sql = "UPDATE erasure_job SET done_at = ?1, receipt = ?2 WHERE id = ?3 AND done_at IS NULL";
            if transaction.execute(sql, params![now, receipt, job.id])? == 0 {
                return Ok(());
            }
            transaction.execute("UPDATE erasure SET evidence = NULL WHERE job = ?1", [&job.id])?;
            note_receipt(transaction, now, job, receipt)
        })
    }

    /// Stores the receipt of an erasure by the operator's command, which has no consent.
    pub fn keep_receipt_of_command(&self, job: &ErasureJob, receipt: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let sql = "INSERT INTO erasure_job (id, application, mode, cause, actor, asked_at, done_at, receipt)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            let mode = job.mode.schema();
            transaction.execute(
                sql,
                params![
                    job.id,
                    job.application,
                    mode,
                    job.cause,
                    job.actor,
                    job.asked_at,
                    now,
                    receipt
                ],
            )?;
            note_receipt(transaction, now, job, receipt)
        })
    }
}

fn note_receipt(connection: &Connection, now: i64, job: &ErasureJob, receipt: &str) -> Result<(), Error> {
    let about = About {
        application: Some(&job.application),
        consent: job.consent.as_deref(),
        authorization: None,
    };
    let detail = format!("{} {}", job.id, receipt_digest(receipt));
    note(connection, now, job.actor, "erasure.receipt", about, &detail)
}
