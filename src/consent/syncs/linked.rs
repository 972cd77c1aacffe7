//! The further ids under which a source knows a person: the id that it writes for the Patient of the authorization, and
//! the Patients that it links to this one. Each sync finds them out again. Later jobs need them if the source does not
//! answer for the Patient.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::super::error::Error;
use super::super::record::Authorization;
use super::jobs::Jobs;

/// A further id of a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkedPatient {
    /// The id at the source.
    pub source_id: String,
    /// Our id of this Patient.
    pub patient: String,
}

impl Jobs<'_> {
    /// Returns the further ids of an authorization's person.
    pub fn linked_patients(&self, authorization: &str) -> Result<Vec<LinkedPatient>, Error> {
        self.store
            .read(|connection| of_authorization(connection, authorization))
    }
}

/// Returns the further ids of an authorization's person.
pub(in crate::consent) fn of_authorization(
    connection: &Connection,
    authorization: &str,
) -> Result<Vec<LinkedPatient>, Error> {
    let sql = "SELECT source_id, patient FROM linked_patient WHERE authorization = ?1 ORDER BY source_id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([authorization], |row| {
        Ok(LinkedPatient {
            source_id: row.get(0)?,
            patient: row.get(1)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Replaces the further ids of an authorization's person. New Patients become Patients of the consent.
pub(in crate::consent) fn keep_linked(
    connection: &Connection,
    authorization: &Authorization,
    linked: &[LinkedPatient],
) -> Result<(), Error> {
    connection
        .prepare_cached("DELETE FROM linked_patient WHERE authorization = ?1")?
        .execute([&authorization.id])?;
    let mut insert = connection
        .prepare_cached("INSERT INTO linked_patient (authorization, source_id, patient) VALUES (?1, ?2, ?3)")?;
    let sql = "INSERT INTO consent_patient (consent, ordinal, patient)
               SELECT ?1, (SELECT COALESCE(MAX(ordinal) + 1, 0) FROM consent_patient WHERE consent = ?1), ?2
               WHERE NOT EXISTS (SELECT 1 FROM consent_patient WHERE consent = ?1 AND patient = ?2)";
    let mut add = connection.prepare_cached(sql)?;
    for one in linked.iter().collect::<BTreeSet<_>>() {
        insert.execute(params![authorization.id, one.source_id, one.patient])?;
        add.execute(params![authorization.consent, one.patient])?;
    }
    Ok(())
}
