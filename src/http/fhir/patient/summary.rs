//! `GET` and `POST /fhir/Patient/[id]/$summary`: return a patient's International Patient Summary.
//! `/fhir/Patient/$summary` finds the patient by an identifier.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::json;

use super::sent::{self, FORM, JSON};
use super::subject::Named;
use super::wanted::Wanted;
use crate::columns::json::Tape;
use crate::columns::json::pretty;
use crate::consent::{Access, LOCAL_APPLICATION, Store};
use crate::fhir::facts;
use crate::fhir::outcome::IssueType;
use crate::http::auth::Caller;
use crate::http::described::{FHIR, document, parameters, with_handling};
use crate::http::error::Error;
use crate::http::fhir::negotiate::{Preferred, json_admitted, pretty_value};
use crate::http::routes::{Operation, Route, schema};
use crate::http::server::turns::Turn;
use crate::http::service::Service;
use crate::patient::pdf::rendering;
use crate::patient::summary::{Asked, Directory, Sections, Subject, Summary, summary};
use crate::pdf::PdfError;
use crate::search::raw::{RawParameter, last};
use crate::search::{Engine, Handling, Request};

/// The operation's name and the URL of its definition.
pub(super) const DECLARED: (&str, &str) = ("$summary", "http://hl7.org/fhir/uv/ips/OperationDefinition/summary");

/// Returns the routes of the operation.
pub(super) fn routes() -> Vec<Route> {
    let by_id = "A patient's International Patient Summary, a document; \
                 $PATIENT_ID as the id is all Patients of the token's consent";
    let by_identifier = "The International Patient Summary of the one Patient that has an identifier";
    let named = |operation: Operation| {
        operation.required_query("identifier", schema("string", "system|value, or a value alone"))
    };
    let of_type = Route::at("/fhir/Patient/$summary")
        .get(
            by_identifier_get,
            named(described("summaryByIdentifier", by_identifier)),
        )
        .post(
            by_identifier_post,
            posted(named(described("summaryByIdentifierByPost", by_identifier))),
        );
    let of_patient = Route::at("/fhir/Patient/{id}/$summary")
        .get(by_get, described("summary", by_id))
        .post(by_post, posted(described("summaryByPost", by_id)));
    vec![of_type, of_patient]
}

fn described(id: &'static str, summary: &'static str) -> Operation {
    let names: Vec<String> = Sections::names()
        .map(|(alias, code)| format!("{alias} ({code})"))
        .collect();
    let sections = format!(
        "Aliases or codes of sections, between commas; the others are withheld. {}",
        names.join(", ")
    );
    let operation = Operation::new(id, summary)
        .query("_section", json!({"type": "string", "description": sections}))
        .query("profile", schema("string", "the profile of the Composition: IPS's own"));
    with_handling(operation).answers(&[FHIR], &document())
}

fn posted(operation: Operation) -> Operation {
    let form = json!({"type": "object", "additionalProperties": true});
    let sent = "A Parameters resource, or a form; the parameters of the query may stand here instead";
    operation
        .body(&[JSON[0], FORM], sent, &form)
        .body_example(JSON[0], parameters())
}

/// Answers GET for an id, with the parameters in the query.
pub(in crate::http) async fn by_get(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let parameters = sent::in_query(query.as_deref())?;
    answer(service, access, Some(id), &parameters, &headers).await
}

/// Answers POST for an id, with the parameters in the body, in the query, or in both.
async fn by_post(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let parameters = sent::in_both(&service, &headers, query.as_deref(), sent).await?;
    answer(service, access, Some(id), &parameters, &headers).await
}

/// Answers GET for an identifier, with the parameters in the query.
async fn by_identifier_get(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let parameters = sent::in_query(query.as_deref())?;
    answer(service, access, None, &parameters, &headers).await
}

/// Answers POST for an identifier, with the parameters in the body, in the query, or in both.
async fn by_identifier_post(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let parameters = sent::in_both(&service, &headers, query.as_deref(), sent).await?;
    answer(service, access, None, &parameters, &headers).await
}

async fn answer(
    service: Arc<Service>,
    access: Arc<Access>,
    id: Option<String>,
    parameters: &[RawParameter],
    headers: &HeaderMap,
) -> Result<Response, Error> {
    json_admitted(headers, last(parameters, "_format"))?;
    let indented = pretty_value(last(parameters, "_pretty"))?;
    let preferred = Preferred::by(headers);
    let named = id.map(|id| Named::in_path(id, &access)).transpose()?;
    let asked = Asked::parse(parameters, preferred.handling())?;
    if named.is_some() && asked.identifier.is_some() {
        let problem = "goes with /fhir/Patient/$summary, where the path names no patient";
        return Err(Error::parameter("identifier", IssueType::Invalid, problem));
    }
    if &*access.scope.application != LOCAL_APPLICATION {
        service.throttle.charge_record(&access.subject)?;
    }
    let turn = service.record_turn(&access.subject).await?;
    let served = service.clone();
    let reading = |stop| {
        let (service, engine) = (served.clone(), served.engine.until(stop));
        async move {
            let patients = match named {
                Some(named) => named.patients,
                None => by_identifier(&service, &engine, &access, asked.identifier.as_deref()).await?,
            };
            // The turn is kept until the work ends, even if the client disconnects, because the limit counts running
            // work.
            Ok::<_, Error>((read(&service, &engine, &access, &patients, asked.sections).await?, turn))
        }
    };
    let (made, turn) = service.workers.run_until(reading).await??;
    let bundle = drawn(&service, made, turn).await?;
    let bundle = if indented { pretty(&bundle) } else { bundle };
    Ok(preferred.answer(Body::from(bundle)))
}

/// Builds the summary of a caller's patients with all sections, for health links.
pub(in crate::http) async fn summary_of(
    service: &Arc<Service>,
    access: &Arc<Access>,
    patients: Vec<String>,
) -> Result<Vec<u8>, Error> {
    let turn = service.record_turn(&access.subject).await?;
    let (served, access) = (service.clone(), access.clone());
    let reading = |stop| {
        let engine = served.engine.until(stop);
        async move { read(&served, &engine, &access, &patients, Sections::default()).await }
    };
    let made = service.workers.run_until(reading).await??;
    drawn(service, made, turn).await
}

async fn read(
    service: &Service,
    engine: &Engine,
    access: &Access,
    patients: &[String],
    sections: Sections,
) -> Result<Summary, Error> {
    let subject = Subject {
        scope: &access.scope,
        patients,
        now: service.store.clock().now() * 1_000_000,
        base_url: &service.base_url,
        directory: &Endpoints(&service.store),
    };
    Ok(summary(engine, subject, sections).await?)
}

/// Builds the summary's document. It contains a PDF of itself.
async fn drawn(service: &Arc<Service>, made: Summary, turn: Turn) -> Result<Vec<u8>, Error> {
    // The work stops if the client disconnects.
    let (_wanted, stop) = Wanted::begin();
    let drawing = service.blocking(move |_| {
        let _turn = turn;
        Ok::<_, PdfError>(made.bundle(Some(&rendering(&made, stop)?)))
    });
    drawing.await?.map_err(Error::internal)
}

/// Finds the Patient with an identifier. Several Patients are accepted if all are of the caller's consent.
async fn by_identifier(
    service: &Service,
    engine: &Engine,
    access: &Access,
    identifier: Option<&str>,
) -> Result<Vec<String>, Error> {
    let Some(identifier) = identifier else {
        let problem = "is missing: it names the patient, where the path does not";
        return Err(Error::parameter("identifier", IssueType::Required, problem));
    };
    let type_id = facts()
        .lookup("Patient")
        .ok_or_else(|| Error::NotSupported("there are no Patients".to_owned()))?;
    let limit = access.patients().map_or(1, <[String]>::len) + 1;
    let parameters = [
        RawParameter::named("identifier", identifier),
        RawParameter::named("_count", &limit.to_string()),
        RawParameter::named("_elements", "id"),
    ];
    let request = Request {
        scope: &access.scope,
        type_id,
        compartment: None,
        parameters: &parameters,
        handling: Handling::Strict,
        now: service.store.clock().now() * 1_000_000,
        base: &service.fhir_base,
    };
    let found = engine.search(&request).await?;
    let mut tape = Tape::new();
    let found = tape.parse(&found).map_err(Error::internal)?;
    let entries = found.get("entry").into_iter().flat_map(|list| list.items());
    let ids: Vec<String> = entries
        .filter_map(|entry| Some(entry.get("resource")?.get_str("id")?.into_owned()))
        .collect();
    let of_consent = |own: &[String]| own.iter().filter(|id| ids.contains(id)).cloned().collect();
    match (ids.len(), access.patients()) {
        (0, _) => Err(Error::Unknown("there is no Patient with this identifier".to_owned())),
        (1, _) => Ok(ids),
        (_, Some(own)) if ids.iter().all(|id| own.contains(id)) => Ok(of_consent(own)),
        _ => Err(Error::Processing(
            "several Patients have this identifier; name one by its id".to_owned(),
        )),
    }
}

/// Finds the names of endpoints in the store.
struct Endpoints<'s>(&'s Store);

impl std::fmt::Debug for Endpoints<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Endpoints(..)")
    }
}

impl Directory for Endpoints<'_> {
    fn name(&self, endpoint: &str) -> Option<String> {
        match self.0.endpoints().get(endpoint) {
            Ok(found) => found?.label.into_iter().next(),
            Err(error) => {
                tracing::warn!(%error, "an endpoint's name could not be read");
                None
            }
        }
    }
}
