//! Removes a person with imported records from the store. The store knows such a person only by the operator's
//! consents. When these consents end, their tokens are revoked, and nothing in the store names the person any more. The
//! audit log names consents and never people.

use std::path::Path;

use rusqlite::{Connection, params};

use super::super::access::given_out::end_what_was_given_out;
use super::super::access::lifetime::PATIENT_SECONDS;
use super::super::clock::Clock;
use super::super::error::Error;
use super::super::log::audit::{About, Actor, note};
use super::super::record::Consent;
use super::super::store::Store;
use super::super::webhooks::tell_revoked;
use crate::lake::Mode;

/// What was removed from the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// The number of removed consents. Their tokens are revoked.
    pub consents: u64,
    /// Whether the write-ahead log may still contain old pages of the store, because another process was reading.
    pub log_stays: bool,
}

impl Store {
    /// Opens the store in a folder. `None` if the folder has no store.
    pub fn open_existing(folder: &Path, clock: Clock) -> Result<Option<Store>, Error> {
        if folder.join(super::super::store::FILE).exists() {
            Store::open(folder, clock).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Ends the operator's consents for one person's imported records. Their tokens are refused from now on, and the
    /// store no longer names the person.
    pub fn forget_imported(&self, application: &str, mode: Mode, patient: &str) -> Result<Forgotten, Error> {
        let now = self.clock().now();
        let consents = self.write(|transaction| forget_person(transaction, now, application, mode, patient))?;
        self.take_up_revocations()?;
        self.health_links().wipe_ended()?;
        let busy: i64 =
            self.read(|connection| Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?))?;
        Ok(Forgotten {
            consents,
            log_stays: busy != 0,
        })
    }
}

/// Removes the operator's consents for one person's imported records. Returns their number.
pub(in crate::consent) fn forget_person(
    connection: &Connection,
    now: i64,
    application: &str,
    mode: Mode,
    patient: &str,
) -> Result<u64, Error> {
    let sql = "SELECT DISTINCT consent.id FROM consent JOIN consent_patient ON consent_patient.consent = consent.id
               WHERE application = ?1 AND mode = ?2 AND patient = ?3 AND made_by = 'operator'";
    let mut statement = connection.prepare(sql)?;
    let ids = statement.query_map(params![application, mode.schema(), patient], |row| row.get(0))?;
    let ids: Vec<String> = ids.collect::<Result<_, _>>()?;
    for id in &ids {
        // Servers cache verified tokens. So add an entry with the consent's id, which revokes all tokens of the
        // consent.
        let sql = "INSERT INTO revoked_token (jti, expires_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        connection.execute(sql, params![id, now + PATIENT_SECONDS])?;
        end_what_was_given_out(connection, now, (Actor::Operator, "erased"), id)?;
        if let Some(consent) = Consent::get(connection, id)? {
            tell_revoked(connection, now, &consent, Actor::Operator)?;
        }
        connection.execute("DELETE FROM consent WHERE id = ?1", [id])?;
        let about = About {
            application: Some(application),
            consent: Some(id),
            authorization: None,
        };
        note(connection, now, Actor::Operator, "consent.erased", about, "")?;
    }
    Ok(ids.len() as u64)
}
