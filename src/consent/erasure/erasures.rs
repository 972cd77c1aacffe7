//! The table of requested erasures of rows. A transaction that ends an authorization also inserts the request to erase
//! its rows. A worker carries the request out. The request stays unfinished until no file of the lake has the rows, and
//! until the person's remaining records were normalized again without them.

use rusqlite::params;

use super::super::error::Error;
use super::super::log::audit::{About, Actor, note};
use super::super::mode::mode_of;
use super::super::store::Store;
use super::super::syncs::dangling::forget_dangling;
use super::receipt::Proof;
use crate::lake::Mode;

/// The wait in seconds after the first failure to normalize the person's remaining records. Each further failure
/// doubles the wait.
const AGAIN: i64 = 60;
/// The maximum wait in seconds.
const LONGEST_WAIT: i64 = 86_400;

/// A requested erasure of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedErasure {
    /// The request's number. Later requests have higher numbers.
    pub id: i64,
    /// The id of the application that the rows belong to.
    pub application: String,
    /// Live or test.
    pub mode: Mode,
    /// The owner of the rows.
    pub owner: i64,
    /// The ids of the authorizations whose rows are to be erased. Empty for imported rows.
    pub authorizations: Vec<String>,
    /// The Patient id of imported rows. `None` for rows that a sync stored.
    pub patient: Option<String>,
    /// The id of the erasure job that the request belongs to.
    pub job: Option<String>,
    /// The id of the consent whose rows are to be erased.
    pub consent: String,
    /// Whether the rows have left the lake.
    pub gone: bool,
    /// How often normalizing the person's remaining records has failed.
    pub failures: u32,
}

/// The repository of requested erasures of rows.
#[derive(Clone, Copy, Debug)]
pub struct Erasures<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Erasures<'_> {
    /// Returns at most `max_rows` unfinished requests with numbers greater than `after`, in order.
    pub fn open(&self, after: i64, max_rows: usize) -> Result<Vec<AskedErasure>, Error> {
        self.until(after, max_rows, i64::MAX)
    }

    /// Returns the same requests as [`Erasures::open`], but leaves out those that must wait after a failure.
    pub fn due(&self, after: i64, max_rows: usize) -> Result<Vec<AskedErasure>, Error> {
        self.until(after, max_rows, self.store.clock().now())
    }

    fn until(&self, after: i64, max_rows: usize, until: i64) -> Result<Vec<AskedErasure>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT id, consent, authorization, mode, application, owner, gone_at IS NOT NULL, failures,
                              patient, job
                       FROM erasure
                       WHERE done_at IS NULL AND id > ?1 AND (not_before IS NULL OR not_before <= ?3 OR not_before > ?4)
                       ORDER BY id LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            // A request that waits longer than any may was put off by a clock that was ahead. It waits no longer.
            let mut rows = statement.query([after, max_rows as i64, until, until.saturating_add(LONGEST_WAIT)])?;
            let mut asked = Vec::new();
            while let Some(row) = rows.next()? {
                let consent: String = row.get(1)?;
                let patient: Option<String> = row.get(8)?;
                let authorizations = match row.get::<_, Option<String>>(2)? {
                    Some(authorization) => vec![authorization],
                    None if patient.is_some() => Vec::new(),
                    None => {
                        let sql = "SELECT id FROM patient_authorization WHERE consent = ?1 ORDER BY ordinal";
                        let mut statement = connection.prepare_cached(sql)?;
                        let rows = statement.query_map([&consent], |row| row.get(0))?;
                        rows.collect::<Result<_, _>>()?
                    }
                };
                asked.push(AskedErasure {
                    id: row.get(0)?,
                    mode: mode_of(&row.get::<_, String>(3)?),
                    application: row.get(4)?,
                    owner: row.get(5)?,
                    authorizations,
                    consent,
                    gone: row.get(6)?,
                    failures: row.get(7)?,
                    patient,
                    job: row.get(9)?,
                });
            }
            Ok(asked)
        })
    }

    /// Stores the evidence of requests until their receipt is signed. Merges new evidence of a request with the
    /// evidence of its earlier attempts. Skips requests without a job, because they get no receipt.
    pub fn keep_proofs(&self, proofs: Vec<(AskedErasure, Proof)>) -> Result<(), Error> {
        self.store.write(|transaction| {
            for (asked, proof) in proofs.into_iter().filter(|(asked, _)| asked.job.is_some()) {
                let sql = "SELECT evidence FROM erasure WHERE id = ?1";
                let kept: Option<String> = transaction.query_row(sql, [asked.id], |row| row.get(0))?;
                let kept = kept.and_then(|text| serde_json::from_str::<Proof>(&text).ok());
                let proof = match kept {
                    Some(kept) => kept.again(proof),
                    None => proof,
                };
                // A proof has only strings and numbers, so its conversion to JSON cannot fail.
                let text = serde_json::to_string(&proof).unwrap_or_default();
                let sql = "UPDATE erasure SET evidence = ?1 WHERE id = ?2 AND done_at IS NULL";
                transaction.execute(sql, params![text, asked.id])?;
            }
            Ok(())
        })
    }

    /// Finishes requests whose work is done, removes the Patient ids from them, and writes audit lines.
    pub fn done(&self, done: &[AskedErasure]) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            for asked in done {
                let sql = "UPDATE erasure SET done_at = ?1, patient = NULL WHERE id = ?2 AND done_at IS NULL";
                if transaction.execute(sql, params![now, asked.id])? > 0 {
                    let about = About {
                        application: Some(&asked.application),
                        consent: Some(&asked.consent),
                        authorization: asked.authorizations.first().map(String::as_str),
                    };
                    note(transaction, now, Actor::Service, "records.erased", about, "")?;
                    for authorization in &asked.authorizations {
                        forget_dangling(transaction, authorization)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Records that normalizing the person's remaining records has failed. `gone` says whether the rows have left the
    /// lake. If so, the next attempt waits, because only the normalization remains to be done. Otherwise the next
    /// attempt does not wait, because the rows must be erased soon.
    pub fn not_normalized(&self, asked: &AskedErasure, gone: bool) -> Result<(), Error> {
        let now = self.store.clock().now();
        let wait = AGAIN.saturating_mul(1 << asked.failures.min(16)).min(LONGEST_WAIT);
        let again = gone.then_some(now.saturating_add(wait));
        self.store.write(|transaction| {
            let sql = "UPDATE erasure SET failures = failures + 1, not_before = ?1,
                              gone_at = CASE WHEN ?2 THEN coalesce(gone_at, ?3) END
                       WHERE id = ?4 AND done_at IS NULL";
            transaction.execute(sql, params![again, gone, now, asked.id])?;
            Ok(())
        })
    }
}
