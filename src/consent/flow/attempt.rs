//! A redirect to a source or identity provider, identified by the digest of its `state`. The patient may return with it
//! once, from that source, into the session that sent the patient away.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::authorizing::{PATIENCE, authorizing};
use super::progress::{Asked, Step};
use super::session::{Flow, FlowError};
use super::session_key::SessionKey;
use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::store::Store;

/// Where a patient was sent, or returns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned<'a> {
    /// A source, by its endpoint.
    Endpoint(&'a str),
    /// An identity provider, by its code.
    Provider(&'a str),
}

/// The data kept for the return.
#[derive(Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The authorization of this redirect. `None` for an identity.
    pub authorization: Option<String>,
    /// The verifier for the exchange of the code.
    pub verifier: Vec<u8>,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").finish_non_exhaustive()
    }
}

/// Redirects to sources and identity providers.
#[derive(Clone, Copy, Debug)]
pub struct Attempts<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Attempts<'_> {
    /// The session that sent the patient away with this `state`. Knowing it does not yet permit the caller to continue
    /// there.
    pub fn session(&self, state: &str) -> Result<Option<SessionKey>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT session FROM attempt WHERE digest = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let digest = secret::digest(state);
            let found = statement.query_row([&digest[..]], |row| row.get::<_, [u8; 32]>(0));
            Ok(found.optional()?.map(SessionKey))
        })
    }

    /// Claims an attempt for the session of `key`, which then waits for its result. An attempt can be claimed once, and
    /// only for the source to which the patient was sent: one source's answer never counts as another's (RFC 9700,
    /// section 4.4).
    pub fn take(&self, key: SessionKey, state: &str, from: Returned<'_>) -> Result<(Flow, Attempt), FlowError> {
        let digest = secret::digest(state);
        let (flow, authorization, sealed) = self.store.flows().step(key, |transaction, now, flow| {
            let (authorization, sealed) = spent(transaction, now, key, &digest, from)?.ok_or(FlowError::Stale)?;
            if let Some(on) = awaited(transaction, flow, authorization.as_deref(), from)? {
                let until = now + PATIENCE;
                flow.progress.go(Step::Waiting { on, until });
            }
            Ok((flow.clone(), authorization, sealed))
        })?;
        let verifier = self.store.unseal(&purpose(state), &sealed)?;
        Ok((
            flow,
            Attempt {
                authorization,
                verifier,
            },
        ))
    }

    /// Whether an attempt of this session was claimed before.
    pub fn is_spent(&self, key: SessionKey, state: &str, from: Returned<'_>) -> Result<bool, Error> {
        let (endpoint, provider) = parts(from);
        self.store.read(|connection| {
            let sql = "SELECT 1 FROM attempt WHERE digest = ?1 AND session = ?2 AND used_at IS NOT NULL
                       AND endpoint IS ?3 AND identity_provider IS ?4";
            let digest = secret::digest(state);
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.exists(params![&digest[..], &key.0[..], endpoint, provider])?)
        })
    }

    /// Seals the verifier for the exchange of a code.
    pub(super) fn seal_verifier(&self, state: &str, verifier: &[u8]) -> Result<Vec<u8>, Error> {
        self.store.seal(&purpose(state), verifier)
    }
}

/// Keeps an attempt.
pub(super) fn keep(
    connection: &Connection,
    now: i64,
    flow: &Flow,
    state: &str,
    sealed: &[u8],
    to: Returned<'_>,
    authorization: Option<&str>,
) -> Result<(), Error> {
    let (endpoint, provider) = parts(to);
    let sql = "INSERT INTO attempt (digest, session, authorization, endpoint, identity_provider, sealed, created_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    connection.prepare_cached(sql)?.execute(params![
        &secret::digest(state)[..],
        &flow.key.0[..],
        authorization,
        endpoint,
        provider,
        sealed,
        now
    ])?;
    Ok(())
}

/// The session's wait after an attempt was claimed. `None` if the patient has moved on to another page.
fn awaited(
    transaction: &Transaction<'_>,
    flow: &Flow,
    authorization: Option<&str>,
    from: Returned<'_>,
) -> Result<Option<Asked>, FlowError> {
    Ok(match from {
        Returned::Endpoint(endpoint) => {
            let here = match authorizing(transaction, flow, authorization.unwrap_or_default()) {
                Ok(_) => true,
                Err(FlowError::Stale) => false,
                Err(error) => return Err(error),
            };
            let endpoint = endpoint.to_owned();
            here.then_some(Asked::Source { endpoint })
        }
        Returned::Provider(code) => {
            let code = code.to_owned();
            let here = matches!(flow.progress.step, Step::Identity { .. } | Step::Window { .. });
            here.then_some(Asked::Provider { code })
        }
    })
}

/// The authorization of an attempt, and its sealed verifier.
type Spent = (Option<String>, Vec<u8>);

fn spent(
    transaction: &Transaction<'_>,
    now: i64,
    key: SessionKey,
    digest: &[u8],
    from: Returned<'_>,
) -> Result<Option<Spent>, Error> {
    let (endpoint, provider) = parts(from);
    let sql = "UPDATE attempt SET used_at = ?1 WHERE digest = ?2 AND session = ?3 AND used_at IS NULL
               AND endpoint IS ?4 AND identity_provider IS ?5 RETURNING authorization, sealed";
    let mut statement = transaction.prepare_cached(sql)?;
    let row = statement.query_row(params![now, digest, &key.0[..], endpoint, provider], |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    Ok(row.optional()?)
}

fn parts(place: Returned<'_>) -> (Option<&str>, Option<&str>) {
    match place {
        Returned::Endpoint(endpoint) => (Some(endpoint), None),
        Returned::Provider(provider) => (None, Some(provider)),
    }
}

fn purpose(state: &str) -> String {
    format!("attempt/{}", SessionKey::of(state).text())
}
