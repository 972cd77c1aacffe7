//! An erasure job: its row in the store.

use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::super::error::Error;
use super::super::log::audit::Actor;
use super::super::mode::mode_of;
use super::super::record::Consent;
use super::super::states::named;
use crate::lake::Mode;

named! {
    /// What caused an erasure.
    ErasureCause {
        /// A request `Patient/[id]/$expunge`.
        Expunge = "$expunge",
        /// A revocation: by `/oauth/revoke`, by `/link/revoke`, or by the patient.
        Revoke = "revoke",
        /// The end of the refresh window or of one-time access.
        Expiry = "expiry",
        /// The command `tabularium erase`.
        Command = "tabularium erase",
        /// The command `tabularium restore`, which repeats an erasure that is newer than the backup.
        Restore = "tabularium restore",
    }
}

/// An erasure job: all rows of a consent whose erasure was requested together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureJob {
    /// The job's id. It is the last part of the status address.
    pub id: String,
    /// The id of the consent. `None` for the operator's command.
    pub consent: Option<String>,
    /// The id of the application that the records belong to.
    pub application: String,
    /// Live or test.
    pub mode: Mode,
    /// What caused the erasure.
    pub cause: ErasureCause,
    /// Who requested the erasure.
    pub actor: Actor,
    /// The id of the `$expunge` request. `None` for other causes.
    pub request: Option<String>,
    /// When the erasure was requested.
    pub asked_at: i64,
    /// When the receipt was stored, which ends the job.
    pub done_at: Option<i64>,
    /// The receipt: a JWS in compact form.
    pub receipt: Option<String>,
}

const JOB: &str =
    "SELECT id, consent, application, mode, cause, actor, request, asked_at, done_at, receipt FROM erasure_job";

impl ErasureJob {
    /// Makes a job for `tabularium erase`. `ErasureJobs::keep_receipt_of_command` stores it.
    pub fn of_command(application: &str, mode: Mode, asked_at: i64) -> ErasureJob {
        ErasureJob {
            id: Uuid::new_v4().to_string(),
            consent: None,
            application: application.to_owned(),
            mode,
            cause: ErasureCause::Command,
            actor: Actor::Operator,
            request: None,
            asked_at,
            done_at: None,
            receipt: None,
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<ErasureJob> {
        Ok(ErasureJob {
            id: row.get(0)?,
            consent: row.get(1)?,
            application: row.get(2)?,
            mode: mode_of(&row.get::<_, String>(3)?),
            cause: row.get(4)?,
            actor: row.get(5)?,
            request: row.get(6)?,
            asked_at: row.get(7)?,
            done_at: row.get(8)?,
            receipt: row.get(9)?,
        })
    }

    /// Returns the jobs that match a condition. The condition follows `FROM erasure_job` and may end with ORDER BY and
    /// LIMIT.
    pub(super) fn select(
        connection: &Connection,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<ErasureJob>, Error> {
        let mut statement = connection.prepare_cached(&format!("{JOB} {condition}"))?;
        let rows = statement.query_map(parameters, ErasureJob::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the id of the unfinished job for this consent, cause, actor and time, if none of its rows are erased
    /// yet. Otherwise makes a new job. So the authorizations that one transaction ends share one job.
    pub(in crate::consent) fn of(
        connection: &Connection,
        now: i64,
        consent: &Consent,
        cause: ErasureCause,
        actor: Actor,
    ) -> Result<String, Error> {
        let sql = "SELECT id FROM erasure_job WHERE consent = ?1 AND cause = ?2 AND actor = ?3 AND asked_at = ?4
                   AND done_at IS NULL AND NOT EXISTS (SELECT 1 FROM erasure WHERE job = erasure_job.id AND
                                                       (gone_at IS NOT NULL OR done_at IS NOT NULL))";
        let mut statement = connection.prepare_cached(sql)?;
        let known = statement.query_row(params![consent.id, cause, actor, now], |row| row.get(0));
        match known.optional()? {
            Some(known) => Ok(known),
            None => ErasureJob::create(connection, now, consent, cause, (actor, None)),
        }
    }

    pub(super) fn create(
        connection: &Connection,
        now: i64,
        consent: &Consent,
        cause: ErasureCause,
        (actor, request): (Actor, Option<&str>),
    ) -> Result<String, Error> {
        let id = Uuid::new_v4().to_string();
        let sql = "INSERT INTO erasure_job (id, consent, application, mode, cause, actor, request, asked_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let mode = consent.mode.schema();
        connection.execute(
            sql,
            params![id, consent.id, consent.application, mode, cause, actor, request, now],
        )?;
        Ok(id)
    }
}
