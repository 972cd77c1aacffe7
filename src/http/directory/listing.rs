//! `GET /organizations` and `GET /endpoints`: list the directory, sorted by name.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

use crate::consent::{AuthorizationType, Endpoint, EndpointStatus, Organization};
use crate::http::error::Error;
use crate::http::routes::{Operation, Route, list, named, object, one_of};
use crate::http::service::Service;
use crate::http::shape::described::{authorization_type, mode};
use crate::lake::Mode;

const JSON: &str = "application/json";

#[derive(Serialize)]
struct ShownOrganization<'a> {
    name: &'a str,
    id: &'a str,
    note: &'a str,
    #[serde(rename = "type")]
    organization_type: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownEndpoint<'a> {
    name: &'a str,
    id: &'a str,
    mode: &'static str,
    #[serde(rename = "type")]
    authorization_type: AuthorizationType,
    label: &'a [String],
    refreshable: bool,
    refresh_valid_for: Option<i64>,
    max_auth_period: Option<i64>,
    status: EndpointStatus,
    resources: &'a [String],
    organization: Owner<'a>,
}

#[derive(Serialize)]
struct Owner<'a> {
    id: &'a str,
    name: &'a str,
}

pub(super) fn routes() -> Vec<Route> {
    let described = |id, summary, about, one: Value| {
        let operation = Operation::new(id, summary).open();
        operation.response(200, about, &[JSON], &list(&one))
    };
    vec![
        Route::at("/organizations").get(
            organizations,
            described(
                "organizations",
                "The organizations",
                "Every organization, by name",
                organization(),
            ),
        ),
        Route::at("/endpoints").get(
            endpoints,
            described(
                "endpoints",
                "The endpoints that patients can connect",
                "Every endpoint, by name",
                endpoint(),
            ),
        ),
    ]
}

/// Returns the schema of a [`ShownOrganization`] for the OpenAPI document.
fn organization() -> Value {
    let text = json!({"type": "string"});
    let properties = json!({"name": text, "id": text, "note": text, "type": text});
    named("Organization", object(&["name", "id", "note", "type"], properties))
}

/// Returns the schema of a [`ShownEndpoint`] for the OpenAPI document.
fn endpoint() -> Value {
    let text = json!({"type": "string"});
    let seconds = |about: &str| json!({"type": ["integer", "null"], "description": about});
    let owner = json!({"id": text, "name": text});
    let properties = json!({
        "name": text,
        "id": text,
        "mode": mode(),
        "type": authorization_type(),
        "label": list(&text),
        "refreshable": {"type": "boolean"},
        "refreshValidFor": seconds("how long access can be refreshed; 0 is without end, null is unknown"),
        "maxAuthPeriod": seconds("how long a patient stays authorized; 0 is without end, null is unknown"),
        "status": one_of(EndpointStatus::ALL.iter().map(|status| status.name())),
        "resources": list(&text),
        "organization": object(&["id", "name"], owner),
    });
    let required = [
        "name",
        "id",
        "mode",
        "type",
        "label",
        "refreshable",
        "refreshValidFor",
        "maxAuthPeriod",
        "status",
        "resources",
        "organization",
    ];
    named("Endpoint", object(&required, properties))
}

async fn organizations(State(service): State<Arc<Service>>) -> Result<Response, Error> {
    let reading = tokio::task::spawn_blocking(move || {
        let organizations = service.store.organizations().all()?;
        let shown: Vec<_> = organizations.iter().map(ShownOrganization::of).collect();
        Ok::<_, crate::consent::Error>(json!(shown).to_string())
    });
    answer(reading.await)
}

async fn endpoints(State(service): State<Arc<Service>>) -> Result<Response, Error> {
    let reading = tokio::task::spawn_blocking(move || {
        let endpoints = service.store.endpoints().all(None)?;
        let shown: Vec<_> = endpoints.iter().map(ShownEndpoint::of).collect();
        Ok::<_, crate::consent::Error>(json!(shown).to_string())
    });
    answer(reading.await)
}

fn answer(read: Result<Result<String, crate::consent::Error>, tokio::task::JoinError>) -> Result<Response, Error> {
    let body = read.map_err(Error::internal)?.map_err(Error::internal)?;
    Ok(([(CONTENT_TYPE, JSON)], body).into_response())
}

impl ShownOrganization<'_> {
    fn of(organization: &Organization) -> ShownOrganization<'_> {
        ShownOrganization {
            name: &organization.name,
            id: &organization.id,
            note: &organization.note,
            organization_type: &organization.organization_type,
        }
    }
}

impl ShownEndpoint<'_> {
    fn of(endpoint: &Endpoint) -> ShownEndpoint<'_> {
        ShownEndpoint {
            name: &endpoint.name,
            id: &endpoint.id,
            mode: match endpoint.mode {
                Mode::Live => "LIVE",
                Mode::Test => "TEST",
            },
            authorization_type: endpoint.authorization_type,
            label: &endpoint.label,
            refreshable: endpoint.refreshable,
            refresh_valid_for: endpoint.refresh_valid_for,
            max_auth_period: endpoint.max_auth_period,
            status: endpoint.status,
            resources: &endpoint.resources,
            organization: Owner {
                id: &endpoint.organization.id,
                name: &endpoint.organization.name,
            },
        }
    }
}
