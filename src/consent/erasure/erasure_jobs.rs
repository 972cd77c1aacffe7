//! The table of erasure jobs: who requested an erasure, and its result. A job covers all rows of a consent whose
//! erasure was requested together. It ends when all these rows are erased and the receipt of the job is stored. A
//! finished job stays in the table, because it names no person.

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
use super::super::webhooks::tell_erased;
use super::super::with_sources::ConsentWithSources;
use super::digest::receipt_digest;
use super::job::{ErasureCause, ErasureJob};

/// The progress of an erasure job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasureProgress {
    /// The number of parts whose rows have left the lake.
    pub gone: u32,
    /// The number of all parts. A part is a source of the consent, or for imported records an owner of a Patient's
    /// rows.
    pub all: u32,
}

/// A patient's request for the erasure of all records of a consent.
#[derive(Clone, Copy, Debug)]
pub struct Expunge<'a> {
    /// The id of the consent.
    pub consent: &'a str,
    /// The id of the `$expunge` request.
    pub request: &'a str,
    /// For imported records: the Patient ids, each with the owners that the Patient's rows may have.
    pub imported: &'a [(String, Vec<i64>)],
}

/// The answer to an `Expunge` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expunged {
    /// The records will be erased. For a repeated request, this is the job of the first request.
    Accepted(ErasureJob),
    /// There are no records, they are being fetched, or the consent is not EXCHANGED.
    NotNow(Readiness),
}

impl Store {
    /// Requests the erasure of all records of a consent on behalf of its patient. The syncs of the consent stop, and
    /// only a new consent can fetch records again. The access tokens of the consent stay valid, but show no records.
    pub fn expunge(&self, asked: &Expunge<'_>) -> Result<Expunged, Error> {
        let now = self.clock().now();
        let done = self.write_jobs(|transaction| expunge(transaction, now, asked))?;
        // Only log an error here, because the erasure is already requested. The next sweep tries again to empty the
        // log.
        if let Err(error) = self.health_links().wipe_ended() {
            tracing::warn!(%error, "bytes of ended health links may still stand in the store's log");
        }
        Ok(done)
    }
}

/// The repository of erasure jobs and their receipts.
#[derive(Clone, Copy, Debug)]
pub struct ErasureJobs<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl ErasureJobs<'_> {
    /// Returns the job with this id.
    pub fn get(&self, id: &str) -> Result<Option<ErasureJob>, Error> {
        self.store
            .read(|connection| Ok(ErasureJob::select(connection, "WHERE id = ?1", [id])?.pop()))
    }

    /// Returns at most `limit` jobs, newest first. If a consent is given, returns only its jobs.
    pub fn list(&self, consent: Option<&str>, limit: u32) -> Result<Vec<ErasureJob>, Error> {
        let condition = "WHERE ?1 IS NULL OR consent = ?1 ORDER BY asked_at DESC, rowid DESC LIMIT ?2";
        self.store
            .read(|connection| ErasureJob::select(connection, condition, params![consent, limit]))
    }

    /// Returns the progress of a job.
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

/// Requests the erasure of the imported rows of these Patients.
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
    /// Returns up to 1,000 jobs whose rows are all erased and that have no receipt.
    pub fn unreceipted(&self) -> Result<Vec<ErasureJob>, Error> {
        let condition = "WHERE done_at IS NULL AND NOT EXISTS (SELECT 1 FROM erasure WHERE job = erasure_job.id
                                                               AND done_at IS NULL) ORDER BY rowid LIMIT 1000";
        self.store
            .read(|connection| ErasureJob::select(connection, condition, []))
    }

    /// Whether a job waits for its receipt.
    pub fn has_unreceipted(&self) -> Result<bool, Error> {
        Ok(!self.unreceipted()?.is_empty())
    }

    /// Stores the receipt of a job, which ends the job. Writes the receipt's digest to the audit log.
    pub fn keep_receipt(&self, job: &ErasureJob, receipt: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store.write_jobs(|transaction| {
            let sql = "UPDATE erasure_job SET done_at = ?1, receipt = ?2 WHERE id = ?3 AND done_at IS NULL";
            if transaction.execute(sql, params![now, receipt, job.id])? == 0 {
                return Ok(());
            }
            transaction.execute("UPDATE erasure SET evidence = NULL WHERE job = ?1", [&job.id])?;
            tell_erased(transaction, now, job)?;
            note_receipt(transaction, now, job, receipt)
        })
    }

    /// Stores the receipt of `tabularium erase`, together with its job, which has no consent.
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
