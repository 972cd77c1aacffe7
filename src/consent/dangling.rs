//! References of a consent's records that lead nowhere: in how many syncs in a row each was met, by a hash.
//! Normalization marks one that was met in three.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::error::Error;
use super::store::Store;

/// References of one consent that are kept.
const MAX_KEPT: usize = 100_000;

impl Store {
    /// What the last sync of a consent left.
    pub fn dangling(&self, consent: &str) -> Result<BTreeMap<u64, u32>, Error> {
        self.read(|connection| {
            let sql = "SELECT reference, syncs FROM dangling_reference WHERE consent = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([consent], |row| {
                Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// Puts what a sync met in the place of what the one before met.
pub(super) fn keep_dangling(
    connection: &Connection,
    consent: &str,
    dangling: &BTreeMap<u64, u32>,
) -> Result<(), Error> {
    connection.execute("DELETE FROM dangling_reference WHERE consent = ?1", [consent])?;
    let sql = "INSERT INTO dangling_reference (consent, reference, syncs) VALUES (?1, ?2, ?3)";
    let mut statement = connection.prepare_cached(sql)?;
    for (reference, syncs) in dangling.iter().take(MAX_KEPT) {
        statement.execute(params![consent, reference.cast_signed(), syncs])?;
    }
    Ok(())
}
