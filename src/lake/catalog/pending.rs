//! The erasures that are recorded and not finished, and the epoch: the number of changes of the rows of existing
//! snapshots. The epoch rises when an erasure is recorded, when files are exchanged, and when a lake is sealed or
//! unsealed.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use crate::lake::erase::{Erasure, Erasures, Intent};
use crate::lake::error::LakeError;
use crate::lake::owners::scope::{Mode, PatientScope, Scope};

/// The metadata key of the epoch. If it is missing, the table of erasures is missing, too.
const EPOCH_KEY: &str = "tabularium.erasures";

/// The table of erasures that are recorded and not finished.
const TABLE: &str = "
CREATE TABLE IF NOT EXISTS tabularium_erasure (erasure_id INTEGER PRIMARY KEY, mode VARCHAR NOT NULL, application VARCHAR NOT NULL, owners VARCHAR NOT NULL, patients VARCHAR NOT NULL, authorizations VARCHAR NOT NULL, first_file BIGINT NOT NULL)";

/// Returns the epoch of the catalog.
pub(in crate::lake) fn epoch(connection: &Connection) -> Result<u64, LakeError> {
    let found: Option<String> = connection
        .prepare_cached("SELECT value FROM ducklake_metadata WHERE key = ? AND scope IS NULL")?
        .query_row([EPOCH_KEY], |row| row.get(0))
        .optional()?;
    let number = |text: String| {
        text.parse()
            .map_err(|_| LakeError::Damaged(format!("{EPOCH_KEY} is no number")))
    };
    found.map_or(Ok(0), number)
}

/// Returns the unfinished erasures and the epoch.
pub(in crate::lake) fn erasures(connection: &Connection) -> Result<Erasures, LakeError> {
    let epoch = epoch(connection)?;
    let mut pending = Vec::new();
    if epoch > 0 {
        let mut statement = connection.prepare_cached(
            "SELECT erasure_id, mode, application, owners, patients, authorizations, first_file
             FROM tabularium_erasure ORDER BY erasure_id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mode: String = row.get(1)?;
            let mode = Mode::named(&mode).ok_or_else(damaged)?;
            let patient = PatientScope {
                owners: list(&row.get::<_, String>(3)?)?,
                patients: list(&row.get::<_, String>(4)?)?,
                authorizations: list(&row.get::<_, String>(5)?)?,
            };
            pending.push(Arc::new(Erasure {
                id: row.get(0)?,
                scope: Arc::new(Scope {
                    mode,
                    application: row.get::<_, String>(2)?.into(),
                    patient: Some(Arc::new(patient)),
                }),
                first_file: row.get(6)?,
            }));
        }
    }
    Ok(Erasures { epoch, pending })
}

/// Returns the intents of unfinished erasures, by the ids of the erasures.
pub(in crate::lake::catalog) fn intents(connection: &Connection) -> Result<BTreeMap<u64, Intent>, LakeError> {
    let pending = erasures(connection)?.pending;
    let each = pending
        .iter()
        .filter_map(|erasure| Some((erasure.id, erasure.intent()?)));
    Ok(each.collect())
}

/// Returns the intents of unfinished erasures.
pub(in crate::lake) fn unfinished(connection: &Connection) -> Result<Vec<Intent>, LakeError> {
    let pending = erasures(connection)?.pending;
    Ok(pending.iter().filter_map(|erasure| erasure.intent()).collect())
}

/// Makes the table of erasures if it is missing.
pub(super) fn make_table(connection: &Connection) -> Result<(), LakeError> {
    Ok(connection.execute_batch(TABLE)?)
}

/// Raises the epoch by `erasures`, and creates the table of erasures if it is missing: a catalog with an epoch must
/// have it.
pub(in crate::lake) fn count_on(transaction: &Connection, erasures: u64) -> Result<(), LakeError> {
    make_table(transaction)?;
    count(transaction, erasures).map(drop)
}

/// Raises the epoch by `changes`. Returns the new epoch.
pub(super) fn count(transaction: &Connection, changes: u64) -> Result<u64, LakeError> {
    let next = epoch(transaction)? + changes;
    transaction.execute(
        "DELETE FROM ducklake_metadata WHERE key = ? AND scope IS NULL",
        [EPOCH_KEY],
    )?;
    transaction.execute(
        "INSERT INTO ducklake_metadata VALUES (?, ?, NULL, NULL)",
        [EPOCH_KEY, &next.to_string()],
    )?;
    Ok(next)
}

fn list<T: serde::de::DeserializeOwned>(text: &str) -> Result<Vec<T>, LakeError> {
    serde_json::from_str(text).map_err(|_| damaged())
}

fn damaged() -> LakeError {
    LakeError::Damaged("tabularium_erasure has a row that is no erasure".to_owned())
}
