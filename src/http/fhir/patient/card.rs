//! `POST /fhir/Patient/[id]/$health-cards-issue`: issues a signed SMART Health Card with all of a patient's records.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::sent::{self, JSON};
use super::subject::Named;
use crate::columns::json::Tape;
use crate::consent::{Access, LOCAL_APPLICATION, NoCard};
use crate::fhir::outcome::IssueType;
use crate::http::auth::Caller;
use crate::http::body;
use crate::http::described::FHIR;
use crate::http::discovery::card_issuer;
use crate::http::error::Error;
use crate::http::fhir::negotiate::{Preferred, json_admitted, pretty_value};
use crate::http::fhir::parameters;
use crate::http::fhir::parameters::Given;
use crate::http::routes::{Operation, Route, list, named, object};
use crate::http::service::Service;
use crate::patient::card::{Request, Resource, payload};
use crate::patient::{PatientError, REFERRED, Record, record};
use crate::search::Handling;
use crate::search::raw::last;

/// The only parameter. Its only allowed value is `EVERYTHING`.
const PARAMETER: &str = "credentialType";
const EVERYTHING: &str = "Patient/$everything";

/// Returns the routes of the operation.
pub(super) fn routes() -> Vec<Route> {
    let summary = "All of a patient's records as a SMART Health Card, for the patient's token; \
                   $PATIENT_ID as the id is all Patients of the token's consent";
    let operation = Operation::new("issueHealthCard", summary)
        .header("Prefer", "handling=strict refuses unknown parameters of the query")
        .body(&JSON, "A Parameters resource with this one parameter", &asked())
        .answers(&[FHIR], &answered());
    vec![Route::at("/fhir/Patient/{id}/$health-cards-issue").post(by_post, operation)]
}

fn asked() -> Value {
    let value = json!({"type": "string", "const": EVERYTHING});
    one_parameter("HealthCardRequest", PARAMETER, "valueUri", value)
}

fn answered() -> Value {
    let value = json!({"type": "string", "description": "the card: a JWS"});
    one_parameter("HealthCard", "verifiableCredential", "valueString", value)
}

/// Returns the schema of a Parameters resource with exactly this parameter.
fn one_parameter(schema: &str, name: &str, value_name: &str, value: Value) -> Value {
    let mut parameter = json!({"name": {"type": "string", "const": name}});
    parameter[value_name] = value;
    let mut parameters = list(&object(&["name", value_name], parameter));
    parameters["minItems"] = json!(1);
    parameters["maxItems"] = json!(1);
    let properties = json!({"resourceType": {"type": "string", "const": "Parameters"}, "parameter": parameters});
    named(schema, object(&["resourceType", "parameter"], properties))
}

async fn by_post(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let query = sent::in_query(query.as_deref())?;
    json_admitted(&headers, last(&query, "_format"))?;
    let indented = pretty_value(last(&query, "_pretty"))?;
    let preferred = Preferred::by(&headers);
    if preferred.handling() == Handling::Strict {
        let unknown = |name: &&str| !["_format", "_pretty"].contains(name);
        let names = query.iter().map(|parameter| parameter.name.as_str()).filter(unknown);
        let names: Vec<String> = names.map(str::to_owned).collect();
        if !names.is_empty() {
            return Err(Error::unknown_parameters(&names));
        }
    }
    if access.patients().is_none() {
        let problem = "health cards are issued for patient tokens, and this is an application's";
        return Err(Error::Processing(problem.to_owned()));
    }
    let named = Named::in_path(id, &access)?;
    let sent = body::read(&headers, sent, &service.limits).await?;
    if !body::is_typed(&headers, &JSON) {
        return Err(Error::MediaType(JSON[0]));
    }
    only_everything(&sent)?;
    let card = issue(&service, &access, named.patients).await?;
    let answer = json!({
        "resourceType": "Parameters",
        "parameter": [{"name": "verifiableCredential", "valueString": card}],
    });
    let text = if indented {
        format!("{answer:#}")
    } else {
        answer.to_string()
    };
    Ok(preferred.answer(Body::from(text)))
}

/// Returns an error if the body is anything but the only allowed request.
fn only_everything(sent: &[u8]) -> Result<(), Error> {
    let mut tape = Tape::new();
    let root = parameters::json(sent, &mut tape)?;
    parameters::refuse_duplicates(root)?;
    let parameters = parameters::of_body(root)?;
    let invalid = |name: &str, problem: &str| Err(Error::parameter(name, IssueType::Invalid, problem));
    let others = parameters.iter().filter(|parameter| parameter.name != PARAMETER);
    let others: Vec<String> = others.map(|parameter| parameter.name.to_string()).collect();
    if !others.is_empty() {
        return Err(Error::unknown_parameters(&others));
    }
    let [only] = parameters.as_slice() else {
        let problem = if parameters.is_empty() {
            "is missing"
        } else {
            "comes more than once"
        };
        return invalid(PARAMETER, problem);
    };
    match &only.value {
        Given::Value(value_type, value) if value_type == "Uri" && value.as_str().as_deref() == Some(EVERYTHING) => {
            Ok(())
        }
        Given::Value(value_type, value) if value_type == "Uri" && value.is_string() => {
            invalid(PARAMETER, "must be Patient/$everything: a card always has all records")
        }
        other => Err(other.wrong(PARAMETER, "a valueUri, Patient/$everything")),
    }
}

/// Issues a card, as a JWS, with the records of some Patients of a consent. The store records the card first, so that
/// it is revoked when the sharing of any of these records ends.
pub(in crate::http) async fn issue(
    service: &Arc<Service>,
    access: &Arc<Access>,
    patients: Vec<String>,
) -> Result<String, Error> {
    if &*access.scope.application != LOCAL_APPLICATION {
        service.throttle.charge_record(&access.subject)?;
        service.throttle.charge_card(&access.subject)?;
    }
    let turn = service.document_turn(&access.subject).await?;
    let consent = access.subject.clone();
    let begun = service
        .blocking(move |service| service.store.health_cards().begin(&consent))
        .await?;
    let card = begun.map_err(Error::internal)?.map_err(refused)?;
    let reading = {
        let (service, scope, card) = (service.clone(), access.scope.clone(), card.clone());
        async move {
            // Keep the turn until the end even if the client disconnects: the work continues, and the limit counts
            // running work.
            let _turn = turn;
            let now = service.store.clock().now() * 1_000_000;
            let record = record(&service.engine, &scope, &patients, &REFERRED, now).await?;
            let request = Request {
                issuer: &card_issuer(&service.base_url),
                fhir_base: &service.fhir_base,
                issued_at: card.issued_at,
                rid: &card.rid,
            };
            let payload = payload(&request, &resources(&record)).map_err(PatientError::from)?;
            Ok::<_, Error>(payload)
        }
    };
    let payload = service.workers.run(reading).await??;
    let signed = service
        .blocking(move |service| service.store.health_cards().sign(&card, &payload))
        .await?;
    signed.map_err(Error::internal)?.map_err(refused)
}

fn resources(record: &Record) -> Vec<Resource<'_>> {
    let mut resources = Vec::with_capacity(record.len());
    for gathered in &record.types {
        resources.extend(gathered.rows.iter().map(|row| Resource {
            resource_type: gathered.type_id,
            id: &row.id,
            text: &row.resource,
        }));
    }
    resources
}

fn refused(why: NoCard) -> Error {
    match why {
        NoCard::Ended => Error::Processing("the records are not shared any more".to_owned()),
        NoCard::Leaving => Error::Busy,
    }
}
