//! Refreshing: a refresh token is exchanged once, for an access token and the next refresh token of its family.

use rusqlite::{Connection, params};

use super::caller::Caller;
use super::error::GrantError;
use super::exchange::{Drafted, Granted, Outcome};
use super::family::{RefreshToken, Surface, add_access_token, add_refresh_token, end_family};
use crate::consent::access::token::Tokens;
use crate::consent::error::Error;
use crate::consent::log::audit::Actor;
use crate::consent::moves::forget_outcomes;
use crate::consent::record::{Authorization, Consent, Job, Usage};
use crate::consent::states::{AuthorizationEvent, AuthorizationState, ConsentState};
use crate::consent::with_sources::{ConsentWithSources, Source};

/// Whether a refresh requests new records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resync {
    /// The refresh only issues tokens.
    Never,
    /// The refresh syncs sources of usage MULTIPLE again, and retries sources whose first sync failed.
    Multiple,
}

impl Tokens {
    /// Exchanges a refresh token. A token that was used before is refused. If its first use is more than ten seconds
    /// ago, its family ends. A jump of the clock in between does not count. A public client may refresh without naming
    /// itself (RFC 6749, section 6): then `caller` is `None`.
    pub fn refresh(&self, caller: Option<&Caller>, token: &str, resync: Resync) -> Result<Granted, GrantError> {
        self.grant(|connection, now| {
            let token = RefreshToken::find(connection, token)?.ok_or(GrantError::RefreshToken)?;
            let consent = Consent::get(connection, &token.consent)?.ok_or(Error::Lost("consent"))?;
            let caller = match caller {
                Some(caller) => caller.clone(),
                None => {
                    let client = token.public_client.as_deref().ok_or(GrantError::Unnamed)?;
                    Caller::unproven(connection, now, client)?
                }
            };
            // The token is bound to the application and the mode, not to a publishable key. So it works after a
            // rotation of the keys.
            if consent.application != *caller.client.application || consent.mode != caller.client.mode {
                return Err(GrantError::OtherClient);
            }
            if token.surface == Surface::Link && !caller.proven {
                return Err(GrantError::NeedsSecret);
            }
            self.refreshed(connection, now, &token, consent, &caller, resync)
        })
    }

    fn refreshed(
        &self,
        connection: &Connection,
        now: i64,
        token: &RefreshToken,
        consent: Consent,
        caller: &Caller,
        resync: Resync,
    ) -> Result<Outcome, GrantError> {
        if token.used_at.is_some_and(|used_at| !self.may_be_retry(used_at, now)) {
            end_family(connection, now, &token.family, &consent, "a refresh token came again")?;
            return Ok(Outcome::Refused(GrantError::RefreshToken));
        }
        let full_consent = ConsentWithSources::of(connection, consent)?;
        let stands = full_consent.consent.state == ConsentState::Exchanged
            && full_consent.sources.iter().any(|one| one.may_refresh());
        if token.revoked_at.is_some() || token.expires_at <= now || !stands {
            return Err(GrantError::RefreshToken);
        }
        // Check this before the token is marked as used, so that the client can use the refused token for a refresh
        // without a sync.
        if resync == Resync::Multiple && self.is_in_vain(connection, now, &full_consent)? {
            return Err(GrantError::AccessEnded);
        }
        if !token.spend(connection, now)? {
            return Err(GrantError::RefreshToken);
        }
        for source in &full_consent.sources {
            again(connection, now, &source.authorization, resync)?;
            if resync == Resync::Multiple && self.may_retry(connection, now, source)? {
                let mut authorization = source.authorization.clone();
                authorization.step(connection, now, Actor::Application, AuthorizationEvent::Retried)?;
                forget_outcomes(connection, &authorization.id)?;
                Job::create(connection, now, &authorization.id, "refresh")?;
            }
        }
        let (family, id) = (&token.family, &full_consent.consent.id);
        // With its publishable key stored here, the client can use the next token without naming itself. Store the key
        // only if the present token has one, and if the client has sent no secret key now.
        let public = caller.public_key().filter(|_| token.public_client.is_some());
        let refresh = add_refresh_token(connection, now, family, &full_consent, token.surface, public)?;
        let full_consent = full_consent.again(connection)?;
        let claims = self.draft(&full_consent.consent, &caller.client)?;
        add_access_token(connection, family, id, &claims.jti, claims.exp)?;
        Ok(Outcome::Granted(Box::new(Drafted {
            claims,
            refresh: Some(refresh),
            full_consent,
            surface: token.surface,
        })))
    }

    /// Whether a new sync is impossible: every source failed to deliver its first records, and none can be queried
    /// again.
    fn is_in_vain(
        &self,
        connection: &Connection,
        now: i64,
        full_consent: &ConsentWithSources,
    ) -> Result<bool, GrantError> {
        for source in full_consent.sources.iter().filter(|source| source.may_refresh()) {
            let errored = source.authorization.state == AuthorizationState::Errored;
            if !errored || self.may_retry(connection, now, source)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a source failed to deliver its first records and can be queried again.
    fn may_retry(&self, connection: &Connection, now: i64, source: &Source) -> Result<bool, GrantError> {
        let authorization = &source.authorization;
        let failed = authorization.state == AuthorizationState::Errored && authorization.exchanged_at.is_some();
        Ok(failed
            && !authorization.is_over(now)
            && self.store().credentials().has_access(connection, now, authorization)?)
    }
}

/// Records the refresh of an EXCHANGED source of usage MULTIPLE, and does nothing for other sources. Makes a sync job
/// if `resync` requests one and the source has no unfinished job.
fn again(connection: &Connection, now: i64, authorization: &Authorization, resync: Resync) -> Result<(), Error> {
    if authorization.usage != Usage::Multiple || authorization.state != AuthorizationState::Exchanged {
        return Ok(());
    }
    let sql = "UPDATE patient_authorization SET refreshed_at = ?2 WHERE id = ?1";
    connection
        .prepare_cached(sql)?
        .execute(params![authorization.id, now])?;
    // If the records of this authorization were erased, do not sync: the source delivers records again only under a new
    // authorization.
    if resync == Resync::Never || authorization.data_erased_at.is_some() {
        return Ok(());
    }
    let open = "WHERE authorization = ?1 AND retry = 0 AND state IN ('CREATED', 'WAITING', 'ACTIVE') LIMIT 1";
    if Job::select(connection, open, [&authorization.id])?.is_empty() {
        Job::create(connection, now, &authorization.id, "refresh")?;
    }
    Ok(())
}
