//! Whether a consent's records are there to be read. Every FHIR request of a patient asks, so what was found out is held in memory
//! until anything about jobs changes.

use rusqlite::Connection;

use super::error::Error;
use super::store::Store;

/// Whether a consent's records can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They can.
    Ready,
    /// A source's first records are on their way.
    Syncing,
    /// No source gave any, and none is being asked.
    Nothing,
}

impl Store {
    /// How things stand with a consent's records. Those of the operator's consents are always there.
    pub fn readiness(&self, consent: &str) -> Result<Readiness, Error> {
        // Taken first: what changes while the answer is made is then asked for again.
        let moment = self.jobs_moment();
        if let Some((known, readiness)) = self.known_readiness().get(consent)
            && known == moment
        {
            return Ok(readiness);
        }
        let readiness = self.read(|connection| read(connection, consent))?;
        self.known_readiness().insert(consent.to_owned(), (moment, readiness));
        Ok(readiness)
    }
}

fn read(connection: &Connection, consent: &str) -> Result<Readiness, Error> {
    let sql = "SELECT auth.state = 'EXCHANGED',
                      NOT EXISTS (SELECT 1 FROM sync_job WHERE authorization = auth.id AND state = 'COMPLETED')
                      AND EXISTS (SELECT 1 FROM sync_job WHERE authorization = auth.id
                                  AND state IN ('CREATED', 'WAITING', 'ACTIVE'))
               FROM patient_authorization AS auth
               WHERE auth.consent = ?1 AND auth.state IN ('EXCHANGED', 'ERRORED')";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([consent])?;
    let (mut any, mut exchanged, mut first) = (false, false, false);
    while let Some(row) = rows.next()? {
        any = true;
        exchanged |= row.get::<_, bool>(0)?;
        first |= row.get::<_, bool>(1)?;
    }
    Ok(match (any, exchanged, first) {
        (_, _, true) => Readiness::Syncing,
        (true, false, false) => Readiness::Nothing,
        _ => Readiness::Ready,
    })
}
