//! The API with which tests change and inspect the sandbox, as JSON. It needs no token, because all data is synthetic.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::super::answer::{json as answer, oauth};
use super::super::params::Params;
use super::knobs::Knobs;
use super::organization::{CLIENT_ID, Kind};
use super::people::{PASSWORD, Person};
use super::state::Office;
use super::world::World;

/// The default number of logins in a list. `MAX_LOGINS` is the maximum.
const LOGINS: u64 = 20;
const MAX_LOGINS: u64 = 1000;

/// Lists the organizations with records.
pub(in crate::sandbox::payer) async fn organizations(State(world): State<Arc<World>>) -> Response {
    let organizations: Vec<Value> = world
        .offices()
        .map(|office| {
            let organization = office.organization;
            json!({
                "id": organization.id,
                "name": organization.name,
                "labels": organization.labels,
                "kind": format!("{:?}", organization.kind).to_lowercase(),
                "refreshable": office.refreshable(),
                "fhirBase": world.fhir_base(office),
                "smartConfiguration": format!("{}/.well-known/smart-configuration", world.fhir_base(office)),
                "clientId": CLIENT_ID,
                "clientSecret": organization.secret,
                "types": organization.types(),
            })
        })
        .collect();
    answer(
        StatusCode::OK,
        &json!({
            "organizations": organizations,
            "identity": {"issuer": format!("{}/identity", world.base_url), "clientId": CLIENT_ID},
            "locator": format!("{}/locator/search", world.base_url),
        }),
    )
}

/// Lists the logins of at most `count` people. The first is the person with the index `from`. Both are parameters of
/// the query.
pub(in crate::sandbox::payer) async fn logins(State(world): State<Arc<World>>, RawQuery(query): RawQuery) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    let number = |name: &str, otherwise: u64| params.get(name).map_or(Some(otherwise), |text| text.parse().ok());
    let (Some(count), Some(from)) = (number("count", LOGINS), number("from", 0)) else {
        return bad("count and from are whole numbers");
    };
    let people = (from..world.people.count()).take(count.min(MAX_LOGINS) as usize);
    let logins: Vec<Value> = people
        .filter_map(|index| world.people.person(index))
        .map(|person| {
            let facilities = person.facilities();
            let mut shown = serde_json::to_value(&person).unwrap_or_default();
            shown["password"] = PASSWORD.into();
            shown["facilities"] = facilities.into();
            shown
        })
        .collect();
    answer(
        StatusCode::OK,
        &json!({"count": world.people.count(), "logins": logins}),
    )
}

/// Returns the knobs of an organization.
pub(in crate::sandbox::payer) async fn knobs(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
) -> Response {
    match world.office(&organization) {
        Some(office) => answer(StatusCode::OK, &json!(*office.knobs())),
        None => nobody(),
    }
}

/// Sets some knobs of one organization. If the organization is `all`, sets the knobs of all organizations.
pub(in crate::sandbox::payer) async fn turn(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    body: Bytes,
) -> Response {
    let Ok(changes) = serde_json::from_slice(&body) else {
        return bad("the body must be JSON");
    };
    match world.turn(&organization, &changes) {
        Ok(Some(knobs)) => answer(StatusCode::OK, &json!(knobs)),
        Ok(None) => nobody(),
        Err(error) => bad(&error.to_string()),
    }
}

/// Sets all knobs of an organization to their default values.
pub(in crate::sandbox::payer) async fn reset(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
) -> Response {
    match world.office(&organization) {
        Some(office) => {
            office.turn(Knobs::default());
            answer(StatusCode::OK, &json!(Knobs::default()))
        }
        None => nobody(),
    }
}

/// Returns the counts of an organization's requests.
pub(in crate::sandbox::payer) async fn requests(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
) -> Response {
    match world.office(&organization) {
        Some(office) => answer(StatusCode::OK, &office.counts.to_json()),
        None => nobody(),
    }
}

/// Resets the counts of an organization's requests.
pub(in crate::sandbox::payer) async fn recount(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
) -> Response {
    match world.office(&organization) {
        Some(office) => {
            office.counts.reset();
            answer(StatusCode::OK, &office.counts.to_json())
        }
        None => nobody(),
    }
}

/// Invalidates all access tokens of an organization.
pub(in crate::sandbox::payer) async fn expire(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
) -> Response {
    match world.office(&organization) {
        Some(office) => {
            office.grants().expire();
            answer(StatusCode::OK, &json!({}))
        }
        None => nobody(),
    }
}

/// Registers a redirect URI at an organization.
pub(in crate::sandbox::payer) async fn redirect_uri(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    body: Bytes,
) -> Response {
    let Some(office) = world.office(&organization) else {
        return nobody();
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    match body["redirect_uri"].as_str().filter(|uri| url::Url::parse(uri).is_ok()) {
        Some(uri) => {
            office.register(uri.to_owned());
            answer(StatusCode::CREATED, &json!({"redirect_uri": uri}))
        }
        None => bad("redirect_uri must be a URI"),
    }
}

/// Changes the content of one resource. The body has `user` or `patient`, and may have `record`, a reference to the
/// resource. Without `record`, changes the first of the person's resources that is not a Patient.
pub(in crate::sandbox::payer) async fn bump(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    body: Bytes,
) -> Response {
    let (office, body, person) = match about(&world, &organization, &body) {
        Ok(found) => found,
        Err(None) => return nobody(),
        Err(Some(description)) => return bad(description),
    };
    let holding = world.holding(office, person.index);
    let row = match body["record"].as_str() {
        Some(reference) => reference
            .split_once('/')
            .and_then(|(resource_type, id)| holding.get(resource_type, id)),
        None => holding.rows.iter().find(|row| row.resource_type != "Patient"),
    };
    let Some(row) = row else {
        return bad("there is no such record");
    };
    let revision = office.change(person.index, |additions| additions.bump(row));
    answer(
        StatusCode::OK,
        &json!({"record": row.reference(), "revision": revision}),
    )
}

/// Adds a resource to a person's records, or replaces one. The body has `user` or `patient`, and `resource`.
pub(in crate::sandbox::payer) async fn put(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    body: Bytes,
) -> Response {
    let (office, body, person) = match about(&world, &organization, &body) {
        Ok(found) => found,
        Err(None) => return nobody(),
        Err(Some(description)) => return bad(description),
    };
    match office.change(person.index, |additions| additions.put(&body["resource"])) {
        Ok(reference) => answer(StatusCode::CREATED, &json!({"record": reference})),
        Err(error) => bad(&error.to_string()),
    }
}

/// Removes a resource from a person's records. The body has `user` or `patient`, and `record`, a reference to the
/// resource.
pub(in crate::sandbox::payer) async fn remove(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    body: Bytes,
) -> Response {
    let (office, body, person) = match about(&world, &organization, &body) {
        Ok(found) => found,
        Err(None) => return nobody(),
        Err(Some(description)) => return bad(description),
    };
    let Some(reference) = body["record"].as_str() else {
        return bad("record must be a reference");
    };
    office.change(person.index, |additions| additions.remove(reference));
    answer(StatusCode::OK, &json!({"record": reference}))
}

/// Returns the organization, the parsed body, and the person that `user` or `patient` in the body identifies. The error
/// is `None` if no organization with records has this name. Otherwise it describes what is wrong in the body.
fn about<'w>(
    world: &'w World,
    organization: &str,
    body: &[u8],
) -> Result<(&'w Office, Value, Person), Option<&'static str>> {
    let office = world
        .office(organization)
        .filter(|office| office.organization.kind != Kind::Identity);
    let office = office.ok_or(None)?;
    let body: Value = serde_json::from_slice(body).map_err(|_| Some("the body must be JSON"))?;
    let person = match (body["user"].as_str(), body["patient"].as_str()) {
        (Some(user), _) => world.people.log_in(user, PASSWORD),
        (None, Some(patient)) => world
            .people
            .by_patient(patient)
            .and_then(|index| world.people.person(index)),
        (None, None) => None,
    };
    let person = person.ok_or(Some("user or patient must name somebody"))?;
    Ok((office, body, person))
}

fn bad(description: &str) -> Response {
    oauth(StatusCode::BAD_REQUEST, "invalid_request", description)
}

fn nobody() -> Response {
    oauth(StatusCode::NOT_FOUND, "not_found", "there is no such organization")
}
