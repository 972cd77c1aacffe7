//! `GET /organizations` and `GET /endpoints`: the directory, by name.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

use crate::consent::{AuthorizationType, Endpoint, EndpointStatus, Organization};
use crate::http::error::Error;
use crate::http::routes::{Operation, Route};
use crate::http::service::Service;
use crate::lake::Mode;

const JSON: &str = "application/json";

#[derive(Serialize)]
struct ShownOrganization<'a> {
    name: &'a str,
    id: &'a str,
    note: &'a str,
    #[serde(rename = "type")]
    ty: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownEndpoint<'a> {
    name: &'a str,
    id: &'a str,
    mode: &'static str,
    #[serde(rename = "type")]
    ty: AuthorizationType,
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
    let list = json!({"type": "array", "items": {"type": "object"}});
    let described = |id, summary, about| Operation::new(id, summary).open().response(200, about, &[JSON], &list);
    vec![
        Route::at("/organizations").get(
            organizations,
            described("organizations", "The organizations", "Each with name, id, note and type"),
        ),
        Route::at("/endpoints").get(
            endpoints,
            described(
                "endpoints",
                "The endpoints that patients can connect",
                "Each with name, id, mode, type (OAUTH, CREDENTIALS, IAL1 or IAL2), label, refreshable, refreshValidFor, maxAuthPeriod, status, resources and organization",
            ),
        ),
    ]
}

async fn organizations(State(service): State<Arc<Service>>) -> Result<Response, Error> {
    let reading = tokio::task::spawn_blocking(move || {
        let organizations = service.store.organizations()?;
        let shown: Vec<_> = organizations.iter().map(ShownOrganization::of).collect();
        Ok::<_, crate::consent::Error>(json!(shown).to_string())
    });
    answer(reading.await)
}

async fn endpoints(State(service): State<Arc<Service>>) -> Result<Response, Error> {
    let reading = tokio::task::spawn_blocking(move || {
        let endpoints = service.store.endpoints(None)?;
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
            ty: &organization.ty,
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
            ty: endpoint.ty,
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
