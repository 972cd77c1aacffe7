//! The FHIR API of an organization: read, search, and `$everything`, over one person's records.
//!
//! Invariant: a request reads only the records of the token's person.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::json;

use super::super::answer::{body, fhir, outcome, unauthorized};
use super::super::office::knobs::{Malformed, strikes};
use super::super::office::organization::{Kind, SHARED};
use super::super::office::state::Office;
use super::super::office::world::World;
use super::super::params::Params;
use super::super::sign_in::grants::Consent;
use super::bundle::{Page, Query};
use super::dialect;
use super::holding::Holding;
use super::pages::nowhere;
use super::papers;
use crate::fhir::outcome::IssueType;

/// The search parameters that name a person. A search may name only the token's person.
const PEOPLE: &[&str] = &["patient", "subject", "beneficiary"];

/// Answers `GET /{organization}/fhir/{type}/{id}`.
pub(in crate::sandbox::payer) async fn read(
    State(world): State<Arc<World>>,
    Path((organization, resource_type, id)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Response {
    let asked = async |world: &World, office: &Office| {
        let asker = Asker::admitted(world, office, &headers)?;
        if matches!(resource_type.as_str(), "Binary" | "files") && !office.knobs().attachments.is_empty() {
            return document(world, office, &asker, &headers, &resource_type, &id);
        }
        asker.may_read(&resource_type)?;
        match asker.holding.get(&resource_type, &id) {
            Some(row) if dialect::is_forbidden(&office.knobs(), row) => Err(Fault::of(
                StatusCode::FORBIDDEN,
                IssueType::Forbidden,
                "the token's scope does not cover this category",
            )),
            Some(row) => Ok(fhir(StatusCode::OK, row.json.clone())),
            None => Err(Fault::of(
                StatusCode::NOT_FOUND,
                IssueType::NotFound,
                format!("there is no {resource_type} with this id"),
            )),
        }
    };
    framed(&world, &organization, &headers, asked).await
}

/// Returns a document of the token's person as bytes. A document under `Binary` is returned as a resource if the header
/// `Accept` begins with FHIR's JSON type, or if the knob `binary_json` is set.
fn document(
    world: &World,
    office: &Office,
    asker: &Asker<'_>,
    headers: &HeaderMap,
    folder: &str,
    name: &str,
) -> Result<Response, Fault> {
    let knobs = office.knobs();
    let person = world
        .people
        .person(asker.consent.person)
        .ok_or(Fault::Token { came: true })?;
    let paper = papers::at(&person, &knobs, folder, name).map_err(|status| {
        let code = match status {
            StatusCode::FORBIDDEN => IssueType::Forbidden,
            _ => IssueType::NotFound,
        };
        Fault::of(status, code, "there is no such document for this token")
    })?;
    let accept = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if folder == "Binary" && (knobs.binary_json || accept.starts_with("application/fhir+json")) {
        return Ok(fhir(StatusCode::OK, paper.resource(name).to_string()));
    }
    Ok(body(StatusCode::OK, paper.content_type, paper.bytes))
}

/// Answers `GET /{organization}/fhir/{type}`.
pub(in crate::sandbox::payer) async fn search(
    State(world): State<Arc<World>>,
    Path((organization, resource_type)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    let asked = async |world: &World, office: &Office| searched(world, office, &headers, &resource_type, &params);
    framed(&world, &organization, &headers, asked).await
}

/// Answers `POST /{organization}/fhir/{type}/_search`. Any other POST is answered by 405.
pub(in crate::sandbox::payer) async fn post(
    State(world): State<Arc<World>>,
    Path((organization, resource_type, id)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let params = Params::parse(&body);
    let asked = async |world: &World, office: &Office| match id.as_str() {
        "_search" => searched(world, office, &headers, &resource_type, &params),
        _ => Err(Fault::of(
            StatusCode::METHOD_NOT_ALLOWED,
            IssueType::NotSupported,
            "records are read here and not written",
        )),
    };
    framed(&world, &organization, &headers, asked).await
}

/// Answers `GET /{organization}/fhir/Patient/{id}/$everything`. Any other operation is answered by 404.
pub(in crate::sandbox::payer) async fn operation(
    State(world): State<Arc<World>>,
    Path((organization, resource_type, id, operation)): Path<(String, String, String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    let asked = async |world: &World, office: &Office| {
        let asker = Asker::admitted(world, office, &headers)?;
        if resource_type != "Patient" || operation != "$everything" {
            return Err(Fault::of(
                StatusCode::NOT_FOUND,
                IssueType::NotSupported,
                format!("there is no operation {operation} on {resource_type}"),
            ));
        }
        if asker.holding.get("Patient", &id).is_none() {
            return Err(Fault::of(
                StatusCode::NOT_FOUND,
                IssueType::NotFound,
                "there is no Patient with this id",
            ));
        }
        let mut query = Query {
            path: format!("Patient/{id}/$everything"),
            ..Query::default()
        };
        for (name, value) in params.iter() {
            match name {
                "_type" => query.types = value.split(',').map(str::to_owned).collect(),
                "_count" => query.count = count(value)?,
                "_page" => return page(world, office, &asker, &query.path, value),
                _ => return Err(unknown(name)),
            }
        }
        Ok(answered(world, office, &asker, query))
    };
    framed(&world, &organization, &headers, asked).await
}

/// Answers a path that has no route by 404: with a page if the client is a browser, and otherwise with an
/// OperationOutcome.
pub(in crate::sandbox::payer) async fn nothing(headers: HeaderMap) -> Response {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if accepted.any(|types| types.contains("text/html")) {
        return nowhere();
    }
    outcome(StatusCode::NOT_FOUND, IssueType::NotSupported, "there is nothing here")
}

/// The reason why a request fails.
enum Fault {
    /// The access token is missing, or not valid. `came` is true if the request had an `Authorization` header.
    Token {
        came: bool,
    },
    Other(StatusCode, IssueType, String),
}

impl Fault {
    fn of(status: StatusCode, code: IssueType, text: impl Into<String>) -> Fault {
        Fault::Other(status, code, text.into())
    }
}

/// The sender of a request: the consent of its access token, and the records of the consent's person.
struct Asker<'w> {
    world: &'w World,
    office: &'w Office,
    consent: Consent,
    patient: String,
    holding: Arc<Holding>,
}

impl<'w> Asker<'w> {
    fn admitted(world: &'w World, office: &'w Office, headers: &HeaderMap) -> Result<Asker<'w>, Fault> {
        if !headers.contains_key(AUTHORIZATION) {
            return Err(Fault::Token { came: false });
        }
        let consent = bearer(headers).and_then(|token| office.grants().bearer(token));
        let consent = consent.ok_or(Fault::Token { came: true })?;
        let person = world.people.person(consent.person).ok_or(Fault::Token { came: true })?;
        Ok(Asker {
            world,
            office,
            patient: person.patient,
            holding: world.holding(office, consent.person),
            consent,
        })
    }

    /// Checks that the organization serves this type, and that the token's scope covers it.
    fn may_read(&self, resource_type: &str) -> Result<(), Fault> {
        let unserved = self.office.knobs().unserved.iter().any(|one| one == resource_type);
        if unserved || !self.office.organization.types().contains(&resource_type) {
            return Err(Fault::of(
                StatusCode::NOT_FOUND,
                IssueType::NotSupported,
                format!("{} has no resources of this type", self.office.organization.name),
            ));
        }
        if !self.consent.granted.allows(resource_type) {
            return Err(Fault::of(
                StatusCode::FORBIDDEN,
                IssueType::Forbidden,
                format!("the token's scope does not cover {resource_type}"),
            ));
        }
        Ok(())
    }
}

/// Counts a request and sleeps for the time that the knob `slow` sets. If another knob makes the request fail, returns
/// that failure. Otherwise calls `asked`, which answers the request.
async fn framed(
    world: &World,
    organization: &str,
    headers: &HeaderMap,
    asked: impl AsyncFnOnce(&World, &Office) -> Result<Response, Fault>,
) -> Response {
    let office = world
        .office(organization)
        .filter(|office| office.organization.kind != Kind::Identity);
    let Some(office) = office else {
        return nothing(headers.clone()).await;
    };
    let _in_flight = office.counts.enter();
    let knobs = office.knobs();
    let number = 1 + office.counts.fhir.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    tokio::time::sleep(knobs.delay()).await;
    if knobs.throttle_every > 0 && number.is_multiple_of(knobs.throttle_every) {
        let mut response = outcome(StatusCode::TOO_MANY_REQUESTS, IssueType::Throttled, "too many requests");
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(knobs.retry_after));
        return response;
    }
    if knobs.fail_every > 0 && number.is_multiple_of(knobs.fail_every) {
        let status = StatusCode::from_u16(knobs.fail_status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        return match &knobs.fail_outcome {
            Some(said) => fhir(
                status,
                said.to_string().replace("{token}", bearer(headers).unwrap_or_default()),
            ),
            None => outcome(status, IssueType::Exception, "out of order"),
        };
    }
    if knobs.xml {
        return xml();
    }
    match asked(world, office).await {
        Ok(response) => response,
        Err(Fault::Other(status, code, _)) if knobs.silent => outcome(status, code, "refused"),
        Err(Fault::Token { came }) => unauthorized(came),
        Err(Fault::Other(status, code, text)) => outcome(status, code, text),
    }
}

/// Returns the answer of an organization that sends XML, although the client expects JSON.
pub(in crate::sandbox::payer) fn xml() -> Response {
    let text = r#"<?xml version="1.0"?><Bundle xmlns="http://hl7.org/fhir"><type value="searchset"/></Bundle>"#;
    super::super::answer::body(StatusCode::OK, "application/fhir+xml", text)
}

/// Returns the access token of a request. `None` if there is no `Authorization` header with a bearer token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    value.strip_prefix("Bearer ").map(str::trim)
}

fn searched(
    world: &World,
    office: &Office,
    headers: &HeaderMap,
    resource_type: &str,
    params: &Params,
) -> Result<Response, Fault> {
    let asker = Asker::admitted(world, office, headers)?;
    asker.may_read(resource_type)?;
    let knobs = office.knobs();
    if params.get("_page").is_none() {
        dialect::admitted(&knobs, resource_type, params)
            .map_err(|dialect::Refused(status, code, text)| Fault::of(status, code, text))?;
    }
    let mut query = Query {
        path: resource_type.to_owned(),
        types: vec![resource_type.to_owned()],
        ..Query::default()
    };
    for (name, value) in params.iter() {
        match name {
            "_id" => query.ids = Some(value.split(',').map(str::to_owned).collect()),
            "_count" => query.count = count(value)?,
            "_page" => return page(world, office, &asker, resource_type, value),
            // These parameters choose the format of the answer. The sandbox has only one format, so it ignores them.
            "_format" | "_pretty" => {}
            "_revinclude" if value == "Provenance:target" && knobs.provenance_along => query.provenance = true,
            "_lastUpdated" if knobs.last_updated && value.starts_with("ge") => {
                query.since = Some(value["ge".len()..].to_owned());
            }
            _ if dialect::FILTERS.contains(&name) && !SHARED.contains(&resource_type) => {
                let code = value.rsplit('|').next().unwrap_or_default();
                query.filters.push((name.to_owned(), code.to_owned()));
            }
            _ if PEOPLE.contains(&name) && !SHARED.contains(&resource_type) && resource_type != "Patient" => {
                asker.is_about(value)?
            }
            _ => return Err(unknown(name)),
        }
    }
    if resource_type == "Patient" && knobs.two_patients {
        let entries = ["first", "second"].map(|id| json!({"resource": {"resourceType": "Patient", "id": id}}));
        let bundle = json!({"resourceType": "Bundle", "type": "searchset", "total": 2, "entry": entries});
        return Ok(fhir(StatusCode::OK, bundle.to_string()));
    }
    Ok(answered(world, office, &asker, query))
}

impl Asker<'_> {
    /// Checks that the value of a parameter names the token's person. A request about another person is refused.
    fn is_about(&self, value: &str) -> Result<(), Fault> {
        let base = format!("{}/", self.world.fhir_base(self.office));
        let value = value.strip_prefix(&base).unwrap_or(value);
        if value.strip_prefix("Patient/").unwrap_or(value) == self.patient {
            Ok(())
        } else {
            Err(Fault::of(
                StatusCode::FORBIDDEN,
                IssueType::Forbidden,
                "the token is for another patient",
            ))
        }
    }
}

/// Returns the page of a search that a `next` link requests. `text` is the value of the link's parameter `_page`.
fn page(world: &World, office: &Office, asker: &Asker<'_>, path: &str, text: &str) -> Result<Response, Fault> {
    match Query::from_link(text).filter(|query| query.path == path) {
        Some(query) => Ok(answered(world, office, asker, query)),
        None => Err(Fault::of(
            StatusCode::BAD_REQUEST,
            IssueType::Invalid,
            "_page is none of a next link",
        )),
    }
}

fn answered(world: &World, office: &Office, asker: &Asker<'_>, query: Query) -> Response {
    let knobs = office.knobs();
    let malformed = strikes(&office.counts.pages, knobs.malformed_every).then_some(knobs.malformed);
    if malformed == Some(Malformed::Html) {
        return super::super::answer::body(
            StatusCode::OK,
            "text/html; charset=utf-8",
            "<!DOCTYPE html><title>Maintenance</title><p>We will be back soon.",
        );
    }
    let page = Page {
        base: world.fhir_base(office),
        holding: &asker.holding,
        granted: &asker.consent.granted,
        query,
        max_count: knobs.page,
        malformed,
        next: knobs.next,
    };
    fhir(StatusCode::OK, page.written())
}

fn count(value: &str) -> Result<u64, Fault> {
    let count = value.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| {
        Fault::of(
            StatusCode::BAD_REQUEST,
            IssueType::Invalid,
            "_count must be a positive whole number",
        )
    })
}

fn unknown(name: &str) -> Fault {
    let name: String = name.chars().take(64).collect();
    Fault::of(
        StatusCode::BAD_REQUEST,
        IssueType::NotSupported,
        format!("the search parameter {name} is not supported"),
    )
}
