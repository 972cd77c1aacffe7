//! Applies time limits: patients who left the flow, codes that nobody exchanged, ended refresh windows, expired
//! one-time records.
//!
//! A server calls [`Store::sweep`] every second. Other code does not rely on the sweep: it compares a time limit with
//! the clock before each use, and only refuses. What cannot be undone happens here alone, after two looks at the clock
//! that agree ([`Store::settled_now`]). So a clock that is wrong for a moment ends and deletes nothing.

use std::sync::atomic::Ordering;

use rusqlite::{Connection, params};

use super::access::access_tokens::forget_expired;
use super::access::cards;
use super::access::console;
use super::access::es256;
use super::access::health_link;
use super::access::lifetime::PATIENT_SECONDS;
use super::access::rs256::signing_keys::forget_retired;
use super::access::seal::Sealer;
use super::erasure::job::{ErasureCause, ErasureJob};
use super::error::Error;
use super::flow::{KEPT, end_left, forget_revoked_sessions};
use super::log::audit::Actor;
use super::moves::{IDLE_SECONDS, ask_to_erase, end, forget_access, kill_tokens, stop_jobs};
use super::record::{Authorization, Consent};
use super::states::{AuthorizationEvent, AuthorizationState, ConsentEvent};
use super::store::Store;
use super::unbegun;
use super::webhooks;

/// The maximum number of rows that the sweep changes in one transaction for each time limit, so that other writers need
/// not wait long.
const AT_ONCE: u32 = 100;
const HOUR: i64 = 3_600;

/// What a sweep has done: the number of cases for each time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Flows that ended because the patient was idle for too long.
    pub left: usize,
    /// Consents whose code or public token was not exchanged in time.
    pub unused: usize,
    /// Consents whose refresh window has ended.
    pub expired: usize,
    /// One-time authorizations whose data has expired.
    pub emptied: usize,
    /// Flows that no browser opened. Their consents were deleted and counted.
    pub unbegun: usize,
    /// Authorizations in state ERRORED that can no longer be retried.
    pub given_up: usize,
    /// Expired health links.
    pub links: usize,
}

impl Store {
    /// Makes all transitions whose time has come. Makes none as long as the looks at the clock do not agree.
    pub fn sweep(&self) -> Result<Swept, Error> {
        let settled = self.settled_now();
        if let Some(now) = settled {
            self.keep_house(now)?;
        }
        let overdue_at = settled.map(|now| Ok::<_, Error>((now, self.read(|connection| overdue(connection, now))?)));
        let Some((now, true)) = overdue_at.transpose()? else {
            self.health_links().wipe_ended()?;
            return Ok(Swept::default());
        };
        let mut swept = Swept::default();
        loop {
            let done = self.write_jobs(|transaction| {
                let before = swept;
                left(transaction, self.sealer(), now, &mut swept)?;
                swept.unused += unused(transaction, now)?;
                swept.emptied += emptied(transaction, now)?;
                swept.expired += expired(transaction, now)?;
                swept.given_up += given_up(transaction, now)?;
                swept.links += health_link::over(transaction, now)?;
                Ok(before == swept)
            })?;
            if done {
                break;
            }
        }
        self.take_up_revocations()?;
        self.health_links().wipe_ended()?;
        Ok(swept)
    }
}

const LEFT: &str = "WHERE state = 'CREATED' AND touched_at <= ?1";
const UNUSED: &str = "WHERE state = 'AUTHORIZED' AND code_until <= ?1";
/// The condition for consents whose refresh window has ended. A consent without EXCHANGED authorizations is not
/// selected, because it has nothing that can expire. Otherwise every sweep would select it again.
const EXPIRED: &str =
    "WHERE state = 'EXCHANGED' AND refresh_until <= ?1 AND EXISTS (SELECT 1 FROM patient_authorization
                       WHERE consent = consent.id AND state = 'EXCHANGED')";
const EMPTIED: &str = "WHERE state = 'EXCHANGED' AND data_until <= ?1 AND data_erased_at IS NULL";
/// The condition for authorizations in state ERRORED that the application can no longer retry, and that still have a
/// credential or the source's message. The sweep deletes both. They are kept only as long as a retry is possible.
const GIVEN_UP: &str = "WHERE state = 'ERRORED'
                        AND (EXISTS (SELECT 1 FROM credential WHERE authorization = patient_authorization.id)
                             OR EXISTS (SELECT 1 FROM sync_job WHERE authorization = patient_authorization.id
                                                               AND outcome IS NOT NULL))
                        AND (data_until <= ?1 OR EXISTS (SELECT 1 FROM consent WHERE consent.id = patient_authorization.consent
                                                         AND refresh_until <= ?1))";

fn overdue(connection: &Connection, now: i64) -> Result<bool, Error> {
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM consent {LEFT_AT}) OR EXISTS (SELECT 1 FROM consent {UNUSED})
             OR EXISTS (SELECT 1 FROM consent {EXPIRED}) OR EXISTS (SELECT 1 FROM patient_authorization {EMPTIED})
             OR EXISTS (SELECT 1 FROM patient_authorization {GIVEN_UP})
             OR EXISTS (SELECT 1 FROM health_link {LINKS_OVER})",
        LINKS_OVER = health_link::LINKS_OVER,
        LEFT_AT = LEFT.replace("?1", "?2"),
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_row(params![now, now - IDLE_SECONDS], |row| row.get(0))?)
}

impl Store {
    /// Does the maintenance, if the last one was at least an hour ago. Deletes old sessions, expired tokens, former
    /// keys, unsigned health cards, old webhooks and the operator's expunged consents. Replaces keys that have signed
    /// for a year, writes the counts of unopened flows to the audit log, and archives old audit lines.
    fn keep_house(&self, now: i64) -> Result<(), Error> {
        let last = self.kept_house_at().swap(now, Ordering::SeqCst);
        if (last..last.saturating_add(HOUR)).contains(&now) {
            self.kept_house_at().store(last, Ordering::SeqCst);
            return Ok(());
        }
        self.write(|transaction| {
            // Delete sessions that ended long ago, because nobody needs them.
            transaction.execute("DELETE FROM flow_session WHERE ended_at < ?1", [now - KEPT])?;
            forget_revoked_sessions(transaction, now)?;
            cards::forget_unsigned(transaction, now)?;
            console::forget_over(transaction, now)?;
            forget_expired(transaction, now)?;
            forget_retired(transaction, now)?;
            transaction.execute("DELETE FROM registration_token WHERE expires_at <= ?1", [now])?;
            es256::renew(transaction, self.sealer(), now)?;
            webhooks::forget_old(transaction, now)?;
            // Delete the operator's consents whose imported records were expunged, because such a consent still
            // contains the Patient's id. Delete a consent only after its last token has expired.
            let sql = "DELETE FROM consent WHERE made_by = 'operator' AND expunged_at < ?1
                       AND NOT EXISTS (SELECT 1 FROM erasure WHERE consent = consent.id AND done_at IS NULL)";
            transaction.execute(sql, [now - PATIENT_SECONDS])?;
            unbegun::note_counts(transaction, now)
        })?;
        // If archiving fails, the old lines stay in the store, and the next maintenance tries again.
        if let Err(error) = self.audit().archive(now) {
            tracing::error!(%error, "old audit lines were not archived");
        }
        Ok(())
    }
}

/// Ends flows whose patient has left. Also ends the authorizations of sources that have granted access, because the
/// application will not get a code for them.
fn left(connection: &Connection, sealer: &Sealer, now: i64, swept: &mut Swept) -> Result<(), Error> {
    for mut consent in Consent::select(connection, &limited(LEFT), [now - IDLE_SECONDS])? {
        if unbegun::forget(connection, &consent)? {
            swept.unbegun += 1;
            continue;
        }
        for mut authorization in Authorization::of(connection, &consent.id)? {
            let event = match authorization.state {
                AuthorizationState::Created | AuthorizationState::Authorizing => AuthorizationEvent::Left,
                AuthorizationState::Authorized => AuthorizationEvent::CodeExpired,
                _ => continue,
            };
            end(connection, now, Actor::Service, &consent, &mut authorization, event)?;
        }
        consent.step(connection, now, Actor::Service, ConsentEvent::Left)?;
        end_left(connection, sealer, now, &consent.id)?;
        swept.left += 1;
    }
    Ok(())
}

fn unused(connection: &Connection, now: i64) -> Result<usize, Error> {
    let consents = Consent::select(connection, &limited(UNUSED), [now])?;
    for mut consent in consents.iter().cloned() {
        for mut authorization in Authorization::of(connection, &consent.id)? {
            if authorization.state == AuthorizationState::Authorized {
                let event = AuthorizationEvent::CodeExpired;
                end(connection, now, Actor::Service, &consent, &mut authorization, event)?;
            }
        }
        consent.step(connection, now, Actor::Service, ConsentEvent::CodeExpired)?;
    }
    Ok(consents.len())
}

fn expired(connection: &Connection, now: i64) -> Result<usize, Error> {
    let consents = Consent::select(connection, &limited(EXPIRED), [now])?;
    for consent in &consents {
        for mut authorization in Authorization::of(connection, &consent.id)? {
            if authorization.state == AuthorizationState::Exchanged {
                let event = AuthorizationEvent::WindowElapsed;
                end(connection, now, Actor::Service, consent, &mut authorization, event)?;
            }
        }
        let ending = (Actor::Service, AuthorizationEvent::WindowElapsed.name());
        kill_tokens(connection, now, ending, &consent.id)?;
    }
    Ok(consents.len())
}

/// Ends one-time access whose 24 hours are over. An authorization of the link API expires. An authorization of the
/// OAuth API loses its records but stays EXCHANGED, so that its tokens can be refreshed until the refresh window
/// ends.
fn emptied(connection: &Connection, now: i64) -> Result<usize, Error> {
    let authorizations = Authorization::select(connection, &limited(EMPTIED), [now])?;
    for mut authorization in authorizations.iter().cloned() {
        let consent = Consent::get(connection, &authorization.consent)?.ok_or(Error::Lost("consent"))?;
        if consent.made_by == super::record::Origin::Link {
            let event = AuthorizationEvent::WindowElapsed;
            end(connection, now, Actor::Service, &consent, &mut authorization, event)?;
        } else {
            let why = "over after its one day";
            stop_jobs(connection, now, &authorization.id, why)?;
            forget_access(connection, &authorization.id)?;
            let job = ErasureJob::of(connection, now, &consent, ErasureCause::Expiry, Actor::Service)?;
            ask_to_erase(connection, now, &consent, &mut authorization, (why, &job))?;
        }
    }
    Ok(authorizations.len())
}

/// Deletes the credential and the source's message of each authorization whose first sync failed and can no longer be
/// retried.
fn given_up(connection: &Connection, now: i64) -> Result<usize, Error> {
    let authorizations = Authorization::select(connection, &limited(GIVEN_UP), [now])?;
    for authorization in &authorizations {
        forget_access(connection, &authorization.id)?;
    }
    Ok(authorizations.len())
}

fn limited(condition: &str) -> String {
    format!("{condition} LIMIT {AT_ONCE}")
}
