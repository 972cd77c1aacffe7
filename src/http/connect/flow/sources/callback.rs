//! Handles the callbacks to which sources and identity providers redirect the patient. Each source has its own callback
//! URL.
//!
//! Each callback is accepted only once. It must arrive in the browser that left for the source, and at the URL of the
//! source to which that browser was sent.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::super::language::{self, Texts};
use super::super::super::page::notice;
use super::super::finish::finish;
use super::super::interim::await_interim;
use super::super::parameters::Parameters;
use super::super::session::cookie;
use super::super::session::visit::{stored, visit};
use super::granted::granted;
use super::places;
use super::travel::{
    SignInState, callback_of, identity_callback_of, patiently, provider_registration, registration, stepped, to_session,
};
use crate::consent::{
    self, Attempt, Authorization, AuthorizationState, Display, Endpoint, Flow, FlowError, IdentityProvider, Returned,
    SessionKey, Step, Trouble, Way,
};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::sync::client::{self, Arrival};

/// A callback, and the key of the session to which it belongs.
struct Back {
    parameters: Parameters,
    state: String,
    key: SessionKey,
    /// Whether the patient is in the window that the session's frame opened.
    in_window: bool,
}

/// Answers `GET /connect/callback/{endpoint}`, to which a source redirects.
pub(in crate::http::connect) async fn from_source(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let t = language::of(&service, &headers);
    let back = match back(&service, &headers, query).await {
        Ok(back) => back,
        Err(response) => return response,
    };
    answer(
        &service,
        t,
        back.in_window,
        source_answered(&service, t, back, id).await,
    )
}

/// Answers `GET /connect/identity/{provider}`, to which an identity provider redirects.
pub(in crate::http::connect) async fn from_provider(
    State(service): State<Arc<Service>>,
    Path(code): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let t = language::of(&service, &headers);
    let back = match back(&service, &headers, query).await {
        Ok(back) => back,
        Err(response) => return response,
    };
    answer(
        &service,
        t,
        back.in_window,
        provider_answered(&service, back, code).await,
    )
}

fn answer(
    service: &Arc<Service>,
    t: &'static Texts,
    in_window: bool,
    outcome: Result<Option<Response>, Error>,
) -> Response {
    match outcome {
        Ok(Some(response)) if !in_window => response,
        Ok(Some(_)) => notice::window_done(service, t),
        Ok(None) => notice::stray(service, t),
        Err(error) => notice::broken(service, t, error),
    }
}

/// Finds the session to which a callback belongs, by the query parameter `state`. Returns a page as the error if there
/// is no such session, or if it does not belong to this browser.
async fn back(service: &Arc<Service>, headers: &HeaderMap, query: Option<String>) -> Result<Back, Response> {
    let t = language::of(service, headers);
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    let Some(state) = parameters.sole("state").map(str::to_owned) else {
        return Err(notice::stray(service, t));
    };
    let asked = state.clone();
    let left = stored(service, move |service| {
        let Some(key) = service.store.attempts().session(&asked)? else {
            return Ok(None);
        };
        service.store.flows().peek(key)
    });
    let left = left
        .await
        .and_then(|left: Result<_, consent::Error>| left.map_err(Error::internal));
    let flow: Flow = match left {
        Ok(Some(flow)) => flow,
        Ok(None) => return Err(notice::stray(service, t)),
        Err(error) => return Err(notice::broken(service, t, error)),
    };
    let own = cookie::read(service, headers, cookie::SESSION).is_some_and(|cookie| SessionKey::of(&cookie) == flow.key);
    if !own && !is_window_of(service, headers, &flow) {
        return Err(notice::stray(service, t));
    }
    // A frame does not go to a source itself, but opens a window. So if the session is shown in a frame, this request
    // comes from the window. The cookies do not tell this, because the window also sends the frame's cookie if the
    // embedding page is on the service's own site.
    let in_window = flow.request.display == Display::Frame;
    if own && !flow.progress.told {
        // If the session has timed out in the meantime, `visit` returns the response that tells its application.
        visit(service, headers).await?;
    }
    Ok(Back {
        parameters,
        state,
        key: flow.key,
        in_window,
    })
}

/// Whether the request has the cookie of the window that the session's frame opened.
fn is_window_of(service: &Service, headers: &HeaderMap, flow: &Flow) -> bool {
    let cookie = cookie::read(service, headers, cookie::WINDOW);
    let digest = cookie.map(|cookie| SessionKey::of(&cookie).text());
    digest.is_some() && digest == flow.progress.window && flow.request.display == Display::Frame
}

/// The result of looking up the attempt that a callback answers. An attempt is one departure to a source or an identity
/// provider.
enum Taken {
    /// This callback is the first answer to the attempt.
    Up(Box<(Flow, Attempt)>),
    /// This session has handled the attempt already, because the patient loaded the page again.
    Before,
    /// The attempt is over, or belongs to another session or another source.
    Not,
}

async fn taken(service: &Arc<Service>, back: &Back, from: CameFrom) -> Result<Taken, Error> {
    let (key, state) = (back.key, back.state.clone());
    let attempt = stored(service, move |service| {
        let from = from.returned();
        match service.store.attempts().take(key, &state, from) {
            Ok(taken) => Ok(Taken::Up(Box::new(taken))),
            Err(FlowError::Stale) if service.store.attempts().is_spent(key, &state, from)? => Ok(Taken::Before),
            Err(FlowError::Stale | FlowError::Over) => Ok(Taken::Not),
            Err(FlowError::Store(error)) => Err(error),
        }
    });
    attempt.await?.map_err(Error::internal)
}

/// The source or identity provider whose callback URL was called.
enum CameFrom {
    Endpoint(String),
    Provider(String),
}

impl CameFrom {
    fn returned(&self) -> Returned<'_> {
        match self {
            CameFrom::Endpoint(endpoint) => Returned::Endpoint(endpoint),
            CameFrom::Provider(provider) => Returned::Provider(provider),
        }
    }
}

/// Handles a source's callback. `None` if the callback does not belong to the session.
async fn source_answered(
    service: &Arc<Service>,
    t: &'static Texts,
    back: Back,
    id: String,
) -> Result<Option<Response>, Error> {
    let (flow, attempt) = match taken(service, &back, CameFrom::Endpoint(id.clone())).await? {
        Taken::Up(taken) => *taken,
        Taken::Before => return Ok(Some(to_session(service))),
        Taken::Not => return Ok(None),
    };
    let found = stored(service, move |service| service.store.endpoints().get(&id)).await?;
    let (Some(endpoint), Some(id)) = (found.map_err(Error::internal)?, attempt.authorization.clone()) else {
        return Ok(None);
    };
    // If the patient has moved on in the meantime, the authorization does not wait for this callback any more. Then
    // show the session's current page.
    let awaited = |one: &&Authorization| one.id == id && one.state == AuthorizationState::Authorizing;
    let Some(authorization) = flow.authorizations.iter().find(awaited).cloned() else {
        return Ok(Some(to_session(service)));
    };
    let (key, alone) = (back.key, flow.request.way == Way::Choose && !back.in_window);
    let asking = service.clone();
    let work = async move {
        let service = &asking;
        match exchanged(service, &back.parameters, &endpoint, &attempt, &authorization).await? {
            Ok(grant) => granted(service, key, authorization, &flow, &endpoint, grant, None).await,
            Err(trouble) => {
                let failed = stored(service, move |service| {
                    service.store.flows().source_failed(key, &authorization.id, trouble)
                });
                Ok(failed.await?.map(|()| None))
            }
        }
    };
    match await_interim(service, work).await? {
        // If the patient connects only one source, its grant ends the flow.
        Some(Ok(Some(_))) if alone => Ok(Some(finish(service, t, key).await?)),
        Some(other) => stepped(service, other.map(|_| to_session(service))).map(Some),
        None => Ok(Some(to_session(service))),
    }
}

/// Exchanges the callback's code for a grant. If the source gives no grant, returns the trouble that the patient's page
/// explains.
async fn exchanged(
    service: &Arc<Service>,
    parameters: &Parameters,
    endpoint: &Endpoint,
    attempt: &Attempt,
    authorization: &Authorization,
) -> Result<Result<client::Grant, Trouble>, Error> {
    let sign_in: SignInState = serde_json::from_slice(&attempt.verifier).map_err(Error::internal)?;
    let note = |error: &dyn std::fmt::Display| {
        tracing::warn!(endpoint = endpoint.id, %error, "a source did not grant access");
    };
    // The issuer in the callback must be the source's own (RFC 9207).
    let issuer = sign_in.configuration.issuer.as_deref();
    if let (Some(iss), Some(issuer)) = (parameters.sole("iss"), issuer)
        && iss != issuer
    {
        note(&"its answer names another issuer");
        return Ok(Err(Trouble::Down));
    }
    if let Some(error) = parameters.sole("error") {
        let code: String = error.chars().filter(char::is_ascii_graphic).take(64).collect();
        note(&format_args!("it answered with the error {code:?}"));
        let authorization = authorization.clone();
        let noted = stored(service, move |service| {
            service.store.dialects().note_error(&authorization, &code)
        });
        noted.await?.map_err(Error::internal)?;
        return Ok(Err(of_redirect(error)));
    }
    let Some(code) = parameters.sole("code") else {
        note(&"its answer has no code");
        return Ok(Err(Trouble::Down));
    };
    let registration = registration(service, endpoint, authorization.usage).await?;
    let back = callback_of(service, &endpoint.id);
    let exchange = service
        .sources
        .exchange(&sign_in.configuration, &registration, &back, code, &sign_in.verifier);
    let mut grant = match patiently(exchange).await {
        Ok(grant) => grant,
        Err(error) => {
            note(&error);
            return Ok(Err(of_refusal(&error)));
        }
    };
    if let Some(how) = grant.client_auth.filter(|how| registration.client_auth != Some(*how)) {
        let id = endpoint.id.clone();
        let kept = stored(service, move |service| {
            service.store.dialects().set_client_auth(&id, how)
        });
        kept.await?.map_err(Error::internal)?;
    }
    if grant.patient.is_none() {
        let arrival = Arrival {
            fhir_base: &endpoint.fhir_base,
            configuration: &sign_in.configuration,
            registration: &registration,
            nonce: &sign_in.verifier.nonce,
            now: service.store.clock().now(),
        };
        match patiently(service.sources.whose(&arrival, &grant)).await {
            Ok(patient) => grant.patient = patient,
            Err(error) => {
                note(&error);
                return Ok(Err(of_refusal(&error)));
            }
        }
    }
    if grant.patient.is_none() {
        note(&"it does not say whose records they are");
        return Ok(Err(Trouble::NoPatient));
    }
    Ok(Ok(grant))
}

/// Returns what an `error` of RFC 6749, section 4.1.2.1, means for the patient.
fn of_redirect(error: &str) -> Trouble {
    match error {
        "access_denied" | "consent_required" | "interaction_required" | "login_required" => Trouble::Refused,
        "unauthorized_client"
        | "invalid_client"
        | "invalid_scope"
        | "invalid_request"
        | "unsupported_response_type" => Trouble::Rejected,
        _ => Trouble::Down,
    }
}

fn of_refusal(error: &client::Error) -> Trouble {
    match error {
        client::Error::Refused { code, .. } => of_redirect(code),
        _ => Trouble::Down,
    }
}

/// Handles an identity provider's callback. `None` if the callback does not belong to the session.
async fn provider_answered(service: &Arc<Service>, back: Back, code: String) -> Result<Option<Response>, Error> {
    let (flow, attempt) = match taken(service, &back, CameFrom::Provider(code.clone())).await? {
        Taken::Up(taken) => *taken,
        Taken::Before => return Ok(Some(to_session(service))),
        Taken::Not => return Ok(None),
    };
    let (mode, key, turn) = (flow.consent.mode, back.key, flow.progress.turn);
    let known = stored(service, move |service| service.store.identity_providers().all(mode)).await?;
    let known = known.map_err(Error::internal)?.into_iter().find(|one| one.code == code);
    let Some(provider) = known else { return Ok(None) };
    let asking = service.clone();
    let work = async move {
        let service = &asking;
        let asked = provider.code.clone();
        let identified = match identity(service, &back.parameters, &provider, &attempt).await? {
            Ok((id_token, demographics)) => {
                places::of_identity(service, &flow, &provider.code, &id_token, &demographics).await?
            }
            Err(trouble) => Err(trouble),
        };
        stored(service, move |service| match identified {
            Ok((verified, places)) => service.store.flows().identified(key, turn, verified, places),
            Err(trouble) => {
                let step = Step::Identity {
                    trouble: Some(trouble),
                    provider: Some(asked),
                };
                service.store.flows().asked_in_vain(key, turn, step)
            }
        })
        .await
    };
    let taken = await_interim(service, work).await?.unwrap_or(Ok(()));
    stepped(service, taken.map(|()| to_session(service))).map(Some)
}

/// Gets the ID token from an identity provider, with the demographics that the token contains.
async fn identity(
    service: &Arc<Service>,
    parameters: &Parameters,
    provider: &IdentityProvider,
    attempt: &Attempt,
) -> Result<Result<(String, client::Demographics), Trouble>, Error> {
    let sign_in: SignInState = serde_json::from_slice(&attempt.verifier).map_err(Error::internal)?;
    if let Some(error) = parameters.sole("error") {
        return Ok(Err(of_redirect(error)));
    }
    let issuer = parameters.sole("iss");
    let Some(code) = parameters
        .sole("code")
        .filter(|_| issuer.is_none_or(|issuer| issuer == provider.issuer))
    else {
        return Ok(Err(Trouble::Down));
    };
    let registration = provider_registration(service, provider).await?;
    let back = identity_callback_of(service, &provider.code);
    let now = service.store.clock().now();
    let identity = patiently(async {
        let sources = &service.sources;
        let grant = sources
            .exchange(&sign_in.configuration, &registration, &back, code, &sign_in.verifier)
            .await?;
        let id_token = grant.id_token.ok_or(client::Error::Identity("there is no ID token"))?;
        let known = client::Provider {
            issuer: provider.issuer.clone(),
            configuration: sign_in.configuration.clone(),
        };
        let nonce = &sign_in.verifier.nonce;
        let identity = sources
            .identity(&known, &registration.client_id, nonce, &id_token, now)
            .await?;
        Ok((id_token, identity.demographics))
    });
    Ok(identity.await.map_err(|error| {
        tracing::warn!(provider = provider.code, %error, "an identity was not verified");
        of_refusal(&error)
    }))
}
