//! The entry points of the flow: `/oauth/authorize`, `/link/auth` and `/link/start`. Also `/connect/untrusted`, the
//! page about links that do not work.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::{Extensions, HeaderMap, Method};
use axum::response::Response;

use super::super::language::{self, Texts};
use super::super::page::answer::{because, with_cookie};
use super::super::page::ending::{link_not_begun, link_refused, not_begun, refused};
use super::super::page::notice;
use super::parameters::Parameters;
use super::redirect_uri::is_registered;
use super::request::{self, Invalid, Untrusted};
use super::session::cookie;
use super::session::visit::stored;
use super::sources::travel::to_session;
use crate::consent::{self, Application, Client, Display, Door, EndpointStatus, FlowRequest, SessionKey};
use crate::http::error::Error;
use crate::http::service::Service;

/// Answers `GET /oauth/authorize`, where applications begin a flow by OAuth.
pub(in crate::http::connect) async fn authorize(
    State(service): State<Arc<Service>>,
    method: Method,
    query: RawQuery,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    let sent = Sent {
        method,
        headers,
        extensions,
    };
    by_redirect(service, sent, query, Door::Oauth).await
}

/// Answers `GET /link/auth`, where SMART clients begin a flow. Unlike applications at `/oauth/authorize`, they need not
/// send their own id of the user (`svc_external_id`).
pub(in crate::http::connect) async fn link_auth(
    State(service): State<Arc<Service>>,
    method: Method,
    query: RawQuery,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    let sent = Sent {
        method,
        headers,
        extensions,
    };
    by_redirect(service, sent, query, Door::Smart).await
}

/// Answers `GET /link/start`, where the link component begins a flow.
pub(in crate::http::connect) async fn link_start(
    State(service): State<Arc<Service>>,
    method: Method,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    let query = query.unwrap_or_default();
    let parameters = Parameters::parse(query.as_bytes());
    let asked = asked(&service, &parameters);
    let t = asked.unwrap_or_else(|| language::of(&service, &headers));
    let holder = request::claimed_holder(&parameters);
    let untrusted = |why: Untrusted| notice::link_untrusted(&service, t, why, holder, request::is_framed(&parameters));
    let (key, origin) = match request::key_and_origin(&parameters) {
        Ok((key, origin)) => (key.to_owned(), origin.to_owned()),
        Err(why) => return untrusted(why),
    };
    let known = match known(&service, &key).await {
        Ok(known) => known,
        Err(error) => return notice::broken(&service, t, error),
    };
    let Some((client, application)) = known else {
        return untrusted(Untrusted::Client);
    };
    if !application.origins.contains(&origin) {
        return untrusted(Untrusted::Origin);
    }
    let known_holder = (origin.as_str(), parameters.sole("channel").unwrap_or_default());
    let refuse = |Invalid { error, description }: Invalid| {
        link_refused(&service, t, known_holder, &application.origins, error, &description)
    };
    let wanted = match request::link(&parameters) {
        Ok(wanted) => wanted,
        Err(invalid) => return refuse(invalid),
    };
    if method == Method::HEAD {
        return to_session(&service);
    }
    if let Err(allowance) = service.throttle.charge_flow(&extensions) {
        let (origins, here) = (&application.origins, Some(language::here(&query)));
        return notice::busy(&service, t, &allowance, origins, Some(known_holder), here);
    }
    let framed = wanted.display == Display::Frame;
    match begin(&service, client, wanted).await {
        Ok(Ok(response)) => in_language(&service, response, asked, framed),
        Ok(Err(invalid)) => refuse(invalid),
        Err(error) => because(link_not_begun(&service, t, known_holder, &application.origins), &error),
    }
}

/// The parts of a request that [`by_redirect`] needs, except for its query.
struct Sent {
    method: Method,
    headers: HeaderMap,
    extensions: Extensions,
}

async fn by_redirect(service: Arc<Service>, sent: Sent, RawQuery(query): RawQuery, door: Door) -> Response {
    let query = query.unwrap_or_default();
    let parameters = Parameters::parse(query.as_bytes());
    let asked = asked(&service, &parameters);
    let t = asked.unwrap_or_else(|| language::of(&service, &sent.headers));
    let (id, uri) = match request::client_and_redirect(&parameters) {
        Ok(named) => named,
        Err(why) => return notice::untrusted(&service, t, why),
    };
    let known = match known(&service, id).await {
        Ok(known) => known,
        Err(error) => return notice::broken(&service, t, error),
    };
    let Some((client, application)) = known else {
        return notice::untrusted(&service, t, Untrusted::Client);
    };
    if !application
        .redirect_uris
        .iter()
        .any(|registered| is_registered(registered, uri))
    {
        return notice::untrusted(&service, t, Untrusted::Redirect);
    }
    // The client and the redirect URI are valid, so errors from here on go to the application.
    let state = parameters.sole("state");
    let refuse = |Invalid { error, description }: Invalid| refused(&service, uri, state, error, &description, None);
    let wanted = match request::oauth(&parameters, door, service.fhir_base.trim_end_matches('/')) {
        Ok(wanted) => wanted,
        Err(invalid) => return refuse(invalid),
    };
    // Link checkers send HEAD. Do not begin a session for them.
    if sent.method == Method::HEAD {
        return to_session(&service);
    }
    if request::resumes(&parameters)
        && let Some(response) = resumed(&service, &sent.headers, &wanted).await
    {
        return response;
    }
    if let Err(allowance) = service.throttle.charge_flow(&sent.extensions) {
        return notice::busy(&service, t, &allowance, &[], None, Some(language::here(&query)));
    }
    match begin(&service, client, wanted).await {
        Ok(Ok(response)) => in_language(&service, response, asked, false),
        Ok(Err(invalid)) => refuse(invalid),
        Err(error) => because(not_begun(&service, uri, state), &error),
    }
}

/// Answers `GET /connect/untrusted/{why}`: the page about a link that does not work. Readers can switch its language.
pub(in crate::http::connect) async fn untrusted(
    State(service): State<Arc<Service>>,
    Path(why): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let base = service.base_path();
    let t = language::of(&service, &headers);
    let Some(why) = Untrusted::named(&why) else {
        let switched = language::switched(&service, query.as_deref(), &format!("{base}/"), false);
        return switched.unwrap_or_else(|| notice::nowhere(&service, t));
    };
    let address = format!("{base}/connect/untrusted/{}", why.name());
    let switched = language::switched(&service, query.as_deref(), &address, false);
    switched.unwrap_or_else(|| notice::untrusted(&service, t, why))
}

/// Returns the language that the patient chose with the language switch, or else the one that the application
/// requests. `None` if there is neither.
fn asked(service: &Service, parameters: &Parameters) -> Option<&'static Texts> {
    language::picked(service, parameters).or_else(|| language::named(service, parameters))
}

/// Sets the cookie that keeps the requested language for the following pages.
fn in_language(service: &Service, response: Response, asked: Option<&'static Texts>, framed: bool) -> Response {
    match asked {
        Some(texts) => language::with_language(service, response, texts, framed),
        None => response,
    }
}

/// Returns the client with this publishable key, and its application. `None` if the key is unknown or no longer active.
async fn known(service: &Arc<Service>, id: &str) -> Result<Option<(Client, Application)>, Error> {
    let id = id.to_owned();
    let found = stored(service, move |service| {
        let Some(client) = service.store.clients().active(&id)? else {
            return Ok(None);
        };
        let application = service.store.applications().get(&client.application)?;
        Ok::<_, consent::Error>(application.map(|application| (client, application)))
    });
    found.await?.map_err(Error::internal)
}

/// Resumes this browser's session if the flow is not over and a request with the same parameters began it. `None` if
/// there is no such session.
async fn resumed(service: &Arc<Service>, headers: &HeaderMap, wanted: &FlowRequest) -> Option<Response> {
    let cookie = cookie::read(service, headers, cookie::SESSION)?;
    let key = SessionKey::of(&cookie);
    let flow = stored(service, move |service| service.store.flows().visit(key)).await;
    let flow = flow.ok()?.ok()??;
    (flow.is_open() && flow.request == *wanted).then(|| entered(service, &cookie, wanted))
}

/// Begins a new consent and session, and redirects to its page. Refuses a requested endpoint that cannot be
/// connected.
async fn begin(
    service: &Arc<Service>,
    client: Client,
    wanted: FlowRequest,
) -> Result<Result<Response, Invalid>, Error> {
    let begun = stored(service, move |service| {
        if let Some(id) = &wanted.endpoint {
            let endpoint = service.store.endpoints().get(id)?;
            let offered = endpoint.is_some_and(|endpoint| {
                endpoint.mode == client.mode
                    && endpoint.status != EndpointStatus::Unavailable
                    && endpoint.authorization_type.signs_in()
            });
            if !offered {
                return Ok(Err(Invalid {
                    error: "invalid_request",
                    description: "svc_endpoint_id names no endpoint that can be connected in this mode".to_owned(),
                }));
            }
        }
        let lake = &service.lake;
        let begun = service
            .store
            .flows()
            .begin(&client, &wanted, |consent| lake.owner_of_consent(consent))?;
        Ok::<_, consent::Error>(Ok((begun.cookie, wanted)))
    });
    match begun.await?.map_err(Error::internal)? {
        Ok((cookie, wanted)) => Ok(Ok(entered(service, &cookie, &wanted))),
        Err(invalid) => Ok(Err(invalid)),
    }
}

fn entered(service: &Service, cookie: &str, wanted: &FlowRequest) -> Response {
    let framed = wanted.display == Display::Frame;
    with_cookie(
        to_session(service),
        cookie::set(service, cookie::SESSION, cookie, framed),
    )
}
