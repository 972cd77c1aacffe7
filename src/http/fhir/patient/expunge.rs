//! `POST /fhir/Patient/[id]/$expunge` erases all records of a patient's consent. `GET /fhir/$expunge-status/[id]`
//! reports the progress.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::consent::{Access, ErasureJob, ErasureProgress, Expunge, Expunged};
use crate::fhir::outcome::{Issue, IssueType, OperationOutcome};
use crate::http::auth::{admitted, not_ready};
use crate::http::described::{FHIR, outcome};
use crate::http::error::Error;
use crate::http::fhir::negotiate::{FHIR_JSON, json_admitted};
use crate::http::fhir::patient_wildcard::WILDCARD;
use crate::http::routes::{Operation, Route};
use crate::http::server::request_id::RequestId;
use crate::http::service::Service;
use crate::lake::Mode;

const PROGRESS: HeaderName = HeaderName::from_static("x-progress");

/// Returns the routes of the operation.
pub(super) fn routes() -> Vec<Route> {
    let expunge = "Has all records of the token's consent erased, history and attachments included; the answer's diagnostics is the \
                   address to ask how far it is. Only a new authorization brings records back";
    let expunge = Operation::new("expunge", expunge)
        .header(
            "traceparent",
            "W3C Trace Context, of which the answer repeats the trace-id",
        )
        .answers(&[FHIR], &outcome());
    let status = "How far an erasure is that $expunge was asked for; with the signed receipt once it is over";
    let status = Operation::new("expungeStatus", status)
        .answers(&[FHIR], &outcome())
        .response(
            202,
            "The records are hidden, and their files are being rewritten",
            &[FHIR],
            &outcome(),
        )
        .response_header(202, "X-Progress", "how much of it is done")
        .response_header(202, "Retry-After", "after how many seconds to ask again");
    vec![
        Route::at("/fhir/Patient/{id}/$expunge").post(accept, expunge),
        Route::at("/fhir/$expunge-status/{id}").get(show, status),
    ]
}

/// The access of a valid token, whether or not its records are stored. Application tokens of test mode are refused.
struct Holder(Arc<Access>);

impl FromRequestParts<Arc<Service>> for Holder {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Holder, Error> {
        let access = admitted(parts, service)?;
        if access.patients().is_none() && access.scope.mode == Mode::Test {
            Err(Error::TestMode)
        } else {
            Ok(Holder(access))
        }
    }
}

async fn accept(
    State(service): State<Arc<Service>>,
    Holder(access): Holder,
    Path(id): Path<String>,
    request: RequestId,
    headers: HeaderMap,
) -> Result<Response, Error> {
    json_admitted(&headers, None)?;
    let Some(patients) = access.patients() else {
        let why = "only the patient can ask for this: it takes a patient token";
        return Err(Error::Processing(why.to_owned()));
    };
    if id != WILDCARD && !patients.contains(&id) {
        let resource_type = "Patient".to_owned();
        return Err(Error::NotFound { resource_type, id });
    }
    let text = request.to_string();
    let asking = access.clone();
    let done = service
        .blocking(move |service| {
            let application = &asking.scope.application;
            let patients = asking.patients().unwrap_or_default().iter();
            let imported: Vec<(String, Vec<i64>)> = patients
                .map(|id| (id.clone(), service.lake.owners_of(application, id)))
                .collect();
            let done = service.store.expunge(&Expunge {
                consent: &asking.subject,
                request: &text,
                imported: &imported,
            })?;
            service.hide_what_is_erased()?;
            Ok::<_, crate::consent::Error>(done)
        })
        .await?
        .map_err(Error::internal)?;
    let job = match done {
        Expunged::Accepted(job) => job,
        Expunged::NotNow(readiness) => return Err(not_ready(readiness, &access, &service)),
    };
    let issue = Issue::information(IssueType::Informational, "Accepted").diagnostics(address(&service, &job.id));
    let mut outcome = body("accepted", issue);
    outcome["extension"] = json!([tracing(&service, request, &headers)]);
    Ok(answer(StatusCode::OK, &outcome))
}

async fn show(
    State(service): State<Arc<Service>>,
    Holder(access): Holder,
    Path(id): Path<String>,
    request: RequestId,
    headers: HeaderMap,
) -> Result<Response, Error> {
    json_admitted(&headers, None)?;
    let wanted = id.clone();
    let found = service
        .blocking(move |service| {
            let Some(job) = service.store.erasure_jobs().get(&wanted)? else {
                return Ok(None);
            };
            let progress = service.store.erasure_jobs().progress(&wanted)?;
            Ok::<_, crate::consent::Error>(Some((job, progress)))
        })
        .await?
        .map_err(Error::internal)?;
    let Some((job, progress)) = found.filter(|(job, _)| may_ask(job, &access)) else {
        return Err(Error::Unknown(format!("there is no erasure {id:?} here")));
    };
    let mut extensions = vec![tracing(&service, request, &headers)];
    let Some(receipt) = &job.receipt else {
        let issue = Issue::information(IssueType::Informational, "In progress").diagnostics(said(progress));
        let mut outcome = body("in-progress", issue);
        outcome["extension"] = extensions.into();
        let mut response = answer(StatusCode::ACCEPTED, &outcome);
        if let Ok(progress) = HeaderValue::from_str(&said(progress)) {
            response.headers_mut().insert(PROGRESS, progress);
        }
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        return Ok(response);
    };
    let keys = format!(
        "the receipt is signed by a key of {}",
        crate::http::receipts::address(&service.base_url)
    );
    let issue = Issue::information(IssueType::Informational, "Completed").diagnostics(keys);
    let mut outcome = body("completed", issue);
    let url = format!("{}/extensions/erasure-receipt", service.base_url);
    extensions.push(json!({"url": url, "valueString": receipt}));
    outcome["extension"] = extensions.into();
    Ok(answer(StatusCode::OK, &outcome))
}

/// Whether the caller may read the status of an erasure: the token is of the same application and mode, and a patient
/// token is of the same consent.
fn may_ask(job: &ErasureJob, access: &Access) -> bool {
    let same = job.application == *access.scope.application && job.mode == access.scope.mode;
    let own = access.patients().is_none() || job.consent.as_deref() == Some(&*access.subject);
    same && own
}

fn address(service: &Service, job: &str) -> String {
    format!("{}$expunge-status/{job}", service.fhir_base)
}

fn said(progress: ErasureProgress) -> String {
    match progress {
        ErasureProgress { gone, all } if gone < all => format!("hidden; {gone} of {all} parts erased"),
        _ => "erased; the receipt is being made".to_owned(),
    }
}

fn body(id: &str, issue: Issue) -> Value {
    let mut outcome = serde_json::to_value(OperationOutcome::new(issue)).unwrap_or_default();
    outcome["id"] = id.into();
    outcome
}

/// Returns an extension with the ids by which this response is found in logs: the request's id and the trace's id.
fn tracing(service: &Service, RequestId(request): RequestId, headers: &HeaderMap) -> Value {
    let trace = headers
        .get("traceparent")
        .and_then(|value| trace_id(value.to_str().ok()?));
    let uuid = |of: Uuid| format!("urn:uuid:{}", of.hyphenated());
    json!({
        "url": format!("{}/extensions/tracing", service.base_url),
        "extension": [
            {"url": "requestId", "valueUuid": uuid(request)},
            {"url": "traceId", "valueUuid": uuid(trace.unwrap_or(request))},
        ],
    })
}

/// Reads the trace-id of a `traceparent`: 32 hexadecimal digits after the version, not all of them zero.
fn trace_id(text: &str) -> Option<Uuid> {
    let id = text.split('-').nth(1).filter(|id| id.len() == 32)?;
    Uuid::try_parse(id).ok().filter(|id| !id.is_nil())
}

fn answer(status: StatusCode, outcome: &Value) -> Response {
    let mut response = (status, outcome.to_string()).into_response();
    response.headers_mut().insert(CONTENT_TYPE, FHIR_JSON);
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_taken_from_its_header_only_if_it_is_one() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let found = trace_id(good).map(|id| id.simple().to_string());
        assert_eq!(found.as_deref(), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
        for bad in [
            "",
            "00",
            "00-4bf9-00f0-01",
            "00-00000000000000000000000000000000-00f0-01",
            "00-zzf92f3577b34da6a3ce929d0e0e4736-0-0",
        ] {
            assert_eq!(trace_id(bad), None, "{bad}");
        }
    }
}
