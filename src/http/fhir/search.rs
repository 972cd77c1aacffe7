//! Searches: `GET /fhir/{type}` and `POST /fhir/{type}/_search`, both also under `/fhir/Patient/{id}`, and
//! `GET /fhir` and `POST /fhir/_search` over several types. The response is a page of matches as a Bundle.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::Bytes;

use super::super::auth::Caller;
use super::super::body;
use super::super::described::{FHIR, bundle, with_handling};
use super::super::error::Error;
use super::super::routes::{Operation, Route, meant_operation, schema};
use super::super::service::Service;
use super::super::shape::notes;
use super::negotiate::{Preferred, json_admitted, pretty_value};
use super::resource_type::resource_type;
use super::signed::signer;
use super::{explain, patient_wildcard};
use crate::columns::json::pretty;
use crate::consent::Access;
use crate::fhir::TypeId;
use crate::fhir::reference::is_id;
use crate::search::raw;
use crate::search::raw::RawParameter;
use crate::search::{Explanation, Request, SystemRequest, distinct};

const FORM: &str = "application/x-www-form-urlencoded";
/// A longer form is parsed on a thread for searches.
const LONG_FORM: usize = 64 << 10;

/// Returns the routes of searches.
pub(in crate::http) fn routes() -> Vec<Route> {
    let of_type = "Search a type; the CapabilityStatement names the search parameters";
    let compartment = "Search the records of one patient, of a type; * as the type is all types";
    let system = "Search several types at once: those that _type names, or all";
    let over_types = described_get("searchSystem", system).query("_type", schema("string", "types, between commas"));
    vec![
        Route::at("/fhir/{type}").get(by_get, described_get("searchType", of_type)),
        // Some examples in R4 have a slash before the query.
        Route::at("/fhir/{type}/").also_get(by_get),
        Route::at("/fhir/{type}/_search").post(
            by_post,
            described_post("searchTypeByPost", "Search a type, with the parameters in a form"),
        ),
        Route::at("/fhir/Patient/{id}/{type}").get(compartment_by_get, described_get("searchCompartment", compartment)),
        Route::at("/fhir/Patient/{id}/{type}/_search").post(
            compartment_by_post,
            described_post(
                "searchCompartmentByPost",
                "Search the records of one patient, with the parameters in a form",
            ),
        ),
        Route::at("/fhir").get(system_by_get, over_types),
        Route::at("/fhir/").also_get(system_by_get),
        Route::at("/fhir/_search").post(
            system_by_post,
            described_post(
                "searchSystemByPost",
                "Search several types at once, with the parameters in a form",
            ),
        ),
    ]
}

fn described_get(id: &'static str, summary: &'static str) -> Operation {
    let operation = Operation::new(id, summary)
        .query("_count", schema("integer", "resources on a page, at most 1000"))
        .query(
            "_sort",
            schema("string", "search parameters, each with - before it for descending"),
        );
    with_wishes(operation).answers(&[FHIR], &bundle())
}

fn described_post(id: &'static str, summary: &'static str) -> Operation {
    let operation = Operation::new(id, summary);
    let form = serde_json::json!({"type": "object", "additionalProperties": true});
    with_wishes(operation)
        .body(&[FORM], "The parameters", &form)
        .answers(&[FHIR], &bundle())
}

fn with_wishes(operation: Operation) -> Operation {
    let explained = "true or json: the answer says how it came about, to application tokens on a server that allows it";
    with_handling(operation).header("X-Explain", explained)
}

/// Searches a type by GET, with the parameters in the query.
async fn by_get(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let parameters = raw::parse_distinct(query.as_deref().unwrap_or_default())?;
    answer(service, access, SearchTarget::of_type(&name)?, parameters, &headers).await
}

/// Searches a type by POST, with the parameters in a form, in the query, or in both.
async fn by_post(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let parameters = parameters(&service, &access, &headers, query.as_deref(), sent).await?;
    answer(service, access, SearchTarget::of_type(&name)?, parameters, &headers).await
}

/// Searches Binaries by POST. Their path has a route of its own (see `binary::routes`).
pub(in crate::http) async fn binary_by_post(
    service: State<Arc<Service>>,
    caller: Caller,
    query: RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    by_post(service, caller, Path("Binary".to_owned()), query, headers, sent).await
}

/// Searches a Patient's compartment by GET, with the parameters in the query.
async fn compartment_by_get(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path((id, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let place = SearchTarget::of_patient(id, &name, &access)?;
    let parameters = raw::parse_distinct(query.as_deref().unwrap_or_default())?;
    answer(service, access, place, parameters, &headers).await
}

/// Searches a Patient's compartment by POST, with the parameters in a form, in the query, or in both.
async fn compartment_by_post(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path((id, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let parameters = parameters(&service, &access, &headers, query.as_deref(), sent).await?;
    let place = SearchTarget::of_patient(id, &name, &access)?;
    answer(service, access, place, parameters, &headers).await
}

/// Searches several types by GET, with the parameters in the query.
async fn system_by_get(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let parameters = raw::parse_distinct(query.as_deref().unwrap_or_default())?;
    answer(
        service,
        access,
        SearchTarget::System { patient: None },
        parameters,
        &headers,
    )
    .await
}

/// Searches several types by POST, with the parameters in a form, in the query, or in both.
async fn system_by_post(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let parameters = parameters(&service, &access, &headers, query.as_deref(), sent).await?;
    answer(
        service,
        access,
        SearchTarget::System { patient: None },
        parameters,
        &headers,
    )
    .await
}

/// What a search's path requests to search.
enum SearchTarget {
    /// One type. With a patient, only the rows in that Patient's compartment.
    Type { type_id: TypeId, patient: Option<String> },
    /// Several types, or with a patient, all types in that Patient's compartment.
    System { patient: Option<String> },
}

impl SearchTarget {
    fn of_type(name: &str) -> Result<SearchTarget, Error> {
        Ok(SearchTarget::Type {
            type_id: resource_type(name)?,
            patient: None,
        })
    }

    fn of_patient(id: String, name: &str, access: &Access) -> Result<SearchTarget, Error> {
        if name.starts_with(['$', '_']) {
            let meant = meant_operation(&["Patient", "[id]"], name);
            return Err(Error::NotSupported(format!(
                "Patient/[id]/{name} is not supported{meant}"
            )));
        }
        let type_id = match name {
            "*" => None,
            name => Some(resource_type(name)?),
        };
        let id = patient_wildcard::in_path(id, access)?;
        if !is_id(&id) {
            return Err(Error::Invalid("the path names no id of a Patient".to_owned()));
        }
        let patient = Some(id);
        Ok(match type_id {
            Some(type_id) => SearchTarget::Type { type_id, patient },
            None => SearchTarget::System { patient },
        })
    }
}

/// Reads the parameters of a search by POST: those of the query, then those of the form.
async fn parameters(
    service: &Service,
    access: &Access,
    headers: &HeaderMap,
    query: Option<&str>,
    sent: Body,
) -> Result<Vec<RawParameter>, Error> {
    let sent = body::read(headers, sent, &service.limits).await?;
    if !sent.is_empty() && !body::is_typed(headers, &[FORM]) {
        return Err(Error::MediaType(FORM));
    }
    let mut parameters = raw::parse_distinct(query.unwrap_or_default())?;
    if sent.len() <= LONG_FORM {
        parameters.extend(of_form(&sent)?);
        return Ok(parameters);
    }
    // Parsing a long form takes milliseconds. So it is part of the searches of the credential.
    let turn = service.search_turn(&access.subject).await?;
    let parsing = async move {
        let _turn = turn;
        of_form(&sent)
    };
    parameters.extend(service.workers.run(parsing).await??);
    Ok(parameters)
}

fn of_form(sent: &[u8]) -> Result<Vec<RawParameter>, Error> {
    let form = std::str::from_utf8(sent).map_err(|_| Error::Invalid("the body is not UTF-8".to_owned()))?;
    Ok(raw::parse_distinct(form)?)
}

async fn answer(
    service: Arc<Service>,
    access: Arc<Access>,
    place: SearchTarget,
    parameters: Vec<RawParameter>,
    headers: &HeaderMap,
) -> Result<Response, Error> {
    let preferred = Preferred::by(headers);
    let handling = preferred.handling();
    let mut parameters = distinct(&parameters, handling)?;
    json_admitted(headers, raw::last(&parameters, "_format"))?;
    let indented = pretty_value(raw::last(&parameters, "_pretty"))?;
    let explained = explain::wanted(headers, &access, &service)?;
    let notes = notes(&service, &access)?;
    let turn = service.search_turn(&access.subject).await?;
    let served = service.clone();
    let search = move |stop| {
        let signer = signer(&served, &access);
        let (service, engine) = (served.clone(), served.engine.until(stop).noting(notes).signing(signer));
        async move {
            // Keep the turn until the end even if the client disconnects: the limit counts running work.
            let _turn = turn;
            patient_wildcard::in_query(&mut parameters, &access)?;
            let (now, base) = (service.store.clock().now() * 1_000_000, service.fhir_base.as_str());
            let (scope, parameters) = (&access.scope, parameters.as_slice());
            let found = match &place {
                SearchTarget::Type { type_id, patient } => {
                    let request = Request {
                        scope,
                        type_id: *type_id,
                        compartment: patient.as_deref(),
                        parameters,
                        handling,
                        now,
                        base,
                    };
                    match explained {
                        None => engine.search(&request).await.map(|page| (page, None)),
                        Some(form) => engine.search_explained(&request, form).await.map(timed),
                    }
                }
                SearchTarget::System { patient } => {
                    let request = SystemRequest {
                        scope,
                        compartment: patient.as_deref(),
                        parameters,
                        handling,
                        now,
                        base,
                    };
                    match explained {
                        None => engine.search_system(&request).await.map(|page| (page, None)),
                        Some(form) => engine.search_system_explained(&request, form).await.map(timed),
                    }
                }
            };
            let (bundle, timing) = found?;
            let body = if indented {
                Body::from(pretty(&bundle))
            } else {
                Body::from(bundle)
            };
            Ok::<_, Error>((body, timing))
        }
    };
    let (body, timing) = service.workers.run_until(search).await??;
    let mut response = preferred.answer(body);
    if let Some(timing) = timing {
        let timing = HeaderValue::from_str(&timing).map_err(Error::internal)?;
        response.headers_mut().insert(explain::SERVER_TIMING, timing);
    }
    Ok(response)
}

/// Returns the page, and the value of the header `Server-Timing`.
fn timed((page, explanation): (Bytes, Explanation)) -> (Bytes, Option<String>) {
    (page, Some(explanation.server_timing()))
}
