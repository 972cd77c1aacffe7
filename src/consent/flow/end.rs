//! Ends a flow: with a code or token that the application can exchange, or without one.

use rusqlite::Transaction;

use super::progress::Step;
use super::request::Door;
use super::session::{Flow, FlowError, Flows};
use super::session_key::SessionKey;
use super::steps::leave_open;
use crate::consent::access::grant::{NewCode, issue_code, issue_public_token};
use crate::consent::error::Error;
use crate::consent::log::audit::Actor;
use crate::consent::moves::end;
use crate::consent::record::Authorization;
use crate::consent::states::{AuthorizationEvent, AuthorizationState, ConsentEvent};

/// How a flow has ended, for the answer to the application.
#[derive(Clone, PartialEq, Eq)]
pub enum Ended {
    /// The flow has ended with an authorization code.
    Code(String),
    /// The flow has ended with a public token, for the link component.
    PublicToken(String),
    /// The flow has ended without a code or token, because no source granted access.
    NoSource,
}

impl std::fmt::Debug for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Ended::Code(_) => "Code",
            Ended::PublicToken(_) => "PublicToken",
            Ended::NoSource => "NoSource",
        })
    }
}

impl Flows<'_> {
    /// Ends the flow when the patient finishes. The consent becomes AUTHORIZED and covers the sources that have granted
    /// access. If no source has granted access, the consent becomes ABANDONED.
    pub fn finish(&self, key: SessionKey) -> Result<(Flow, Ended), FlowError> {
        self.step(key, |transaction, now, flow| {
            leave_open(transaction, now, flow)?;
            if flow.authorized().next().is_none() {
                abandon(transaction, now, flow)?;
                return Ok((flow.clone(), Ended::NoSource));
            }
            flow.consent
                .step(transaction, now, Actor::Patient, ConsentEvent::Finished)?;
            let (consent, client) = (&flow.consent.id, &flow.request.client);
            let ended = match flow.request.door {
                Door::Link => Ended::PublicToken(issue_public_token(transaction, now, consent, client)?),
                Door::Oauth | Door::Smart => Ended::Code(issue_code(
                    transaction,
                    now,
                    &NewCode {
                        consent,
                        client,
                        redirect_uri: flow.request.redirect_uri.as_deref().unwrap_or_default(),
                        challenge: flow.request.challenge.as_deref().unwrap_or_default(),
                    },
                )?),
            };
            close(now, flow);
            Ok((flow.clone(), ended))
        })
    }

    /// Ends the flow when the patient leaves without sharing anything. Revokes the authorizations of sources that
    /// have granted access.
    pub fn cancel(&self, key: SessionKey) -> Result<Flow, FlowError> {
        self.step(key, |transaction, now, flow| {
            leave_open(transaction, now, flow)?;
            abandon(transaction, now, flow)?;
            Ok(flow.clone())
        })
    }

    /// Removes one connected source at the patient's request, before the flow ends: revokes the authorization of this
    /// endpoint.
    pub fn remove_source(&self, key: SessionKey, endpoint: &str) -> Result<(), FlowError> {
        self.step(key, |transaction, now, flow| {
            if flow.progress.step != Step::Hub {
                return Err(FlowError::Stale);
            }
            let granted =
                |one: &&mut Authorization| one.endpoint == endpoint && one.state == AuthorizationState::Authorized;
            let one = flow.authorizations.iter_mut().find(granted).ok_or(FlowError::Stale)?;
            let event = AuthorizationEvent::Revoked;
            end(transaction, now, Actor::Patient, &flow.consent, one, event)?;
            flow.progress.go(Step::Hub);
            Ok(())
        })
    }

    /// Returns `true` if the flow has ended and nobody has told the application yet. Then the caller must tell it how
    /// the flow ended. Marks the session as told, so later calls return `false`.
    pub fn tell(&self, key: SessionKey) -> Result<bool, Error> {
        let sealer = self.store.sealer();
        self.store.write(|transaction| {
            let Some(mut flow) = Flow::load(transaction, sealer, key)? else {
                return Ok(false);
            };
            if flow.is_open() || flow.progress.told {
                return Ok(false);
            }
            let ended_at = flow.ended_at.unwrap_or_else(|| self.store.clock().now());
            close(ended_at, &mut flow);
            flow.save(transaction, sealer)?;
            Ok(true)
        })
    }
}

fn abandon(transaction: &Transaction<'_>, now: i64, flow: &mut Flow) -> Result<(), Error> {
    for one in &mut flow.authorizations {
        if one.state == AuthorizationState::Authorized {
            end(
                transaction,
                now,
                Actor::Patient,
                &flow.consent,
                one,
                AuthorizationEvent::Revoked,
            )?;
        }
    }
    flow.consent
        .step(transaction, now, Actor::Patient, ConsentEvent::Left)?;
    close(now, flow);
    Ok(())
}

fn close(now: i64, flow: &mut Flow) {
    flow.ended_at = Some(now);
    flow.progress.told = true;
    flow.progress.window = None;
    flow.forget_person();
}
