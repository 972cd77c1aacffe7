//! Attempts: redirects of a patient to a source or an identity provider. The store finds an attempt by the digest of
//! its OAuth `state`. With this `state` the patient can return once, from the same source or provider, into the
//! session that made the redirect.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::authorizing::{PATIENCE, authorizing};
use super::progress::{Asked, Step};
use super::session::{Flow, FlowError};
use super::session_key::SessionKey;
use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::store::Store;

/// The place to which a patient was sent, or from which the patient returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned<'a> {
    /// A source, by the id of its endpoint.
    Endpoint(&'a str),
    /// An identity provider, by its code.
    Provider(&'a str),
}

/// What the store keeps of an attempt until the patient returns.
#[derive(Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The id of the authorization for the source. `None` for an identity provider.
    pub authorization: Option<String>,
    /// The PKCE code verifier, which the exchange of the code needs.
    pub verifier: Vec<u8>,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").finish_non_exhaustive()
    }
}

/// The repository of redirects of patients to sources and identity providers.
#[derive(Clone, Copy, Debug)]
pub struct Attempts<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Attempts<'_> {
    /// Returns the key of the session that sent the patient away with this `state`. The caller must still check that
    /// the browser belongs to this session.
    pub fn session(&self, state: &str) -> Result<Option<SessionKey>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT session FROM attempt WHERE digest = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let digest = secret::digest(state);
            let found = statement.query_row([&digest[..]], |row| row.get::<_, [u8; 32]>(0));
            Ok(found.optional()?.map(SessionKey))
        })
    }

    /// Claims an attempt for the session of `key`. Then the session shows the waiting page, unless the patient has
    /// moved on. An attempt can be claimed once, and only with the source or provider to which the patient was sent. So
    /// the answer of one source is never taken for that of another (RFC 9700, section 4.4).
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

    /// Whether the attempt with this `state`, of this session and to this source or provider, was claimed before.
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

    /// Encrypts the code verifier of an attempt.
    pub(super) fn seal_verifier(&self, state: &str, verifier: &[u8]) -> Result<Vec<u8>, Error> {
        self.store.seal(&purpose(state), verifier)
    }
}

/// Stores an attempt.
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

/// Returns what the session waits for after an attempt was claimed. `None` if the patient has moved on to another
/// page.
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

/// The id of an attempt's authorization, and the sealed code verifier.
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
