//! Revocation over the link API: one call ends all authorizations of the same user for the same endpoints.

use rusqlite::{Connection, params};

use crate::consent::error::Error;
use crate::consent::log::audit::Actor;
use crate::consent::moves::{end, kill_tokens};
use crate::consent::record::{Authorization, Consent};
use crate::consent::states::{AuthorizationEvent, ConsentEvent};
use crate::consent::store::Store;

/// What a revocation has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revoked {
    /// The number of revoked authorizations.
    pub count: u64,
    /// The ids of the consents of these authorizations.
    pub consents: Vec<String>,
}

impl Store {
    /// Revokes all authorizations of a consent. In other consents of the same user, application and mode, revokes the
    /// authorizations for the same endpoints. If a consent then has no revocable authorization, revokes the consent,
    /// too.
    pub fn revoke_links(&self, consent: &str) -> Result<Revoked, Error> {
        let now = self.clock().now();
        let revoked = self.write_jobs(|transaction| {
            let own = Consent::get(transaction, consent)?.ok_or(Error::Lost("consent"))?;
            let mut revoked = Revoked::default();
            let authorizations = Authorization::of(transaction, &own.id)?;
            let endpoints: Vec<String> = authorizations.iter().map(|one| one.endpoint.clone()).collect();
            for other in others(transaction, &own)? {
                let mut linked = Authorization::of(transaction, &other.id)?;
                linked.retain(|one| one.authorized_at.is_some() && endpoints.contains(&one.endpoint));
                end_these(transaction, now, other, linked, &mut revoked)?;
            }
            end_these(transaction, now, own, authorizations, &mut revoked)?;
            Ok(revoked)
        })?;
        self.take_up_revocations()?;
        self.health_links().wipe_ended()?;
        Ok(revoked)
    }
}

/// Returns the other AUTHORIZED and EXCHANGED consents with the same user, application and mode. Returns none if the
/// application gave no identifier for the user.
fn others(connection: &Connection, own: &Consent) -> Result<Vec<Consent>, Error> {
    let Some(user) = &own.external_id else {
        return Ok(Vec::new());
    };
    let condition = "WHERE application = ?1 AND mode = ?2 AND external_id = ?3 AND id <> ?4
                     AND state IN ('AUTHORIZED', 'EXCHANGED') ORDER BY created_at, id";
    Consent::select(
        connection,
        condition,
        params![own.application, own.mode.schema(), user, own.id],
    )
}

/// Ends these authorizations of a consent. Also revokes the consent if none of its authorizations can be revoked any
/// more.
fn end_these(
    connection: &Connection,
    now: i64,
    mut consent: Consent,
    authorizations: Vec<Authorization>,
    revoked: &mut Revoked,
) -> Result<(), Error> {
    let event = AuthorizationEvent::Revoked;
    let may_end = |one: &Authorization| one.state.after(event).is_ok();
    let ending: Vec<Authorization> = authorizations.into_iter().filter(may_end).collect();
    let is_ending = |one: &Authorization| ending.iter().any(|other| other.id == one.id);
    let mut all = Authorization::of(connection, &consent.id)?.into_iter();
    let is_left = all.any(|one| may_end(&one) && !is_ending(&one));
    // The consent comes first, so that its event comes before those of the syncs that this stops.
    if !is_left && consent.state.after(ConsentEvent::Revoked).is_ok() {
        consent.step(connection, now, Actor::Application, ConsentEvent::Revoked)?;
        let by = (Actor::Application, ConsentEvent::Revoked.name());
        kill_tokens(connection, now, by, &consent.id)?;
    }
    revoked.count += ending.len() as u64;
    let is_any = !ending.is_empty();
    for mut authorization in ending {
        end(connection, now, Actor::Application, &consent, &mut authorization, event)?;
    }
    if is_any {
        revoked.consents.push(consent.id);
    }
    Ok(())
}
