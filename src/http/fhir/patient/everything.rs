//! `GET` and `POST /fhir/Patient/[id]/$everything`: stream a page of a patient's records.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::json;

use super::sent::{self, FORM, JSON};
use super::streamed;
use super::subject::Named;
use crate::columns::json::pretty;
use crate::consent::LOCAL_APPLICATION;
use crate::http::auth::Caller;
use crate::http::described::{FHIR, bundle, parameters, with_handling};
use crate::http::error::Error;
use crate::http::fhir::negotiate::{Preferred, json_admitted, pretty_value};
use crate::http::fhir::signed::signer;
use crate::http::routes::{Operation, Route, schema};
use crate::http::server::request_id::RequestId;
use crate::http::service::Service;
use crate::http::shape::notes;
use crate::patient::PatientError;
use crate::patient::everything::{Asked, Subject};
use crate::search::raw::{RawParameter, last};

/// The operation's name and the URL of its definition.
pub(super) const DECLARED: (&str, &str) = (
    "$everything",
    "http://hl7.org/fhir/OperationDefinition/Patient-everything",
);

/// Returns the routes of the operation.
pub(super) fn routes() -> Vec<Route> {
    let form = json!({"type": "object", "additionalProperties": true});
    let sent = "A Parameters resource, or a form; the parameters of the query may stand here instead";
    let posted = described("everythingByPost")
        .body(&[JSON[0], FORM], sent, &form)
        .body_example(JSON[0], parameters());
    vec![
        Route::at("/fhir/Patient/{id}/$everything")
            .get(by_get, described("everything"))
            .post(by_post, posted),
    ]
}

fn described(id: &'static str) -> Operation {
    let summary = "All of a patient's records and the Organizations, Practitioners, Medications and Locations that they refer to; \
                   $PATIENT_ID as the id is all Patients of the token's consent";
    let text = |about: &str| schema("string", about);
    let operation = Operation::new(id, summary)
        .query("start", text("a date: only what happened then or later"))
        .query("end", text("a date: only what happened then or earlier"))
        .query("_since", text("an instant: only what was updated then or later"))
        .query("_type", text("resource types, between commas"))
        .query(
            "_count",
            schema("integer", "resources on a page, 1000 at most and without it"),
        )
        .query(
            "_total",
            json!({"type": "string", "enum": ["none", "accurate", "estimate"],
                "description": "accurate or estimate for the number of all resources"}),
        );
    with_handling(operation).answers(&[FHIR], &bundle())
}

/// Answers GET, with the parameters in the query.
pub(in crate::http) async fn by_get(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    request: RequestId,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let parameters = sent::in_query(query.as_deref())?;
    answer(service, caller, id, &parameters, (&headers, request)).await
}

/// Answers POST, with the parameters in the body, in the query, or in both.
async fn by_post(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    request: RequestId,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let parameters = sent::in_both(&service, &headers, query.as_deref(), sent).await?;
    answer(service, caller, id, &parameters, (&headers, request)).await
}

async fn answer(
    service: Arc<Service>,
    Caller(access): Caller,
    id: String,
    parameters: &[RawParameter],
    (headers, request): (&HeaderMap, RequestId),
) -> Result<Response, Error> {
    json_admitted(headers, last(parameters, "_format"))?;
    let indented = pretty_value(last(parameters, "_pretty"))?;
    let named = Named::in_path(id, &access)?;
    let preferred = Preferred::by(headers);
    let asked = Asked::parse(parameters, preferred.handling())?;
    if &*access.scope.application != LOCAL_APPLICATION {
        service.throttle.charge_record(&access.subject)?;
    }
    let notes = notes(&service, &access)?;
    let turn = service.record_turn(&access.subject).await?;
    let served = service.clone();
    let signer = signer(&service, &access);
    let reading = |stop| {
        let (service, engine) = (served.clone(), served.engine.until(stop).noting(notes).signing(signer));
        async move {
            let subject = Subject {
                scope: &named.scope,
                patients: &named.patients,
                now: service.store.clock().now() * 1_000_000,
                base: &service.fhir_base,
            };
            let path = format!("{}/$everything", named.path);
            let page = asked.page(&engine, subject, &path).await?;
            // The turn is kept until the work ends, even if the client disconnects, because the limit counts running
            // work.
            Ok::<_, PatientError>((streamed::begin(page)?, turn))
        }
    };
    let (begun, turn) = service.workers.run_until(reading).await??;
    let body = if indented {
        let all = service.workers.run(async { streamed::whole(begun) }).await??;
        Body::from(pretty(&all))
    } else {
        streamed::body(&service, begun, turn, request)
    };
    Ok(preferred.answer(body))
}
