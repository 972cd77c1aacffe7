//! A browser's session in the flow, identified by the digest of its cookie, and the only functions that change it.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::progress::Progress;
use super::request::{Door, FlowRequest};
use super::session_key::SessionKey;
use crate::consent::access::secret;
use crate::consent::directory::application::Client;
use crate::consent::error::Error;
use crate::consent::moves::{IDLE_SECONDS, NewConsent};
use crate::consent::record::{Authorization, Consent, Origin};
use crate::consent::states::{AuthorizationState, ConsentState};
use crate::consent::store::Store;
use crate::consent::unbegun;

/// How long an ended session's rows stay. A patient who returns late gets an explanation.
pub(in crate::consent) const KEPT: i64 = 86_400;

/// The current state of a session.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The store's key of the session.
    pub key: SessionKey,
    /// The application's request.
    pub request: FlowRequest,
    /// The session's progress.
    pub progress: Progress,
    /// The consent of the session.
    pub consent: Consent,
    /// The sources so far, in the order in which they were chosen.
    pub authorizations: Vec<Authorization>,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// When the patient was last active.
    pub(super) touched_at: i64,
}

/// A flow that has just begun.
#[derive(Debug)]
pub struct Begun {
    /// The cookie's secret.
    pub cookie: String,
    /// The session's state.
    pub flow: Flow,
}

/// Why a step is not taken.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// There is no such session, or it has ended.
    #[error("the session is over")]
    Over,
    /// The session has moved on: the form came from an older page.
    #[error("the session stands at another step")]
    Stale,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<rusqlite::Error> for FlowError {
    fn from(error: rusqlite::Error) -> FlowError {
        FlowError::Store(error.into())
    }
}

impl Flow {
    /// Whether steps can still be taken.
    pub fn is_open(&self) -> bool {
        self.ended_at.is_none() && self.consent.state == ConsentState::Created
    }

    /// The sources that have granted access.
    pub fn authorized(&self) -> impl Iterator<Item = &Authorization> {
        self.in_state(AuthorizationState::Authorized)
    }

    /// The sources that could not be connected for technical reasons.
    pub fn errored(&self) -> impl Iterator<Item = &Authorization> {
        self.in_state(AuthorizationState::Errored)
    }

    /// Whether a source has granted access already.
    pub fn has(&self, endpoint: &str) -> bool {
        self.authorized().any(|one| one.endpoint == endpoint)
    }

    fn in_state(&self, state: AuthorizationState) -> impl Iterator<Item = &Authorization> {
        self.authorizations.iter().filter(move |one| one.state == state)
    }

    pub(super) fn load(connection: &Connection, key: SessionKey) -> Result<Option<Flow>, Error> {
        let sql = "SELECT consent, request, progress, ended_at FROM flow_session WHERE digest = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let row = statement.query_row([&key.0[..]], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, Option<i64>>(3)?,
            ))
        });
        let Some((consent, request, progress, ended_at)) = row.optional()? else {
            return Ok(None);
        };
        let unreadable = |_| Error::Lost("flow session");
        let touched_at = connection
            .prepare_cached("SELECT COALESCE(touched_at, created_at) FROM consent WHERE id = ?1")?
            .query_row([&consent], |row| row.get(0))?;
        Ok(Some(Flow {
            key,
            request: serde_json::from_str(&request).map_err(unreadable)?,
            progress: serde_json::from_str(&progress).map_err(unreadable)?,
            authorizations: Authorization::of(connection, &consent)?,
            consent: Consent::get(connection, &consent)?.ok_or(Error::Lost("consent"))?,
            ended_at,
            touched_at,
        }))
    }

    /// The session's state at a time.
    fn current(connection: &Connection, key: SessionKey, now: i64) -> Result<Option<Flow>, Error> {
        let mut flow = Flow::load(connection, key)?;
        if let Some(flow) = &mut flow {
            flow.progress.settle(now);
        }
        Ok(flow)
    }

    pub(super) fn is_idle(&self, now: i64) -> bool {
        self.touched_at + IDLE_SECONDS <= now
    }

    pub(super) fn save(&self, connection: &Connection) -> Result<(), Error> {
        // After the flow the application's knowledge of the patient is not needed.
        let sql = "UPDATE flow_session SET progress = ?2, ended_at = ?3,
                   request = iif(?3 IS NULL, request, json_set(request, '$.hints', json('{}'))) WHERE digest = ?1";
        let progress = serde_json::to_string(&self.progress).map_err(|_| Error::Lost("flow session"))?;
        connection
            .prepare_cached(sql)?
            .execute(params![&self.key.0[..], progress, self.ended_at])?;
        Ok(())
    }
}

/// The sessions of patients in the consent flow. Each step is one transaction over the session, the consent and its
/// authorizations.
#[derive(Clone, Copy, Debug)]
pub struct Flows<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Flows<'_> {
    /// Begins a flow: a consent in the state CREATED, and the session of the browser. Both are deleted if the browser
    /// opens no page.
    pub fn begin(
        &self,
        client: &Client,
        request: &FlowRequest,
        owner_of: impl Fn(&str) -> i64,
    ) -> Result<Begun, Error> {
        let now = self.store.clock().now();
        let cookie = secret::random("")?;
        let key = SessionKey::of(&cookie);
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
            let text = |value: serde_json::Result<String>| value.map_err(|_| Error::Lost("flow session"));
            let progress = Progress::first(request);
            let sql =
                "INSERT INTO flow_session (digest, consent, request, progress, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.execute(
                sql,
                params![
                    &key.0[..],
                    consent.id,
                    text(serde_json::to_string(request))?,
                    text(serde_json::to_string(&progress))?,
                    now
                ],
            )?;
            Flow::load(transaction, key)?.ok_or(Error::Lost("flow session"))
        })?;
        Ok(Begun { cookie, flow })
    }

    /// Reads the session of a key without counting as activity.
    pub fn peek(&self, key: SessionKey) -> Result<Option<Flow>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| Flow::current(connection, key, now))
    }

    /// The session of a key. Counts as activity of the patient. A session that was idle for too long ends.
    pub fn visit(&self, key: SessionKey) -> Result<Option<Flow>, Error> {
        let now = self.store.clock().now();
        let found = self.store.read(|connection| Flow::current(connection, key, now))?;
        match found {
            Some(flow) if flow.is_open() && flow.is_idle(now) => {
                self.store.sweep()?;
                self.store.read(|connection| Flow::load(connection, key))
            }
            Some(flow) if flow.is_open() => {
                self.store.write(|transaction| touch(transaction, now, &flow))?;
                Ok(Some(flow))
            }
            other => Ok(other),
        }
    }

    /// Takes a step in one transaction. Writes all changes that `work` makes to the session and related rows, or none
    /// of them.
    pub(super) fn step<T>(
        &self,
        key: SessionKey,
        work: impl FnOnce(&Transaction<'_>, i64, &mut Flow) -> Result<T, FlowError>,
    ) -> Result<T, FlowError> {
        let now = self.store.clock().now();
        let mut outcome = None;
        let written = self.store.write(|transaction| {
            let Some(mut flow) = Flow::current(transaction, key, now)? else {
                return Ok(());
            };
            if !flow.is_open() || flow.is_idle(now) {
                return Ok(());
            }
            touch(transaction, now, &flow)?;
            match work(transaction, now, &mut flow) {
                Ok(done) => {
                    flow.save(transaction)?;
                    outcome = Some(Ok(done));
                    Ok(())
                }
                Err(error) => {
                    outcome = Some(Err(error));
                    // An error rolls the transaction back.
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
