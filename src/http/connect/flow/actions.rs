//! Handles the forms of the patient's pages. Each form takes one step of the flow, and redirects to the session's
//! current page.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::{TimeZone, Utc};

use super::super::language::{self, Texts};
use super::super::page::answer::with_cookie;
use super::super::page::ending::{Denial, denied};
use super::super::page::view::Wrong;
use super::super::page::{notice, shown};
use super::birth_date::{self, NoBirthDate};
use super::choosing::{is_choosing, may_choose};
use super::finish::finish;
use super::interim::await_interim;
use super::parameters::Parameters;
use super::session::cookie;
use super::session::ticket;
use super::session::visit::{Visit, fields, form, stored};
use super::sources::places;
use super::sources::travel::{departure, stepped, to_provider, to_session, to_source};
use crate::consent::{
    Details, Endpoint, EndpointStatus, Flow, FlowError, IdentityProvider, SessionKey, Step, Trouble, Usage, Way,
};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::Mode;

/// The maximum number of characters in a name that the patient enters.
const LONGEST: usize = 200;

/// Defines a form's handler. The handler reads the form and calls `$work`, which takes the step. If an error occurs, it
/// shows a page about the error. If the macro gets the name `$charge`, the form counts against the rate limit of the
/// client's address, because such a form adds rows to the store.
macro_rules! action {
    ($(#[$doc:meta])* $name:ident, $work:ident $(, $charge:ident)?) => {
        $(#[$doc])*
        pub(in crate::http::connect) async fn $name(State(service): State<Arc<Service>>, request: Request) -> Response {
            $(let extensions = request.extensions().clone();
            let $charge = |service: &Service| service.throttle.charge_flow(&extensions);)?
            let (visit, parameters) = match form(&service, request).await {
                Ok(sent) => sent,
                Err(response) => return response,
            };
            let t = visit.texts;
            $(if let Err(allowance) = $charge(&service) {
                return notice::busy(&service, t, &allowance, visit.framed_by(), None, None);
            })?
            match $work(&service, visit, parameters).await {
                Ok(response) => response,
                Err(error) => notice::broken(&service, t, error),
            }
        }
    };
}

action!(/// `POST /connect/choose`: chooses an organization.
    choose, chosen, charged);
action!(/// `POST /connect/share`: records that the patient agrees, or tries a source again.
    share, shared, charged);
action!(/// `POST /connect/add`: goes to the page of organizations.
    add, added);
action!(/// `POST /connect/hub`: goes to the page of connected sources.
    hub, to_hub);
action!(/// `POST /connect/remove`: removes a connected source.
    remove, removed);
action!(/// `POST /connect/places`: goes to the page of the places that were found.
    found, to_places);
action!(/// `POST /connect/details`: goes to the page for a search by details.
    details, to_details);
action!(/// `POST /connect/search`: searches by details.
    search, searched, charged);
action!(/// `POST /connect/facilities`: connects places.
    facilities, connected, charged);
action!(/// `POST /connect/identity`: sends the browser to an identity provider.
    identity, identified, charged);
action!(/// `POST /connect/finish`: shares the connected sources with the application.
    complete, completed);
action!(/// `POST /connect/cancel`: leaves the flow, or only the current source.
    cancel, cancelled);
action!(/// `POST /connect/leave`: leaves the flow because there are no records.
    leave, left);
action!(/// `POST /connect/stay`: extends the session.
    stay, stayed);
action!(/// `POST /connect/drop`: leaves the flow and disconnects the connected sources.
    give_up, dropped);

/// Handles `stay`. Reading the form has already extended the session, so there is nothing to do. The browser stays on
/// its page.
async fn stayed(_: &Arc<Service>, _: Visit, _: Parameters) -> Result<Response, Error> {
    Ok((StatusCode::NO_CONTENT, [(CACHE_CONTROL, "no-store")]).into_response())
}

async fn chosen(service: &Arc<Service>, visit: Visit, form: Parameters) -> Result<Response, Error> {
    let id = form.sole("endpoint").unwrap_or_default().to_owned();
    let (key, mode) = (visit.key(), visit.flow.consent.mode);
    // If the patient presses the button twice, the second form must not choose again.
    let chosen = matches!(&visit.flow.progress.step, Step::Share { endpoint } if *endpoint == id);
    if chosen || !(is_choosing(&visit.flow) || tries_again(&visit.flow, &id)) {
        return Ok(to_session(service));
    }
    let by_details = shown::finds_by_details(service, &visit).await?;
    let taken = stored(service, move |service| {
        let endpoint = service.store.endpoints().get(&id)?;
        match endpoint.filter(|endpoint| is_offered(endpoint, mode)) {
            Some(endpoint) if endpoint.authorization_type.signs_in() => {
                service.store.flows().choose_source(key, &departure(&endpoint))
            }
            Some(endpoint) if by_details => service.store.flows().seek_place(key, &endpoint.id),
            _ => Err(FlowError::Stale),
        }
    });
    stepped(service, taken.await?.map(|()| to_session(service)))
}

/// Whether the patient, on the page of connected sources, tries again to connect an endpoint that has failed.
fn tries_again(flow: &Flow, endpoint: &str) -> bool {
    let failed = flow.errored().any(|one| one.endpoint == endpoint);
    flow.progress.step == Step::Hub && flow.request.way != Way::Choose && failed && may_choose(flow)
}

/// Whether a patient can choose this endpoint in this mode.
fn is_offered(endpoint: &Endpoint, mode: Mode) -> bool {
    endpoint.mode == mode && endpoint.status != EndpointStatus::Unavailable
}

async fn shared(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    let endpoint = match &visit.flow.progress.step {
        Step::Share { endpoint } | Step::Away { endpoint } | Step::Trouble { endpoint, .. } => endpoint.clone(),
        _ => return Ok(to_session(service)),
    };
    if visit.is_framed() {
        let step = Step::Window {
            endpoint: Some(endpoint),
            provider: None,
        };
        return beside(service, &visit, step).await;
    }
    let taken = travel(service, visit.key(), endpoint, visit.flow.consent.usage).await?;
    stepped(service, taken)
}

/// Sends the patient to the source of this endpoint. If the endpoint is unavailable, records the failure and redirects
/// to the session's page.
async fn travel(
    service: &Arc<Service>,
    key: SessionKey,
    id: String,
    asked: Usage,
) -> Result<Result<Response, FlowError>, Error> {
    let endpoint = stored(service, move |service| service.store.endpoints().get(&id)).await?;
    match endpoint.map_err(Error::internal)? {
        Some(endpoint) if endpoint.status != EndpointStatus::Unavailable => {
            to_source(service, key, endpoint, asked).await
        }
        Some(endpoint) => {
            let left = stored(service, move |service| {
                service.store.flows().depart_failed(key, &departure(&endpoint))
            });
            Ok(left.await?.map(|()| to_session(service)))
        }
        None => Ok(Err(FlowError::Stale)),
    }
}

/// Goes to a step in which the frame opens a window. The flow continues in this window, because a frame never goes to a
/// source itself.
async fn beside(service: &Arc<Service>, visit: &Visit, step: Step) -> Result<Response, Error> {
    let key = visit.key();
    let taken = stored(service, move |service| service.store.flows().go_beside(key, step));
    stepped(service, taken.await?.map(|()| to_session(service)))
}

/// `POST /connect/window`: shows the source or identity provider in the window that a frame has opened. The window does
/// not have the frame's cookies, so a ticket in the form names the session. The response sets a cookie for the window.
pub(in crate::http::connect) async fn window(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let t = language::of(&service, &parts.headers);
    // The operator of another site may get a ticket from a session of their own. They must not use this ticket to send
    // visitors of their site to a source. So refuse a form that another site's page sent.
    if !is_from_own_page(&parts.headers, &service.base_url) {
        return notice::stale_window(&service, t);
    }
    if let Err(allowance) = service.throttle.charge_flow(&parts.extensions) {
        return notice::busy(&service, t, &allowance, &[], None, None);
    }
    let form = match fields(&service, &parts.headers, body).await {
        Ok(form) => form,
        Err(response) => return response,
    };
    match opened(&service, form.sole("ticket").unwrap_or_default().to_owned()).await {
        Ok(Some(response)) => response,
        Ok(None) => notice::stale_window(&service, t),
        Err(error) => notice::broken(&service, t, error),
    }
}

/// Whether a page of the service's own origin sent the form. The header `Sec-Fetch-Site` decides this. If it is
/// missing, the header `Origin` decides. `false` if both are missing.
fn is_from_own_page(headers: &HeaderMap, base_url: &str) -> bool {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match said("sec-fetch-site") {
        Some(site) => site == "same-origin",
        None => {
            let own = url::Url::parse(base_url).map(|url| url.origin().ascii_serialization());
            own.is_ok_and(|own| said("origin") == Some(own.as_str()))
        }
    }
}

async fn opened(service: &Arc<Service>, sent: String) -> Result<Option<Response>, Error> {
    let Some((key, turn)) = ticket::read(&service.store, &sent) else {
        return Ok(None);
    };
    let opened = stored(service, move |service| service.store.flows().open_window(key, turn)).await?;
    let (cookie, flow) = match opened {
        Ok(opened) => opened,
        Err(FlowError::Store(error)) => return Err(Error::internal(error)),
        Err(_) => return Ok(None),
    };
    let Step::Window { endpoint, provider } = flow.progress.step else {
        return Ok(None);
    };
    let taken = match (endpoint, provider) {
        (Some(endpoint), _) => travel(service, key, endpoint, flow.consent.usage).await?,
        (None, Some(code)) => match provider_of(service, flow.consent.mode, code).await? {
            Some(provider) => to_provider(service, key, provider).await?,
            None => return Ok(None),
        },
        (None, None) => return Ok(None),
    };
    match taken {
        Ok(response) => {
            let cookie = cookie::set(service, cookie::WINDOW, &cookie, false);
            Ok(Some(with_cookie(response, cookie)))
        }
        Err(FlowError::Store(error)) => Err(Error::internal(error)),
        Err(_) => Ok(None),
    }
}

async fn added(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    if may_choose(&visit.flow) {
        go(service, &visit, Step::Choose).await
    } else {
        Ok(to_session(service))
    }
}

async fn to_hub(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    let reached = visit.flow.request.way != Way::Choose || visit.flow.authorized().next().is_some();
    let verified = visit.flow.request.way != Way::Identity || visit.flow.progress.verified.is_some();
    if reached && verified {
        go(service, &visit, Step::Hub).await
    } else {
        Ok(to_session(service))
    }
}

async fn removed(service: &Arc<Service>, visit: Visit, form: Parameters) -> Result<Response, Error> {
    let (key, endpoint) = (visit.key(), form.sole("endpoint").unwrap_or_default().to_owned());
    let taken = stored(service, move |service| {
        service.store.flows().remove_source(key, &endpoint)
    });
    stepped(service, taken.await?.map(|()| to_session(service)))
}

async fn to_places(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    if visit.flow.progress.places.is_empty() {
        Ok(to_session(service))
    } else {
        go(service, &visit, Step::Places).await
    }
}

async fn to_details(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    if shown::finds_by_details(service, &visit).await? {
        go(service, &visit, Step::Details { down: false }).await
    } else {
        Ok(to_session(service))
    }
}

async fn go(service: &Arc<Service>, visit: &Visit, step: Step) -> Result<Response, Error> {
    let key = visit.key();
    let taken = stored(service, move |service| service.store.flows().go_to(key, step));
    stepped(service, taken.await?.map(|()| to_session(service)))
}

async fn searched(service: &Arc<Service>, visit: Visit, form: Parameters) -> Result<Response, Error> {
    if !matches!(visit.flow.progress.step, Step::Details { .. }) {
        return Ok(to_session(service));
    }
    let field = |name: &str| form.sole(name).unwrap_or_default().trim().to_owned();
    let t = visit.texts;
    let typed = ["birth_day", "birth_month", "birth_year"].map(field);
    let [day, month, year] = typed.each_ref().map(String::as_str);
    let order = birth_date::order(t.date_order);
    let today = Utc
        .timestamp_opt(service.store.clock().now(), 0)
        .single()
        .unwrap_or_default();
    let whole = field("birth_date");
    let born = birth_date::read([day, month, year], &whole, order, t.month_names, today.date_naive());
    // A date that is not accepted is shown in the three fields, too, even if it was typed into one of them.
    let understood = born.map_or_else(NoBirthDate::date, Some);
    let details = Details {
        given: field("given"),
        family: field("family"),
        birth_date: understood.map_or(whole, |date| date.to_string()),
        gender: field("gender"),
        postal_code: field("postal_code"),
    };
    let wrong = wrong(t, &details, born.err());
    if !wrong.is_empty() {
        let typed = understood.is_none().then_some(typed);
        return shown::details(service, &visit, details, typed, wrong, false).await;
    }
    let (key, said) = (visit.key(), details.clone());
    let turn = match stored(service, move |service| service.store.flows().take_details(key, said)).await? {
        Ok(turn) => turn,
        Err(error) => return stepped(service, Err(error)),
    };
    let asking = service.clone();
    let work = async move {
        let located = places::of_details(&asking, &visit.flow, &details).await?;
        stored(&asking, move |service| match located {
            Ok(places) => service.store.flows().located(key, turn, places),
            Err(_) => service
                .store
                .flows()
                .asked_in_vain(key, turn, Step::Details { down: true }),
        })
        .await
    };
    let taken = await_interim(service, work).await?.unwrap_or(Ok(()));
    stepped(service, taken.map(|()| to_session(service)))
}

/// Returns the form's fields that are wrong or missing, each with a message, in the order of the form.
fn wrong(t: &'static Texts, details: &Details, born: Option<NoBirthDate>) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut name = |field, value: &str, missing| {
        let text = match value.chars().count() {
            0 => missing,
            1..=LONGEST => return,
            _ => t.details_long,
        };
        wrong.push(Wrong { field, text });
    };
    name("given", &details.given, t.details_missing_given);
    name("family", &details.family, t.details_missing_family);
    if let Some(why) = born {
        wrong.push(Wrong {
            field: "birth_date",
            text: match why {
                NoBirthDate::Unreadable => t.details_bad_birth_date,
                NoBirthDate::Future(_) => t.details_birth_date_future,
                NoBirthDate::TooOld(_) => t.details_birth_date_old,
            },
        });
    }
    if details.postal_code.chars().count() > 20 {
        wrong.push(Wrong {
            field: "postal_code",
            text: t.details_long,
        });
    }
    wrong
}

async fn connected(service: &Arc<Service>, visit: Visit, form: Parameters) -> Result<Response, Error> {
    let flow = &visit.flow;
    if flow.progress.step != Step::Places {
        return Ok(to_session(service));
    }
    let chosen = form.all("facility").filter(|chosen| {
        let found = flow.progress.places.iter().any(|place| place.endpoint == **chosen);
        found && !flow.has(chosen)
    });
    let chosen: Vec<String> = chosen.map(str::to_owned).collect();
    if chosen.is_empty() {
        return shown::places(service, &visit, true).await;
    }
    let connecting = match places::agreed(service, flow, chosen).await? {
        Ok(connecting) => connecting,
        Err(error) => return stepped(service, Err(error)),
    };
    let asking = service.clone();
    let work = async move { places::connect(&asking, &visit.flow, connecting).await };
    let taken = await_interim(service, work).await?.unwrap_or(Ok(()));
    stepped(service, taken.map(|()| to_session(service)))
}

async fn identified(service: &Arc<Service>, visit: Visit, form: Parameters) -> Result<Response, Error> {
    let code = form.sole("provider").unwrap_or_default().to_owned();
    let asked = matches!(visit.flow.progress.step, Step::Identity { .. });
    let provider = provider_of(service, visit.flow.consent.mode, code).await?;
    let Some(provider) = provider.filter(|_| asked) else {
        return Ok(to_session(service));
    };
    if visit.is_framed() {
        let step = Step::Window {
            endpoint: None,
            provider: Some(provider.code),
        };
        return beside(service, &visit, step).await;
    }
    let taken = to_provider(service, visit.key(), provider).await?;
    stepped(service, taken)
}

async fn provider_of(service: &Arc<Service>, mode: Mode, code: String) -> Result<Option<IdentityProvider>, Error> {
    let known = stored(service, move |service| service.store.identity_providers().all(mode)).await?;
    Ok(known.map_err(Error::internal)?.into_iter().find(|one| one.code == code))
}

async fn completed(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    if visit.flow.progress.step != Step::Hub {
        return Ok(to_session(service));
    }
    // There is nothing to finish if no source is connected and none has failed.
    if visit.flow.authorized().next().is_none() && visit.flow.errored().next().is_none() {
        return Ok(to_session(service));
    }
    finish(service, visit.texts, visit.key()).await
}

async fn cancelled(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    // If a source is connected already, this cancels only the source that the patient was about to connect.
    if visit.flow.authorized().next().is_some() {
        return go(service, &visit, Step::Hub).await;
    }
    end_without(service, visit, Denial::Cancelled).await
}

async fn left(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    let none = matches!(
        visit.flow.progress.step,
        Step::Nothing
            | Step::Trouble {
                trouble: Trouble::NoPatient,
                ..
            }
    );
    let alone = visit.flow.authorized().next().is_none();
    if none && alone {
        end_without(service, visit, Denial::NoRecords).await
    } else {
        Ok(to_session(service))
    }
}

async fn dropped(service: &Arc<Service>, visit: Visit, _: Parameters) -> Result<Response, Error> {
    end_without(service, visit, Denial::Cancelled).await
}

async fn end_without(service: &Arc<Service>, visit: Visit, denial: Denial) -> Result<Response, Error> {
    let key = visit.key();
    let ended: Result<Flow, FlowError> = stored(service, move |service| service.store.flows().cancel(key)).await?;
    let ended = ended.map(|flow| denied(service, visit.texts, &flow, &visit.application, denial));
    stepped(service, ended)
}
