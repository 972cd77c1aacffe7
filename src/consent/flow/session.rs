//! A browser's session in the flow, which the store finds by the digest of its cookie. All steps of a flow change their
//! session through this file. The file `session_row` encrypts the values of rows and deletes rows.
//!
//! The request and the progress contain data about the person. So the row stores them encrypted, even if the lake is
//! not sealed.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::progress::{Details, Progress};
use super::request::{Door, FlowRequest, Hints};
use super::session_key::SessionKey;
use super::session_row::{forget, open, seal};
use crate::consent::access::seal::Sealer;
use crate::consent::access::secret;
use crate::consent::directory::application::Client;
use crate::consent::error::Error;
use crate::consent::moves::{IDLE_SECONDS, NewConsent};
use crate::consent::record::{Authorization, Consent, Origin};
use crate::consent::states::{AuthorizationState, ConsentState};
use crate::consent::store::Store;
use crate::consent::unbegun;

/// How many seconds the row of an ended session is kept, so that a patient who returns late gets an explanation.
pub(in crate::consent) const KEPT: i64 = 86_400;

/// A session, with its consent and its authorizations.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The session's key in the store.
    pub key: SessionKey,
    /// The application's request.
    pub request: FlowRequest,
    /// The session's step and the data that the steps have collected.
    pub progress: Progress,
    /// The consent that the flow creates.
    pub consent: Consent,
    /// The authorizations of the chosen sources, in the order in which the patient chose them.
    pub authorizations: Vec<Authorization>,
    /// When the session ended. `None` if it has not ended.
    pub ended_at: Option<i64>,
    /// When the patient was last active, in seconds since the Unix epoch.
    pub(super) touched_at: i64,
}

/// A flow that has just begun.
#[derive(Debug)]
pub struct Begun {
    /// The secret for the session's cookie.
    pub cookie: String,
    /// The session's state.
    pub flow: Flow,
}

/// Why a step is refused.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// There is no such session, the session has ended, or the patient was idle for too long.
    #[error("the session is over")]
    Over,
    /// The session is at a step that does not allow the request. In most cases, the form came from an older page.
    #[error("the session stands at another step")]
    Stale,
    /// The store reported an error.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<rusqlite::Error> for FlowError {
    fn from(error: rusqlite::Error) -> FlowError {
        FlowError::Store(error.into())
    }
}

impl Flow {
    /// Whether the patient can take further steps.
    pub fn is_open(&self) -> bool {
        self.ended_at.is_none() && self.consent.state == ConsentState::Created
    }

    /// Returns the sources that have granted access.
    pub fn authorized(&self) -> impl Iterator<Item = &Authorization> {
        self.in_state(AuthorizationState::Authorized)
    }

    /// Returns the sources that could not be connected for technical reasons.
    pub fn errored(&self) -> impl Iterator<Item = &Authorization> {
        self.in_state(AuthorizationState::Errored)
    }

    /// Whether this endpoint has granted access.
    pub fn has(&self, endpoint: &str) -> bool {
        self.authorized().any(|one| one.endpoint == endpoint)
    }

    fn in_state(&self, state: AuthorizationState) -> impl Iterator<Item = &Authorization> {
        self.authorizations.iter().filter(move |one| one.state == state)
    }

    pub(super) fn load(connection: &Connection, sealer: &Sealer, key: SessionKey) -> Result<Option<Flow>, Error> {
        let sql = "SELECT consent, sealed, ended_at FROM flow_session WHERE digest = ?1 AND sealed IS NOT NULL";
        let mut statement = connection.prepare_cached(sql)?;
        let row = statement.query_row([&key.0[..]], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, Vec<u8>>(1)?,
                row.get::<_, Option<i64>>(2)?,
            ))
        });
        let Some((consent, sealed, ended_at)) = row.optional()? else {
            return Ok(None);
        };
        let (request, progress) = open(sealer, key, &sealed)?;
        let touched_at = connection
            .prepare_cached("SELECT COALESCE(touched_at, created_at) FROM consent WHERE id = ?1")?
            .query_row([&consent], |row| row.get(0))?;
        Ok(Some(Flow {
            key,
            request,
            progress,
            authorizations: Authorization::of(connection, &consent)?,
            consent: Consent::get(connection, &consent)?.ok_or(Error::Lost("consent"))?,
            ended_at,
            touched_at,
        }))
    }

    /// Reads a session. If it has waited too long for an answer, returns it at the step for a missing answer. Does not
    /// write this step into the store.
    fn current(connection: &Connection, sealer: &Sealer, key: SessionKey, now: i64) -> Result<Option<Flow>, Error> {
        let mut flow = Flow::load(connection, sealer, key)?;
        if let Some(flow) = &mut flow {
            flow.progress.settle(now);
        }
        Ok(flow)
    }

    pub(super) fn is_idle(&self, now: i64) -> bool {
        self.touched_at + IDLE_SECONDS <= now
    }

    /// Removes the data about the person, which an ended flow does not need.
    pub(super) fn forget_person(&mut self) {
        self.request.hints = Hints::default();
        self.progress.verified = None;
        self.progress.places = Vec::new();
        self.progress.details = Details::default();
    }

    pub(super) fn save(&self, connection: &Connection, sealer: &Sealer) -> Result<(), Error> {
        let sql = "UPDATE flow_session SET sealed = ?2, ended_at = ?3 WHERE digest = ?1";
        let sealed = seal(sealer, self.key, &self.request, &self.progress)?;
        connection
            .prepare_cached(sql)?
            .execute(params![&self.key.0[..], sealed, self.ended_at])?;
        Ok(())
    }
}

/// Ends the sessions of a consent, because its patient has left the flow. Deletes sessions that cannot be decrypted.
pub(in crate::consent) fn end_left(
    connection: &Connection,
    sealer: &Sealer,
    now: i64,
    consent: &str,
) -> Result<(), Error> {
    let sql = "SELECT digest FROM flow_session WHERE consent = ?1 AND ended_at IS NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([consent], |row| row.get(0).map(SessionKey))?;
    for key in rows.collect::<Result<Vec<_>, _>>()? {
        match Flow::load(connection, sealer, key) {
            Ok(Some(mut flow)) => {
                flow.ended_at = Some(now);
                flow.forget_person();
                flow.save(connection, sealer)?;
            }
            Ok(None) | Err(Error::Key(_) | Error::Lost(_)) => forget(connection, key)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Deletes sessions that have not ended although their consent was revoked. Waits until the patient was idle for too
/// long, so that a patient who returns earlier gets an explanation.
pub(in crate::consent) fn forget_revoked_sessions(connection: &Connection, now: i64) -> Result<(), Error> {
    let sql = "DELETE FROM flow_session WHERE ended_at IS NULL AND consent IN
               (SELECT id FROM consent WHERE state = 'REVOKED' AND COALESCE(touched_at, created_at) <= ?1)";
    connection.prepare_cached(sql)?.execute([now - IDLE_SECONDS])?;
    Ok(())
}

/// The repository of the browser sessions of patients in the consent flow. Each step is one transaction over the
/// session, the consent and its authorizations.
#[derive(Clone, Copy, Debug)]
pub struct Flows<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Flows<'_> {
    /// Begins a flow: makes a consent in state CREATED and a session for the browser. If no browser opens a page of the
    /// flow, the sweep later deletes the consent and the session.
    pub fn begin(
        &self,
        client: &Client,
        request: &FlowRequest,
        owner_of: impl Fn(&str) -> i64,
    ) -> Result<Begun, Error> {
        let now = self.store.clock().now();
        let cookie = secret::random("")?;
        let key = SessionKey::of(&cookie);
        let sealer = self.store.sealer();
        let flow = self.store.write(|transaction| {
            let new = NewConsent {
                client: &client.id,
                application: &client.application,
                mode: client.mode,
                made_by: match request.door {
                    Door::Oauth => Origin::Oauth,
                    Door::Smart | Door::Link => Origin::Link,
                },
                external_id: request.external_id.as_deref(),
                usage: request.usage(),
                scope: request.scope(),
            };
            let consent = Consent::create(transaction, now, &new, &owner_of)?;
            let sealed = seal(sealer, key, request, &Progress::first(request))?;
            let sql = "INSERT INTO flow_session (digest, consent, sealed, created_at) VALUES (?1, ?2, ?3, ?4)";
            transaction.execute(sql, params![&key.0[..], consent.id, sealed, now])?;
            Flow::load(transaction, sealer, key)?.ok_or(Error::Lost("flow session"))
        })?;
        Ok(Begun { cookie, flow })
    }

    /// Reads a session. Does not record that the patient is active.
    pub fn peek(&self, key: SessionKey) -> Result<Option<Flow>, Error> {
        let now = self.store.clock().now();
        let sealer = self.store.sealer();
        self.store
            .read(|connection| Flow::current(connection, sealer, key, now))
    }

    /// Reads a session, and records that the patient is active. If the patient was idle for too long, the session
    /// ends.
    pub fn visit(&self, key: SessionKey) -> Result<Option<Flow>, Error> {
        let now = self.store.clock().now();
        let found = self.peek(key)?;
        match found {
            Some(flow) if flow.is_open() && flow.is_idle(now) => {
                self.store.sweep()?;
                let sealer = self.store.sealer();
                let mut swept = self.store.read(|connection| Flow::load(connection, sealer, key))?;
                // The sweep ends nothing as long as the looks at the clock do not agree. The session is over for now.
                if let Some(flow) = swept.as_mut().filter(|flow| flow.is_open()) {
                    flow.ended_at = Some(now);
                }
                Ok(swept)
            }
            Some(flow) if flow.is_open() => {
                self.store.write(|transaction| touch(transaction, now, &flow))?;
                Ok(Some(flow))
            }
            other => Ok(other),
        }
    }

    /// Takes a step in one transaction. `work` changes the session and other rows of the store. If `work` fails,
    /// nothing changes. Returns [`FlowError::Over`] if the flow has ended or the patient was idle for too long.
    pub(super) fn step<T>(
        &self,
        key: SessionKey,
        work: impl FnOnce(&Transaction<'_>, i64, &mut Flow) -> Result<T, FlowError>,
    ) -> Result<T, FlowError> {
        let (now, sealer) = (self.store.clock().now(), self.store.sealer());
        let mut outcome = None;
        let written = self.store.write(|transaction| {
            let Some(mut flow) = Flow::current(transaction, sealer, key, now)? else {
                return Ok(());
            };
            if !flow.is_open() || flow.is_idle(now) {
                return Ok(());
            }
            touch(transaction, now, &flow)?;
            match work(transaction, now, &mut flow) {
                Ok(done) => {
                    flow.save(transaction, sealer)?;
                    outcome = Some(Ok(done));
                    Ok(())
                }
                Err(error) => {
                    outcome = Some(Err(error));
                    // This error rolls the transaction back. `step` returns the error in `outcome` instead.
                    Err(Error::Lost("step"))
                }
            }
        });
        match (written, outcome) {
            (_, Some(Err(error))) => Err(error),
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(done)) => done,
            (Ok(()), None) => Err(FlowError::Over),
        }
    }
}

fn touch(transaction: &Transaction<'_>, now: i64, flow: &Flow) -> Result<(), Error> {
    let sql = "UPDATE consent SET touched_at = ?2 WHERE id = ?1 AND state = 'CREATED'";
    transaction
        .prepare_cached(sql)?
        .execute(params![flow.consent.id, now])?;
    unbegun::begin(transaction, now, flow.key, &flow.consent)
}
