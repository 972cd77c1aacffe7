//! The record locator. It finds the facilities where a person was seen. A request identifies the person by
//! demographics. If it also has an ID token of the identity provider, the demographics must match the person of this
//! token.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

use super::super::answer;
use super::super::answer::oauth;
use super::super::params::Params;
use super::super::sign_in::identity::subject;
use super::people::{Demographics, Person};
use super::world::World;

/// Lists the facilities where a person was seen.
pub(in crate::sandbox::payer) async fn search(
    State(world): State<Arc<World>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let by = match demographics(&headers, &body) {
        Ok(by) => by,
        Err(description) => return oauth(StatusCode::BAD_REQUEST, "invalid_request", description),
    };
    let people: Vec<Person> = match headers.get(AUTHORIZATION) {
        None => world.people.find(&by),
        Some(value) => {
            let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
            let Some(index) = token.and_then(|token| subject(&world, token.trim())) else {
                return oauth(StatusCode::UNAUTHORIZED, "invalid_token", "no good id_token");
            };
            let verified = world.people.person(index).into_iter();
            verified.filter(|person| person.matches(&by)).collect()
        }
    };
    // If no person or several people match, the answer is empty. So nobody gets the records of another person.
    let [person] = people.as_slice() else {
        return answer::json(StatusCode::OK, &json!({"facilities": []}));
    };
    let facilities = world.offices().filter(|office| {
        let number = office.organization.facility();
        number.is_some_and(|number| number < person.facilities()) && !office.knobs().no_records
    });
    let facilities: Vec<Value> = facilities
        .map(|office| {
            json!({
                "name": office.organization.name,
                "fhirBase": world.fhir_base(office),
                "patient": person.patient,
            })
        })
        .collect();
    answer::json(StatusCode::OK, &json!({"facilities": facilities}))
}

/// Reads the demographics from a body, which is a form or JSON. Fails if the name or the birth date is missing.
fn demographics(headers: &HeaderMap, body: &[u8]) -> Result<Demographics, String> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|content_type| content_type.to_str().ok())
        .unwrap_or_default();
    let params = if content_type.starts_with("application/json") {
        let json: HashMap<String, Value> =
            serde_json::from_slice(body).map_err(|error| format!("the body is no JSON object: {error}"))?;
        let texts = json
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())));
        Params::of(texts)
    } else if content_type.starts_with("application/x-www-form-urlencoded") {
        Params::parse(body)
    } else {
        return Err("the body must be a form or JSON".to_owned());
    };
    let value = |name: &str| params.get(name).map(str::to_owned);
    let given = |name: &str| value(name).filter(|text| !text.trim().is_empty());
    let needed = |name: &str| given(name).ok_or_else(|| format!("{name} is missing"));
    Ok(Demographics {
        given: needed("given")?,
        family: needed("family")?,
        birth_date: needed("birthDate")?,
        gender: given("gender"),
        postal_code: given("postalCode"),
    })
}
