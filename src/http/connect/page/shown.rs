//! Shows a session's current step as a page.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::super::flow::choosing::is_choosing;
use super::super::flow::finish::finish;
use super::super::flow::parameters::Parameters;
use super::super::flow::session::FORMS;
use super::super::flow::session::cookie;
use super::super::flow::session::ticket;
use super::super::flow::session::visit::{Visit, present, stored, visit};
use super::super::flow::sources::places as located;
use super::super::flow::sources::travel::{departure, to_session};
use super::super::language;
use super::answer::{Policy, page, see_other};
use super::duration::{duration, in_short};
use super::view::{
    Asking, BirthField, Choice, Choose, Connected, DetailsPage, Ends, Facilities, Failed, Found, Fragment, FramePage,
    Hub, IdentityPage, Lasting, NoneFound, Onward, OrganizationView, PlaceView, Problem, Share, Shell, StepMark,
    Switch, Told, WaitingPage, Wrong,
};
use super::{kinds, notice};
use crate::consent::{
    self, Asked, AuthorizationState, AuthorizationType, Departure, Details, Display, Endpoint, EndpointStatus, Flow,
    IDLE_SECONDS, IdentityProvider, SessionKey, Step, Trouble, Usage, Way,
};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::Mode;

/// The maximum number of organizations that a search shows.
const SHOWN: usize = 50;
/// The maximum number of characters of a search text.
const LONGEST_QUERY: usize = 200;
const DAY: i64 = 86_400;

/// Answers `GET /connect`, the session's current page.
pub(in crate::http::connect) async fn page_of_session(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let address = format!("{}/connect", service.base_path());
    let visit = match visit(&service, &headers).await {
        Ok(visit) => visit,
        // The page about a session that is over can be switched to another language, too.
        Err(response) => return language::switched(&service, query.as_deref(), &address, false).unwrap_or(response),
    };
    let t = visit.texts;
    if let Some(response) = language::switched(&service, query.as_deref(), &address, visit.is_framed()) {
        return response;
    }
    // If the patient connects only one source, the flow ends as soon as the source grants access. If the grant came
    // while the patient saw the waiting page, end the flow here.
    let alone = visit.flow.request.way == Way::Choose && !visit.is_framed();
    if alone && visit.flow.progress.step == Step::Hub && visit.flow.authorized().next().is_some() {
        let finished = finish(&service, t, visit.key()).await;
        return finished.unwrap_or_else(|error| notice::broken(&service, t, error));
    }
    if visit.flow.progress.step == Step::Choose {
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        return see_other(&format!("{}/connect/find{query}", service.base_path()));
    }
    match step_page(&service, &visit).await {
        Ok(response) => response,
        Err(error) => notice::broken(&service, t, error),
    }
}

/// Answers `GET /connect/find`, the page of organizations. It has a URL of its own, so that the browser's back button
/// leads to it as long as no source is connected.
pub(in crate::http::connect) async fn find_page(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let visit = match visit(&service, &headers).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    if !is_choosing(&visit.flow) {
        return to_session(&service);
    }
    let t = visit.texts;
    match choose(&service, &visit, &sought(query)).await {
        Ok(response) => response,
        Err(error) => notice::broken(&service, t, error),
    }
}

/// Answers `GET /connect/organizations` with the organizations that match a name, while the patient types it.
pub(in crate::http::connect) async fn organizations(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    // The response is only a part of a page, so it cannot show how a session ended. Without an open session, return a
    // status.
    let Some(visit) = present(&service, &headers).await else {
        return StatusCode::GONE.into_response();
    };
    let found = match find(&service, &visit, sought(query)).await {
        Ok(found) => found,
        Err(error) => return notice::broken(&service, visit.texts, error),
    };
    let s = shell(&service, &visit, visit.texts.choose_title, 0);
    page(StatusCode::OK, &Fragment { s, found }, &policy(&visit))
}

/// Answers `GET /connect/progress` with the session's turn (a counter of its changes). A waiting page polls it.
/// Polling does not extend the session.
pub(in crate::http::connect) async fn progress(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    let Some(cookie) = cookie::read(&service, &headers, cookie::SESSION) else {
        return StatusCode::GONE.into_response();
    };
    let key = SessionKey::of(&cookie);
    match stored(&service, move |service| service.store.flows().peek(key)).await {
        Ok(Ok(Some(flow))) if flow.is_open() => flow.progress.turn.to_string().into_response(),
        _ => StatusCode::GONE.into_response(),
    }
}

fn sought(query: Option<String>) -> String {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    parameters
        .sole("q")
        .unwrap_or_default()
        .trim()
        .chars()
        .take(LONGEST_QUERY)
        .collect()
}

/// Builds the data that all pages of a session share. `at` is the number of the current step in [`StepMark::all`].
fn shell<'a>(service: &'a Service, visit: &'a Visit, title: impl ToString, at: usize) -> Shell<'a> {
    let request = &visit.flow.request;
    let has_connected = visit.flow.authorized().next().is_some();
    Shell {
        t: visit.texts,
        base: service.base_path(),
        title: title.to_string(),
        brand: &service.pages.branding,
        app: Some(&visit.application.name),
        asks: Some(&visit.profile),
        app_id: &visit.application.id,
        test: visit.flow.consent.mode == Mode::Test,
        csrf: FORMS.token(&visit.cookie),
        steps: StepMark::all(visit.texts, request, at),
        to_hub: has_connected && visit.flow.progress.step != Step::Hub,
        has_connected,
        ends: Some(Ends::after(IDLE_SECONDS)),
        languages: Some(Switch {
            address: format!("{}/connect", service.base_path()),
            all: service.pages.languages.all(),
        }),
        told: request.holder.as_ref().map(|holder| Told {
            origin: &holder.origin,
            channel: &holder.channel,
            view: view_of(&visit.flow.progress.step),
        }),
    }
}

/// Returns the name of a step's page, as the link component tells it to the application.
fn view_of(step: &Step) -> &'static str {
    match step {
        Step::Choose => "choose",
        Step::Share { .. } | Step::Away { .. } => "review",
        Step::Window { .. } => "sign_in",
        Step::Trouble { .. } => "problem",
        Step::Hub => "sources",
        Step::Identity { .. } => "identity",
        Step::Details { .. } => "details",
        Step::Places => "places",
        Step::Nothing => "nothing",
        Step::Waiting { .. } => "waiting",
    }
}

/// Returns the number of the step during which the patient is at a source. The numbers are those of [`StepMark::all`].
fn there(visit: &Visit) -> usize {
    match visit.flow.request.way {
        Way::Choose => 2,
        Way::Search | Way::Identity => 1,
    }
}

/// Returns the policy of the session's pages. Their forms may lead to the application's redirect URI.
fn policy(visit: &Visit) -> Policy {
    let request = &visit.flow.request;
    let policy = match &request.redirect_uri {
        Some(uri) => Policy::default().leads_to(uri),
        None => Policy::default(),
    };
    match request.display {
        Display::Frame => policy.framed_by(&visit.application.origins),
        Display::Page | Display::Popup => policy,
    }
}

async fn step_page(service: &Arc<Service>, visit: &Visit) -> Result<Response, Error> {
    match &visit.flow.progress.step {
        Step::Choose => choose(service, visit, "").await,
        Step::Share { endpoint } => share(service, visit, &source(service, endpoint).await?).await,
        // The patient has left for the source. If they come back without its callback, this page lets them go there
        // again.
        Step::Away { endpoint } => share(service, visit, &source(service, endpoint).await?).await,
        Step::Window { endpoint, provider } => match (endpoint, provider) {
            (Some(endpoint), _) => {
                let endpoint = source(service, endpoint).await?;
                let policy = toward(policy(visit), &endpoint);
                framed(service, visit, &display_name(&endpoint), &policy)
            }
            (None, code) => {
                let known = provider_of(service, visit, code.as_deref().unwrap_or_default()).await?;
                let (name, issuer) = known.map(|known| (known.name, known.issuer)).unwrap_or_default();
                framed(service, visit, &name, &policy(visit).leads_to(&issuer))
            }
        },
        Step::Trouble { endpoint, trouble } => problem(service, visit, &source(service, endpoint).await?, *trouble),
        Step::Hub => hub(service, visit).await,
        Step::Identity { trouble, provider } => identity(service, visit, *trouble, provider.as_deref()).await,
        Step::Details { down } => {
            let filled = visit.flow.progress.details.clone();
            details(service, visit, filled, None, Vec::new(), *down).await
        }
        Step::Places => places(service, visit, false).await,
        Step::Nothing => nothing(service, visit).await,
        Step::Waiting { on, .. } => waiting(service, visit, on).await,
    }
}

async fn choose(service: &Arc<Service>, visit: &Visit, query: &str) -> Result<Response, Error> {
    let found = find(service, visit, query.to_owned()).await?;
    let details = finds_by_details(service, visit).await?;
    let at = if visit.flow.request.way == Way::Identity { 1 } else { 0 };
    let mut s = shell(service, visit, visit.texts.choose_title, at);
    // The patient may come here by the back button while the session is at another step. `shell` has set the name of
    // that step's page. So set the name of this page.
    s.told.iter_mut().for_each(|told| told.view = "choose");
    Ok(page(StatusCode::OK, &Choose { s, found, details }, &policy(visit)))
}

async fn find(service: &Arc<Service>, visit: &Visit, query: String) -> Result<Found, Error> {
    let (mode, text) = (visit.flow.consent.mode, query.clone());
    // A record locator can connect endpoints without a sign-in page, but it needs the patient's details. So include
    // endpoints of these types only if the flow can search by details.
    let types = if finds_by_details(service, visit).await? {
        AuthorizationType::ALL
    } else {
        &[AuthorizationType::Oauth, AuthorizationType::Credentials]
    };
    let found = stored(service, move |service| {
        let found = service.store.endpoints().search(mode, &text, types, SHOWN + 1)?;
        let all = found.into_iter().map(|endpoint| {
            let profile = service.store.profiles().of_organization(&endpoint.organization.id)?;
            Ok((endpoint, profile))
        });
        all.collect::<Result<Vec<_>, consent::Error>>()
    });
    let found = found.await?.map_err(Error::internal)?;
    let more = found.len() > SHOWN;
    let organizations = found.into_iter().take(SHOWN).map(|(endpoint, profile)| {
        let name = display_name(&endpoint);
        Choice {
            organization: OrganizationView::of(visit.texts, &endpoint.organization, profile),
            endpoint: endpoint.id.clone(),
            by: others(&endpoint, &name),
            name,
            connected: visit.flow.has(&endpoint.id),
        }
    });
    Ok(Found {
        query,
        organizations: organizations.collect(),
        limit: SHOWN,
        more,
    })
}

async fn share(service: &Arc<Service>, visit: &Visit, endpoint: &Endpoint) -> Result<Response, Error> {
    let t = visit.texts;
    let id = endpoint.organization.id.clone();
    let profile = stored(service, move |service| service.store.profiles().of_organization(&id));
    let profile = profile.await?.map_err(Error::internal)?;
    let source = display_name(endpoint);
    let asked = visit.flow.consent.usage;
    let usage = departure(endpoint).usage(asked);
    let days = endpoint
        .max_auth_period
        .filter(|seconds| *seconds >= DAY)
        .and_then(|seconds| usize::try_from(seconds / DAY).ok());
    let request = &visit.flow.request;
    let template = Share {
        s: shell(service, visit, t.fill(t.share_title, &source), 1),
        what: kinds::what(t, endpoint.resources.iter().map(String::as_str)),
        app: &visit.application.name,
        source: &source,
        organization: OrganizationView::of(t, &endpoint.organization, profile),
        lasting: in_short(t, usage),
        duration: duration(t, &visit.application.name, usage),
        ongoing: usage == Usage::Multiple,
        forced: asked != usage,
        longest: days,
        other: request.endpoint.is_none() || request.way == Way::Search,
    };
    Ok(page(StatusCode::OK, &template, &toward(policy(visit), endpoint)))
}

/// Allows the page's forms to lead to the source, in addition to what the policy allows already.
fn toward(policy: Policy, endpoint: &Endpoint) -> Policy {
    let configured = endpoint.configuration.as_deref();
    let configured = configured.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let authorize = configured
        .as_ref()
        .and_then(|json| json["authorization_endpoint"].as_str());
    let policy = policy.leads_to(&endpoint.fhir_base);
    match authorize {
        Some(address) => policy.leads_to(address),
        None => policy,
    }
}

fn problem(service: &Service, visit: &Visit, endpoint: &Endpoint, trouble: Trouble) -> Result<Response, Error> {
    let t = visit.texts;
    let source = display_name(endpoint);
    let (title, text) = match trouble {
        Trouble::Refused => (t.problem_refused_title, t.problem_refused),
        Trouble::NoPatient => (t.problem_no_patient_title, t.problem_no_patient),
        Trouble::Down => (t.problem_down_title, t.problem_down),
        Trouble::Rejected => (t.problem_rejected_title, t.problem_rejected),
        Trouble::Unreadable => (t.problem_unreadable_title, t.problem_unreadable),
    };
    let (request, app) = (&visit.flow.request, visit.application.name.as_str());
    let other = Onward {
        action: "add",
        label: t.problem_other.to_owned(),
    };
    let alone = visit.flow.authorized().next().is_none();
    let template = Problem {
        s: shell(service, visit, t.fill(title, &source), there(visit)),
        bad: matches!(trouble, Trouble::Down | Trouble::Rejected | Trouble::Unreadable),
        text,
        // If the records are unreadable, do not offer another try: it would not change their format.
        again: (trouble != Trouble::Unreadable).then(|| Onward {
            action: "share",
            label: t.fill(t.problem_again, &source),
        }),
        other: (request.endpoint.is_none() || request.way == Way::Search).then_some(other),
        leave: (trouble == Trouble::NoPatient && alone).then(|| t.fill(t.facilities_leave, app)),
    };
    Ok(page(StatusCode::OK, &template, &toward(policy(visit), endpoint)))
}

async fn hub(service: &Arc<Service>, visit: &Visit) -> Result<Response, Error> {
    let (t, flow) = (visit.texts, &visit.flow);
    let endpoints = endpoints(service, flow).await?;
    let known = |id: &str| endpoints.iter().find(|endpoint| endpoint.id == id);
    let connected = flow.authorized().filter_map(|one| {
        let endpoint = known(&one.endpoint)?;
        let granted = one.scope_granted.as_deref().unwrap_or_default();
        let what = kinds::what(t, kinds::granted(&endpoint.resources, granted));
        let names: Vec<&str> = what.categories.iter().map(|category| category.name).collect();
        Some(Connected {
            endpoint: endpoint.id.clone(),
            name: display_name(endpoint),
            what: names.join(" · "),
            lasting: in_short(t, one.usage),
            duration: duration(t, &visit.application.name, one.usage),
        })
    });
    // The places that a record locator found and that are still being connected. The page lists them as failed. It does
    // not list a place that failed first and was connected later.
    let unanswered = flow.authorizations.iter().filter(|one| {
        let located = matches!(
            one.authorization_type,
            AuthorizationType::Ial1 | AuthorizationType::Ial2
        );
        located && one.state == AuthorizationState::Authorizing
    });
    let alone = flow.request.way == Way::Choose;
    let has_some = flow.authorized().next().is_some();
    // If the patient wanted one source and has it, do not list an earlier one that failed.
    let is_settled = alone && has_some;
    let failed = flow.errored().chain(unanswered);
    let failed = failed.filter(|one| !is_settled && !flow.has(&one.endpoint));
    let mut failed: Vec<&Endpoint> = failed.filter_map(|one| known(&one.endpoint)).collect();
    failed.sort_by(|one, other| one.id.cmp(&other.id));
    failed.dedup_by(|one, other| one.id == other.id);
    let open = |place: &consent::RecordLocation| !flow.has(&place.endpoint);
    let view = |endpoint: &Endpoint| Failed {
        endpoint: endpoint.id.clone(),
        name: display_name(endpoint),
        again: !alone && endpoint.authorization_type.signs_in() && endpoint.status != EndpointStatus::Unavailable,
    };
    // The title and the number of the current step. If the patient wanted only one source, the last step is left: to
    // share it. Other patients connect sources, or share the connected ones.
    let (title, at) = if alone {
        (t.hub_title_alone, 3)
    } else if has_some {
        (t.hub_title, 2)
    } else {
        (t.hub_title, 1)
    };
    let template = Hub {
        s: shell(service, visit, title, at),
        app: &visit.application.name,
        connected: connected.collect(),
        failed: failed.into_iter().map(view).collect(),
        remove: !alone,
        add: !alone && has_more(service, visit).await?,
        facilities: flow.progress.places.iter().any(open),
    };
    Ok(page(StatusCode::OK, &template, &policy(visit)))
}

/// Whether there is an organization that is not connected yet.
async fn has_more(service: &Arc<Service>, visit: &Visit) -> Result<bool, Error> {
    let found = find(service, visit, String::new()).await?;
    Ok(found.more || found.organizations.iter().any(|one| !one.connected))
}

/// Returns the endpoints of the flow's authorizations and of the places that a record locator found.
async fn endpoints(service: &Arc<Service>, flow: &Flow) -> Result<Vec<Endpoint>, Error> {
    let chosen = flow.authorizations.iter().map(|one| one.endpoint.clone());
    let found = flow.progress.places.iter().map(|place| place.endpoint.clone());
    let mut ids: Vec<String> = chosen.chain(found).collect();
    ids.sort();
    ids.dedup();
    let all = stored(service, move |service| {
        let all = ids.iter().map(|id| service.store.endpoints().get(id));
        all.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()
    });
    all.await?.map_err(Error::internal)
}

/// Shows the page on which the patient waits for other services.
async fn waiting(service: &Arc<Service>, visit: &Visit, on: &Asked) -> Result<Response, Error> {
    let (t, flow) = (visit.texts, &visit.flow);
    let (title, text, at) = match on {
        Asked::Source { endpoint } => {
            let name = display_name(&source(service, endpoint).await?);
            let (title, text) = (t.fill(t.waiting_source, &name), t.fill(t.waiting_source_text, &name));
            (title, text, there(visit))
        }
        Asked::Provider { code } => {
            let name = provider_of(service, visit, code).await?.map(|known| known.name);
            let text = t.fill(t.waiting_provider_text, name.as_deref().unwrap_or(t.identity_unknown));
            (t.waiting_provider.to_owned(), text, 0)
        }
        Asked::Search => (t.waiting_search.to_owned(), t.waiting_search_text.to_owned(), 0),
        Asked::Places => (t.waiting_places.to_owned(), t.waiting_places_text.to_owned(), 1),
    };
    let places = match on {
        Asked::Places => asked_places(service, visit).await?,
        _ => Vec::new(),
    };
    let template = WaitingPage {
        s: shell(service, visit, title, at),
        text,
        places,
        mark: flow.progress.turn,
    };
    Ok(page(StatusCode::OK, &template, &policy(visit)))
}

/// Returns the places that are being connected, each with its progress.
async fn asked_places(service: &Arc<Service>, visit: &Visit) -> Result<Vec<Asking>, Error> {
    let (t, flow) = (visit.texts, &visit.flow);
    let endpoints = endpoints(service, flow).await?;
    let asked = flow.progress.places.iter().filter_map(|place| {
        let newest = flow
            .authorizations
            .iter()
            .rev()
            .find(|one| one.endpoint == place.endpoint)?;
        let (class, said) = match newest.state {
            AuthorizationState::Authorizing => ("asked", t.place_asked),
            AuthorizationState::Authorized => ("good", t.place_connected),
            AuthorizationState::Errored => ("bad", t.place_failed),
            _ => return None,
        };
        let known = endpoints.iter().find(|endpoint| endpoint.id == place.endpoint);
        Some(Asking {
            name: known.map_or_else(|| place.name.clone(), display_name),
            class,
            said,
        })
    });
    Ok(asked.collect())
}

async fn identity(
    service: &Arc<Service>,
    visit: &Visit,
    trouble: Option<Trouble>,
    asked: Option<&str>,
) -> Result<Response, Error> {
    let t = visit.texts;
    let mode = visit.flow.consent.mode;
    let known = stored(service, move |service| service.store.identity_providers().all(mode));
    let known = known.await?.map_err(Error::internal)?;
    let policy = known
        .iter()
        .fold(policy(visit), |policy, one| policy.leads_to(&one.issuer));
    let asked = known.iter().find(|one| Some(one.code.as_str()) == asked);
    let name = asked.map_or(t.identity_unknown, |one| one.name.as_str());
    let problem = trouble.map(|trouble| match trouble {
        Trouble::Down | Trouble::Rejected | Trouble::Unreadable => {
            (t.fill(t.identity_down_title, name), t.identity_down.to_owned())
        }
        Trouble::Refused | Trouble::NoPatient => {
            (t.identity_refused_title.to_owned(), t.fill(t.identity_refused, name))
        }
    });
    let template = IdentityPage {
        s: shell(service, visit, t.identity_title, 0),
        providers: known.into_iter().map(|one| (one.code, one.name)).collect(),
        problem,
    };
    Ok(page(StatusCode::OK, &template, &policy))
}

/// Shows the form for a search by the patient's details, with its errors above the fields. `typed` is the day, month
/// and year as the patient typed them, if they are no date. `down`: an earlier search got no usable answer.
pub(in crate::http::connect) async fn details(
    service: &Arc<Service>,
    visit: &Visit,
    filled: Details,
    typed: Option<[String; 3]>,
    wrong: Vec<Wrong>,
    down: bool,
) -> Result<Response, Error> {
    let t = visit.texts;
    let (title, lead) = match sought_name(service, visit).await? {
        Some(name) => (t.fill(t.details_title_at, &name), t.fill(t.details_lead_at, &name)),
        None => (t.details_title.to_owned(), t.details_lead.to_owned()),
    };
    let status = if wrong.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    let template = DetailsPage {
        s: shell(service, visit, title, 0),
        lead,
        birth: BirthField::all(t, &filled.birth_date, typed),
        filled,
        wrong,
        down,
    };
    Ok(page(status, &template, &policy(visit)))
}

/// Returns the name of the organization at which the patient searches for their records, if they chose one.
async fn sought_name(service: &Arc<Service>, visit: &Visit) -> Result<Option<String>, Error> {
    match &visit.flow.progress.sought {
        Some(endpoint) => Ok(Some(display_name(&source(service, endpoint).await?))),
        None => Ok(None),
    }
}

/// Shows the places that a record locator found. `nothing`: the patient submitted the form without choosing one.
pub(in crate::http::connect) async fn places(
    service: &Arc<Service>,
    visit: &Visit,
    nothing: bool,
) -> Result<Response, Error> {
    let (t, flow) = (visit.texts, &visit.flow);
    let title = match flow.progress.verified {
        Some(_) => t.facilities_title,
        None => t.facilities_title_details,
    };
    let endpoints = endpoints(service, flow).await?;
    let open = endpoints
        .iter()
        .filter(|one| !flow.has(&one.id) && flow.progress.places.iter().any(|place| place.endpoint == one.id));
    // If one of the places has no list of resource types, it may have any type. Then pass no types, so that the page
    // lists all kinds.
    let types: Vec<&str> = if open.clone().any(|endpoint| endpoint.resources.is_empty()) {
        Vec::new()
    } else {
        open.flat_map(|endpoint| endpoint.resources.iter().map(String::as_str))
            .collect()
    };
    let view = flow.progress.places.iter().map(|place| PlaceView {
        endpoint: place.endpoint.clone(),
        name: place.name.clone(),
        connected: flow.has(&place.endpoint),
        // For a verified patient, all places are preselected. Other patients know their places themselves. For them,
        // only the organization that they chose before the search is preselected.
        chosen: (flow.progress.verified.is_some() || flow.progress.sought.as_ref() == Some(&place.endpoint))
            && !nothing,
    });
    let found = |id: &String| flow.progress.places.iter().any(|place| place.endpoint == *id);
    let missing = if flow.progress.sought.as_ref().is_some_and(|id| !found(id)) {
        sought_name(service, visit).await?
    } else {
        None
    };
    let status = if nothing {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    let template = Facilities {
        places: view.collect(),
        what: kinds::what(t, types),
        s: shell(service, visit, title, 1),
        app: &visit.application.name,
        missing: missing.map(|name| t.fill(t.facilities_not_there, &name)),
        durations: durations(visit, &endpoints),
        nothing,
    };
    Ok(page(status, &template, &policy(visit)))
}

/// Describes how long the found places share records. Returns one sentence if this is the same for all places. If not,
/// returns one sentence for the places with ongoing access, and one for those with one-time access.
fn durations(visit: &Visit, endpoints: &[Endpoint]) -> Vec<Lasting> {
    let (t, flow) = (visit.texts, &visit.flow);
    let authorization_type = located::type_of(flow);
    let mut by_usage: BTreeMap<Usage, Vec<&str>> = BTreeMap::new();
    for place in &flow.progress.places {
        let Some(endpoint) = endpoints.iter().find(|one| one.id == place.endpoint) else {
            continue;
        };
        let to = Departure {
            authorization_type,
            ..departure(endpoint)
        };
        let names = by_usage.entry(to.usage(flow.consent.usage)).or_default();
        names.push(&place.name);
    }
    let alike = by_usage.len() == 1;
    let lasting = by_usage.into_iter().map(|(usage, names)| Lasting {
        places: (!alike).then(|| t.list(&names)),
        duration: duration(t, &visit.application.name, usage),
    });
    lasting.collect()
}

async fn nothing(service: &Arc<Service>, visit: &Visit) -> Result<Response, Error> {
    let t = visit.texts;
    let text = match (&visit.flow.progress.verified, sought_name(service, visit).await?) {
        (Some(_), _) => t.facilities_none_identity.to_owned(),
        (None, Some(name)) => t.fill(t.facilities_none_at, &name),
        (None, None) => t.facilities_none_details.to_owned(),
    };
    // A search by details is the first step. A verified patient has done that step, and the search is the second one.
    let at = usize::from(visit.flow.request.way == Way::Identity);
    let template = NoneFound {
        s: shell(service, visit, t.facilities_none_title, at),
        app: &visit.application.name,
        text,
        details: finds_by_details(service, visit).await?,
    };
    Ok(page(StatusCode::OK, &template, &policy(visit)))
}

fn framed(service: &Service, visit: &Visit, source: &str, policy: &Policy) -> Result<Response, Error> {
    let turn = visit.flow.progress.turn;
    let t = visit.texts;
    let at = if visit.flow.progress.verified.is_none() && visit.flow.request.way == Way::Identity {
        0
    } else {
        there(visit)
    };
    let template = FramePage {
        s: shell(service, visit, t.fill(t.frame_title, source), at),
        source,
        ticket: ticket::made(&service.store, visit.key(), turn).map_err(Error::internal)?,
        mark: turn,
        opened: visit.flow.progress.window.is_some(),
    };
    Ok(page(StatusCode::OK, &template, policy))
}

/// Whether the flow can search by the patient's details: the application requested it, and a record locator is
/// configured.
pub(in crate::http::connect) async fn finds_by_details(service: &Arc<Service>, visit: &Visit) -> Result<bool, Error> {
    if visit.flow.request.way != Way::Search {
        return Ok(false);
    }
    let mode = visit.flow.consent.mode;
    let locator = stored(service, move |service| service.store.record_locators().get(mode));
    Ok(locator.await?.map_err(Error::internal)?.is_some())
}

async fn source(service: &Arc<Service>, id: &str) -> Result<Endpoint, Error> {
    let id = id.to_owned();
    let found = stored(service, move |service| service.store.endpoints().get(&id));
    let found = found.await?.map_err(Error::internal)?;
    found.ok_or_else(|| Error::internal("the endpoint of a session is gone"))
}

async fn provider_of(service: &Arc<Service>, visit: &Visit, code: &str) -> Result<Option<IdentityProvider>, Error> {
    let mode = visit.flow.consent.mode;
    let known = stored(service, move |service| service.store.identity_providers().all(mode));
    let known = known.await?.map_err(Error::internal)?;
    Ok(known.into_iter().find(|one| one.code == code))
}

/// Returns the endpoint's other labels and its organization's name, because patients may know these better. `None` if
/// there are none.
fn others(endpoint: &Endpoint, name: &str) -> Option<String> {
    let mut others: Vec<&str> = Vec::new();
    for other in endpoint.label.iter().chain([&endpoint.organization.name]) {
        if !other.is_empty() && other != name && !others.contains(&other.as_str()) {
            others.push(other);
        }
    }
    (!others.is_empty()).then(|| others.join(" · "))
}

/// Returns the name by which patients know an endpoint: its first label, or else its organization's name.
pub(in crate::http::connect) fn display_name(endpoint: &Endpoint) -> String {
    let label = endpoint.label.iter().find(|label| !label.is_empty());
    label.unwrap_or(&endpoint.organization.name).clone()
}
