//! Repeats newer erasures in a restored older copy of the store: removes the access, the tokens and the names of
//! people whose rows were erased after the copy was made. Without this, a server on the copy would fetch the erased
//! records again.
//!
//! It decrypts nothing, so it works without the key that sealed the copy's secrets.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::super::clock::Clock;
use super::super::error::Error;
use super::super::flow::forget_sessions;
use super::super::log::audit::Actor;
use super::super::migrations::migrate;
use super::super::moves::{ask_to_erase, end, forget_access, kill_tokens, stop_jobs};
use super::super::record::{Authorization, Consent, Origin};
use super::super::states::{AuthorizationEvent, AuthorizationState, ConsentEvent};
use super::super::store::FILE;
use super::forget::forget_person;
use super::job::{ErasureCause, ErasureJob};
use crate::lake::Mode;
use crate::lake::erase::ledger::Whose;

/// The erasures that took place after the copy was made.
pub trait ErasedElsewhere {
    /// Whether these rows of an owner were erased.
    fn has(&self, mode: Mode, application: &str, owner: i64, whose: Whose<'_>) -> bool;
    /// Returns every owner that the rows of an application's Patient may have.
    fn owners_of(&self, application: &str, patient: &str) -> Vec<i64>;
}

/// Repeats the erasures in the store of a folder. Returns the number of ended consents for imported records plus the
/// number of ended authorizations. Returns zero if there is no store.
pub fn end_erased(folder: &Path, clock: &Clock, erased: &dyn ErasedElsewhere) -> Result<u64, Error> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(0);
    }
    end_in(&path, clock.now(), erased).map_err(|error| error.at(&path))
}

fn end_in(path: &Path, now: i64, erased: &dyn ErasedElsewhere) -> Result<u64, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    migrate(&mut connection)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut ended = 0;
    for mut consent in Consent::select(&transaction, "ORDER BY created_at, id", [])? {
        ended += match consent.made_by {
            Origin::Operator => end_imported(&transaction, now, &consent, erased)?,
            Origin::Oauth | Origin::Link => end_synced(&transaction, now, &mut consent, erased)?,
        };
    }
    transaction.commit()?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(ended)
}

fn end_imported(
    transaction: &Transaction<'_>,
    now: i64,
    consent: &Consent,
    erased: &dyn ErasedElsewhere,
) -> Result<u64, Error> {
    let (mode, application) = (consent.mode, consent.application.as_str());
    let is_erased = |patient: &str| {
        let owners = erased.owners_of(application, patient).into_iter();
        let mut rows = owners.map(|owner| erased.has(mode, application, owner, Whose::Patient(patient)));
        rows.any(|erased| erased)
    };
    let mut ended = 0;
    for patient in consent.patients.iter().filter(|patient| is_erased(patient)) {
        ended += forget_person(transaction, now, application, mode, patient)?;
    }
    Ok(ended)
}

fn end_synced(
    transaction: &Transaction<'_>,
    now: i64,
    consent: &mut Consent,
    erased: &dyn ErasedElsewhere,
) -> Result<u64, Error> {
    let Some(owner) = consent.owner else { return Ok(0) };
    let (mut ended, mut is_revoked) = (0, false);
    let mut authorizations = Authorization::of(transaction, &consent.id)?;
    for authorization in &mut authorizations {
        let whose = Whose::Authorization(&authorization.id);
        if authorization.data_erased_at.is_some() || !erased.has(consent.mode, &consent.application, owner, whose) {
            continue;
        }
        let is_over = authorization.data_until.is_some_and(|until| until <= now);
        let has_elapsed = consent.refresh_until.is_some_and(|until| until <= now);
        let event = if has_elapsed || is_over {
            AuthorizationEvent::WindowElapsed
        } else {
            AuthorizationEvent::Revoked
        };
        // For the OAuth API, an authorization whose one-time records have expired stays EXCHANGED until the refresh
        // window ends. So do not end it here.
        let stays = is_over && !has_elapsed && consent.made_by == Origin::Oauth;
        if !stays && authorization.state.after(event).is_ok() {
            end(transaction, now, Actor::Service, consent, authorization, event)?;
        } else {
            let why = "erased after the backup was taken";
            stop_jobs(transaction, now, &authorization.id, why)?;
            forget_access(transaction, &authorization.id)?;
            let job = ErasureJob::of(transaction, now, consent, ErasureCause::Restore, Actor::Operator)?;
            ask_to_erase(transaction, now, consent, authorization, (why, &job))?;
        }
        is_revoked |= event == AuthorizationEvent::Revoked;
        ended += 1;
    }
    if ended > 0 {
        // Delete the sessions, because a session that was open when the copy was made has data about the person.
        forget_sessions(transaction, &consent.id)?;
    }
    let is_open = |one: &Authorization| {
        use AuthorizationState::{Authorized, Authorizing, Created, Errored, Exchanged};
        matches!(one.state, Created | Authorizing | Authorized | Exchanged | Errored)
    };
    if ended > 0 && !authorizations.iter().any(is_open) {
        if is_revoked && consent.state.after(ConsentEvent::Revoked).is_ok() {
            consent.step(transaction, now, Actor::Service, ConsentEvent::Revoked)?;
        }
        kill_tokens(
            transaction,
            now,
            (Actor::Operator, ErasureCause::Restore.name()),
            &consent.id,
        )?;
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::store::Store;

    struct All;

    impl ErasedElsewhere for All {
        fn has(&self, _: Mode, _: &str, _: i64, _: Whose<'_>) -> bool {
            true
        }

        fn owners_of(&self, _: &str, _: &str) -> Vec<i64> {
            vec![1]
        }
    }

    /// A patient was in the flow when the backup was made. The restored store contains the session of the erased
    /// consent, which must be deleted.
    #[test]
    fn a_session_of_an_erased_consent_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::at(1_000);
        drop(Store::open(folder.path(), clock.clone()).unwrap());
        let connection = Connection::open(folder.path().join(FILE)).unwrap();
        let rows = "
            INSERT INTO organization (id, name, type, created_at) VALUES ('o', 'o', 'PAYER', 0);
            INSERT INTO endpoint (id, organization, name, mode, label, type, refreshable, status, resources, fhir_base,
                                  client_id, scope, identifier_system, created_at)
                VALUES ('e', 'o', 'e', 'live', '[]', 'OAUTH', 1, 'LIVE', '[]', 'https://e.example', 'c', '', 'urn:e', 0);
            INSERT INTO consent (id, application, mode, made_by, state, owner, created_at, touched_at)
                VALUES ('c', 'local', 'live', 'oauth', 'CREATED', 7, 0, 990),
                       ('imported', 'local', 'live', 'operator', 'EXCHANGED', NULL, 0, 0);
            INSERT INTO patient_authorization (id, consent, ordinal, type, state, usage, endpoint, created_at, updated_at)
                VALUES ('a', 'c', 0, 'OAUTH', 'AUTHORIZED', 'MULTIPLE', 'e', 0, 0);
            INSERT INTO flow_session (digest, consent, sealed, created_at) VALUES (x'00', 'c', x'00', 0);";
        connection.execute_batch(rows).unwrap();
        assert_eq!(end_erased(folder.path(), &clock, &All).unwrap(), 1);
        let sql = "SELECT count(*) FROM flow_session";
        let sessions: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(sessions, 0);
    }
}
