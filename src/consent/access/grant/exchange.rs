//! Exchanges a code or public token for the first tokens of a family. The consent and its authorized sources become
//! EXCHANGED, and each of these sources gets a sync job.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::caller::Caller;
use super::code::{Code, Kind};
use super::error::GrantError;
use super::family::{Surface, add_access_token, add_refresh_token, end_family};
use crate::consent::access::secret;
use crate::consent::access::token::{Claims, Issued, Tokens};
use crate::consent::directory::application::Client;
use crate::consent::error::Error;
use crate::consent::log::audit::Actor;
use crate::consent::moves::ONE_TIME_SECONDS;
use crate::consent::record::{Authorization, Consent, Job, Usage};
use crate::consent::states::{AuthorizationEvent, AuthorizationState, ConsentEvent, ConsentState};
use crate::consent::with_sources::ConsentWithSources;

/// The application's tokens.
#[derive(Clone, Debug)]
pub struct Granted {
    /// The access token.
    pub access: Issued,
    /// The refresh token and its lifetime in seconds. `None` if a public token was exchanged and all sources have
    /// usage ONE_TIME.
    pub refresh: Option<(String, i64)>,
    /// The consent after the exchange.
    pub full_consent: ConsentWithSources,
    /// Whether the token family began with a public token. If so, the link API answers the request in a form of its
    /// own.
    pub by_link: bool,
}

/// What a transaction has granted. The access token is signed after the commit.
pub(super) struct Drafted {
    pub(super) claims: Claims,
    pub(super) refresh: Option<(String, i64)>,
    pub(super) full_consent: ConsentWithSources,
    pub(super) surface: Surface,
}

/// The result of a transaction that is committed.
pub(super) enum Outcome {
    Granted(Box<Drafted>),
    /// A refusal that has ended a token family. It is not returned as an error, because after the commit
    /// `Tokens::grant` must reload the revoked tokens. Other refusals write nothing and are returned as an error.
    Refused(GrantError),
}

impl Tokens {
    /// Exchanges an authorization code. A code that was used before is refused. If its first use is more than ten
    /// seconds ago, the tokens of that use end.
    pub fn exchange_code(
        &self,
        caller: &Caller,
        code: &str,
        redirect_uri: &str,
        verifier: &str,
    ) -> Result<Granted, GrantError> {
        self.grant(|connection, now| {
            let code = Code::find(connection, Kind::Code, code)?.ok_or(GrantError::Code)?;
            if code.client != *caller.client.id {
                return Err(GrantError::OtherClient);
            }
            if code.redirect_uri.as_deref() != Some(redirect_uri) {
                return Err(GrantError::RedirectUri);
            }
            if !code
                .challenge
                .as_deref()
                .is_some_and(|challenge| is_answered(challenge, verifier))
            {
                return Err(GrantError::Verifier);
            }
            self.exchange(connection, now, &code, caller, Surface::Oauth)
        })
    }

    /// Exchanges a public token. The caller must have checked the secret key of `client`.
    pub fn exchange_public_token(&self, client: &Client, token: &str) -> Result<Granted, GrantError> {
        self.grant(|connection, now| {
            let code = Code::find(connection, Kind::PublicToken, token)?.ok_or(GrantError::PublicToken)?;
            let consent = Consent::get(connection, &code.consent)?.ok_or(Error::Lost("consent"))?;
            // Compare the application and the mode, not the keys: the client may have got new keys after the token was
            // issued.
            if consent.application != *client.application || consent.mode != client.mode {
                return Err(GrantError::PublicToken);
            }
            let caller = Caller {
                client: client.clone(),
                proven: true,
            };
            self.exchange(connection, now, &code, &caller, Surface::Link)
        })
    }

    /// Runs a grant in one transaction. After the commit, signs the access token.
    pub(super) fn grant(
        &self,
        work: impl FnOnce(&Connection, i64) -> Result<Outcome, GrantError>,
    ) -> Result<Granted, GrantError> {
        let now = self.store().clock().now();
        let mut refused = None;
        let outcome = self.store().write_where(
            |transaction| match work(transaction, now) {
                Ok(outcome) => Ok(Some(outcome)),
                Err(GrantError::Store(error)) => Err(error),
                Err(error) => {
                    refused = Some(error);
                    Ok(None)
                }
            },
            Option::is_some,
        )?;
        match outcome {
            Some(Outcome::Granted(drafted)) => {
                let Drafted {
                    claims,
                    refresh,
                    full_consent,
                    surface,
                } = *drafted;
                Ok(Granted {
                    access: self.sign(&claims)?,
                    refresh,
                    full_consent,
                    by_link: surface == Surface::Link,
                })
            }
            Some(Outcome::Refused(error)) => {
                self.store().take_up_revocations()?;
                Err(error)
            }
            None => Err(refused.unwrap_or(GrantError::Code)),
        }
    }

    /// Exchanges a code or public token, after the caller has checked that it was issued to this client.
    fn exchange(
        &self,
        connection: &Connection,
        now: i64,
        code: &Code,
        caller: &Caller,
        surface: Surface,
    ) -> Result<Outcome, GrantError> {
        let mut consent = Consent::get(connection, &code.consent)?.ok_or(Error::Lost("consent"))?;
        let refused = match surface {
            Surface::Oauth => GrantError::Code,
            Surface::Link => GrantError::PublicToken,
        };
        if let (Some(used_at), Some(family)) = (code.used_at, &code.family)
            && !self.may_be_retry(used_at, now)
        {
            end_family(connection, now, family, &consent, "a code came again")?;
            return Ok(Outcome::Refused(refused));
        }
        let family = Uuid::new_v4().to_string();
        let over = code.expires_at <= now || consent.state != ConsentState::Authorized;
        if over || !code.spend(connection, now, &family)? {
            return Err(refused);
        }
        consent.step(connection, now, Actor::Application, ConsentEvent::Exchanged)?;
        let mut multiple = false;
        for mut authorization in Authorization::of(connection, &consent.id)? {
            if authorization.state == AuthorizationState::Authorized {
                begin(connection, now, &mut authorization)?;
                multiple |= authorization.usage == Usage::Multiple;
            }
        }
        let full_consent = ConsentWithSources::of(connection, consent)?;
        // A public token whose sources all have usage ONE_TIME gives no refresh token. A code always gives one.
        let refresh = if surface == Surface::Oauth || multiple {
            Some(add_refresh_token(
                connection,
                now,
                &family,
                &full_consent,
                surface,
                caller.public_key(),
            )?)
        } else {
            None
        };
        let full_consent = full_consent.again(connection)?;
        let claims = self.draft(&full_consent.consent, &caller.client)?;
        let id = &full_consent.consent.id;
        add_access_token(connection, &family, id, &claims.jti, claims.exp)?;
        Ok(Outcome::Granted(Box::new(Drafted {
            claims,
            refresh,
            full_consent,
            surface,
        })))
    }
}

/// Changes an authorization's state to EXCHANGED and makes the job for its first sync. With usage ONE_TIME, its records
/// expire 24 hours later.
fn begin(connection: &Connection, now: i64, authorization: &mut Authorization) -> Result<(), Error> {
    authorization.step(connection, now, Actor::Application, AuthorizationEvent::Exchanged)?;
    if authorization.usage == Usage::OneTime {
        let sql = "UPDATE patient_authorization SET data_until = ?2 WHERE id = ?1";
        let until = now + ONE_TIME_SECONDS;
        connection
            .prepare_cached(sql)?
            .execute(params![authorization.id, until])?;
    }
    Job::create(connection, now, &authorization.id, "exchange")?;
    Ok(())
}

/// Whether the code verifier matches an S256 code challenge (RFC 7636, section 4.6).
fn is_answered(challenge: &str, verifier: &str) -> bool {
    let answer = URL_SAFE_NO_PAD.encode(secret::digest(verifier));
    verify_slices_are_equal(answer.as_bytes(), challenge.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7636_is_answered() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(is_answered(challenge, verifier));
        assert!(!is_answered(challenge, &verifier.to_lowercase()));
        assert!(!is_answered(verifier, verifier), "a plain challenge is none");
    }
}
