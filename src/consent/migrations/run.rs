//! Runs the steps that a store has not taken yet.

use rusqlite::{Connection, TransactionBehavior};

use super::super::error::Error;
#[cfg(test)]
use super::flow::SEALED_SESSIONS;
#[cfg(test)]
use super::keys::SEALED_KEYS;
use super::steps::STEPS;

/// Migrates the store to the newest version, in one transaction. Another process that opens the store waits for this
/// transaction. Returns [`Error::TooNew`] if a newer release has already migrated the store.
pub(in crate::consent) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let known = STEPS.len() as i64;
    let found = version(connection)?;
    if found > known {
        return Err(Error::TooNew { found, known });
    }
    if found == known {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let taken = version(&transaction)?;
    for step in STEPS.iter().skip(usize::try_from(taken).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    Ok(())
}

/// Takes only the steps before [`SEALED_KEYS`], for a store whose signing keys are not encrypted.
#[cfg(test)]
pub(in crate::consent) fn migrate_before_sealed_keys(connection: &Connection) {
    migrate_before(connection, SEALED_KEYS);
}

/// Takes only the steps before [`SEALED_SESSIONS`], for a store whose sessions are not encrypted.
#[cfg(test)]
pub(in crate::consent) fn migrate_before_sealed_sessions(connection: &Connection) {
    migrate_before(connection, SEALED_SESSIONS);
}

/// Makes a store in memory that has taken only the steps before `step`.
#[cfg(test)]
pub(super) fn before(step: &str) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    migrate_before(&connection, step);
    connection
}

#[cfg(test)]
fn migrate_before(connection: &Connection, step: &str) {
    let known = STEPS.iter().take_while(|known| **known != step);
    for step in known.clone() {
        connection.execute_batch(step).unwrap();
    }
    connection
        .pragma_update(None, "user_version", known.count() as i64)
        .unwrap();
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
