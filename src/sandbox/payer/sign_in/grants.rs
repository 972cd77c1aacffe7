//! The pending logins, authorization codes, access tokens and refresh tokens of an organization. They are kept only in
//! memory, so they are lost when the process ends.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::scopes::{Granted, Requested};

/// The time that a person has to log in and agree: 30 minutes.
const FLOW: Duration = Duration::from_secs(30 * 60);
/// The lifetime of an authorization code: 10 minutes.
const CODE: Duration = Duration::from_secs(10 * 60);

/// An authorization request, and the person who has logged in for it.
#[derive(Clone, Debug)]
pub(in crate::sandbox::payer) struct Flow {
    pub(in crate::sandbox::payer) client: String,
    pub(in crate::sandbox::payer) redirect_uri: String,
    pub(in crate::sandbox::payer) state: String,
    pub(in crate::sandbox::payer) challenge: String,
    pub(in crate::sandbox::payer) nonce: Option<String>,
    pub(in crate::sandbox::payer) requested: Requested,
    /// The index of the person who logged in. `None` before the login.
    pub(in crate::sandbox::payer) person: Option<u64>,
}

/// A person's consent: which client may read which types of the person's records.
#[derive(Clone, Debug)]
pub(in crate::sandbox::payer) struct Consent {
    pub(in crate::sandbox::payer) client: String,
    pub(in crate::sandbox::payer) person: u64,
    pub(in crate::sandbox::payer) granted: Granted,
    pub(in crate::sandbox::payer) nonce: Option<String>,
}

struct Code {
    redirect_uri: String,
    challenge: String,
    consent: Consent,
}

/// All pending logins, codes and tokens of one organization.
#[derive(Default)]
pub(in crate::sandbox::payer) struct Grants {
    flows: Expiring<Flow>,
    codes: Expiring<Code>,
    access: Expiring<Consent>,
    refresh: HashMap<String, Consent>,
}

/// The reason why a code or a refresh token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::sandbox::payer) enum Refused {
    #[error("the code is unknown, expired or used already")]
    Code,
    #[error("the code was issued to another client")]
    Client,
    #[error("redirect_uri is not the one of the authorization request")]
    RedirectUri,
    #[error("code_verifier does not match the code_challenge")]
    Verifier,
    #[error("the refresh token is unknown or used already")]
    Refresh,
}

impl Grants {
    /// Begins a flow and returns its random id. Only the person's browser learns the id.
    pub(in crate::sandbox::payer) fn begin(&mut self, flow: Flow) -> String {
        self.flows.insert(flow, FLOW)
    }

    pub(in crate::sandbox::payer) fn flow(&self, name: &str) -> Option<Flow> {
        self.flows.get(name).cloned()
    }

    /// Stores in the flow `name` which person has logged in.
    pub(in crate::sandbox::payer) fn logged_in(&mut self, name: &str, person: u64) {
        if let Some(flow) = self.flows.get_mut(name) {
            flow.person = Some(person);
        }
    }

    /// Ends the flow `name` and returns it. `None` if it is unknown or has expired.
    pub(in crate::sandbox::payer) fn end(&mut self, name: &str) -> Option<Flow> {
        self.flows.remove(name)
    }

    /// Issues an authorization code for a consent.
    pub(in crate::sandbox::payer) fn code(&mut self, flow: &Flow, consent: Consent) -> String {
        let code = Code {
            redirect_uri: flow.redirect_uri.clone(),
            challenge: flow.challenge.clone(),
            consent,
        };
        self.codes.insert(code, CODE)
    }

    /// Exchanges a code for its consent. The code is then used up, even if another parameter is wrong.
    pub(in crate::sandbox::payer) fn redeem(
        &mut self,
        code: &str,
        client: &str,
        redirect_uri: &str,
        verifier: &str,
    ) -> Result<Consent, Refused> {
        let code = self.codes.remove(code).ok_or(Refused::Code)?;
        if code.consent.client != client {
            return Err(Refused::Client);
        }
        if code.redirect_uri != redirect_uri {
            return Err(Refused::RedirectUri);
        }
        if challenge(verifier) != code.challenge {
            return Err(Refused::Verifier);
        }
        Ok(code.consent)
    }

    /// Issues an access token.
    pub(in crate::sandbox::payer) fn access(&mut self, consent: Consent, seconds: u64) -> String {
        self.access.insert(consent, Duration::from_secs(seconds))
    }

    /// Issues a refresh token.
    pub(in crate::sandbox::payer) fn refresh(&mut self, consent: Consent) -> String {
        let token = random();
        self.refresh.insert(token.clone(), consent);
        token
    }

    /// Exchanges a refresh token for its consent. The token is then used up. If another client sends the token, it is
    /// refused and stays valid.
    pub(in crate::sandbox::payer) fn refreshed(&mut self, token: &str, client: &str) -> Result<Consent, Refused> {
        let ours = self.refresh.get(token).is_some_and(|consent| consent.client == client);
        let consent = ours.then(|| self.refresh.remove(token)).flatten();
        consent.ok_or(Refused::Refresh)
    }

    /// Returns the consent of an access token. `None` if the token is unknown or has expired.
    pub(in crate::sandbox::payer) fn bearer(&self, token: &str) -> Option<Consent> {
        self.access.get(token).cloned()
    }

    /// Invalidates all access tokens.
    pub(in crate::sandbox::payer) fn expire(&mut self) {
        self.access = Expiring::default();
    }
}

/// Values with random ids as keys. Each value expires at its own time.
struct Expiring<T>(HashMap<String, (Instant, T)>);

impl<T> Default for Expiring<T> {
    fn default() -> Self {
        Expiring(HashMap::new())
    }
}

impl<T> Expiring<T> {
    fn insert(&mut self, thing: T, lasts: Duration) -> String {
        let now = Instant::now();
        // Removes expired entries. This takes time, so it does not happen at each call. It happens only when the number
        // of entries is a power of two, and at least 1024.
        if self.0.len() >= 1024 && self.0.len().is_power_of_two() {
            self.0.retain(|_, (until, _)| *until > now);
        }
        let name = random();
        let until = now.checked_add(lasts).unwrap_or(now);
        self.0.insert(name.clone(), (until, thing));
        name
    }

    fn get(&self, name: &str) -> Option<&T> {
        let (until, thing) = self.0.get(name)?;
        (*until > Instant::now()).then_some(thing)
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        let (until, thing) = self.0.get_mut(name)?;
        (*until > Instant::now()).then_some(thing)
    }

    fn remove(&mut self, name: &str) -> Option<T> {
        let (until, thing) = self.0.remove(name)?;
        (until > Instant::now()).then_some(thing)
    }
}

/// Returns a random id with 244 random bits.
pub(in crate::sandbox::payer) fn random() -> String {
    let halves = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
    URL_SAFE_NO_PAD.encode(halves.map(|half| half.into_bytes()).concat())
}

/// Returns the S256 challenge of a verifier.
fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Flow {
        Flow {
            client: "c".into(),
            redirect_uri: "http://127.0.0.1/back".into(),
            state: "s".into(),
            challenge: challenge("verifier"),
            nonce: None,
            requested: Requested::default(),
            person: None,
        }
    }

    fn consent() -> Consent {
        Consent {
            client: "c".into(),
            person: 3,
            granted: Granted::default(),
            nonce: None,
        }
    }

    #[test]
    fn a_code_is_good_once_and_for_its_own_request_only() {
        let mut grants = Grants::default();
        let back = "http://127.0.0.1/back";
        let mut redeem = |client: &str, uri: &str, verifier: &str| {
            let code = grants.code(&flow(), consent());
            let first = grants
                .redeem(&code, client, uri, verifier)
                .map(|consent| consent.person);
            assert!(matches!(
                grants.redeem(&code, "c", back, "verifier"),
                Err(Refused::Code)
            ));
            first
        };
        assert_eq!(redeem("c", back, "verifier"), Ok(3));
        assert_eq!(redeem("d", back, "verifier"), Err(Refused::Client));
        assert_eq!(
            redeem("c", "http://127.0.0.1/back/", "verifier"),
            Err(Refused::RedirectUri)
        );
        assert_eq!(redeem("c", back, "verifies"), Err(Refused::Verifier));
    }

    #[test]
    fn tokens_end_and_refresh_tokens_are_good_once() {
        let mut grants = Grants::default();
        let dead = grants.access(consent(), 0);
        let alive = grants.access(consent(), 60);
        assert!(grants.bearer(&dead).is_none() && grants.bearer(&alive).is_some());
        grants.expire();
        assert!(grants.bearer(&alive).is_none());
        let token = grants.refresh(consent());
        assert!(grants.refreshed(&token, "d").is_err());
        assert!(grants.refreshed(&token, "c").is_ok());
        assert!(matches!(grants.refreshed(&token, "c"), Err(Refused::Refresh)));
    }
}
