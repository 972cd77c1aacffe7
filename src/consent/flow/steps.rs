//! The steps between the beginning and the end of a flow. Each step is one transaction. A form from an older page
//! changes nothing.

use rusqlite::Transaction;

use super::attempt::{Returned, keep};
use super::authorizing::{PATIENCE, authorizing};
use super::progress::{Asked, Details, RecordLocation, Step, Trouble, Verified};
use super::request::{Display, Way};
use super::session::{Flow, FlowError, Flows};
use super::session_key::SessionKey;
use crate::consent::access::credential;
use crate::consent::access::credential::Credential;
use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::Actor;
use crate::consent::moves::{Grant, NewAuthorization, end};
use crate::consent::record::{Authorization, AuthorizationType, Usage};
use crate::consent::states::{AuthorizationEvent, AuthorizationState};

/// While the service connects facilities, the session waits for one [`PATIENCE`], and for one more per `PLACES`
/// facilities.
const PLACES: i64 = 8;

/// A source to which the patient is sent, or which the service connects without a sign-in.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// The id of the endpoint.
    pub endpoint: &'a str,
    /// How the patient authenticates at the source.
    pub authorization_type: AuthorizationType,
    /// Whether the endpoint grants lasting access.
    pub refreshable: bool,
}

impl Departure<'_> {
    /// Returns the usage to expect if the application requested `asked`. The source's grant can still reduce it to
    /// ONE_TIME.
    pub fn usage(&self, asked: Usage) -> Usage {
        // Access by CREDENTIALS and IAL2 cannot be renewed: a portal requires a sign-in each time, and IAL2 requires a
        // new verification of the identity.
        let renewable = matches!(
            self.authorization_type,
            AuthorizationType::Oauth | AuthorizationType::Ial1
        );
        if self.refreshable && renewable {
            asked
        } else {
            Usage::OneTime
        }
    }
}

/// The access that a source grants, with the tokens for fetching records.
#[derive(Clone, Debug)]
pub struct SourceGrant<'a> {
    /// The values for the authorization's row.
    pub grant: Grant<'a>,
    /// The tokens that the source has issued.
    pub credential: &'a Credential,
}

impl Flows<'_> {
    /// Records that the patient chooses an organization, and shows the page that asks for agreement.
    pub fn choose_source(&self, key: SessionKey, to: &Departure<'_>) -> Result<(), FlowError> {
        self.step(key, |transaction, now, flow| {
            if flow.has(to.endpoint) {
                return Err(FlowError::Stale);
            }
            leave_open(transaction, now, flow)?;
            created(transaction, now, flow, to)?;
            flow.progress.sought = None;
            flow.progress.go(Step::Share {
                endpoint: to.endpoint.to_owned(),
            });
            Ok(())
        })
    }

    /// Records that the patient chooses a facility without a sign-in page. The record locator must then find this
    /// facility by the patient's details.
    pub fn seek_place(&self, key: SessionKey, endpoint: &str) -> Result<(), FlowError> {
        self.step(key, |transaction, now, flow| {
            if flow.has(endpoint) {
                return Err(FlowError::Stale);
            }
            leave_open(transaction, now, flow)?;
            flow.progress.sought = Some(endpoint.to_owned());
            flow.progress.go(Step::Details { down: false });
            Ok(())
        })
    }

    /// Goes to another page of the flow. Abandons the chosen sources that are not connected yet.
    pub fn go_to(&self, key: SessionKey, step: Step) -> Result<(), FlowError> {
        self.step(key, |transaction, now, flow| {
            leave_open(transaction, now, flow)?;
            flow.progress.window = None;
            if matches!(step, Step::Choose | Step::Hub) {
                flow.progress.sought = None;
            }
            flow.progress.go(step);
            Ok(())
        })
    }

    /// Records the details that the patient entered, and shows that the session waits for a search with them. Returns
    /// the session's new turn. The caller passes this turn with the search's answer, which is valid only in this turn.
    pub fn take_details(&self, key: SessionKey, details: Details) -> Result<u64, FlowError> {
        self.step(key, |_, now, flow| {
            if !matches!(flow.progress.step, Step::Details { .. }) {
                return Err(FlowError::Stale);
            }
            flow.progress.details = details;
            let (on, until) = (Asked::Search, now + PATIENCE);
            flow.progress.go(Step::Waiting { on, until });
            Ok(flow.progress.turn)
        })
    }

    /// Goes to `step`, because the request that was sent in turn `turn` got no usable answer. Returns
    /// [`FlowError::Stale`] if the patient has moved on.
    pub fn asked_in_vain(&self, key: SessionKey, turn: u64, step: Step) -> Result<(), FlowError> {
        self.step(key, |_, _, flow| {
            still_at(flow, turn)?;
            flow.progress.window = None;
            flow.progress.go(step);
            Ok(())
        })
    }

    /// Goes to `step` after the patient has agreed on a page inside a frame. `step` is a `Step::Window`: the patient
    /// opens a window beside the frame, and the flow continues there.
    pub fn go_beside(&self, key: SessionKey, step: Step) -> Result<(), FlowError> {
        self.step(key, |_, _, flow| {
            flow.progress.window = None;
            flow.progress.go(step);
            Ok(())
        })
    }

    /// Makes the cookie for a window beside the frame. The cookie of an earlier window becomes invalid. Also begins a
    /// new turn, so that the frame's page of `turn` cannot open a second window. Returns the secret for the cookie, and
    /// the session.
    pub fn open_window(&self, key: SessionKey, turn: u64) -> Result<(String, Flow), FlowError> {
        let cookie = secret::random("")?;
        let flow = self.step(key, |_, _, flow| {
            let step = flow.progress.step.clone();
            let waits = matches!(step, Step::Window { .. }) && flow.request.display == Display::Frame;
            if !waits || flow.progress.turn != turn {
                return Err(FlowError::Stale);
            }
            flow.progress.window = Some(SessionKey::of(&cookie).text());
            flow.progress.go(step);
            Ok(flow.clone())
        })?;
        Ok((cookie, flow))
    }

    /// Records that the patient is sent to a source. Only the browser and the source know `state`, because the store
    /// has only its digest. Only this service knows `verifier`, which the store has encrypted.
    pub fn depart(&self, key: SessionKey, to: &Departure<'_>, state: &str, verifier: &[u8]) -> Result<(), FlowError> {
        let sealed = self.store.attempts().seal_verifier(state, verifier)?;
        self.step(key, |transaction, now, flow| {
            let agreed = match &flow.progress.step {
                Step::Share { endpoint } | Step::Away { endpoint } | Step::Trouble { endpoint, .. } => Some(endpoint),
                Step::Window { endpoint, .. } => endpoint.as_ref(),
                _ => None,
            };
            if agreed.map(String::as_str) != Some(to.endpoint) {
                return Err(FlowError::Stale);
            }
            let authorization = sent(transaction, now, flow, to, None)?;
            keep(
                transaction,
                now,
                flow,
                state,
                &sealed,
                Returned::Endpoint(to.endpoint),
                Some(&authorization.id),
            )?;
            // In a frame, do not change the turn: the page in the frame continues to show how to open the window, and
            // polls for a change of the turn.
            if flow.request.display != Display::Frame {
                flow.progress.go(Step::Away {
                    endpoint: to.endpoint.to_owned(),
                });
            }
            Ok(())
        })
    }

    /// Records that the patient cannot be sent to a source, because the source does not answer correctly.
    pub fn depart_failed(&self, key: SessionKey, to: &Departure<'_>) -> Result<(), FlowError> {
        self.not_departed(key, to, Trouble::Down)
    }

    /// Records that the patient is not sent to a source, and shows the reason.
    pub fn not_departed(&self, key: SessionKey, to: &Departure<'_>, trouble: Trouble) -> Result<(), FlowError> {
        self.step(key, |transaction, now, flow| {
            let mut authorization = sent(transaction, now, flow, to, None)?;
            authorization.step(transaction, now, Actor::Service, AuthorizationEvent::Failed)?;
            flow.progress.window = None;
            flow.progress.go(Step::Trouble {
                endpoint: to.endpoint.to_owned(),
                trouble,
            });
            Ok(())
        })
    }

    /// Records that the patient is sent to an identity provider. The step stays the same until the patient returns.
    pub fn depart_to_provider(
        &self,
        key: SessionKey,
        provider: &str,
        state: &str,
        verifier: &[u8],
    ) -> Result<(), FlowError> {
        let sealed = self.store.attempts().seal_verifier(state, verifier)?;
        self.step(key, |transaction, now, flow| {
            if flow.request.way != Way::Identity || flow.progress.verified.is_some() {
                return Err(FlowError::Stale);
            }
            keep(
                transaction,
                now,
                flow,
                state,
                &sealed,
                Returned::Provider(provider),
                None,
            )?;
            Ok(())
        })
    }

    /// Records that the identity was verified, and shows the facilities with the person's records. Returns
    /// [`FlowError::Stale`] if the session is at another turn.
    pub fn identified(
        &self,
        key: SessionKey,
        turn: u64,
        verified: Verified,
        places: Vec<RecordLocation>,
    ) -> Result<(), FlowError> {
        self.step(key, |_, _, flow| {
            still_at(flow, turn)?;
            flow.progress.verified = Some(verified);
            flow.progress.window = None;
            found(flow, places);
            Ok(())
        })
    }

    /// Shows the facilities that were found with the details that the patient entered. Returns [`FlowError::Stale`]
    /// if the session is at another turn.
    pub fn located(&self, key: SessionKey, turn: u64, places: Vec<RecordLocation>) -> Result<(), FlowError> {
        self.step(key, |_, _, flow| {
            still_at(flow, turn)?;
            found(flow, places);
            Ok(())
        })
    }

    /// Records that the patient agrees to connect facilities, and shows that the session waits for their answers. For
    /// each of `chosen` that was found and is not connected yet, returns an authorization in state AUTHORIZING.
    pub fn connect_places(
        &self,
        key: SessionKey,
        chosen: &[Departure<'_>],
    ) -> Result<Vec<(RecordLocation, Authorization)>, FlowError> {
        self.step(key, |transaction, now, flow| {
            leave_open(transaction, now, flow)?;
            let provider = flow
                .progress
                .verified
                .as_ref()
                .map(|verified| verified.provider.clone());
            let mut connecting = Vec::new();
            for to in chosen {
                let place = flow.progress.places.iter().find(|place| place.endpoint == to.endpoint);
                let Some(place) = place.filter(|_| !flow.has(to.endpoint)).cloned() else {
                    continue;
                };
                let authorization = sent(transaction, now, flow, to, provider.as_deref())?;
                connecting.push((place, authorization));
            }
            let (on, until) = (Asked::Places, now + PATIENCE * (1 + connecting.len() as i64 / PLACES));
            flow.progress.go(Step::Waiting { on, until });
            Ok(connecting)
        })
    }

    /// Shows the hub. The caller calls this when every facility has answered or failed.
    pub fn places_answered(&self, key: SessionKey) -> Result<(), FlowError> {
        self.step(key, |_, _, flow| {
            if flow.progress.connects_places() {
                flow.progress.go(Step::Hub);
            }
            Ok(())
        })
    }

    /// Stores the grant and the tokens of a source that has granted access. `id` is the id of the source's
    /// authorization.
    pub fn source_granted(&self, key: SessionKey, id: &str, granted: &SourceGrant<'_>) -> Result<Flow, FlowError> {
        let sealed = self.store.credentials().seal(id, granted.credential)?;
        self.step(key, |transaction, now, flow| {
            let mut authorization = authorizing(transaction, flow, id)?;
            authorization.grant(transaction, now, &granted.grant)?;
            credential::keep(transaction, now, id, &sealed)?;
            flow.authorizations = Authorization::of(transaction, &flow.consent.id)?;
            flow.progress.window = None;
            // If the service is connecting several facilities, go on waiting for the other facilities.
            let next = if flow.progress.connects_places() {
                flow.progress.step.clone()
            } else {
                Step::Hub
            };
            flow.progress.go(next);
            Ok(flow.clone())
        })
    }

    /// Records that a source granted no access. `id` is the id of the source's authorization. If the patient was sent
    /// to the source, the next page shows the reason. If the service is connecting several facilities, the session goes
    /// on waiting for the other facilities.
    pub fn source_failed(&self, key: SessionKey, id: &str, trouble: Trouble) -> Result<(), FlowError> {
        self.step(key, |transaction, now, flow| {
            let mut authorization = authorizing(transaction, flow, id)?;
            let event = match trouble {
                Trouble::Refused | Trouble::NoPatient => AuthorizationEvent::Refused,
                Trouble::Down | Trouble::Rejected | Trouble::Unreadable => AuthorizationEvent::Failed,
            };
            authorization.step(transaction, now, Actor::Patient, event)?;
            flow.progress.window = None;
            if flow.progress.connects_places() {
                flow.progress.go(flow.progress.step.clone());
            } else if flow.progress.step != Step::Hub {
                flow.progress.go(Step::Trouble {
                    endpoint: authorization.endpoint,
                    trouble,
                });
            }
            Ok(())
        })
    }
}

/// Returns [`FlowError::Stale`] if the session is no longer at this turn.
fn still_at(flow: &Flow, turn: u64) -> Result<(), FlowError> {
    if flow.progress.turn == turn {
        Ok(())
    } else {
        Err(FlowError::Stale)
    }
}

/// Shows the facilities that were found. The facility that the patient chose before the search comes first. If none was
/// found, shows a page that says so.
fn found(flow: &mut Flow, mut places: Vec<RecordLocation>) {
    let sought = flow.progress.sought.as_deref();
    places.sort_by_key(|place| Some(place.endpoint.as_str()) != sought);
    let step = if places.is_empty() { Step::Nothing } else { Step::Places };
    flow.progress.places = places;
    flow.progress.go(step);
}

/// Changes the state of a source's authorization to AUTHORIZING and returns the authorization. Uses the authorization
/// that was made when the patient chose the source, or makes a new one. If the patient signs in at the source, abandons
/// all other authorizations that are CREATED or AUTHORIZING.
fn sent(
    transaction: &Transaction<'_>,
    now: i64,
    flow: &mut Flow,
    to: &Departure<'_>,
    provider: Option<&str>,
) -> Result<Authorization, FlowError> {
    let waiting = |one: &&Authorization| {
        one.endpoint == to.endpoint
            && one.authorization_type == to.authorization_type
            && one.state == AuthorizationState::Created
    };
    let chosen = flow.authorizations.iter().find(waiting).cloned();
    let keep = chosen.as_ref().map(|one| one.id.clone());
    if provider.is_none() && to.authorization_type.signs_in() {
        leave(transaction, now, flow, |one| Some(&one.id) != keep.as_ref())?;
    }
    let mut authorization = match chosen {
        Some(chosen) => chosen,
        None => create(transaction, now, flow, to, provider)?,
    };
    authorization.step(transaction, now, Actor::Patient, AuthorizationEvent::Redirected)?;
    flow.authorizations = Authorization::of(transaction, &flow.consent.id)?;
    Ok(authorization)
}

fn created(transaction: &Transaction<'_>, now: i64, flow: &mut Flow, to: &Departure<'_>) -> Result<(), Error> {
    create(transaction, now, flow, to, None)?;
    flow.authorizations = Authorization::of(transaction, &flow.consent.id)?;
    Ok(())
}

fn create(
    transaction: &Transaction<'_>,
    now: i64,
    flow: &Flow,
    to: &Departure<'_>,
    provider: Option<&str>,
) -> Result<Authorization, Error> {
    let new = NewAuthorization {
        consent: &flow.consent.id,
        endpoint: to.endpoint,
        authorization_type: to.authorization_type,
        usage: to.usage(flow.consent.usage),
        identity_provider: provider,
    };
    Authorization::create(transaction, now, &new)
}

/// Abandons all authorizations of the flow that are CREATED or AUTHORIZING.
pub(super) fn leave_open(transaction: &Transaction<'_>, now: i64, flow: &mut Flow) -> Result<(), Error> {
    leave(transaction, now, flow, |_| true)
}

fn leave(
    transaction: &Transaction<'_>,
    now: i64,
    flow: &mut Flow,
    which: impl Fn(&Authorization) -> bool,
) -> Result<(), Error> {
    let open = |state| matches!(state, AuthorizationState::Created | AuthorizationState::Authorizing);
    for one in flow
        .authorizations
        .iter_mut()
        .filter(|one| open(one.state) && which(one))
    {
        end(
            transaction,
            now,
            Actor::Patient,
            &flow.consent,
            one,
            AuthorizationEvent::Left,
        )?;
    }
    Ok(())
}
